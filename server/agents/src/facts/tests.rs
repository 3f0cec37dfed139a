use serde_json::json;
use wire::{LogLevel, Usage};

use super::*;
use SessionResponse as R;

fn prompt(text: &str) -> R {
    R::UserPrompt { prompt: text.to_owned() }
}

fn round(number: u32) -> R {
    R::AgentStart { turn_id: format!("turn-{number}") }
}

fn delta(id: &str, text: &str) -> R {
    R::Message { message_id: id.to_owned(), delta: text.to_owned() }
}

fn end(id: &str, text: &str) -> R {
    R::EndMessage { message_id: id.to_owned(), complete_content: text.to_owned() }
}

fn call(id: &str, parent: Option<&str>, arguments: &str) -> R {
    R::StartToolExecution {
        tool_call_id: id.to_owned(),
        parent_tool_call_id: parent.map(str::to_owned),
        tool_name: format!("tool_{id}"),
        tool_arguments: arguments.to_owned(),
    }
}

fn result(id: &str, content: &str) -> R {
    let result = ToolResult { content: content.to_owned(), detailed_content: None };
    R::EndToolExecution { tool_call_id: id.to_owned(), result: Some(result), error: None }
}

fn error(id: &str, message: &str) -> R {
    let error = ToolError { message: message.to_owned(), code: None };
    R::EndToolExecution { tool_call_id: id.to_owned(), result: None, error: Some(error) }
}

fn asked(text: &str) -> Fact {
    Fact::Prompt(text.to_owned())
}

fn said(text: &str) -> Fact {
    Fact::Message(text.to_owned())
}

fn called(id: &str, arguments: Value, outcome: Option<Result<&str, &str>>) -> Fact {
    let outcome = outcome.map(|outcome| match outcome {
        Ok(content) => Ok(ToolResult { content: content.to_owned(), detailed_content: None }),
        Err(message) => Err(ToolError { message: message.to_owned(), code: None }),
    });
    Fact::ToolCall { name: format!("tool_{id}"), arguments, outcome }
}

fn check(table: Vec<(&str, Vec<R>, Vec<Fact>)>) {
    for (what, responses, facts) in table {
        assert_eq!(Fact::from_responses(&responses), facts, "{what}");
    }
}

#[test]
fn prompts_and_messages_fold_into_facts() {
    let start = |id: &str| R::StartMessage { message_id: id.to_owned() };
    check(vec![
        ("nothing", vec![], vec![]),
        (
            "a streamed turn",
            vec![
                prompt("hi"),
                round(1),
                start("m"),
                delta("m", "Hel"),
                delta("m", "lo"),
                end("m", "Hello"),
                R::AgentEnd { turn_id: "turn-1".to_owned() },
                R::Idle,
            ],
            vec![asked("hi"), Fact::Round, said("Hello")],
        ),
        (
            "the same, compacted",
            vec![prompt("hi"), round(1), start("m"), end("m", "Hello"), R::Idle],
            vec![asked("hi"), Fact::Round, said("Hello")],
        ),
        (
            "the same, cut off in its message",
            vec![prompt("hi"), round(1), start("m"), delta("m", "Hel")],
            vec![asked("hi"), Fact::Round, said("Hel")],
        ),
        (
            "a message that says nothing",
            vec![prompt("hi"), round(1), start("m"), delta("m", ""), end("m", "")],
            vec![asked("hi"), Fact::Round],
        ),
        (
            "prompts of the engine, and one that failed",
            vec![
                R::GeneratedUserPrompt { prompt: "go".to_owned() },
                R::Error { message: "refused".to_owned() },
                R::Idle,
                prompt("again"),
            ],
            vec![asked("go"), asked("again")],
        ),
        (
            "the same id in the next prompt",
            vec![prompt("1"), delta("m", "a"), prompt("2"), delta("m", "b"), end("m", "b")],
            vec![asked("1"), said("a"), asked("2"), said("b")],
        ),
    ]);
}

#[test]
fn calls_fold_into_facts() {
    check(vec![
        (
            "calls that end in another order",
            vec![
                prompt("go"),
                round(1),
                call("a", None, "{\n  \"x\": 1\n}"),
                call("b", None, ""),
                R::ToolExecution { tool_call_id: "a".to_owned(), delta: "output".to_owned() },
                error("b", "no"),
                result("a", "one"),
                round(2),
                end("m", "done"),
            ],
            vec![
                asked("go"),
                Fact::Round,
                called("a", json!({ "x": 1 }), Some(Ok("one"))),
                called("b", Value::Null, Some(Err("no"))),
                Fact::Round,
                said("done"),
            ],
        ),
        (
            "calls within a call, which the model does not see",
            vec![
                prompt("go"),
                call("a", None, "{}"),
                call("b", Some("a"), "{}"),
                result("b", "inner"),
                result("a", "outer"),
            ],
            vec![asked("go"), called("a", json!({}), Some(Ok("outer")))],
        ),
        (
            "a call that was cut off, with arguments that are no object",
            vec![prompt("go"), call("a", None, "\"{half\""), prompt("next"), result("a", "late")],
            vec![asked("go"), called("a", json!("{half"), None), asked("next")],
        ),
        (
            "what the model does not see",
            vec![
                R::StartReasoning { reasoning_id: "r".to_owned() },
                R::Reasoning { reasoning_id: "r".to_owned(), delta: "hm".to_owned() },
                R::EndReasoning { reasoning_id: "r".to_owned(), complete_content: "hm".to_owned() },
                R::Usage { model: "m".to_owned(), usage: Usage::default() },
                R::ExtensionLog {
                    extension: "e".to_owned(),
                    level: LogLevel::Info,
                    message: "m".to_owned(),
                    ephemeral: false,
                },
            ],
            vec![],
        ),
    ]);
}

#[test]
fn every_prefix_folds_and_only_adds_or_completes() {
    let responses = [
        prompt("go"),
        round(1),
        delta("m", "Let me "),
        delta("m", "look."),
        end("m", "Let me look."),
        call("a", None, "{}"),
        result("a", "one"),
        round(2),
        end("n", "Done."),
        R::Idle,
    ];
    let mut before = 0;
    for length in 0..=responses.len() {
        let facts = Fact::from_responses(&responses[..length]);
        assert!(facts.len() >= before, "{length}");
        before = facts.len();
    }
    assert_eq!(before, 6);
    assert_eq!(Fact::count_rounds(&Fact::from_responses(&responses)), 2);
}
