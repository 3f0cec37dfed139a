//! The portal's tools and the CLI's own.

use agents::ToolSet;
use agents::permission::{Asker, Denied, Owner, PermissionHandler};
use async_trait::async_trait;
use serde_json::{Value, json};
use stub_provider::Frames;
use wire::{PermissionKind, PermissionRequest, SessionId};

use super::*;

/// Makes the model call a tool and then confirm it.
pub(super) fn push_call(bench: &Bench, tool: &str, arguments: &Value) {
    let call = Frames::new().call(0, "call-1", tool, &arguments.to_string());
    bench.provider.push(call.finish("tool_calls").done().answer());
    bench.provider.push(Frames::saying("I tried."));
}

/// The result of the call, as the model got it.
pub(super) fn result_of_call(bench: &Bench) -> String {
    let chats = bench.provider.chats();
    let messages = chats.last().expect("a request")["messages"].as_array().expect("a list").clone();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("a result");
    result["content"].as_str().expect("a text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn our_tools_are_called_without_asking() {
    let bench = Bench::new().await;
    push_call(&bench, "job_boolean_true", &json!({ "argument": "because" }));
    let conversation =
        bench.conversation_with(|settings| settings.tools = ToolSet::with_job_tools().into()).await;
    conversation.ask("decide").await.expect("a turn");
    assert_eq!(
        words(&conversation.events()),
        "+turn-1 +job_boolean_true -tool -turn-1 +turn-2 message -message -turn-2"
    );
    conversation
        .wait_for("call", |event| {
            matches!(event, AgentEvent::ToolStart { call_id, parent_call_id: None, arguments, .. }
            if call_id == "call-1" && *arguments == json!({ "argument": "because" }))
        })
        .await;
    conversation
        .wait_for("result", |event| {
            matches!(event, AgentEvent::ToolEnd { call_id, outcome: Ok(result) }
            if call_id == "call-1" && result.content == "because")
        })
        .await;
    assert_eq!(result_of_call(&bench), "because");
    let tools = bench.provider.chats()[0]["tools"].as_array().expect("a list").clone();
    let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].clone()).collect();
    assert_eq!(names.len(), 4, "ours and no others: {names:?}");
    bench.finish(conversation).await;
}

/// Gives the same answer to all permission requests, and records them.
struct Judge {
    verdict: Result<(), Denied>,
    questions: watch::Sender<Vec<PermissionRequest>>,
    last_owner: watch::Sender<Option<Owner>>,
}

impl Judge {
    fn new(verdict: Result<(), &str>) -> Arc<Self> {
        let verdict = verdict.map_err(|reason| Denied { reason: reason.to_owned() });
        Arc::new(Self {
            verdict,
            questions: watch::Sender::default(),
            last_owner: watch::Sender::default(),
        })
    }
}

#[async_trait]
impl PermissionHandler for Judge {
    async fn request(&self, asker: &Asker, request: PermissionRequest) -> Result<(), Denied> {
        self.last_owner.send_replace(asker.owner);
        self.questions.send_modify(|questions| questions.push(request));
        self.verdict.clone()
    }
}

async fn conversation_with_judge(bench: &Bench, judge: &Arc<Judge>) -> Conversation {
    let change = |settings: &mut AgentSettings| {
        settings.own_tools = true;
        settings.permissions = judge.clone();
    };
    bench.conversation_with(change).await
}

fn push_creation(bench: &Bench) {
    let file = bench.real_folder().join("made.txt");
    push_call(bench, "create", &json!({ "path": file, "file_text": "made by a model\n" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_the_cli_acts_when_it_is_approved() {
    let bench = Bench::new().await;
    push_creation(&bench);
    let judge = Judge::new(Ok(()));
    let owner = Owner { session: SessionId::generate(), task: None, work: None };
    let change = |settings: &mut AgentSettings| {
        settings.own_tools = true;
        settings.permissions = judge.clone();
        settings.tools = ToolSet::default().owned_by(owner).into();
    };
    let conversation = bench.conversation_with(change).await;
    conversation.ask("make a file").await.expect("a turn");
    let questions = judge.questions.borrow().clone();
    assert_eq!(questions.len(), 1, "{questions:#?}");
    assert_eq!(*judge.last_owner.borrow(), Some(owner));
    assert_eq!(questions[0].kind, PermissionKind::Create);
    assert_eq!(questions[0].title, "Create made.txt");
    assert_eq!(questions[0].path.as_deref(), Some("made.txt"));
    let text = std::fs::read_to_string(bench.folder.path().join("made.txt")).expect("the file");
    assert_eq!(text, "made by a model\n");
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_the_cli_that_is_denied_does_nothing_and_the_model_is_told() {
    let bench = Bench::new().await;
    push_creation(&bench);
    let judge = Judge::new(Err("not on a Sunday"));
    let conversation = conversation_with_judge(&bench, &judge).await;
    conversation.ask("make a file").await.expect("a turn");
    assert_eq!(judge.questions.borrow().len(), 1);
    assert!(!bench.folder.path().join("made.txt").exists());
    assert!(
        words(&conversation.events()).contains("+create !tool"),
        "{}",
        words(&conversation.events())
    );
    assert!(result_of_call(&bench).contains("not on a Sunday"), "{}", result_of_call(&bench));
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_asked_for_and_its_output_is_told() {
    let bench = Bench::new().await;
    let command = "echo one; sleep 1; echo two";
    push_call(&bench, "bash", &json!({ "command": command, "description": "count" }));
    let judge = Judge::new(Ok(()));
    let conversation = conversation_with_judge(&bench, &judge).await;
    conversation.ask("count").await.expect("a turn");
    assert_eq!(judge.questions.borrow()[0].kind, PermissionKind::Command);
    assert_eq!(judge.questions.borrow()[0].detail.as_deref(), Some(command));
    assert!(
        words(&conversation.events()).contains("+bash output -tool"),
        "{}",
        words(&conversation.events())
    );
    assert!(result_of_call(&bench).contains("one\ntwo"), "{}", result_of_call(&bench));
    bench.finish(conversation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_all_that_is_offered_to_the_model_it_is_known_what_only_looks() {
    let bench = Bench::new().await;
    bench.provider.push(Frames::saying("I see."));
    let change = |settings: &mut AgentSettings| {
        settings.own_tools = true;
        settings.tools = ToolSet::with_job_tools().into();
    };
    let conversation = bench.conversation_with(change).await;
    conversation.ask("what can you do?").await.expect("a turn");
    let chats = bench.provider.chats();
    let offered = chats[0]["tools"].as_array().expect("a list").iter();
    let (mut looks, mut acts) = (Vec::new(), Vec::new());
    for tool in offered {
        let name = tool["function"]["name"].as_str().expect("a name");
        if bench.copilot.is_read_only(name) { looks.push(name) } else { acts.push(name) }
    }
    looks.sort_unstable();
    acts.sort_unstable();
    let expected = [
        "glob",
        "grep",
        "job_boolean_false",
        "job_boolean_true",
        "job_prepare_document",
        "job_prerequisite_failed",
        "list_agents",
        "list_bash",
        "read_agent",
        "read_bash",
        "semantic_code_search",
        "view",
    ];
    assert_eq!(looks, expected);
    // A new one of a newer CLI needs a decision.
    let expected =
        ["bash", "create", "edit", "skill", "sql", "stop_bash", "task", "web_fetch", "write_agent"];
    assert_eq!(acts, expected);
    bench.finish(conversation).await;
}
