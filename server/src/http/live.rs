//! Live answers: long polls on anything that has a live log.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Extension, FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use serde::Deserialize;
use store::journal::Position;
use store::live::{LiveSource, ReaderKey, Receipt, Responses, Said};
use wire::{ErrorName, LiveEntity, LiveId, LiveToken, ParseTokenError};

use super::outbox::Outbox;
use super::{AppState, error};

/// The outbox of the connection; `None` in tests without a socket.
pub(super) type Connection = Option<Extension<Outbox>>;

/// Names the position of a reader after an answer.
const POSITION: HeaderName = HeaderName::from_static("portal-position");

/// Where a new reader begins, from the query: after this position, or at the start.
pub(super) struct After(pub(super) Option<Position>);

impl<S: Send + Sync> FromRequestParts<S> for After {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Response> {
        #[derive(Deserialize)]
        struct Wanted {
            after: Option<String>,
        }
        let unreadable = |problem: &str| error::unreadable(StatusCode::BAD_REQUEST, problem);
        let query = Query::<Wanted>::from_request_parts(head, state).await;
        let Query(Wanted { after }) = query.map_err(|problem| unreadable(&problem.body_text()))?;
        let position = after.map(|text| text.parse()).transpose();
        position.map(Self).map_err(|error| unreadable(&format!("after: {error}")))
    }
}

/// `copilot/session/{id}/live` and the like: one response per call.
pub(super) async fn poll_one<Id: LiveEntity + FromStr + Into<LiveId>>(
    State(state): State<AppState>,
    Path(id): Path<String>,
    connection: Connection,
) -> Response {
    poll::<Id>(&state, &id, ReaderKey::Implicit, None, connection).await
}

/// `copilot/session/{id}/live/{token}` and the like: everything new for this reader.
pub(super) async fn poll_as<Id: LiveEntity + FromStr + Into<LiveId>>(
    State(state): State<AppState>,
    Path((id, token)): Path<(String, String)>,
    After(after): After,
    connection: Connection,
) -> Response {
    match token.parse::<LiveToken>() {
        Ok(token) => poll::<Id>(&state, &id, token.into(), after, connection).await,
        Err(error) => refuse_token(error),
    }
}

/// The path has no token where one is expected.
pub(super) fn refuse_token(error: ParseTokenError) -> Response {
    error::unreadable(StatusCode::BAD_REQUEST, &error.to_string())
}

/// What can be read of an entity, if anything.
pub(super) async fn find(state: &AppState, id: LiveId) -> Option<LiveSource> {
    match id {
        LiveId::Session(id) => state.sessions.source(id).await,
        LiveId::Task(id) => state.tasks.live().source(id).await,
        LiveId::Job(id) => state.jobs.live().source(id).await,
        LiveId::Inbox => Some(state.sessions.inbox().source()),
        LiveId::Alive => Some(state.alive.source()),
    }
}

async fn poll<Id: LiveEntity + FromStr + Into<LiveId>>(
    state: &AppState,
    id: &str,
    reader: ReaderKey,
    after: Option<Position>,
    connection: Connection,
) -> Response {
    // A text that cannot be an id names nothing.
    let Ok(id) = id.parse::<Id>() else { return error::said_no(Id::NOT_FOUND, None) };
    match find(state, id.into()).await {
        Some(source) => poll_source::<Id>(source.after(after), reader, connection).await,
        None => error::said_no(Id::NOT_FOUND, None),
    }
}

/// Waits, and keeps the answer's receipt until the answer is written.
pub(super) async fn poll_source<Id: LiveEntity>(
    source: LiveSource,
    reader: ReaderKey,
    connection: Connection,
) -> Response {
    match source.poll(reader).await {
        Ok(delivery) => {
            let position = delivery.position();
            let (said, receipt) = delivery.into_parts();
            let mut answer = Answer::default();
            match said {
                Said::Single(responses) => answer.respond(responses),
                Said::Batch(_) | Said::Closed => {
                    answer.write("{");
                    answer.write_fields(said, Id::CLOSED);
                    answer.write("}");
                }
            }
            let mut response = deliver(answer, [receipt], connection);
            if let Some(position) = position
                && let Ok(value) = HeaderValue::try_from(position.to_string())
            {
                response.headers_mut().insert(POSITION, value);
            }
            response
        }
        Err(error) => error::said_no(error.name::<Id>(), None),
    }
}

/// An answer that is serialised only while it is written. A clone has the same content.
#[derive(Clone, Default)]
pub(super) struct Answer {
    parts: VecDeque<Part>,
    /// Taken out of `parts`, but not emitted yet from this offset on.
    current: Option<(Arc<str>, usize)>,
}

#[derive(Clone)]
enum Part {
    Text(String),
    /// Responses, and whether the next one is the first, without a comma before it.
    Responses(Responses, bool),
}

/// How many bytes of an answer are serialised at a time.
const CHUNK: usize = 32 * 1024;

impl Answer {
    pub(super) fn write(&mut self, text: &str) {
        match self.parts.back_mut() {
            Some(Part::Text(before)) => before.push_str(text),
            _ => self.parts.push_back(Part::Text(text.to_owned())),
        }
    }

    /// Appends responses, separated by commas.
    fn respond(&mut self, responses: Responses) {
        self.parts.push_back(Part::Responses(responses, true));
    }

    /// Appends the fields of an answer: `"responses":[…]`, or the error.
    pub(super) fn write_fields(&mut self, said: Said, closed: ErrorName) {
        match said {
            Said::Batch(responses) | Said::Single(responses) => {
                self.write("\"responses\":[");
                self.respond(responses);
                self.write("]");
            }
            Said::Closed => self.write(&format!("\"error\":\"{closed}\"")),
        }
    }

    /// The next piece of text; `None` at the end.
    fn next_text(&mut self) -> Option<Arc<str>> {
        loop {
            match self.parts.front_mut()? {
                Part::Text(text) => {
                    let text = std::mem::take(text).into();
                    self.parts.pop_front();
                    return Some(text);
                }
                Part::Responses(responses, first) => match responses.next() {
                    Some(json) if *first => {
                        *first = false;
                        return Some(json);
                    }
                    Some(json) => {
                        self.current = Some((json, 0));
                        return Some(",".into());
                    }
                    None => {
                        self.parts.pop_front();
                    }
                },
            }
        }
    }

    /// The length of the rest in bytes. Serialises everything and discards it: old clients need to
    /// know the length, and keeping the text is what must be avoided.
    fn length(&self) -> u64 {
        let mut rest = self.clone();
        let chunks = std::iter::from_fn(|| Some(rest.next_chunk().len()));
        chunks.take_while(|length| *length > 0).map(|length| length as u64).sum()
    }

    /// The next chunk, empty at the end.
    fn next_chunk(&mut self) -> Vec<u8> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK {
            let (text, offset) = match self.current.take() {
                Some(current) => current,
                None => match self.next_text() {
                    Some(text) if self.current.is_some() => {
                        // A comma; the response after it comes next.
                        chunk.extend_from_slice(text.as_bytes());
                        continue;
                    }
                    Some(text) => (text, 0),
                    None => break,
                },
            };
            let rest = &text.as_bytes()[offset..];
            let taken = rest.len().min(CHUNK - chunk.len());
            chunk.extend_from_slice(&rest[..taken]);
            if taken < rest.len() {
                self.current = Some((text, offset + taken));
            }
        }
        chunk
    }
}

/// Delivers an answer. Its receipts are committed together once it is written.
pub(super) fn deliver<R>(mut answer: Answer, receipts: R, connection: Connection) -> Response
where
    R: IntoIterator<Item = Receipt> + Send + Unpin + 'static,
{
    let outbox = connection.map(|Extension(outbox)| outbox);
    let next = answer.next_chunk();
    // Most answers are so short that this was all.
    let answer = (next.len() >= CHUNK).then_some(answer);
    let left = next.len() as u64 + answer.as_ref().map_or(0, Answer::length);
    let body = DeliveredBody { next: next.into(), answer, left, receipts: Some(receipts), outbox };
    let mut response = Response::new(Body::new(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A body that is serialised as it is taken. If dropped before its end, the answer was never sent.
struct DeliveredBody<R> {
    next: Bytes,
    /// The rest after `next`; `None` if there is none.
    answer: Option<Answer>,
    /// The length of both together, in bytes.
    left: u64,
    receipts: Option<R>,
    /// `None` in tests without a socket: there, a taken answer counts as written.
    outbox: Option<Outbox>,
}

impl<R: IntoIterator<Item = Receipt> + Unpin> HttpBody for DeliveredBody<R> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let after = self.answer.as_mut().map(Answer::next_chunk).unwrap_or_default();
        if after.len() < CHUNK {
            self.answer = None;
        }
        let now = std::mem::replace(&mut self.next, after.into());
        if now.is_empty() {
            return Poll::Ready(None);
        }
        if self.next.is_empty()
            && let Some(receipts) = self.receipts.take()
        {
            match &self.outbox {
                Some(outbox) => outbox.add(receipts),
                None => receipts.into_iter().for_each(Receipt::commit),
            }
        }
        self.left = self.left.saturating_sub(now.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(now))))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
