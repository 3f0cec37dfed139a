//! `GET /events`: the bridge's events, as server-sent events.

use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use engine::bridge::{Batch, Start, Subscription};
use futures_util::stream;
use serde::Deserialize;
use wire::bridge::{Event, Missed};

use super::{AppState, error};
use crate::security::access::Caller;

/// Interval of keep-alive comments. Proxies close connections that are silent for a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// When a browser reconnects after a lost connection, in ms.
const RETRY: u32 = 1_000;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wanted {
    /// Only events of this project; of all projects if left out.
    session: Option<String>,
    /// The same as the header of that name, for pages that cannot set headers.
    last_event_id: Option<String>,
}

/// `GET /events`: an endless stream of events.
pub(super) async fn follow(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Response {
    // A browser that reconnects sends the header, which is newer than its URL.
    let header = headers.get(&LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default());
    let start = match header.or(wanted.last_event_id.as_deref()) {
        None => Start::Now,
        Some(id) => Start::After(id),
    };
    let session = wanted.session.as_deref().filter(|session| !session.is_empty());
    let subscription = match state.bridge.subscribe(session, start).await {
        Ok(subscription) => subscription,
        Err(error) => return error::bridge_refused(&error),
    };
    let mut response = Response::new(Body::from_stream(stream::unfold(
        Sent { subscription, id: None, reader: Reader { state, caller } },
        Sent::next,
    )));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies must not buffer the stream.
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// The client, whose login limits how long it may read.
struct Reader {
    state: AppState,
    caller: Caller,
}

impl Reader {
    /// Returns when the login that opened the stream has ended.
    async fn logged_out(&self) {
        match self.caller {
            Caller::Login(id, _) => self.state.policy.access.logins.ended(id).cancelled().await,
            Caller::Anyone | Caller::Bearer(..) => std::future::pending().await,
        }
    }
}

/// A subscription, and the position that the client knows.
struct Sent {
    subscription: Subscription,
    id: Option<String>,
    reader: Reader,
}

impl Sent {
    /// The next piece of the answer. The following one is made when the client has taken this one.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        let mut text = String::new();
        if self.id.is_none() {
            let _ = write!(text, "retry: {RETRY}\n: connected\n");
            self.write_position(&mut text);
        } else {
            let next = tokio::time::timeout(KEEP_ALIVE, self.subscription.next());
            let next = tokio::select! {
                biased;
                // Created anew each time, because an expired login is only noticed on the next
                // look.
                () = self.reader.logged_out() => return None,
                next = next => next,
            };
            match next {
                Ok(Some(batch)) => self.write_batch(&mut text, &batch),
                Ok(None) => return None,
                Err(_) => {
                    text.push_str(": keep-alive\n");
                    self.write_position(&mut text);
                }
            }
        }
        Some((Ok(text.into()), self))
    }

    /// Sends an id without data: the client reports it when it reconnects, and gets nothing twice.
    fn write_position(&mut self, text: &mut String) {
        let id = Some(self.subscription.read_up_to());
        if self.id != id
            && let Some(id) = &id
        {
            let _ = writeln!(text, "id: {id}");
        }
        self.id = id;
        text.push('\n');
    }

    fn write_batch(&mut self, text: &mut String, batch: &Batch) {
        if let Some(oldest) = &batch.missed {
            let missed = Event::Missed(Missed { oldest: oldest.clone() });
            write_event(text, oldest, missed.name(), &missed.data());
            self.id = Some(oldest.clone());
        }
        for event in &batch.events {
            write_event(text, &event.id, event.name, &event.data);
        }
        if let Some(last) = batch.events.last() {
            self.id = Some(last.id.clone());
        }
    }
}

/// Appends one event. The data is JSON without line breaks.
fn write_event(text: &mut String, id: &str, name: &str, data: &str) {
    let _ = write!(text, "id: {id}\nevent: {name}\ndata: {data}\n\n");
}
