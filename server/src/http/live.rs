//! Live answers: long polls over any entity that has a live log.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use engine::live::{Delivery, PollError, Receipt};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use wire::LiveEntity;

use super::error;
use super::outbox::Outbox;

/// Turns what a poll brought into an answer whose receipt is kept until it is written.
pub(super) fn answer<Id: LiveEntity>(
    polled: Result<Delivery, PollError>,
    outbox: Option<Outbox>,
) -> Response {
    match polled {
        Ok(delivery) => {
            let (json, receipt) = delivery.into_json(Id::CLOSED);
            let body = DeliveredBody { json: Some(json.into()), receipt: Some(receipt), outbox };
            let mut response = Response::new(Body::new(body));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
        Err(error) => error::said_no(error.name::<Id>(), None),
    }
}

/// A body of one piece. Dropped untaken, its answer was never sent.
struct DeliveredBody {
    json: Option<Bytes>,
    receipt: Option<Receipt>,
    /// None in tests without a socket: there, taken is written.
    outbox: Option<Outbox>,
}

impl HttpBody for DeliveredBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let json = self.json.take();
        if json.is_some()
            && let Some(receipt) = self.receipt.take()
        {
            match &self.outbox {
                Some(outbox) => outbox.add(receipt),
                None => receipt.commit(),
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
