//! What a provider gets of the files that are attached to prompts.

use async_trait::async_trait;
use serde_json::json;
use wire::AttachmentId;

use super::*;
use crate::attachment::{Attachment, Attachments, Image};

const IMAGE: &str = "file-00000000-0000-4000-8000-000000000001";
const TEXT: &str = "file-00000000-0000-4000-8000-000000000002";
const GIF: &str = "data:image/gif;base64,R0lGODlh";

struct Two;

#[async_trait]
impl Attachments for Two {
    async fn read(&self, id: AttachmentId) -> Option<Attachment> {
        let bytes = b"GIF89a".to_vec();
        match &*id.to_string() {
            IMAGE => Some(Attachment::Image(Image { media_type: "image/gif", bytes })),
            TEXT => Some(Attachment::Text("one\ntwo".to_owned())),
            _ => None,
        }
    }
}

fn attached() -> AgentSettings {
    let events = AgentEvents::new(|_| {});
    AgentSettings { attachments: Arc::new(Two), ..AgentSettings::new(MODEL, "/", events) }
}

async fn ask(session: &dyn AgentSession, stub: &StubProvider, prompt: &str) -> Value {
    stub.push(Frames::saying("I see."));
    session.run_turn(prompt, &CancellationToken::new()).await.expect("a turn");
    stub.chats().pop().expect("a request")["messages"].clone()
}

fn image_message(text: &str) -> Value {
    json!({ "role": "user", "content": [
        { "type": "text", "text": text },
        { "type": "image_url", "image_url": { "url": GIF } },
    ] })
}

#[tokio::test]
async fn images_are_parts_of_their_prompt_as_long_as_the_conversation_goes_on() {
    let stub = stub().await;
    let backend = OpenAi::new(settings(&stub));
    assert!(backend.capabilities().images);
    let session = backend.start_session(attached()).await.expect("a session");
    let prompt = format!("What is ![a.gif](attachment:{IMAGE})?");
    let messages = ask(&*session, &stub, &prompt).await;
    assert_eq!(messages[1], image_message(&prompt));
    let messages = ask(&*session, &stub, "And now?").await;
    assert_eq!(messages[1], image_message(&prompt), "a question about it may follow");
    assert_eq!(messages[3], json!({ "role": "user", "content": "And now?" }));

    let facts = [Fact::Prompt(prompt.clone()), Fact::Round, Fact::Message("A cat.".to_owned())];
    let past = PastConversation { handle: None, facts: facts.to_vec() };
    let resumed = backend.resume_session(past, attached()).await.expect("resumed");
    let messages = ask(&*resumed, &stub, "Sure?").await;
    assert_eq!(messages[1], image_message(&prompt), "also in a conversation that is resumed");
}

#[tokio::test]
async fn texts_are_added_to_their_prompt_and_unknown_files_are_not() {
    let stub = stub().await;
    let session = OpenAi::new(settings(&stub)).start_session(attached()).await.expect("a session");
    let unknown = TEXT.replace('2', "3");
    let prompt = format!("Read [n.txt](attachment:{TEXT}) and ![x](attachment:{unknown})");
    let messages = ask(&*session, &stub, &prompt).await;
    let expected = format!("{prompt}\n\nn.txt:\n```\none\ntwo\n```");
    assert_eq!(messages[1], json!({ "role": "user", "content": expected }));
}
