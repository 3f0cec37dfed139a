//! Server-sent events as read by a client.

use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::timeout;

use crate::TestApp;

/// Makes a test that hangs fail.
const SAFETY: Duration = Duration::from_mins(5);

/// A connection that reads events. Dropping it hangs up.
pub struct EventStream {
    body: Body,
    unread: String,
    /// What a browser would send as `Last-Event-ID` if it reconnected.
    pub last_id: Option<String>,
}

/// An event as the client received it.
#[derive(Clone, Debug, PartialEq)]
pub struct SentEvent {
    /// The value of the field `id`.
    pub id: String,
    /// The event's type, from the field `event`.
    pub name: String,
    /// The event's payload, parsed from JSON.
    pub data: Value,
}

impl TestApp {
    /// Connects to `/events` with a query and, optionally, the last id that was read.
    pub async fn events(&self, query: &str, last_id: Option<&str>) -> EventStream {
        let headers: Vec<_> = last_id.map(|id| ("last-event-id", id)).into_iter().collect();
        self.events_with(query, &headers).await
    }

    /// Connects to `/events` with these headers.
    pub async fn events_with(&self, query: &str, headers: &[(&str, &str)]) -> EventStream {
        let response = self.send("GET", &format!("/events{query}"), headers, Body::empty()).await;
        EventStream::new(response)
    }
}

impl EventStream {
    fn new(response: Response<Body>) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), unread: String::new(), last_id: None }
    }

    /// The next event; `None` at the end of the connection.
    pub async fn next(&mut self) -> Option<SentEvent> {
        loop {
            let block = self.next_block().await?;
            let field = |name: &str| {
                let mut lines = block.lines();
                lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            if let Some(id) = field("id") {
                self.last_id = Some(id.to_owned());
            }
            let Some(data) = field("data") else { continue };
            return Some(SentEvent {
                id: field("id").expect("an id").to_owned(),
                name: field("event").expect("a name").to_owned(),
                data: serde_json::from_str(data).expect("JSON"),
            });
        }
    }

    /// The next lines up to an empty one: an event, or something else.
    pub async fn next_block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                return Some(block);
            }
            let frame = timeout(SAFETY, self.body.frame()).await.expect("in time")?;
            let bytes = frame.expect("no failure").into_data().expect("data");
            self.unread += std::str::from_utf8(&bytes).expect("whole characters");
        }
    }

    /// Events up to and including the first with a name.
    pub async fn until(&mut self, name: &str) -> Vec<SentEvent> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {name}: {events:?}"));
            let found = event.name == name;
            events.push(event);
            if found {
                return events;
            }
        }
    }
}

/// The concatenated text of fragments.
pub fn told(events: &[SentEvent]) -> String {
    let fragments = events.iter().filter(|event| event.name == "fragment");
    fragments.map(|event| event.data["fragment"].as_str().expect("text")).collect()
}
