//! One answer of a model while it arrives: text goes out as events, tool calls are assembled from
//! their pieces.

use std::collections::HashSet;

use serde_json::{Map, Value};
use wire::Usage;

use super::chunk::{CallDelta, Chunk};
use crate::contract::{AgentEvent, AgentEvents, TextKind};

/// An answer, as far as it has been received.
pub(super) struct Answer<'a> {
    events: &'a AgentEvents,
    /// The round's number in the conversation, from which ids are derived.
    number: u32,
    blocks: u32,
    open: Option<(TextKind, String)>,
    calls: Vec<CallDraft>,
    pub(super) text: String,
    /// Reasoning that has to be sent back to the provider; empty for most providers.
    pub(super) reasoning: String,
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Default)]
struct CallDraft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// A complete tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelCall {
    /// The provider's id for the call.
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments, or the text that the model wrote in place of an object.
    pub(super) arguments: Result<Map<String, Value>, String>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(events: &'a AgentEvents, number: u32) -> Self {
        Self {
            events,
            number,
            blocks: 0,
            open: None,
            calls: Vec::new(),
            text: String::new(),
            reasoning: String::new(),
            finish_reason: None,
            usage: None,
        }
    }

    /// Whether nothing has been received yet, so that the request can be sent again.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks == 0 && self.calls.is_empty()
    }

    /// Adds a chunk to the answer.
    pub(super) fn take(&mut self, chunk: &Chunk) {
        self.reasoning.push_str(chunk.reasoning_content());
        for (kind, text) in chunk.texts() {
            self.write(kind, text);
        }
        for delta in chunk.calls() {
            self.close();
            self.take_call(delta);
        }
        if let Some(reason) = chunk.finish_reason() {
            self.finish_reason = Some(reason.to_owned());
        }
        // Some providers report running totals: the last one counts.
        self.usage = chunk.usage().or(self.usage);
    }

    fn write(&mut self, kind: TextKind, delta: String) {
        if kind == TextKind::Message {
            self.text.push_str(&delta);
        }
        let id = match &self.open {
            Some((open, id)) if *open == kind => id.clone(),
            _ => self.start(kind),
        };
        self.events.emit(AgentEvent::TextDelta { kind, id, delta });
    }

    fn start(&mut self, kind: TextKind) -> String {
        self.close();
        self.blocks += 1;
        let name = match kind {
            TextKind::Reasoning => "reasoning",
            TextKind::Message => "message",
        };
        let id = format!("{name}-{}-{}", self.number, self.blocks);
        self.events.emit(AgentEvent::TextStart { kind, id: id.clone() });
        self.open = Some((kind, id.clone()));
        id
    }

    /// Ends the open block of text.
    pub(super) fn close(&mut self) {
        if let Some((kind, id)) = self.open.take() {
            self.events.emit(AgentEvent::TextEnd { kind, id, content: None });
        }
    }

    fn take_call(&mut self, delta: CallDelta) {
        let place = self.place_of(&delta);
        let place = place.unwrap_or_else(|| {
            self.calls.push(CallDraft { index: delta.index, ..CallDraft::default() });
            self.calls.len() - 1
        });
        let draft = &mut self.calls[place];
        if draft.id.is_empty() {
            draft.id = delta.id;
        }
        // Some providers repeat the name in every piece.
        if draft.name != delta.name {
            draft.name.push_str(&delta.name);
        }
        draft.arguments.push_str(&delta.arguments);
    }

    /// The index of the call that a piece belongs to; `None` if it begins a new one.
    ///
    /// The provider's index decides, if it can be trusted: some providers omit it, or use 0 for
    /// every call, and send each call in one piece.
    fn place_of(&self, delta: &CallDelta) -> Option<usize> {
        let same_id = |draft: &CallDraft| delta.id.is_empty() || draft.id == delta.id;
        let place = match delta.index {
            Some(_) => self.calls.iter().rposition(|draft| draft.index == delta.index)?,
            None if delta.id.is_empty() => self.calls.len().checked_sub(1)?,
            None => self.calls.iter().rposition(same_id)?,
        };
        let draft = &self.calls[place];
        let begins_again = delta.id.is_empty() && !delta.name.is_empty() && draft.is_complete();
        let is_other = !draft.id.is_empty() && !same_id(draft);
        (!begins_again && !is_other).then_some(place)
    }

    /// Takes the calls. The answer must be complete.
    pub(super) fn take_calls(&mut self) -> Vec<ModelCall> {
        let mut ids = HashSet::new();
        let drafts = std::mem::take(&mut self.calls).into_iter().enumerate();
        drafts
            .map(|(place, draft)| {
                let mut id = draft.id;
                if id.is_empty() || !ids.insert(id.clone()) {
                    id = make_call_id(self.number, place);
                    ids.insert(id.clone());
                }
                ModelCall { id, name: draft.name, arguments: parse_arguments(draft.arguments) }
            })
            .collect()
    }
}

/// An id for a call whose provider's id is missing or no longer known. Nine letters and digits,
/// because some providers accept no other ids.
pub(super) fn make_call_id(round: u32, place: usize) -> String {
    format!("c{:04}{place:04}", round % 10_000)
}

impl CallDraft {
    fn is_complete(&self) -> bool {
        !self.arguments.is_empty() && parse_arguments(self.arguments.clone()).is_ok()
    }
}

/// An empty text is an empty object: that is how tools without parameters are called.
fn parse_arguments(text: String) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        _ => Err(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
        let events = AgentEvents::new(|_| {});
        let mut answer = Answer::new(&events, 7);
        for delta in deltas {
            let json = json!({ "choices": [{ "delta": { "tool_calls": [delta] } }] });
            answer.take(&Chunk::parse(json.to_string().as_bytes()).expect("a chunk"));
        }
        let calls = answer.take_calls().into_iter().map(|call| {
            let arguments =
                call.arguments.map_or_else(|text| text, |map| Value::from(map).to_string());
            (call.id, call.name, arguments)
        });
        calls.collect()
    }

    fn piece(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Value {
        json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
    }

    fn expected(list: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        let own = |text: &str| text.to_owned();
        list.iter().map(|(id, name, arguments)| (own(id), own(name), own(arguments))).collect()
    }

    #[test]
    fn calls_are_put_together_however_they_come() {
        let (zero, one) = (Some(0), Some(1));
        let two = expected(&[("a", "f", r#"{"x":1}"#), ("b", "g", r#"{"y":2}"#)]);
        for (what, deltas) in [
            (
                "interleaved",
                &[
                    piece(zero, "a", "f", ""),
                    piece(one, "b", "g", r#"{"y""#),
                    piece(zero, "", "", r#"{"x":"#),
                    piece(one, "", "", ":2}"),
                    piece(zero, "", "", "1}"),
                ][..],
            ),
            (
                "with id and name in every piece",
                &[
                    piece(zero, "a", "f", r#"{"x""#),
                    piece(zero, "a", "f", ":1}"),
                    piece(one, "b", "g", r#"{"y":2}"#),
                ],
            ),
            (
                "without an index",
                &[
                    piece(None, "a", "f", r#"{"x""#),
                    piece(None, "", "", ":1}"),
                    piece(None, "b", "g", r#"{"y":2}"#),
                ],
            ),
            (
                "with index 0 for all",
                &[piece(zero, "a", "f", r#"{"x":1}"#), piece(zero, "b", "g", r#"{"y":2}"#)],
            ),
            (
                "with an object",
                &[
                    json!({ "id": "a", "function": { "name": "f", "arguments": { "x": 1 } } }),
                    json!({ "id": "b", "function": { "name": "g", "arguments": { "y": 2 } } }),
                ],
            ),
        ] {
            assert_eq!(calls(deltas), two, "{what}");
        }
    }

    #[test]
    fn calls_without_ids_get_some() {
        for index in [None, Some(0)] {
            let deltas = [piece(index, "", "f", r#"{"x":1}"#), piece(index, "", "f", "{}")];
            let all = expected(&[("c00070000", "f", r#"{"x":1}"#), ("c00070001", "f", "{}")]);
            assert_eq!(calls(&deltas), all);
        }
        let deltas = [piece(Some(0), "same", "f", ""), piece(Some(1), "same", "g", "")];
        assert_eq!(calls(&deltas), expected(&[("same", "f", "{}"), ("c00070001", "g", "{}")]));
    }

    #[test]
    fn arguments_are_an_object_or_what_was_written() {
        for (text, valid) in
            [("", true), (" ", true), ("{}", true), ("{", false), ("[]", false), ("null", false)]
        {
            assert_eq!(parse_arguments(text.to_owned()).is_ok(), valid, "{text:?}");
        }
    }
}
