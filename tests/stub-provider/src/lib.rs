//! A scripted model provider on loopback, for tests of anything that talks to one.
//!
//! It is a bare socket and not a web server: a test controls every byte, where the bytes are split,
//! how long they take, and whether the answer ends at all.
//!
//! ```text
//!   StubProvider::start ─► http://127.0.0.1:PORT/v1
//!   push(Answer) ─► queue of its path ─► next request for that path ─► bytes, pauses, end
//!   requests() ◄─ what was asked          aborted() ◄─ how many callers hung up before the end
//! ```

mod answer;
pub mod brain;
mod connection;
pub mod copilot_cli;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use answer::{Answer, Frames};

/// The path of chat requests.
pub const CHAT: &str = "/v1/chat/completions";
/// The path of the list of models.
pub const MODELS: &str = "/v1/models";

/// How long a test waits for something that must happen. Long, because machines can be busy;
/// reached only by a failing test.
const PATIENCE: Duration = Duration::from_secs(20);

/// The server. Dropping it ends it and all of its connections.
#[derive(Debug)]
pub struct StubProvider {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A request that the stub received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The HTTP method, such as `POST`.
    pub method: String,
    /// The path, including its query.
    pub path: String,
    /// In the order received, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null if there was none or it was not JSON.
    pub body: Value,
}

impl Received {
    /// A header's value, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

#[derive(Debug)]
struct Shared {
    script: Mutex<HashMap<String, Script>>,
    requests: Mutex<Vec<Received>>,
    counts: watch::Sender<Counts>,
}

type Answering = dyn Fn(&Received) -> Answer + Send + Sync;

#[derive(Default)]
struct Script {
    next: VecDeque<Answer>,
    /// Called when no other answer is left.
    always: Option<Arc<Answering>>,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("next", &self.next).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    requests: usize,
    answering: usize,
    aborted: usize,
}

impl StubProvider {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            script: Mutex::default(),
            requests: Mutex::default(),
            counts: watch::Sender::default(),
        });
        let accepting = tokio::spawn(connection::accept(listener, shared.clone()));
        Ok(Self { port, shared, accepting })
    }

    /// The base URL for clients.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Queues the answer to the next chat request.
    pub fn push(&self, answer: Answer) {
        self.push_to(CHAT, answer);
    }

    /// Queues the answer to the next request for a path.
    pub fn push_to(&self, path: &str, answer: Answer) {
        self.shared.script.lock().entry(path.to_owned()).or_default().next.push_back(answer);
    }

    /// Sets the answer to all requests for a path without a queued answer.
    pub fn always(&self, path: &str, answer: Answer) {
        self.always_with(path, move |_| answer.clone());
    }

    /// Sets what answers all requests for a path without a queued answer, such as a [`brain`].
    pub fn always_with(
        &self,
        path: &str,
        answer: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) {
        let always = Some(Arc::new(answer) as Arc<Answering>);
        self.shared.script.lock().entry(path.to_owned()).or_default().always = always;
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.requests.lock().clone()
    }

    /// The bodies of the chat requests so far.
    pub fn chats(&self) -> Vec<Value> {
        let requests = self.shared.requests.lock();
        let chats = requests.iter().filter(|request| request.path == CHAT);
        chats.map(|request| request.body.clone()).collect()
    }

    /// How many callers hung up before their answer was complete.
    pub fn aborted(&self) -> usize {
        self.shared.counts.borrow().aborted
    }

    /// Waits until so many requests have arrived.
    pub async fn wait_for_requests(&self, number: usize) {
        self.wait_for("requests", |counts| counts.requests >= number).await;
    }

    /// Waits until so many callers have hung up, and no answer is under way.
    pub async fn wait_for_aborts(&self, number: usize) {
        self.wait_for("aborts", |counts| counts.aborted >= number && counts.answering == 0).await;
    }

    async fn wait_for(&self, what: &str, reached: impl Fn(&Counts) -> bool) {
        let mut counts = self.shared.counts.subscribe();
        let waiting = counts.wait_for(reached);
        let in_time = tokio::time::timeout(PATIENCE, waiting).await.is_ok_and(|seen| seen.is_ok());
        assert!(in_time, "no such {what} in time: {:?}", *self.shared.counts.borrow());
    }
}

impl Drop for StubProvider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
