use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};
use wire::{ToolError, ToolResult};

use super::*;
use crate::contract::{AgentEvents, TextKind};
use crate::tool::{Tool, ToolCall, ToolHandler, ToolSet};

type Seen = Arc<Mutex<Vec<(Instant, AgentEvent)>>>;

async fn start(
    model: &str,
    settings: SimulatedSettings,
    tools: ToolSet,
) -> (Box<dyn AgentSession>, Seen) {
    let seen = Seen::default();
    let sink = seen.clone();
    let session = Simulated::new(settings)
        .start_session(AgentSettings {
            tools: Arc::new(tools),
            ..AgentSettings::new(
                model,
                "/",
                AgentEvents::new(move |event| sink.lock().push((Instant::now(), event))),
            )
        })
        .await
        .expect("a session");
    (session, seen)
}

async fn run(prompt: &str) -> (Result<(), AgentError>, Vec<AgentEvent>) {
    let tools = ToolSet::with_job_tools();
    let (session, seen) = start("gpt-5-mini", SimulatedSettings::for_tests(), tools).await;
    let outcome = session.run_turn(prompt, &CancellationToken::new()).await;
    let events = seen.lock().iter().map(|(_, event)| event.clone()).collect();
    (outcome, events)
}

fn texts(events: &[AgentEvent], wanted: TextKind) -> Vec<String> {
    let mut texts = Vec::new();
    for event in events {
        match event {
            AgentEvent::TextStart { kind, .. } if *kind == wanted => texts.push(String::new()),
            AgentEvent::TextDelta { kind, delta, .. } if *kind == wanted => {
                texts.last_mut().expect("started").push_str(delta);
            }
            _ => {}
        }
    }
    texts
}

fn tools_used(events: &[AgentEvent]) -> Vec<(String, Value)> {
    let used = events.iter().filter_map(|event| match event {
        AgentEvent::ToolStart { name, arguments, .. } => Some((name.clone(), arguments.clone())),
        _ => None,
    });
    used.collect()
}

#[tokio::test]
async fn the_models_are_named_as_simulated() {
    for test_models in [false, true] {
        let settings = SimulatedSettings { test_models, ..SimulatedSettings::default() };
        let models = Simulated::new(settings).list_models().await.expect("a list");
        assert!(models.iter().all(|model| model.name.to_lowercase().contains("simulated")));
        assert!(models.iter().filter(|model| model.multiplier == 0.0).count() >= 2);
        let multiplier =
            |id| models.iter().find(|model| model.id == id).map(|model| model.multiplier);
        assert_eq!(multiplier("gpt-5-mini"), test_models.then_some(0.0));
        assert_eq!(multiplier("gpt-5.2"), test_models.then_some(1.0));
    }
}

#[tokio::test(start_paused = true)]
async fn reasoning_and_then_text_come_word_by_word() {
    let (outcome, events) = run("Say \"hello, world\"").await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(texts(&events, TextKind::Reasoning).len(), 1);
    assert_eq!(texts(&events, TextKind::Message), ["hello, world"]);
    let message = |event: &&AgentEvent| {
        matches!(event, AgentEvent::TextDelta { kind: TextKind::Message, .. })
    };
    assert_eq!(events.iter().filter(message).count(), 2);
    assert!(matches!(events.first(), Some(AgentEvent::TurnStart { .. })));
    assert!(matches!(events.last(), Some(AgentEvent::TurnEnd { .. })));
}

#[tokio::test(start_paused = true)]
async fn the_same_prompt_gives_the_same_turn() {
    for prompt in ["Hello", "answer in Markdown", "think about x, use the job_boolean_true tool"] {
        assert_eq!(run(prompt).await, run(prompt).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_without_instructions_is_repeated() {
    let (_, events) = run("What is the weather?").await;
    let [answer] = &*texts(&events, TextKind::Message) else {
        panic!("one message");
    };
    assert!(answer.contains("simulated"));
    assert!(answer.contains("> What is the weather?"));
    assert!(answer.contains("job_boolean_true"));
}

#[tokio::test(start_paused = true)]
async fn do_nothing_says_nothing() {
    let (outcome, events) = run("do nothing").await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(events.len(), 2, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn tools_are_called_in_order_and_answer() {
    let (_, events) = run("Use the job_prepare_document tool with the argument a.md. \
        Then use the job_boolean_true tool with the argument {\"x\": 1}. \
        Then use the no_such tool with the argument y.")
    .await;
    let used = tools_used(&events);
    assert_eq!(
        used,
        [
            ("job_prepare_document".to_owned(), json!({ "argument": "a.md" })),
            ("job_boolean_true".to_owned(), json!({ "argument": "{\"x\": 1}" })),
            ("no_such".to_owned(), json!({ "argument": "y" })),
        ]
    );
    let outcomes: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolEnd { outcome, .. } => Some(outcome.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes[0].as_ref().map(|result| &*result.content), Ok("a.md"));
    assert!(outcomes[2].is_err());
}

struct Sleepy;

#[async_trait]
impl ToolHandler for Sleepy {
    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(ToolResult { content: call.arguments.to_string(), detailed_content: None })
    }
}

fn sleepy_tools() -> ToolSet {
    let tools = ToolSet::with_job_tools();
    tools
        .add(Tool {
            name: "sleepy".to_owned(),
            description: String::new(),
            parameters: json!({ "properties": { "path": {}, "query": {} }, "required": ["query"] }),
            handler: Arc::new(Sleepy),
        })
        .expect("a new name");
    tools
}

#[tokio::test(start_paused = true)]
async fn any_registered_tool_can_be_called() {
    for (prompt, arguments) in [
        ("use sleepy with the argument x", json!({ "query": "x" })),
        (r#"use sleepy with {"path": "p", "query": "q"}"#, json!({ "path": "p", "query": "q" })),
    ] {
        let (session, seen) =
            start("gpt-5.2", SimulatedSettings::for_tests(), sleepy_tools()).await;
        let outcome = session.run_turn(prompt, &CancellationToken::new()).await;
        assert_eq!(outcome, Ok(()));
        let events: Vec<_> = seen.lock().iter().map(|(_, event)| event.clone()).collect();
        assert_eq!(tools_used(&events), [("sleepy".to_owned(), arguments)]);
    }
}

#[tokio::test(start_paused = true)]
async fn failing_and_crashing_end_the_turn() {
    let (outcome, events) = run("say one, fail with \"no luck\", say two").await;
    assert_eq!(outcome, Err(AgentError::Failed("no luck".to_owned())));
    assert_eq!(texts(&events, TextKind::Message), ["one"]);
    assert!(matches!(events.last(), Some(AgentEvent::TurnEnd { .. })));
    let (outcome, events) = run("crash").await;
    assert!(matches!(outcome, Err(AgentError::Crashed(_))));
    assert!(matches!(events.last(), Some(AgentEvent::TextDelta { .. })), "in mid-message");
}

#[tokio::test(start_paused = true)]
async fn the_pace_is_kept_without_drift() {
    let (session, seen) =
        start("simulated-quick", SimulatedSettings::default(), ToolSet::default()).await;
    let begun = Instant::now();
    let abort = CancellationToken::new();
    let turn = session.run_turn("say \"a b c\" and wait 1 second, say d", &abort);
    let late = async {
        tokio::time::sleep(Duration::from_millis(310)).await;
        // The machine was busy; two deltas became due in the meantime.
        advance(Duration::from_millis(25)).await;
    };
    let (outcome, ()) = tokio::join!(turn, late);
    assert_eq!(outcome, Ok(()));
    let times: Vec<_> = seen
        .lock()
        .iter()
        .filter(|(_, event)| matches!(event, AgentEvent::TextDelta { .. }))
        .map(|(time, _)| (*time - begun).as_millis())
        .collect();
    assert_eq!(times, [300, 335, 340, 1640]);
}

#[tokio::test(start_paused = true)]
async fn the_measuring_prompt_makes_exactly_so_many_deltas() {
    let (session, seen) =
        start("simulated-standard", SimulatedSettings::default(), ToolSet::default()).await;
    let begun = Instant::now();
    let prompt = "Stream 5 deltas with 10 ms between deltas after 50 ms.";
    let outcome = session.run_turn(prompt, &CancellationToken::new()).await;
    assert_eq!(outcome, Ok(()));
    let seen = seen.lock();
    let deltas: Vec<_> = seen
        .iter()
        .filter_map(|(time, event)| match event {
            AgentEvent::TextDelta { delta, .. } => Some((*time - begun, delta)),
            _ => None,
        })
        .collect();
    assert_eq!(deltas.len(), 5);
    assert_eq!(seen.len(), 5 + 4, "turn and message begin and end, no reasoning");
    for (index, (time, text)) in deltas.iter().enumerate() {
        assert_eq!(time.as_millis(), 50 + 10 * index as u128);
        let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        let (sequence, epoch) = inner.and_then(|inner| inner.split_once(':')).expect("<SEQ:MS>");
        assert_eq!(sequence, index.to_string());
        assert!(epoch.contains('.'));
        assert!(epoch.parse::<f64>().expect("a number") > 1.6e12);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_can_be_aborted_at_any_point() {
    let prompt = "say one two, use sleepy with the argument x, wait 2 seconds, think about it";
    for milliseconds in (0..16_000).step_by(70) {
        let (session, seen) =
            start("simulated-standard", SimulatedSettings::default(), sleepy_tools()).await;
        let abort = CancellationToken::new();
        let at = Duration::from_millis(milliseconds);
        let begun = Instant::now();
        let (outcome, ()) = tokio::join!(session.run_turn(prompt, &abort), async {
            tokio::time::sleep(at).await;
            abort.cancel();
        });
        assert_eq!(outcome, Ok(()));
        assert_eq!(begun.elapsed(), at, "at once");
        let events = seen.lock().len();
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(seen.lock().len(), events, "nothing goes on behind");
    }
}
