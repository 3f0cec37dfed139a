//! Live calls over real connections: what only a socket can show. Everything else is tested through
//! the router.

mod common;

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{Running, portal};
use serde_json::{Value, json};

/// Far below the five seconds after which a pending call ends on its own.
const SOON: Duration = Duration::from_secs(3);

/// More than the buffers between two processes hold.
const LARGE: usize = 8 * 1024 * 1024;

fn start() -> Running {
    Running::start(&mut portal(&["--port", "0", "--test", "--simulated-first-ms", "0"]))
}

/// A session on a running server.
struct Session<'a> {
    server: &'a Running,
    path: String,
}

impl<'a> Session<'a> {
    fn start(server: &'a Running) -> Self {
        let started = json_of(&server.get("/api/copilot/session/start/gpt-5-mini"));
        let id = started["sessionId"].as_str().unwrap_or_else(|| panic!("{started}"));
        Self { server, path: format!("/api/copilot/session/{id}") }
    }

    fn query(&self, prompt: &str) {
        let mut answer = String::new();
        let mut stream = self.server.send(&format!(
            "POST {}/query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{prompt}",
            self.path,
            prompt.len(),
        ));
        stream.read_to_string(&mut answer).expect("an answer");
        assert_eq!(json_of(&answer), json!({}));
    }

    fn poll(&self, token: &str) -> Value {
        json_of(&self.server.get(&format!("{}/live/{token}", self.path)))
    }

    /// Sends a live call and does not wait for its answer.
    fn send_poll(&self, token: &str) -> TcpStream {
        let path = &self.path;
        self.server.send(&format!(
            "GET {path}/live/{token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ))
    }

    /// A live call that is known to be pending, for a reader with nothing to read.
    ///
    /// Of two calls one is refused, whichever came first; then the other one is pending.
    fn pending_poll(&self, token: &str) -> TcpStream {
        let (mut refused, mut pending) = (self.send_poll(token), self.send_poll(token));
        while !has_answer(&refused) {
            std::mem::swap(&mut refused, &mut pending);
            std::thread::yield_now();
        }
        let mut answer = String::new();
        refused.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("ParallelCallNotSupported"), "{answer}");
        pending
    }

    fn read_until_idle(&self, token: &str) -> Vec<Value> {
        let mut seen: Vec<Value> = Vec::new();
        while !seen.iter().any(|response| response["callback"] == "onIdle") {
            let mut reply = self.poll(token);
            match reply["responses"].take() {
                Value::Array(responses) => seen.extend(responses),
                _ => panic!("{reply}"),
            }
        }
        seen
    }
}

fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let arrived = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).expect("a socket");
    arrived
}

fn json_of(answer: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn message(responses: &[Value]) -> &str {
    let end = responses.iter().find(|response| response["callback"] == "onEndMessage");
    end.and_then(|end| end["completeContent"].as_str()).expect("a complete message")
}

#[test]
fn a_client_that_hangs_up_frees_its_token_and_loses_nothing() {
    let server = start();
    let session = Session::start(&server);
    let call = session.pending_poll("token");
    let begun = Instant::now();
    drop(call);
    session.query("say hello");
    // The next call may arrive before the hang-up is noticed.
    let mut reply = session.poll("token");
    while reply == json!({"error": "ParallelCallNotSupported"}) {
        assert!(begun.elapsed() < SOON, "the place is still taken");
        reply = session.poll("token");
    }
    assert!(begun.elapsed() < SOON, "the place was taken until the call ended");
    assert_eq!(reply["responses"][0], json!({"callback": "onUserPrompt", "prompt": "say hello"}));
}

#[test]
fn an_answer_that_was_cut_off_is_given_again_whole() {
    let server = start();
    let session = Session::start(&server);
    session.query("Stream 400000 deltas with 0 ms between deltas after 0 ms.");
    let seen = session.read_until_idle("other");
    let text = message(&seen);
    assert!(text.len() > LARGE, "{}", text.len());

    for _ in 0..3 {
        let mut call = session.send_poll("token");
        let mut beginning = [0; 1000];
        call.read_exact(&mut beginning).expect("a beginning");
        assert!(beginning.starts_with(b"HTTP/1.1 200"));
        drop(call);
    }
    let again = session.read_until_idle("token");
    assert_eq!(again[0]["callback"], "onUserPrompt", "from the first response");
    assert_eq!(message(&again), text);
    session.query("say bye");
    assert_eq!(message(&session.read_until_idle("token")), "bye", "and each only once");
}

#[test]
fn api_stop_answers_a_pending_call_and_ends_the_process_with_0() {
    let server = start();
    let (busy, quiet) = (Session::start(&server), Session::start(&server));
    busy.query("say before, then wait 60 seconds");
    let mut seen = busy.poll("token")["responses"].take();
    while !seen.to_string().contains("onEndMessage") {
        seen = busy.poll("token")["responses"].take();
    }
    let mut busy_call = busy.pending_poll("token");
    let mut quiet_call = quiet.pending_poll("token");

    let begun = Instant::now();
    assert_eq!(json_of(&server.get("/api/stop")), json!({}));
    let mut answer = String::new();
    busy_call.read_to_string(&mut answer).expect("an answer");
    let reply = json_of(&answer);
    assert_eq!(reply["responses"][0]["callback"], "onAgentEnd", "{reply}");
    answer.clear();
    quiet_call.read_to_string(&mut answer).expect("an answer");
    assert_eq!(json_of(&answer), json!({"error": "SessionClosed"}));
    assert!(begun.elapsed() < SOON, "answered by the end, not by the clock");
    assert_eq!(server.wait().code(), Some(0));
}
