//! Files that are attached to prompts.

use agents::{Attachment, Attachments, Image};
use async_trait::async_trait;
use stub_provider::Frames;
use wire::AttachmentId;

use super::*;

const IMAGE: &str = "file-00000000-0000-4000-8000-000000000001";
const TEXT: &str = "file-00000000-0000-4000-8000-000000000002";
/// A red pixel.
const PNG: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53,
    0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00,
    0x00, 0x03, 0x01, 0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

struct Two;

#[async_trait]
impl Attachments for Two {
    async fn read(&self, id: AttachmentId) -> Option<Attachment> {
        match &*id.to_string() {
            IMAGE => Attachment::recognise(PNG.to_vec()),
            TEXT => Some(Attachment::Text("one, two".to_owned())),
            _ => None,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_gets_the_texts_and_images_of_a_prompt() {
    let bench = Bench::new().await;
    bench.provider.push(Frames::saying("I see."));
    let conversation =
        bench.conversation_with(|settings| settings.attachments = Arc::new(Two)).await;
    let prompt = format!("Look: ![a.png](attachment:{IMAGE}) [n.txt](attachment:{TEXT})");
    conversation.ask(&prompt).await.expect("a turn");
    let request = bench.provider.chats()[0].to_string();
    assert!(request.contains("one, two"), "{request}");
    let image = Image { media_type: "image/png", bytes: PNG.to_vec() };
    assert!(request.contains(&image.data_url()), "{request}");
    bench.finish(conversation).await;
}
