//! Every rule of live responses, in virtual time.

mod board;
mod interleaving;
mod keeping;
mod positions;
mod rules;
mod times;

use std::sync::Arc;
use std::time::Duration;

use platform::lifecycle::Lifecycle;
use wire::{ErrorName, SessionId, SessionResponse};

use super::call::Source;
use super::*;
use crate::fold::SessionNote;
use crate::fold::tests::started;

type Log = Arc<LiveLog<SessionResponse>>;

fn new_log() -> Log {
    LiveLog::new(LiveShared::new(LiveSettings::default()))
}

fn token(text: &str) -> ReaderKey {
    ReaderKey::Token(text.parse().expect("a token"))
}

fn prompt(text: &str) -> SessionResponse {
    SessionResponse::UserPrompt { prompt: text.to_owned() }
}

fn start(id: &str) -> SessionResponse {
    SessionResponse::StartMessage { message_id: id.to_owned() }
}

fn delta(id: &str, text: &str) -> SessionResponse {
    SessionResponse::Message { message_id: id.to_owned(), delta: text.to_owned() }
}

fn end(id: &str, text: &str) -> SessionResponse {
    SessionResponse::EndMessage { message_id: id.to_owned(), complete_content: text.to_owned() }
}

fn push_all(log: &Log, entries: &[SessionResponse]) {
    for entry in entries {
        assert!(log.push(entry));
    }
}

fn parse(delivery: &Delivery) -> Vec<SessionResponse> {
    delivery.entries().iter().map(|json| serde_json::from_str(json).expect("a response")).collect()
}

/// What the next answer holds, committed. `None` if it says that the log is closed.
async fn read(log: &Log, reader: &ReaderKey) -> Option<Vec<SessionResponse>> {
    let delivery = log.poll(reader.clone()).await.expect("an answer");
    let responses = (!delivery.is_closed()).then(|| parse(&delivery));
    delivery.commit();
    responses
}

async fn poll_error(log: &Log, reader: &ReaderKey) -> PollError {
    log.poll(reader.clone()).await.expect_err("no answer")
}

/// Runs everything that can run without advancing the clock.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}
