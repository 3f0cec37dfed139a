//! Which answers have really been written to a connection.
//!
//! ```text
//!  live answer ─► body taken by hyper ─► Outbox (receipts) ─► socket took all bytes ─► commit
//!                     │                        │
//!                     └ dropped before that    └ connection broke: dropped, the reader gets
//!                                                the same again
//! ```
//!
//! Hyper keeps answers in a buffer of its own. An answer counts as written only when hyper flushes
//! and the socket has taken everything; a client that is gone by then has not received it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use store::live::Receipt;
use tokio::time::{Sleep, sleep};

/// The answers of one connection that hyper has taken, but perhaps not written yet. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox(Arc<Mutex<Vec<Receipt>>>);

impl Outbox {
    /// Called when hyper has taken the whole answer that `receipts` belong to.
    pub(super) fn add(&self, receipts: impl IntoIterator<Item = Receipt>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(receipts);
    }

    fn commit_all(&self) {
        // Taken out first: committing wakes readers, which must not happen under this lock.
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

/// How long a client may accept no data.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);

/// A connection that tells its outbox when everything is written, and fails when its client does
/// not read: otherwise what is queued for it would be held for ever.
pub(super) struct Watched<S> {
    stream: S,
    outbox: Outbox,
    /// Runs while the socket accepts nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, outbox: Outbox) -> Self {
        Self { stream, outbox, stalled: None }
    }

    /// Starts or stops the timer according to the outcome of a write.
    fn watch(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_DEADLINE)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
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
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(written, context)
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
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(written, context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper_util::rt::TokioIo;
    use tokio::io::AsyncReadExt;
    use tokio::time::Instant;

    use super::*;

    async fn write(stream: &mut Watched<TokioIo<tokio::io::DuplexStream>>) -> io::Result<usize> {
        poll_fn(|context| Pin::new(&mut *stream).poll_write(context, &[0; 16])).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_let_go() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut stream = Watched::new(TokioIo::new(ours), Outbox::default());
        assert_eq!(write(&mut stream).await.expect("room"), 16);

        let begun = Instant::now();
        let read = async {
            tokio::time::sleep(WRITE_DEADLINE / 2).await;
            theirs.read_exact(&mut [0; 16]).await.expect("what was written");
        };
        let (written, ()) = tokio::join!(write(&mut stream), read);
        assert_eq!(written.expect("room again"), 16, "slow is not stalled");

        let error = write(&mut stream).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), (WRITE_DEADLINE * 3 / 2).as_secs());
    }
}
