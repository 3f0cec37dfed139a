//! A model that follows instructions, for tests of whole tasks and jobs.
//!
//! Of the last prompt it obeys `use the TOOL tool with the argument "TEXT"`, if the tool was
//! offered, and `say "TEXT"`: first the tool, then, with its result, the words. It ignores earlier
//! prompts.

use serde_json::{Value, json};

use crate::{Answer, Frames, Received};

/// Its answer if it was not told what to say.
pub const DONE: &str = "Done.";

/// Obeys the last prompt of a chat request.
pub fn obey(request: &Received) -> Answer {
    let messages = request.body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let asked = messages.iter().rposition(|message| message["role"] == "user");
    let prompt = asked.map(|at| text_of(&messages[at]["content"])).unwrap_or_default();
    // After the prompt come the model's own calls and their results.
    let has_acted = asked.is_some_and(|at| messages[at..].iter().any(|m| m["role"] == "tool"));
    let frames = match call(&prompt).filter(|(tool, _)| !has_acted && is_offered(tool, request)) {
        Some((tool, argument)) => {
            let id = format!("call-{}", messages.len());
            let arguments = json!({ "argument": argument }).to_string();
            Frames::new().call(0, &id, tool, &arguments).finish("tool_calls")
        }
        None => Frames::new().text(after(&prompt, "say \"").unwrap_or(DONE)).finish("stop"),
    };
    frames.usage(100, 10).done().answer()
}

fn text_of(content: &Value) -> String {
    let parts = content.as_array().map_or(&[][..], Vec::as_slice);
    let parts = parts.iter().filter_map(|part| part["text"].as_str());
    content.as_str().map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

fn call(prompt: &str) -> Option<(&str, &str)> {
    let (before, after) = prompt.split_once(" tool with the argument \"")?;
    let (verb, tool) = before.rsplit_once(' ')?;
    let is_order = verb.to_ascii_lowercase().ends_with("use the");
    is_order.then(|| after.split('"').next().map(|argument| (tool, argument)))?
}

/// The quoted text after a phrase.
fn after<'a>(prompt: &'a str, phrase: &str) -> Option<&'a str> {
    let start = prompt.to_ascii_lowercase().find(phrase)? + phrase.len();
    prompt[start..].split('"').next()
}

fn is_offered(tool: &str, request: &Received) -> bool {
    let tools = request.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    tools.iter().any(|offered| offered["function"]["name"] == tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_found_in_a_prompt() {
        for (prompt, expected) in [
            ("Use the a tool with the argument \"b c\".", Some(("a", "b c"))),
            ("Look. Then use the a tool with the argument \"\", and rest", Some(("a", ""))),
            ("Never mind the a tool with the argument \"b\"", None),
            ("Use the a tool", None),
        ] {
            assert_eq!(call(prompt), expected, "{prompt}");
        }
        assert_eq!(after("Think. Say \"yes\" or \"no\".", "say \""), Some("yes"));
        assert_eq!(after("Think.", "say \""), None);
    }
}
