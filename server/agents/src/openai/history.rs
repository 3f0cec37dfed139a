//! What was said in a conversation, in the form in which providers take it.
//!
//! A call of a tool is kept together with its result, so there is no way to have one without the
//! other: providers refuse such a history, and with it every prompt that would follow.

use std::path::Path;

use serde_json::{Value, json};

/// The conversation so far.
#[derive(Debug)]
pub(super) struct History {
    system: String,
    messages: Vec<Message>,
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
    /// Only of providers that want it back.
    pub(super) reasoning: String,
    pub(super) calls: Vec<AnsweredCall>,
}

/// A call of a tool and what the model gets for it.
#[derive(Clone, Debug)]
pub(super) struct AnsweredCall {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON, an object.
    pub(super) arguments: String,
    pub(super) result: String,
}

impl History {
    /// A conversation that has not begun, in a folder.
    pub(super) fn new(working_directory: &Path) -> Self {
        let folder = working_directory.display();
        let system = format!(
            "You are a coding agent. You work in the folder `{folder}`. \
             Do what you are asked; use the tools that you have where they serve it."
        );
        Self { system, messages: Vec::new() }
    }

    /// Adds a prompt and returns where it is. One that was not answered and is asked again is one.
    pub(super) fn ask(&mut self, prompt: &str) -> usize {
        if matches!(self.messages.last(), Some(Message::User(last)) if last == prompt) {
            return self.messages.len() - 1;
        }
        self.messages.push(Message::User(prompt.to_owned()));
        self.messages.len() - 1
    }

    /// Adds what the model said; nothing is not worth remembering.
    pub(super) fn answer(&mut self, said: Said) {
        if !said.text.is_empty() || !said.calls.is_empty() {
            self.messages.push(Message::Assistant(said));
        }
    }

    /// Forgets a prompt and everything after it.
    pub(super) fn take_back(&mut self, place: usize) {
        self.messages.truncate(place);
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }

    /// As the provider takes it.
    pub(super) fn to_json(&self) -> Value {
        let mut list = vec![json!({ "role": "system", "content": self.system })];
        let is_prompt = |message: &Message| matches!(message, Message::User(_));
        let last_prompt = self.messages.iter().rposition(is_prompt).unwrap_or_default();
        let mut prompts = Vec::new();
        for (place, message) in self.messages.iter().enumerate() {
            match message {
                // A prompt that was never answered and the next one are one message: the
                // templates of many models insist on question and answer.
                Message::User(prompt) => prompts.push(&**prompt),
                Message::Assistant(said) => {
                    list.extend(user(&mut prompts));
                    said.write(&mut list, place > last_prompt);
                }
            }
        }
        list.extend(user(&mut prompts));
        Value::Array(list)
    }
}

fn user(prompts: &mut Vec<&str>) -> Option<Value> {
    let content = prompts.join("\n\n");
    let any = !prompts.is_empty();
    prompts.clear();
    any.then(|| json!({ "role": "user", "content": content }))
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
        let json = history.to_json();
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
        assert_eq!(history.to_json()[1]["content"], "one\n\ntwo");
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
        let json = history.to_json();
        assert_eq!(json[2]["content"], Value::Null);
        assert_eq!(json[2]["reasoning_content"], "hm");
        assert_eq!(json[3]["tool_call_id"], "a");
        assert_eq!(json[4]["content"], "result of b");
        history.ask("next");
        assert_eq!(history.to_json()[2].get("reasoning_content"), None, "only within a prompt");
    }
}
