//! Who owns background work, and how it is shut down.
//!
//! ```text
//!   Ctrl-C ─┐
//!  SIGTERM ─┼─► begin_shutdown ─► every token() is cancelled ─► futures finish ─► shutdown() returns
//!  api/stop ┘
//! ```
//!
//! Every future that outlives a request is spawned here and watches a token from here, so that a
//! shutdown can wait for all of them and a test can assert that none is left.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Owns all background work of one server. Cheap to clone; clones share the work.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    tracker: TaskTracker,
    ending: CancellationToken,
}

impl Lifecycle {
    /// A lifecycle with nothing running.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled when the shutdown begins. Cancelling the token itself affects
    /// nothing else.
    pub fn token(&self) -> CancellationToken {
        self.ending.child_token()
    }

    /// Runs `future` in the background. It must end soon after a [`token`](Self::token) is cancelled.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tracker.spawn(future)
    }

    /// Begins the shutdown by cancelling all tokens. Returns at once; calling it again changes
    /// nothing.
    pub fn begin_shutdown(&self) {
        self.ending.cancel();
    }

    /// Waits until [`begin_shutdown`](Self::begin_shutdown) was called. Cancel safe.
    pub async fn ending(&self) {
        self.ending.cancelled().await;
    }

    /// True once the shutdown has begun.
    pub fn is_ending(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// How many futures are still running.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// Begins the shutdown and waits for the background work, but no longer than `deadline`.
    /// Returns how many futures were still running then: 0 is a clean shutdown.
    pub async fn shutdown(&self, deadline: Duration) -> usize {
        self.begin_shutdown();
        self.tracker.close();
        // A timeout is not an error here: the caller reports what is left.
        let _ = tokio::time::timeout(deadline, self.tracker.wait()).await;
        self.tracker.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_work_that_listens() {
        let life = Lifecycle::new();
        let token = life.token();
        life.spawn(async move {
            token.cancelled().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        });
        assert_eq!(life.running(), 1);
        assert_eq!(life.shutdown(Duration::from_secs(4)).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_does_not_wait_past_its_deadline() {
        let life = Lifecycle::new();
        life.spawn(std::future::pending::<()>());
        assert_eq!(life.shutdown(Duration::from_secs(4)).await, 1);
    }

    #[tokio::test]
    async fn cancelling_one_token_ends_nothing_else() {
        let life = Lifecycle::new();
        let (one, other) = (life.token(), life.token());
        one.cancel();
        assert!(!other.is_cancelled());
        assert!(!life.is_ending());
        life.begin_shutdown();
        assert!(other.is_cancelled());
        life.ending().await;
    }
}
