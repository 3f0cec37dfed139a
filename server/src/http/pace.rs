//! Deadlines of request bodies. A client that announces a body and does not send it occupies a
//! connection and what was read so far.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// How fast a body has to arrive.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deadline {
    /// The whole body within this time. For strangers.
    Whole(Duration),
    /// At least some data within every such interval.
    Progress(Duration),
}

/// A body that fails if it does not arrive in time.
pub(super) struct PacedBody {
    body: Body,
    deadline: Deadline,
    timer: Pin<Box<Sleep>>,
    late: Late,
}

/// Whether a body has failed for that reason: a handler cannot distinguish it from any other broken
/// body.
#[derive(Clone, Debug, Default)]
pub(super) struct Late(Arc<AtomicBool>);

impl Late {
    pub(super) fn is_late(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PacedBody {
    pub(super) fn new(body: Body, deadline: Deadline) -> (Self, Late) {
        let (Deadline::Whole(time) | Deadline::Progress(time)) = deadline;
        let late = Late::default();
        (Self { body, deadline, timer: Box::pin(sleep(time)), late: late.clone() }, late)
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if let Deadline::Progress(time) = self.deadline {
                self.timer.as_mut().reset(Instant::now() + time);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if self.timer.as_mut().poll(context).is_ready() {
            self.late.0.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err("the body did not arrive in time".into())));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
