//! The answers of the stub: bytes and pauses.

use std::time::Duration;

use serde_json::{Value, json};

/// One answer, byte by byte.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
}

/// What happens after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The connection is closed, which ends a body of unknown length.
    Close,
    /// Nothing more is sent until the caller hangs up.
    Hang,
}

impl Answer {
    /// A status line and headers, without a body yet.
    pub fn head(status: u16, headers: &[(&str, &str)]) -> Self {
        let status = format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\n");
        let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = status + &headers.collect::<String>() + "\r\n";
        Self { steps: vec![Step::Send(head.into_bytes())], end: End::Close }
    }

    /// Sends nothing at all.
    pub fn silence() -> Self {
        Self { steps: Vec::new(), end: End::Hang }
    }

    /// Closes the connection without an answer.
    pub fn hang_up() -> Self {
        Self { steps: Vec::new(), end: End::Close }
    }

    /// A whole JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::json_with(status, &[], body)
    }

    /// A whole JSON answer with further headers.
    pub fn json_with(status: u16, headers: &[(&str, &str)], body: &Value) -> Self {
        let body = body.to_string();
        let length = body.len().to_string();
        let mut all = vec![("content-type", "application/json"), ("content-length", &*length)];
        all.extend_from_slice(headers);
        Self::head(status, &all).bytes(body)
    }

    /// An error in the usual shape.
    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "error": { "message": message, "type": "scripted" } }))
    }

    /// An event stream that ends with the connection, without frames yet.
    pub fn stream() -> Self {
        Self::head(200, &[("content-type", "text/event-stream; charset=utf-8")])
    }

    /// An event stream with a declared length, so that closing it earlier truncates it.
    pub fn stream_of_length(length: usize) -> Self {
        let length = length.to_string();
        Self::head(200, &[("content-type", "text/event-stream"), ("content-length", &length)])
    }

    /// Bytes, sent at once.
    #[must_use]
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Send(bytes.into()));
        self
    }

    /// The same bytes in pieces of a given size, each sent on its own.
    #[must_use]
    pub fn in_pieces(mut self, bytes: &[u8], size: usize) -> Self {
        for piece in bytes.chunks(size.max(1)) {
            self = self.bytes(piece).pause(Duration::from_millis(1));
        }
        self
    }

    /// A pause before what follows.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(Step::Pause(time));
        self
    }

    /// Never ends: the caller must give up.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.end = End::Hang;
        self
    }
}

/// The frames of a chat stream, as text.
#[derive(Clone, Debug, Default)]
pub struct Frames(String);

impl Frames {
    /// A stream without frames yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a frame with any JSON.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.raw(&format!("data: {value}\n\n"))
    }

    /// Adds any text, valid or not.
    #[must_use]
    pub fn raw(mut self, text: &str) -> Self {
        self.0.push_str(text);
        self
    }

    /// Adds a delta of the first choice.
    #[must_use]
    pub fn delta(self, delta: &Value) -> Self {
        self.json(&json!({
            "object": "chat.completion.chunk",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": null }],
        }))
    }

    /// Adds a piece of the message.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.delta(&json!({ "content": text }))
    }

    /// Adds a piece of the reasoning.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.delta(&json!({ "reasoning_content": text }))
    }

    /// Adds the beginning of a tool call.
    #[must_use]
    pub fn call(self, index: usize, id: &str, name: &str, arguments: &str) -> Self {
        self.delta(&json!({ "tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": { "name": name, "arguments": arguments },
        }] }))
    }

    /// Adds more of a tool call's arguments.
    #[must_use]
    pub fn arguments(self, index: usize, arguments: &str) -> Self {
        self.delta(&json!({ "tool_calls": [{
            "index": index, "function": { "arguments": arguments },
        }] }))
    }

    /// Adds the reason why the model stopped.
    #[must_use]
    pub fn finish(self, reason: &str) -> Self {
        self.json(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }))
    }

    /// Adds the usage of the request, in tokens.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.json(&json!({ "choices": [], "usage": {
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        } }))
    }

    /// Adds the frame that marks the end.
    #[must_use]
    pub fn done(self) -> Self {
        self.raw("data: [DONE]\n\n")
    }

    /// The text of all frames.
    pub fn text_of_all(&self) -> &str {
        &self.0
    }

    /// An answer with these frames, sent at once.
    pub fn answer(&self) -> Answer {
        Answer::stream().bytes(self.0.as_bytes())
    }

    /// A complete answer that consists of a text.
    pub fn saying(text: &str) -> Answer {
        Self::new().text(text).finish("stop").done().answer()
    }
}
