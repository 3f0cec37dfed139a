//! What was said in a conversation, in the form that providers accept.
//!
//! A tool call is stored together with its result, so neither can exist without the other:
//! providers refuse such a history, and with it every later prompt.

use std::path::Path;

use serde_json::{Map, Value, json};
use wire::{ToolError, ToolResult};

use super::answer::make_call_id;
use crate::attachment::Loaded;
use crate::facts::Fact;

const LONGEST_NAME: usize = 64;
/// What the model reads as the result of an interrupted call. Sessions report the same.
const ABORTED: &str = "error: aborted";

/// The messages of a conversation so far.
#[derive(Debug)]
pub(super) struct History {
    system: String,
    messages: Vec<Message>,
    /// Index of the first message of the turns that were unfinished when the conversation was
    /// resumed. The provider may have refused them, which facts do not record.
    doubtful: Option<usize>,
}

#[derive(Debug)]
enum Message {
    User(String),
    Assistant(Said),
}

/// What the model said in one round.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) text: String,
    /// Empty unless the provider wants it back.
    pub(super) reasoning: String,
    pub(super) calls: Vec<AnsweredCall>,
}

/// A tool call and the result that the model reads.
#[derive(Clone, Debug)]
pub(super) struct AnsweredCall {
    pub(super) id: String,
    pub(super) name: String,
    /// A JSON object, serialised.
    pub(super) arguments: String,
    pub(super) result: String,
}

impl History {
    /// The history of a new conversation in a folder.
    pub(super) fn new(working_directory: &Path) -> Self {
        let folder = working_directory.display();
        let system = format!(
            "You are a coding agent. You work in the folder `{folder}`. \
             Do what you are asked; use the tools that you have where they serve it."
        );
        Self { system, messages: Vec::new(), doubtful: None }
    }

    /// Rebuilds the history from facts. The messages are the same as before, except for the ids of
    /// calls, which facts do not have.
    pub(super) fn resume(working_directory: &Path, facts: &[Fact]) -> Self {
        let mut history = Self::new(working_directory);
        let mut said = Said::default();
        let (mut round, mut calls) = (0, 0);
        let (mut doubtful, mut is_answered) = (None, false);
        for fact in facts {
            let ends_answer = match fact {
                Fact::Prompt(_) | Fact::Round => true,
                // Within one answer text comes before calls, so this begins another answer.
                Fact::Message(_) => !said.calls.is_empty(),
                Fact::ToolCall { .. } => false,
            };
            if ends_answer {
                history.answer(std::mem::take(&mut said));
            }
            match fact {
                Fact::Prompt(prompt) => {
                    let place = history.ask(prompt);
                    doubtful = doubtful.filter(|_| !is_answered).or(Some(place));
                }
                Fact::Round => (round, calls) = (round + 1, 0),
                Fact::Message(text) => said.text.push_str(text),
                Fact::ToolCall { name, arguments, outcome } => {
                    let id = make_call_id(round, calls);
                    calls += 1;
                    let mut call = AnsweredCall::new(id, name, arguments.as_object());
                    if let Some(outcome) = outcome {
                        call.end(outcome);
                    }
                    said.calls.push(call);
                }
            }
            is_answered = matches!(fact, Fact::Message(_));
        }
        history.answer(said);
        history.doubtful = doubtful.filter(|_| !is_answered);
        history
    }

    /// Adds a prompt and returns its index. Repeating a prompt that was not answered adds nothing.
    pub(super) fn ask(&mut self, prompt: &str) -> usize {
        if matches!(self.messages.last(), Some(Message::User(last)) if last == prompt) {
            return self.messages.len() - 1;
        }
        self.messages.push(Message::User(prompt.to_owned()));
        self.messages.len() - 1
    }

    /// Adds the model's answer, unless it is empty.
    pub(super) fn answer(&mut self, said: Said) {
        if !said.text.is_empty() || !said.calls.is_empty() {
            self.messages.push(Message::Assistant(said));
            // The provider has accepted everything before it.
            self.doubtful = None;
        }
    }

    /// Removes a prompt that was refused and everything after it, and also the doubtful turns:
    /// otherwise every later prompt would be refused because of them.
    pub(super) fn take_back(&mut self, place: usize) {
        self.messages.truncate(self.doubtful.take().unwrap_or(place).min(place));
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }

    /// All prompts, in order.
    pub(super) fn prompts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.messages.iter().filter_map(|message| match message {
            Message::User(prompt) => Some(&**prompt),
            Message::Assistant(_) => None,
        })
    }

    /// The `messages` of a request, with the attachments of its prompts.
    pub(super) fn to_json(&self, attachments: &Loaded) -> Value {
        let mut list = vec![json!({ "role": "system", "content": self.system })];
        let is_prompt = |message: &Message| matches!(message, Message::User(_));
        let last_prompt = self.messages.iter().rposition(is_prompt).unwrap_or_default();
        let mut prompts = Vec::new();
        for (place, message) in self.messages.iter().enumerate() {
            match message {
                // An unanswered prompt and the next one become one message: the templates of many
                // models insist on alternating roles.
                Message::User(prompt) => prompts.push(&**prompt),
                Message::Assistant(said) => {
                    list.extend(user(&mut prompts, attachments));
                    said.write(&mut list, place > last_prompt);
                }
            }
        }
        list.extend(user(&mut prompts, attachments));
        Value::Array(list)
    }
}

fn user(prompts: &mut Vec<&str>, attachments: &Loaded) -> Option<Value> {
    let prompts = std::mem::take(prompts);
    let texts: Vec<_> = prompts.iter().map(|prompt| attachments.complete(prompt)).collect();
    let text = texts.join("\n\n");
    let images = prompts.iter().flat_map(|prompt| attachments.images(prompt));
    let images = images.map(
        |named| json!({ "type": "image_url", "image_url": { "url": named.image.data_url() } }),
    );
    let images: Vec<_> = images.collect();
    // A list of parts only where it is needed: not every provider knows it.
    let content = if images.is_empty() {
        Value::String(text)
    } else {
        [json!({ "type": "text", "text": text })].into_iter().chain(images).collect()
    };
    (!prompts.is_empty()).then(|| json!({ "role": "user", "content": content }))
}

impl AnsweredCall {
    /// A call that is still running. `arguments` is `None` if the model did not write an object,
    /// which not every provider accepts back.
    pub(super) fn new(id: String, name: &str, arguments: Option<&Map<String, Value>>) -> Self {
        let arguments = arguments.cloned().unwrap_or_default();
        Self {
            id,
            name: acceptable_name(name),
            arguments: Value::Object(arguments).to_string(),
            result: ABORTED.to_owned(),
        }
    }

    pub(super) fn end(&mut self, outcome: &Result<ToolResult, ToolError>) {
        self.result = match outcome {
            Ok(result) => result.content.clone(),
            Err(error) => format!("error: {}", error.message),
        };
    }
}

/// Keeps only characters that providers accept, because models make up names; `unknown` if none is
/// left.
fn acceptable_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().filter(|c| plain(*c)).take(LONGEST_NAME).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

impl Said {
    fn write(&self, list: &mut Vec<Value>, belongs_to_last_prompt: bool) {
        if self.calls.is_empty() {
            list.push(json!({ "role": "assistant", "content": self.text }));
            return;
        }
        let content = if self.text.is_empty() { Value::Null } else { json!(self.text) };
        let calls = self.calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            })
        });
        let calls: Vec<_> = calls.collect();
        let mut message = json!({ "role": "assistant", "content": content, "tool_calls": calls });
        if belongs_to_last_prompt && !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        list.push(message);
        list.extend(self.calls.iter().map(
            |call| json!({ "role": "tool", "tool_call_id": call.id, "content": call.result }),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(history: &History) -> Vec<String> {
        let json = history.to_json(&Loaded::default());
        let messages = json.as_array().expect("a list").iter();
        messages.map(|message| message["role"].as_str().expect("a role").to_owned()).collect()
    }

    fn call(id: &str) -> AnsweredCall {
        AnsweredCall {
            id: id.to_owned(),
            name: "n".to_owned(),
            arguments: "{}".to_owned(),
            result: format!("result of {id}"),
        }
    }

    #[test]
    fn prompts_without_an_answer_become_one_message() {
        let mut history = History::new(Path::new("/src"));
        history.ask("one");
        history.answer(Said::default());
        history.ask("two");
        assert_eq!(roles(&history), ["system", "user"]);
        assert_eq!(history.to_json(&Loaded::default())[1]["content"], "one\n\ntwo");
        history.answer(Said { text: "yes".to_owned(), ..Said::default() });
        let place = history.ask("three");
        assert_eq!(roles(&history), ["system", "user", "assistant", "user"]);
        history.take_back(place);
        assert_eq!(roles(&history), ["system", "user", "assistant"]);
    }

    #[test]
    fn results_follow_their_calls_in_order() {
        let mut history = History::new(Path::new("/src"));
        history.ask("go");
        let reasoning = "hm".to_owned();
        let calls = vec![call("a"), call("b")];
        history.answer(Said { reasoning, calls, ..Said::default() });
        assert_eq!(roles(&history), ["system", "user", "assistant", "tool", "tool"]);
        let json = history.to_json(&Loaded::default());
        assert_eq!(json[2]["content"], Value::Null);
        assert_eq!(json[2]["reasoning_content"], "hm");
        assert_eq!(json[3]["tool_call_id"], "a");
        assert_eq!(json[4]["content"], "result of b");
        history.ask("next");
        assert_eq!(
            history.to_json(&Loaded::default())[2].get("reasoning_content"),
            None,
            "only within a prompt"
        );
    }

    #[test]
    fn what_may_have_been_refused_before_is_forgotten_with_the_next_refusal() {
        let prompt = |text: &str| Fact::Prompt(text.to_owned());
        let message = |text: &str| Fact::Message(text.to_owned());
        let call = || Fact::ToolCall {
            name: "read".to_owned(),
            arguments: Value::Null,
            outcome: Some(Ok(ToolResult::default())),
        };
        for (what, facts, left) in [
            ("answered", vec![prompt("1"), Fact::Round, message("yes")], 2),
            (
                "refused after a call",
                vec![prompt("1"), message("yes"), prompt("2"), Fact::Round, call(), Fact::Round],
                2,
            ),
            (
                "refused twice",
                vec![prompt("1"), message("yes"), prompt("2"), Fact::Round, prompt("3")],
                2,
            ),
            ("refused, then answered", vec![prompt("1"), prompt("2"), message("yes")], 3),
            ("refused at first", vec![prompt("1"), Fact::Round], 0),
        ] {
            let mut history = History::resume(Path::new("/src"), &facts);
            let place = history.ask("next");
            history.take_back(place);
            assert_eq!(history.messages.len(), left, "{what}");

            let mut history = History::resume(Path::new("/src"), &facts);
            history.ask("next");
            history.answer(Said { text: "taken".to_owned(), ..Said::default() });
            let before = history.messages.len();
            let place = history.ask("one more");
            history.take_back(place);
            assert_eq!(history.messages.len(), before, "{what}, then taken");
        }
    }

    #[test]
    fn facts_become_the_messages_that_were_sent() {
        let prompt = |text: &str| Fact::Prompt(text.to_owned());
        let message = |text: &str| Fact::Message(text.to_owned());
        let tool = |arguments: Value, outcome| Fact::ToolCall {
            name: "a tool!".to_owned(),
            arguments,
            outcome,
        };
        let done = || Ok(ToolResult { content: "done".to_owned(), detailed_content: None });
        let no = Err(ToolError { message: "no".to_owned(), code: None });
        let user = |text: &str| json!({ "role": "user", "content": text });
        let assistant = |text: &str| json!({ "role": "assistant", "content": text });
        let calling = |content: Value, calls: &[(&str, &str)]| {
            let calls = calls.iter().map(|(id, arguments)| {
                let function = json!({ "name": "atool", "arguments": arguments });
                json!({ "id": id, "type": "function", "function": function })
            });
            let calls: Vec<_> = calls.collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        };
        let result = |id: &str, content: &str| json!({ "role": "tool", "tool_call_id": id, "content": content });
        for (what, facts, messages) in [
            ("nothing", vec![], vec![]),
            (
                "a round of several blocks",
                vec![prompt("hi"), Fact::Round, message("one "), message("two")],
                vec![user("hi"), assistant("one two")],
            ),
            (
                "prompts that were not answered",
                vec![prompt("1"), prompt("1"), Fact::Round, prompt("2")],
                vec![user("1\n\n2")],
            ),
            (
                "calls",
                vec![
                    prompt("go"),
                    Fact::Round,
                    message("Look."),
                    tool(json!({ "b": 1, "a": 2 }), Some(done())),
                    tool(json!("{half"), Some(no)),
                    Fact::Round,
                    tool(Value::Null, None),
                ],
                vec![
                    user("go"),
                    calling(
                        json!("Look."),
                        &[
                            ("c00010000", &json!({ "b": 1, "a": 2 }).to_string()),
                            ("c00010001", "{}"),
                        ],
                    ),
                    result("c00010000", "done"),
                    result("c00010001", "error: no"),
                    calling(Value::Null, &[("c00020000", "{}")]),
                    result("c00020000", ABORTED),
                ],
            ),
            (
                "an agent that says when it goes on, but not when its rounds begin",
                vec![
                    prompt("go"),
                    tool(json!({}), Some(done())),
                    message("Again."),
                    tool(json!({}), Some(done())),
                ],
                vec![
                    user("go"),
                    calling(Value::Null, &[("c00000000", "{}")]),
                    result("c00000000", "done"),
                    calling(json!("Again."), &[("c00000001", "{}")]),
                    result("c00000001", "done"),
                ],
            ),
        ] {
            let history = History::resume(Path::new("/src"), &facts).to_json(&Loaded::default());
            assert_eq!(history.as_array().expect("a list")[1..], messages, "{what}");
        }
    }
}
