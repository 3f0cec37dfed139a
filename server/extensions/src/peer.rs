//! The other end of an extension's pipes: JSON-RPC in both directions.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::frames::frame;

/// How many messages are queued for an extension. One that does not read them misses events.
const QUEUE: usize = 512;
/// JSON-RPC error code: method not found.
pub(super) const UNKNOWN_METHOD: i64 = -32601;
/// JSON-RPC error code: invalid parameters.
pub(super) const INVALID_PARAMS: i64 = -32602;

/// A message from an extension.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request { id: Value, method: String, params: Value },
    Notification,
    Response { id: u64, result: Result<Value, String> },
}

impl Incoming {
    /// Parses a message; `None` if it is not JSON-RPC.
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let mut message: Value = serde_json::from_slice(message).ok()?;
        let fields = message.as_object_mut()?;
        let id = fields.remove("id").filter(|id| !id.is_null());
        let Some(Value::String(method)) = fields.remove("method") else {
            let id = id?.as_u64()?;
            let result = match fields.remove("error") {
                Some(error) => Err(error["message"].as_str().unwrap_or("an error").to_owned()),
                None => Ok(fields.remove("result").unwrap_or_default()),
            };
            return Some(Self::Response { id, result });
        };
        let params = fields.remove("params").unwrap_or_default();
        Some(match id {
            Some(id) => Self::Request { id, method, params },
            None => Self::Notification,
        })
    }
}

/// Why an extension's request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The outcome of a tool's handler: its result, or the message of its exception.
pub(super) type HandlerResult = Result<Value, String>;

/// Sends messages to an extension, and passes its answers to those who wait for them.
pub(super) struct Peer {
    outgoing: mpsc::Sender<Vec<u8>>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    requests: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    calls: HashMap<String, oneshot::Sender<HandlerResult>>,
    has_ended: bool,
}

const ENDED: &str = "the extension has ended";

impl Peer {
    /// A peer, and the receiver of what has to be written to it.
    pub(super) fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (outgoing, written) = mpsc::channel(QUEUE);
        (Self { outgoing, waiting: Mutex::default() }, written)
    }

    fn send(&self, message: &Value) -> Result<(), String> {
        let sent = self.outgoing.try_send(frame(message.to_string().as_bytes()));
        sent.map_err(|_| "the extension does not read its messages".to_owned())
    }

    /// Sends a notification; it is lost if the extension does not read.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Err(problem) = self.send(&message) {
            tracing::debug!(method, problem, "an event is lost");
        }
    }

    /// Answers a request of the extension.
    pub(super) fn respond(&self, id: &Value, result: Result<Value, Refusal>) {
        let message = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(Refusal { code, message }) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        if let Err(problem) = self.send(&message) {
            tracing::debug!(problem, "an answer is lost");
        }
    }

    /// Sends a request and waits for its answer. Dropping the future discards the answer.
    pub(super) async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let (id, answer) = {
            let mut waiting = self.waiting.lock();
            if waiting.has_ended {
                return Err(ENDED.to_owned());
            }
            waiting.last += 1;
            let (sender, answer) = oneshot::channel();
            let id = waiting.last;
            waiting.requests.insert(id, sender);
            (id, answer)
        };
        let _forgotten = Forget { peer: self, id };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        answer.await.unwrap_or_else(|_| Err(ENDED.to_owned()))
    }

    /// Delivers the answer to a request.
    pub(super) fn take_response(&self, id: u64, result: Result<Value, String>) {
        if let Some(sender) = self.waiting.lock().requests.remove(&id) {
            // Fails if the request was dropped just now.
            let _ = sender.send(result);
        }
    }

    /// Registers a tool call, whose result this future waits for; the extension learns about the
    /// call by an event.
    pub(super) fn expect_call(
        &self,
        request_id: &str,
    ) -> Result<oneshot::Receiver<HandlerResult>, String> {
        let mut waiting = self.waiting.lock();
        if waiting.has_ended {
            return Err(ENDED.to_owned());
        }
        let (sender, result) = oneshot::channel();
        waiting.calls.insert(request_id.to_owned(), sender);
        Ok(result)
    }

    /// Delivers the result of a call; false if nobody waits for it.
    pub(super) fn take_call(&self, request_id: &str, result: HandlerResult) -> bool {
        let sender = self.waiting.lock().calls.remove(request_id);
        sender.is_some_and(|sender| sender.send(result).is_ok())
    }

    /// Stops waiting for a call. Returns whether it was still waited for.
    pub(super) fn forget_call(&self, request_id: &str) -> bool {
        self.waiting.lock().calls.remove(request_id).is_some()
    }

    /// Whether the extension sends nothing any more.
    pub(super) fn has_ended(&self) -> bool {
        self.waiting.lock().has_ended
    }

    /// The extension sends nothing any more: wakes everyone who waits for it.
    pub(super) fn end(&self) {
        let mut waiting = self.waiting.lock();
        waiting.has_ended = true;
        waiting.requests.clear();
        waiting.calls.clear();
    }
}

struct Forget<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.peer.waiting.lock().requests.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let parse = |value: Value| Incoming::parse(value.to_string().as_bytes());
        let method = "m".to_owned();
        assert_eq!(
            parse(json!({ "id": "a", "method": "m", "params": [1] })),
            Some(Incoming::Request { id: json!("a"), method, params: json!([1]) })
        );
        assert_eq!(parse(json!({ "method": "m" })), Some(Incoming::Notification));
        assert_eq!(
            parse(json!({ "id": 3, "result": 1 })),
            Some(Incoming::Response { id: 3, result: Ok(json!(1)) })
        );
        assert_eq!(
            parse(json!({ "id": 3, "error": { "code": 1, "message": "no" } })),
            Some(Incoming::Response { id: 3, result: Err("no".to_owned()) })
        );
        for other in [json!([]), json!({}), json!({ "id": "x", "result": 1 }), json!(1)] {
            assert_eq!(parse(other), None);
        }
        assert_eq!(Incoming::parse(b"{"), None);
    }

    #[tokio::test]
    async fn requests_end_with_their_answer_or_with_the_extension() {
        let (peer, mut written) = Peer::new();
        let ask = peer.request("a", Value::Null);
        let answer = async {
            written.recv().await.expect("a request");
            peer.take_response(1, Ok(json!(5)));
        };
        assert_eq!(tokio::join!(ask, answer).0, Ok(json!(5)));
        assert!(peer.waiting.lock().requests.is_empty());

        let ask = peer.request("b", Value::Null);
        let end = async {
            written.recv().await.expect("a request");
            peer.end();
        };
        assert_eq!(tokio::join!(ask, end).0, Err(ENDED.to_owned()));
        assert_eq!(peer.request("c", Value::Null).await, Err(ENDED.to_owned()));
        assert!(peer.expect_call("d").is_err());
    }
}
