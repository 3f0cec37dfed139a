//! Which answers have really gone out on a connection.
//!
//! ```text
//!  live answer ─► body taken by hyper ─► Outbox (receipts) ─► socket took all bytes ─► commit
//!                     │                        │
//!                     └ dropped before that    └ connection broke: dropped, the reader gets
//!                                                the same again
//! ```
//!
//! Hyper keeps answers in a buffer of its own. Only when it flushes, and the socket has taken
//! everything before, is an answer written; a client that is gone by then has not got it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use engine::live::Receipt;
use hyper::rt::{Read, ReadBufCursor, Write};

/// The answers of one connection that hyper has taken, but perhaps not written. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox(Arc<Mutex<Vec<Receipt>>>);

impl Outbox {
    /// Hyper has taken the whole answer that `receipts` belong to.
    pub(super) fn add(&self, receipts: impl IntoIterator<Item = Receipt>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(receipts);
    }

    fn commit_all(&self) {
        // Taken out first: committing wakes readers, which is none of this lock's business.
        let written = {
            let mut receipts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if receipts.is_empty() {
                return;
            }
            std::mem::take(&mut *receipts)
        };
        written.into_iter().for_each(Receipt::commit);
    }
}

/// A connection that tells its outbox when everything is written.
pub(super) struct Watched<S> {
    stream: S,
    outbox: Outbox,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, outbox: Outbox) -> Self {
        Self { stream, outbox }
    }
}

impl<S: Read + Unpin> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Hyper calls it after the socket has taken everything in hyper's buffer.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.outbox.commit_all();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}
