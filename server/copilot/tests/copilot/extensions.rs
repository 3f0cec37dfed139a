//! Extensions, which the CLI runs itself.

use std::fs;

use agents::AllowedExtensions;
use agents::permission::ApproveAll;
use serde_json::json;
use wire::ExtensionState;

use super::tools::{push_call, result_of_call};
use super::*;

const WEATHER: &str = r#"
import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  tools: [
    {
      name: "weather",
      description: "Tells the weather.",
      parameters: { type: "object", properties: {} },
      handler: async () => "rain",
    },
  ],
});
"#;

/// A conversation in a folder that has an extension.
async fn start(bench: &Bench, allowed: AllowedExtensions) -> Conversation {
    let folder = bench.folder.path().join(".github/extensions/weather");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("extension.mjs"), WEATHER).expect("an extension");
    push_call(bench, "weather", &json!({}));
    let conversation = bench.conversation_with(|settings| {
        settings.own_tools = true;
        settings.extensions = allowed;
        settings.permissions = Arc::new(ApproveAll);
    });
    conversation.await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_of_a_trusted_folder_adds_its_tool() {
    let bench = Bench::new().await;
    let conversation = start(&bench, AllowedExtensions::All).await;
    conversation.ask("how is the weather?").await.expect("a turn");
    assert_eq!(result_of_call(&bench), "rain");
    conversation
        .wait_for("running extension", |event| {
            matches!(event, AgentEvent::Extensions(list) if list.iter().any(|one|
            one.name == "weather" && one.state == ExtensionState::Running))
        })
        .await;
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_other_folders_none_is_started() {
    let bench = Bench::new().await;
    let conversation = start(&bench, AllowedExtensions::None).await;
    conversation.ask("how is the weather?").await.expect("a turn");
    assert_ne!(result_of_call(&bench), "rain");
    let offered = bench.provider.chats()[0]["tools"].to_string();
    assert!(!offered.contains("weather"), "{offered}");
    bench.finish(conversation).await;
}
