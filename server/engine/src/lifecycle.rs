//! Who owns the futures that run in the background.
//!
//! Every future that the engine spawns belongs to one [`Lifecycle`] and watches a child of its
//! token, so that the end of the server is one call: cancel, then wait for all of them.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The futures in the background and the signal that ends them. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    tracker: TaskTracker,
    token: CancellationToken,
}

impl Lifecycle {
    /// One with nothing running.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled at shutdown, and that can be cancelled alone before.
    pub fn token(&self) -> CancellationToken {
        self.token.child_token()
    }

    /// Runs a future in the background. It must end soon after its [token](Self::token) is
    /// cancelled.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tracker.spawn(future)
    }

    /// How many futures are running.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// Cancels everything and waits until all futures have ended. False if some had not by the
    /// deadline.
    pub async fn shutdown(&self, deadline: Duration) -> bool {
        self.token.cancel();
        self.tracker.close();
        tokio::time::timeout(deadline, self.tracker.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shutdown_cancels_and_waits() {
        let lifecycle = Lifecycle::new();
        let token = lifecycle.token();
        lifecycle.spawn(async move { token.cancelled().await });
        assert_eq!(lifecycle.running(), 1);
        assert!(lifecycle.shutdown(Duration::from_secs(1)).await);
        assert_eq!(lifecycle.running(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_does_not_wait_for_ever() {
        let lifecycle = Lifecycle::new();
        lifecycle.spawn(std::future::pending::<()>());
        assert!(!lifecycle.shutdown(Duration::from_secs(1)).await);
    }
}
