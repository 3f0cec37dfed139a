//! The responses of a session, and the grammar they must follow.

use std::collections::HashMap;

use serde_json::Value;

/// The names of the callbacks, and `sessionError` for errors.
pub fn names(responses: &[Value]) -> Vec<String> {
    responses.iter().map(name).collect()
}

fn name(response: &Value) -> String {
    match &response["callback"] {
        Value::String(name) => name.clone(),
        _ if response["sessionError"].is_string() => "sessionError".to_owned(),
        _ => panic!("neither a callback nor an error: {response}"),
    }
}

/// How often a callback occurs.
pub fn count(responses: &[Value], callback: &str) -> usize {
    responses.iter().filter(|response| response["callback"] == callback).count()
}

/// The names without repetitions: the course of a turn, however it was split.
pub fn outline(responses: &[Value]) -> Vec<String> {
    let mut names = names(responses);
    names.dedup();
    names
}

/// A text field of every response that has it.
pub fn texts<'a>(responses: &'a [Value], callback: &str, field: &str) -> Vec<&'a str> {
    let found = responses.iter().filter(|response| response["callback"] == callback);
    found.filter_map(|response| response[field].as_str()).collect()
}

/// The content of complete messages.
pub fn messages(responses: &[Value]) -> Vec<&str> {
    texts(responses, "onEndMessage", "completeContent")
}

/// The errors in the stream.
pub fn errors(responses: &[Value]) -> Vec<&str> {
    responses.iter().filter_map(|response| response["sessionError"].as_str()).collect()
}

/// The kinds of blocks: the names of their callbacks, and the field with their id.
const BLOCKS: [(&str, &str); 4] = [
    ("Reasoning", "reasoningId"),
    ("Message", "messageId"),
    ("ToolExecution", "toolCallId"),
    ("Agent", "turnId"),
];

/// Asserts that every block opens before its deltas and closes once, that the deltas add up to the
/// complete content (or there are none, for a late reader), and that none stays open.
pub fn assert_grammar(responses: &[Value]) {
    let mut open: HashMap<(&str, &str), String> = HashMap::new();
    let mut closed: Vec<(&str, &str)> = Vec::new();
    for response in responses {
        let name = name(response);
        let Some((kind, field)) = BLOCKS.iter().find(|(kind, _)| name.ends_with(kind)) else {
            continue;
        };
        let id = response[field].as_str().unwrap_or_else(|| panic!("no {field}: {response}"));
        let block = (*kind, id);
        assert!(!closed.contains(&block), "after the end: {response}");
        if name.starts_with("onStart") || name == "onAgentStart" {
            let before = open.insert(block, String::new());
            assert_eq!(before, None, "opened twice: {response}");
        } else if name.starts_with("onEnd") || name == "onAgentEnd" {
            let text = open.remove(&block).unwrap_or_else(|| panic!("not open: {response}"));
            closed.push(block);
            if let Some(content) = response["completeContent"].as_str() {
                assert!(text.is_empty() || text == content, "{text:?} is not {response}");
            }
        } else {
            let text = open.get_mut(&block).unwrap_or_else(|| panic!("not open: {response}"));
            text.push_str(response["delta"].as_str().expect("a delta"));
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}
