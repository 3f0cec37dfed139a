//! Hooks: what the portal asks extensions.

use agents::openai::{OpenAi, ProviderLimits, ProviderSettings};
use agents::provider::{BaseUrl, ProviderModel};
use engine::bridge::{Bridge, BridgeSettings, Start, WorkspaceFolder};
use serde_json::{Value, json};
use stub_provider::{Answer, Frames, StubProvider};
use wire::bridge::MessageRequest;

use super::*;

#[tokio::test]
async fn prompts_are_changed_and_added_to() {
    let project = Project::with(&["hooks"]);
    let id = project.start().await;
    let seen = project.ask(id, "say hello").await;
    assert_eq!(said(&seen), ["hello"]);
    let seen = project.ask(id, "say hello @change").await;
    assert_eq!(said(&seen), ["something else"]);
    let prompt = "say hello @add";
    let seen = project.ask(id, prompt).await;
    assert_eq!(said(&seen), ["hello @add", "a secret"]);
    assert_eq!(seen[0], SessionResponse::UserPrompt { prompt: prompt.to_owned() }, "as typed");
    assert!(project.list(id).await.extensions[0].hooks);
    project.end().await;
}

#[tokio::test]
async fn messages_to_the_bridge_are_changed_as_well() {
    let project = Project::with(&["hooks"]);
    let settings = BridgeSettings::new([WorkspaceFolder::new(project.folder.path())]);
    let bridge = Bridge::new(settings, project.sessions.clone(), project.lifecycle.clone());
    let mut events = bridge.subscribe(None, Start::Now).await.expect("a place");
    let request = MessageRequest {
        text: Some("say hello @change".to_owned()),
        model: Some(MODEL.to_owned()),
        ..MessageRequest::default()
    };
    bridge.send(request).await.expect("accepted");
    let mut said = String::new();
    let reading = async {
        while let Some(batch) = events.next().await {
            for event in batch.events {
                let data: Value = serde_json::from_str(&event.data).expect("JSON");
                said.push_str(data["fragment"].as_str().unwrap_or_default());
                if event.name == "done" {
                    return;
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("an answer");
    assert_eq!(said, "something else");
    bridge.end();
    project.end().await;
}

#[tokio::test]
async fn a_hook_that_fails_or_hangs_is_skipped_with_a_warning() {
    let quick = |settings: &mut ExtensionSettings| {
        settings.hook_time_out = Duration::from_millis(300);
    };
    let project = Project::new(&["hooks"], simulated(), quick);
    let id = project.start().await;
    let seen = project.ask(id, "say hello @throw").await;
    assert_eq!(said(&seen), ["hello @throw"]);
    let warning = "hooks Warning: the hook userPromptSubmitted was skipped: a broken hook";
    assert_eq!(logs(&seen), [warning]);
    let seen = project.ask(id, "say hello @hang").await;
    assert_eq!(said(&seen), ["hello @hang"]);
    let warning = "hooks Warning: the hook userPromptSubmitted was skipped: it took over 0.3 s";
    assert_eq!(logs(&seen), [warning]);
    project.end().await;
}

#[tokio::test]
async fn tool_calls_are_refused_changed_and_remarked_upon() {
    let project = Project::with(&["hooks", "tools"]);
    let id = project.start().await;
    for (who, expected) in [
        ("you", Ok("Hello, you!".to_owned())),
        ("nobody", failure("nobody is greeted", "denied")),
        ("changed", Ok("Hello, somebody else!".to_owned())),
        ("explained", Ok("Hello, explained!\n\na greeting is coming".to_owned())),
        ("rewritten", Ok("HELLO, REWRITTEN!".to_owned())),
        ("remarked", Ok("Hello, remarked!\n\nit was a success".to_owned())),
    ] {
        let seen = project.ask(id, &format!("use the greet_someone tool with {who}")).await;
        assert_eq!(results(&seen), [expected], "{who}");
    }
    project.end().await;
}

#[tokio::test]
async fn several_are_asked_by_name_and_each_sees_what_the_one_before_changed() {
    let appends = |letter: char| {
        format!(
            "import {{ joinSession }} from '@github/copilot-sdk/extension';\n\
             await joinSession({{ hooks: {{ onUserPromptSubmitted: ({{ prompt }}) => \
             ({{ modifiedPrompt: prompt + '{letter}' }}) }} }});\n"
        )
    };
    let project = Project::with(&[]);
    for name in ["c", "a", "b"] {
        project.write(name, &appends(name.chars().next().expect("a letter")));
    }
    let id = project.start().await;
    assert_eq!(said(&project.ask(id, "say x").await), ["xabc"]);
    project.end().await;
}

#[tokio::test]
async fn the_start_of_a_session_adds_context_and_its_end_is_told() {
    let project = Project::with(&["hooks"]);
    std::fs::write(project.path("with-context"), "").expect("a file");
    let id = project.start().await;
    assert_eq!(said(&project.ask(id, "say hello").await), ["hello", "it is new"]);
    assert_eq!(said(&project.ask(id, "say again").await), ["again"], "once");
    project.sessions.get(id).expect("an open session").reload_extensions().await;
    assert_eq!(said(&project.ask(id, "say more").await), ["more", "it is resume"]);
    project.sessions.stop(id).await.expect("an open session");
    let told = std::fs::read_to_string(project.path("ended")).expect("the end was told");
    assert_eq!(told, "user_exit: it is resume");
    project.end().await;
}

#[tokio::test]
async fn errors_are_repeated_or_passed_over() {
    let project = Project::with(&["hooks"]);
    let id = project.start().await;
    let seen = project.ask(id, "say hello, then fail with please retry").await;
    assert_eq!(said(&seen), ["hello", "hello", "hello"], "twice more");
    let notification = "hooks Warning: model_call true: please retry";
    assert_eq!(logs(&seen), [notification; 3]);
    let error = |message: &str| SessionResponse::Error { message: message.to_owned() };
    assert!(seen.contains(&error("please retry")));
    let seen = project.ask(id, "say hello, then fail with skip this").await;
    assert_eq!(said(&seen), ["hello"]);
    assert!(!seen.contains(&error("skip this")));
    let seen = project.ask(id, "fail with nothing to be done").await;
    assert!(seen.contains(&error("nothing to be done")));
    project.end().await;
}

/// What a provider's model gets to read.
#[tokio::test]
async fn a_provider_is_sent_context_and_new_tools_at_once() {
    let stub = StubProvider::start().await.expect("a stub");
    let url = BaseUrl::parse(&stub.base_url()).expect("an address");
    let model =
        ProviderModel { id: "stub".to_owned(), name: None, multiplier: None, context_window: None };
    let backend = OpenAi::new(ProviderSettings {
        models: vec![model],
        limits: ProviderLimits { retries: 0, ..ProviderLimits::default() },
        ..ProviderSettings::new("stub", url)
    });
    let project = Project::new(&["hooks"], Arc::new(backend), |_| {});
    let id = project.start_with("stub").await;

    stub.push(Frames::saying("fine"));
    project.ask(id, "hello @add").await;
    let messages = &stub.chats()[0]["messages"];
    assert_eq!(messages[1]["content"], "hello @add\n\nsay a secret");

    project.write("late", &one_tool("late_tool", "better late"));
    // Allowed elsewhere: this session has not started it.
    let other = project.start_with("stub").await;
    project.sessions.get(other).expect("an open session").allow_extensions().await.expect("kept");
    let calls = |name: &str| Frames::new().call(0, "a", name, "{}").finish("tool_calls").done();
    stub.push(calls("extensions_reload").answer());
    stub.push(calls("late_tool").answer());
    stub.push(Frames::saying("done"));
    let seen = project.ask(id, "go").await;
    assert_eq!(results(&seen)[1], Ok("better late".to_owned()));
    let has_tool = |chat: usize| stub.chats()[chat]["tools"].to_string().contains("late_tool");
    assert_eq!([1, 2, 3].map(has_tool), [false, true, true], "within one turn");

    // A prompt that is retried after an error is still one prompt.
    stub.push(Answer::json(500, &json!({ "error": { "message": "please retry" } })));
    stub.push(Frames::saying("at last"));
    let seen = project.ask(id, "once more").await;
    assert_eq!(said(&seen), ["at last"]);
    let chats = stub.chats();
    let last = chats.last().expect("a chat")["messages"].as_array().expect("messages").clone();
    assert_eq!(last.last().expect("a message")["content"], "once more");
    project.end().await;
}
