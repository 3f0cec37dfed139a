//! Sessions as scripts use them.

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{Reply, TestApp, transcript};

/// A free model that reasons, then answers.
pub const MODEL: &str = "gpt-5-mini";

/// A path with an id that no session has.
pub fn unknown_session(action: &str) -> String {
    format!("/api/copilot/session/session-00000000-0000-4000-8000-000000000000/{action}")
}

/// True if a call is not answered yet, after everything that can happen without waiting for the
/// clock.
///
/// Costs a millisecond of virtual time, which passes only when nothing else can happen.
pub async fn is_pending<F: Future + ?Sized>(call: &mut Pin<&mut F>) -> bool {
    timeout(Duration::from_millis(1), call).await.is_err()
}

impl TestApp {
    /// Starts a session in the default folder.
    pub async fn start(&self) -> TestSession<'_> {
        self.start_model(MODEL).await
    }

    /// Starts a session with a model, in the default folder.
    pub async fn start_model(&self, model: &str) -> TestSession<'_> {
        let reply = self.get(&format!("/api/copilot/session/start/{model}")).await.json();
        let id = reply["sessionId"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
        TestSession { app: self, id }
    }

    /// Starts a session in a folder.
    pub async fn start_in(&self, folder: &Path) -> TestSession<'_> {
        self.start_model_in(MODEL, folder).await
    }

    /// Starts a session with a model in a folder.
    pub async fn start_model_in(&self, model: &str, folder: &Path) -> TestSession<'_> {
        let path = format!("/api/copilot/session/start/{model}");
        let reply = self.post(&path, folder.display().to_string()).await.json();
        let id = reply["sessionId"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
        TestSession { app: self, id }
    }

    /// Starts a session and sends it prompts.
    pub async fn start_with(&self, prompts: &[&str]) -> TestSession<'_> {
        let session = self.start().await;
        for prompt in prompts {
            session.query(prompt).await;
        }
        session
    }

    /// The open sessions, as listed by `copilot/session`.
    pub async fn open_sessions(&self) -> Vec<Value> {
        let mut reply = self.get("/api/copilot/session").await.json();
        match reply["sessions"].take() {
            Value::Array(sessions) => sessions,
            _ => panic!("{reply}"),
        }
    }
}

/// A session on the server under test.
#[derive(Clone)]
pub struct TestSession<'a> {
    app: &'a TestApp,
    /// The id that the server assigned.
    pub id: String,
}

impl TestSession<'_> {
    /// The path of an action on it.
    pub fn path(&self, action: &str) -> String {
        format!("/api/copilot/session/{}/{action}", self.id)
    }

    /// Sends a prompt that must be accepted.
    pub async fn query(&self, prompt: &str) {
        assert_eq!(self.try_query(prompt).await, json!({}), "{prompt}");
    }

    /// Sends a prompt; returns the reply.
    pub async fn try_query(&self, prompt: &str) -> Value {
        self.app.post(&self.path("query"), prompt.to_owned()).await.json()
    }

    /// Reads until a tool asks for permission; returns what was read, and the request.
    pub async fn read_until_asked(&self, token: &str) -> (Vec<Value>, Value) {
        let mut seen = Vec::new();
        loop {
            seen.extend(self.responses(token).await);
            let asks = |response: &&Value| response["callback"] == "onPermissionRequest";
            if let Some(question) = seen.iter().find(asks) {
                let question = question.clone();
                return (seen, question);
            }
        }
    }

    /// Answers a permission request.
    pub async fn decide(&self, question: &Value, decision: &str) -> Value {
        let id = question["requestId"].as_str().expect("an id");
        self.app.post(&self.path(&format!("permission/{id}")), decision.to_owned()).await.json()
    }

    /// Aborts the running turn.
    pub async fn abort(&self) -> Value {
        self.app.get(&self.path("abort")).await.json()
    }

    /// Stops the session; returns the reply.
    pub async fn stop(&self) -> Value {
        self.app.get(&self.path("stop")).await.json()
    }

    /// A live call with a token.
    pub async fn poll(&self, token: &str) -> Value {
        Reply::read(self.send_poll(token).await).await.json()
    }

    /// A live call with a token; returns the response before its body is read.
    pub async fn send_poll(&self, token: &str) -> Response<Body> {
        let path = self.path(&format!("live/{token}"));
        self.app.send("GET", &path, &[], Body::empty()).await
    }

    /// A live call without a token.
    pub async fn poll_one(&self) -> Value {
        self.app.get(&self.path("live")).await.json()
    }

    /// The responses of a live call with a token; there must be some.
    pub async fn responses(&self, token: &str) -> Vec<Value> {
        let mut reply = self.poll(token).await;
        match reply["responses"].take() {
            Value::Array(responses) => responses,
            _ => panic!("{reply}"),
        }
    }

    /// Reads until one more turn is over.
    pub async fn read_until_idle(&self, token: &str) -> Vec<Value> {
        self.read_until_idles(token, 1).await
    }

    /// Reads until so many more turns are over, which must be all that were requested.
    pub async fn read_until_idles(&self, token: &str, times: usize) -> Vec<Value> {
        let mut seen = Vec::new();
        while transcript::count(&seen, "onIdle") < times {
            seen.extend(self.responses(token).await);
        }
        assert_eq!(transcript::names(&seen).last().map(String::as_str), Some("onIdle"));
        seen
    }

    /// Reads until the session is reported as closed.
    pub async fn read_to_the_end(&self, token: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let reply = self.poll(token).await;
            let Value::Array(responses) = &reply["responses"] else {
                assert_eq!(reply, json!({"error": "SessionClosed"}));
                return seen;
            };
            seen.extend(responses.iter().cloned());
        }
    }
}
