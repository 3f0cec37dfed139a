//! Live answers: long polls over any entity that has a live log.

use std::convert::Infallible;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Extension;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use engine::live::{Delivery, PollError, ReaderKey, Receipt};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use wire::{LiveEntity, LiveToken};

use super::error;
use super::outbox::Outbox;

/// The connection that a call came on; none in tests without a socket.
pub(super) type Connection = Option<Extension<Outbox>>;

/// A live call with a token in its path.
pub(super) async fn poll_as<Id: LiveEntity + FromStr>(
    id: &str,
    token: &str,
    connection: Connection,
    wait: impl AsyncFnOnce(Id, ReaderKey) -> Result<Delivery, PollError>,
) -> Response {
    match token.parse::<LiveToken>() {
        Ok(token) => poll(id, token.into(), connection, wait).await,
        Err(error) => error::unreadable(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// A live call: waits, and keeps the receipt of the answer until it is written.
pub(super) async fn poll<Id: LiveEntity + FromStr>(
    id: &str,
    reader: ReaderKey,
    connection: Connection,
    wait: impl AsyncFnOnce(Id, ReaderKey) -> Result<Delivery, PollError>,
) -> Response {
    // What can't be an id names nothing.
    let Ok(id) = id.parse() else { return error::said_no(Id::NOT_FOUND, None) };
    match wait(id, reader).await {
        Ok(delivery) => {
            let (json, receipt) = delivery.into_json(Id::CLOSED);
            deliver(json, [receipt], connection)
        }
        Err(error) => error::said_no(error.name::<Id>(), None),
    }
}

/// An answer whose receipts are settled together, when it is written.
pub(super) fn deliver<R>(json: String, receipts: R, connection: Connection) -> Response
where
    R: IntoIterator<Item = Receipt> + Send + Unpin + 'static,
{
    let outbox = connection.map(|Extension(outbox)| outbox);
    let body = DeliveredBody { json: Some(json.into()), receipts: Some(receipts), outbox };
    let mut response = Response::new(Body::new(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A body of one piece. Dropped untaken, its answer was never sent.
struct DeliveredBody<R> {
    json: Option<Bytes>,
    receipts: Option<R>,
    /// None in tests without a socket: there, taken is written.
    outbox: Option<Outbox>,
}

impl<R: IntoIterator<Item = Receipt> + Unpin> HttpBody for DeliveredBody<R> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let json = self.json.take();
        if json.is_some()
            && let Some(receipts) = self.receipts.take()
        {
            match &self.outbox {
                Some(outbox) => outbox.add(receipts),
                None => receipts.into_iter().for_each(Receipt::commit),
            }
        }
        Poll::Ready(json.map(|json| Ok(Frame::data(json))))
    }

    fn is_end_stream(&self) -> bool {
        self.json.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.json.as_ref().map_or(0, |json| json.len() as u64))
    }
}
