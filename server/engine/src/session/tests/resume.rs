//! Conversations that are stopped and continued from what their readers saw.
//!
//! Each one is compared with another that was not stopped: the model must see the same.

use agents::{AgentEvent, AgentEvents, AgentSettings, Fact, PastConversation, TextKind, ToolSet};
use parking_lot::Mutex;
use serde_json::{Value, json};
use stub_provider::{Frames, StubProvider};
use tokio_util::sync::CancellationToken;
use wire::entry::JOB_BOOLEAN_TRUE;

use super::*;

/// Sends a prompt to a resumed conversation and returns what was reported.
async fn resume_and_ask(
    backend: &dyn AgentBackend,
    folder: &str,
    facts: Vec<Fact>,
    prompt: &str,
) -> Vec<AgentEvent> {
    assert!(backend.capabilities().resume);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let sink = reported.clone();
    let events = AgentEvents::new(move |event| sink.lock().push(event));
    let settings = AgentSettings {
        tools: Arc::new(ToolSet::with_job_tools()),
        ..AgentSettings::new(MODEL, folder, events)
    };
    let past = PastConversation { handle: None, facts };
    let session = backend.resume_session(past, settings).await.expect("it can be resumed");
    assert_eq!(session.handle(), None, "the facts are enough");
    session.run_turn(prompt, &CancellationToken::new()).await.expect("a turn");
    session.stop().await;
    std::mem::take(&mut *reported.lock())
}

/// Checks that no id of a turn, text or call that readers have seen is used again.
fn assert_ids_are_new(before: &[SessionResponse], after: &[AgentEvent]) {
    let before = format!("{before:?}");
    for event in after {
        if let AgentEvent::TurnStart { turn_id: id }
        | AgentEvent::TextStart { id, .. }
        | AgentEvent::ToolStart { call_id: id, .. } = event
        {
            assert!(!before.contains(&format!("\"{id}\"")), "{id} in {before}");
        }
    }
}

/// The messages of the last request.
fn sent(stub: &StubProvider) -> Vec<Value> {
    let last = stub.chats().pop().expect("a request");
    last["messages"].as_array().expect("messages").clone()
}

/// The same, with call ids numbered in order: facts don't have the provider's ids.
fn without_ids(mut messages: Vec<Value>) -> Vec<Value> {
    let mut known: Vec<Value> = Vec::new();
    for message in &mut messages {
        for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
            known.push(std::mem::replace(&mut call["id"], json!(known.len())));
        }
        if let Some(id) = message.get_mut("tool_call_id") {
            *id = json!(known.iter().rposition(|known| known == id));
        }
    }
    messages
}

fn push_two_turns(stub: &StubProvider, call_ids: [&str; 2]) {
    stub.push(
        Frames::new().reasoning("Hm.").text("A ").text("plum.").finish("stop").done().answer(),
    );
    let calls = Frames::new()
        .reasoning("Is it?")
        .text("Let me say so.")
        .call(0, call_ids[0], JOB_BOOLEAN_TRUE, "{\"argument\":\"be\\ncause\"}")
        .call(1, call_ids[1], "no such tool", "{\"b\":[1,2.5],\"a\":null}")
        .finish("tool_calls")
        .done();
    stub.push(calls.answer());
    stub.push(Frames::saying("It is."));
}

#[tokio::test]
async fn a_resumed_provider_gets_the_history_of_an_uninterrupted_conversation() {
    for call_ids in [["", ""], ["call_abc", "call_xyz"]] {
        let (backend, stub) = provider::backend().await;
        let harness = Harness::with_backend(backend.clone(), |_| {});

        push_two_turns(&stub, call_ids);
        stub.push(Frames::saying("Still a plum."));
        let prompts = ["which fruit?", "is it true?", "which fruit was it?"];
        let id = harness.start_with(&prompts).await;
        harness.read_until_idle(id, 3).await;
        let uninterrupted = sent(&stub);
        assert_eq!(uninterrupted.len(), 9, "{uninterrupted:#?}");

        push_two_turns(&stub, call_ids);
        stub.push(Frames::saying("Still a plum."));
        let id = harness.start_with(&prompts[..2]).await;
        let seen = harness.read_until_idle(id, 2).await;
        harness.sessions.stop(id).await.expect("it was open");
        let facts = Fact::from_responses(&seen);
        let reported = resume_and_ask(&*backend, "/", facts, prompts[2]).await;
        assert_ids_are_new(&seen, &reported);
        let resumed = sent(&stub);
        if call_ids[0].is_empty() {
            assert_eq!(resumed, uninterrupted);
        } else {
            assert_eq!(without_ids(resumed), without_ids(uninterrupted));
        }
        harness.end().await;
    }
}

#[tokio::test]
async fn a_turn_that_was_stopped_in_a_tool_is_known_to_the_model() {
    let (backend, stub) = provider::backend().await;
    let harness = Harness::with_backend(backend.clone(), |_| {});
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a name");
    let push = || {
        let create = json!({ "path": "a.txt", "content": "a" }).to_string();
        let frames = Frames::new().text("I create it.").call(0, "", "createFile", &create);
        stub.push(frames.finish("tool_calls").done().answer());
    };
    // The tool waits for a permission that nobody gives.
    let wait_for_question = async |id| {
        let token = LiveToken::generate();
        let mut seen = Vec::new();
        let asks = |one: &SessionResponse| matches!(one, SessionResponse::PermissionRequest(_));
        while !seen.iter().any(asks) {
            seen.extend(harness.read(id, &token).await.expect("still open"));
        }
    };
    let start = async || {
        push();
        let id = harness.sessions.start(MODEL, folder).await.expect("a session");
        harness.query(id, "create a file");
        wait_for_question(id).await;
        id
    };

    let id = start().await;
    harness.sessions.get(id).expect("it is open").abort();
    harness.read_until_idle(id, 1).await;
    stub.push(Frames::saying("No."));
    harness.query(id, "is it there?");
    harness.read_until_idle(id, 2).await;
    let aborted = sent(&stub);

    let id = start().await;
    harness.sessions.stop(id).await.expect("it was open");
    let seen = harness.read_to_the_end(id).await;
    stub.push(Frames::saying("No."));
    resume_and_ask(&*backend, folder, Fact::from_responses(&seen), "is it there?").await;
    assert_eq!(sent(&stub), aborted);
    assert_eq!(aborted[3]["content"], "error: aborted");
    harness.end().await;
}

/// What a resumed simulated model says.
async fn answers(backend: &dyn AgentBackend, facts: Vec<Fact>, prompt: &str) -> String {
    let reported = resume_and_ask(backend, "/", facts, prompt).await;
    let deltas = reported.iter().filter_map(|event| match event {
        AgentEvent::TextDelta { kind: TextKind::Message, delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

#[tokio::test(start_paused = true)]
async fn a_resumed_simulated_model_knows_what_was_said() {
    let backend = Arc::new(Simulated::new(SimulatedSettings::for_tests()));
    let harness = Harness::with_backend(backend.clone(), |_| {});
    let prompts = [
        "say \"A plum.\"",
        "use the job_boolean_true tool with the argument because, use the no_such tool, say yes",
        "fail with \"no luck\"",
    ];
    let again = "repeat the conversation so far";
    let id = harness.start_with(&prompts).await;
    let before = harness.read_until_idle(id, 3).await;
    harness.query(id, again);
    let seen = harness.read_until_idle(id, 4).await;
    let uninterrupted = messages(&seen).pop().expect("an answer");
    for part in ["plum", "job_boolean_true {\"argument\":\"because\"}: because", "no luck"] {
        assert!(uninterrupted.contains(part), "{uninterrupted}");
    }

    let facts = Fact::from_responses(&before);
    assert_eq!(answers(&*backend, facts.clone(), again).await, uninterrupted);
    let reported = resume_and_ask(&*backend, "/", facts, "use job_boolean_true, say x").await;
    assert_ids_are_new(&before, &reported);
    assert_eq!(answers(&*backend, Vec::new(), again).await, "Nothing was said before.");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_simulated_model_that_was_stopped_in_a_turn_remembers_its_beginning() {
    let backend = Arc::new(Simulated::new(SimulatedSettings::for_tests()));
    let harness = Harness::with_backend(backend.clone(), |_| {});
    let prompts = ["Turn 1: say one\nTurn 2: say two\nTurn 3: say three", "and?"];
    let id = harness.start_with(&prompts).await;
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(answers(&*backend, Fact::from_responses(&seen), "and?").await, "three");

    harness.query(id, "say four, wait 20 seconds, say five");
    tokio::time::sleep(Duration::from_secs(1)).await;
    harness.sessions.stop(id).await.expect("it was open");
    let seen = harness.read_to_the_end(id).await;
    let again = "repeat the conversation so far";
    let repeated = answers(&*backend, Fact::from_responses(&seen), again).await;
    assert!(repeated.ends_with("say five\nmessage: four"), "{repeated}");
    harness.end().await;
}
