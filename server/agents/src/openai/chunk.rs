//! One piece of an answer, as sent by a provider.
//!
//! Parsed by hand rather than into types: providers differ in what may be null, missing, a list or
//! a text, and no such difference should end an answer.

use serde_json::Value;
use wire::Usage;

use super::failure::{Complaint, Failure, shorten};
use crate::contract::TextKind;

/// A piece of a streamed answer, or a whole answer of a provider that does not stream.
#[derive(Debug)]
pub(super) struct Chunk(Value);

/// A piece of a tool call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CallDelta {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Chunk {
    pub(super) fn parse(data: &[u8]) -> Result<Self, Failure> {
        let json: Value = serde_json::from_slice(data)
            .map_err(|_| Failure::Garbled(shorten(&String::from_utf8_lossy(data))))?;
        if json.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Failure::Reported(Complaint::from_json(&json)));
        }
        Ok(Self(json))
    }

    /// Whether it contains an answer at all.
    pub(super) fn has_choice(&self) -> bool {
        self.choice().is_some()
    }

    fn choice(&self) -> Option<&Value> {
        self.0.get("choices")?.get(0)
    }

    fn delta(&self) -> Option<&Value> {
        let choice = self.choice()?;
        ["delta", "message"].into_iter().find_map(|name| choice.get(name).filter(|d| d.is_object()))
    }

    /// The texts it contains, in order.
    pub(super) fn texts(&self) -> Vec<(TextKind, String)> {
        let mut texts = Vec::new();
        let Some(delta) = self.delta() else {
            return texts;
        };
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        // Two names for the same field; some providers send both.
        let reasoning = Some(text("reasoning_content")).filter(|text| !text.is_empty());
        texts.push((TextKind::Reasoning, reasoning.unwrap_or(text("reasoning")).to_owned()));
        if let Some(Value::Array(parts)) = delta.get("content") {
            texts.extend(parts.iter().filter_map(part));
        }
        texts.push((TextKind::Message, text("content").to_owned()));
        texts.push((TextKind::Message, text("refusal").to_owned()));
        texts.retain(|(_, text)| !text.is_empty());
        texts
    }

    /// The reasoning under the name used by those providers that want it back with the results of
    /// tools.
    pub(super) fn reasoning_content(&self) -> &str {
        let delta = self.delta();
        delta.and_then(|delta| delta.get("reasoning_content")?.as_str()).unwrap_or_default()
    }

    /// The pieces of tool calls it contains.
    pub(super) fn calls(&self) -> Vec<CallDelta> {
        let calls = self.delta().and_then(|delta| delta.get("tool_calls")?.as_array());
        calls.into_iter().flatten().map(call).collect()
    }

    /// Why the model stopped, if it did.
    pub(super) fn finish_reason(&self) -> Option<&str> {
        self.choice()?.get("finish_reason")?.as_str().filter(|reason| !reason.is_empty())
    }

    /// Token usage of the request, if reported.
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = self.0.get("usage").filter(|usage| usage.is_object())?;
        let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
        Some(Usage {
            input_tokens: count("/prompt_tokens").unwrap_or_default(),
            output_tokens: count("/completion_tokens").unwrap_or_default(),
            cached_tokens: count("/prompt_tokens_details/cached_tokens")
                .or_else(|| count("/prompt_cache_hit_tokens"))
                .unwrap_or_default(),
            reasoning_tokens: count("/completion_tokens_details/reasoning_tokens")
                .unwrap_or_default(),
            cost: None,
        })
    }
}

/// One part of a message that is sent as a list of parts.
fn part(part: &Value) -> Option<(TextKind, String)> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return Some((TextKind::Message, text.to_owned()));
    }
    let thinking = part.get("thinking")?;
    let text = thinking.as_str().map(str::to_owned).or_else(|| {
        let parts = thinking.as_array()?.iter();
        Some(parts.filter_map(|part| part.get("text")?.as_str()).collect())
    });
    Some((TextKind::Reasoning, text?))
}

fn call(call: &Value) -> CallDelta {
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let arguments = match call.pointer("/function/arguments") {
        Some(object @ Value::Object(_)) => object.to_string(),
        _ => text("/function/arguments").to_owned(),
    };
    CallDelta {
        index: call.get("index").and_then(Value::as_u64),
        id: text("/id").to_owned(),
        name: text("/function/name").to_owned(),
        arguments,
    }
}
