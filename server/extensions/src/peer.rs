//! The other end of an extension's pipes: JSON-RPC in both directions.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::frames::frame;

/// Messages that wait until the extension reads them. One that does not read misses events.
const QUEUE: usize = 512;
/// There is no such method.
pub(super) const UNKNOWN_METHOD: i64 = -32601;
/// What was sent can't be used.
pub(super) const INVALID_PARAMS: i64 = -32602;

/// Something that an extension said.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request { id: Value, method: String, params: Value },
    Notification,
    Response { id: u64, result: Result<Value, String> },
}

impl Incoming {
    /// Reads a message; none if it is not one of ours.
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

/// Why a request of an extension is refused.
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

/// What came of a tool's handler: its result, or the message of its exception.
pub(super) type HandlerResult = Result<Value, String>;

/// Sends to an extension, and hands its answers to those who wait for them.
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
    /// A peer, and what is to be written to it.
    pub(super) fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (outgoing, written) = mpsc::channel(QUEUE);
        (Self { outgoing, waiting: Mutex::default() }, written)
    }

    fn send(&self, message: &Value) -> Result<(), String> {
        let sent = self.outgoing.try_send(frame(message.to_string().as_bytes()));
        sent.map_err(|_| "the extension does not read its messages".to_owned())
    }

    /// Tells the extension something; lost if it does not read.
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

    /// Asks the extension something. Dropped, its answer is of no interest any more.
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

    /// Takes the answer to a request.
    pub(super) fn take_response(&self, id: u64, result: Result<Value, String>) {
        if let Some(sender) = self.waiting.lock().requests.remove(&id) {
            // Nobody waits if the request was dropped just now.
            let _ = sender.send(result);
        }
    }

    /// Waits for the result of a call of a tool, which is told to the extension as an event.
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

    /// Takes the result of a call; false if nobody waits for it.
    pub(super) fn take_call(&self, request_id: &str, result: HandlerResult) -> bool {
        let sender = self.waiting.lock().calls.remove(request_id);
        sender.is_some_and(|sender| sender.send(result).is_ok())
    }

    /// Whether the call was still waited for.
    pub(super) fn forget_call(&self, request_id: &str) -> bool {
        self.waiting.lock().calls.remove(request_id).is_some()
    }

    /// Whether the extension says no more.
    pub(super) fn has_ended(&self) -> bool {
        self.waiting.lock().has_ended
    }

    /// The extension says no more: whoever waits for it learns it.
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
