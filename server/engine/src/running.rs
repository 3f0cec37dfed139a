//! What running sessions, tasks and jobs have in common: each can be asked to stop, signals when
//! nothing of it runs any more, and is concluded even if its future panics.
//!
//! ```text
//!   manager ── Handle::begin_stop ──▶ the future
//!      ▲                                  │ ends, however it does
//!      └── Handle::ended ◀── Ending ◀─────┘ Conclude::conclude
//! ```

use std::ops::{Deref, DerefMut};

use tokio_util::sync::CancellationToken;

/// Handle to a running session, task or job. Clones share its state.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    stop: CancellationToken,
    /// Cancelled if somebody asked for the stop; else the server is stopping.
    asked: CancellationToken,
    ended: CancellationToken,
}

impl Handle {
    /// Handle to something that is about to run, and that stops when `stop` is cancelled.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { stop, asked: CancellationToken::new(), ended: CancellationToken::new() }
    }

    /// Handle to something of which nothing runs any more.
    pub(crate) fn of_ended() -> Self {
        let handle = Self::new(CancellationToken::new());
        handle.ended.cancel();
        handle
    }

    /// Cancelled to make it stop.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Asks it to stop, and returns at once.
    pub(crate) fn begin_stop(&self) {
        self.asked.cancel();
        self.stop.cancel();
    }

    /// Lets it stop with the server: nobody has asked for it.
    pub(crate) fn suspend(&self) {
        self.stop.cancel();
    }

    /// Whether it stops only because the server does.
    pub(crate) fn is_suspended(&self) -> bool {
        self.stop.is_cancelled() && !self.asked.is_cancelled()
    }

    /// Returns when nothing of it runs any more and its end has been reported. Cancel safe.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// A guard that concludes `work` and signals the end when it is dropped. The future must own
    /// it, declared before everything that has to be dropped by then.
    pub(crate) fn ending<W: Conclude>(&self, work: W) -> Ending<W> {
        Ending { work: Some(work), is_concluded: false, ended: self.ended.clone() }
    }
}

/// Asks all of them to stop, then waits until all have ended.
pub(crate) async fn stop_all(handles: Vec<Handle>) {
    for handle in &handles {
        handle.begin_stop();
    }
    for handle in handles {
        handle.ended().await;
    }
}

/// Lets all of them stop with the server, then waits until nothing of them runs any more.
pub(crate) async fn suspend_all(handles: Vec<Handle>) {
    for handle in &handles {
        handle.suspend();
    }
    for handle in handles {
        handle.ended().await;
    }
}

/// What has to happen when a session, task, job or run ends.
pub(crate) trait Conclude {
    /// Reports the end. Called exactly once, on a panic too.
    fn conclude(&mut self);
}

/// Concludes its work when dropped, so that it is done even after a panic.
pub(crate) struct Ending<W: Conclude> {
    /// `Some` until it is dropped.
    work: Option<W>,
    is_concluded: bool,
    ended: CancellationToken,
}

impl<W: Conclude> Ending<W> {
    /// Concludes the work now; its resources are freed on drop.
    pub(crate) fn conclude(&mut self) {
        if !std::mem::replace(&mut self.is_concluded, true) {
            (**self).conclude();
        }
    }
}

impl<W: Conclude> Deref for Ending<W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.work.as_ref().expect("only taken on drop")
    }
}

impl<W: Conclude> DerefMut for Ending<W> {
    fn deref_mut(&mut self) -> &mut W {
        self.work.as_mut().expect("only taken on drop")
    }
}

impl<W: Conclude> Drop for Ending<W> {
    fn drop(&mut self) {
        self.conclude();
        // Freed first, so that whoever waits for the end can have its resources.
        self.work = None;
        self.ended.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// Records what happens to it.
    struct Noted(Arc<Mutex<Vec<&'static str>>>);

    impl Conclude for Noted {
        fn conclude(&mut self) {
            self.0.lock().push("concluded");
        }
    }

    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.lock().push("freed");
        }
    }

    #[tokio::test]
    async fn work_is_concluded_once_and_freed_before_its_end_is_known() {
        for concludes_early in [false, true] {
            let notes = Arc::new(Mutex::new(Vec::new()));
            let handle = Handle::new(CancellationToken::new());
            let mut ending = handle.ending(Noted(notes.clone()));
            if concludes_early {
                ending.conclude();
                assert_eq!(*notes.lock(), ["concluded"]);
            }
            let future = tokio::spawn(async move {
                let _ending = ending;
                panic!("on purpose");
            });
            handle.ended().await;
            assert_eq!(*notes.lock(), ["concluded", "freed"]);
            assert!(future.await.is_err_and(|error| error.is_panic()));
        }
    }

    #[tokio::test]
    async fn all_are_told_to_stop_before_any_is_waited_for() {
        let handles: Vec<_> = (0..3).map(|_| Handle::new(CancellationToken::new())).collect();
        // The first ends only after the last was asked to stop.
        let (first, last) = (handles[0].clone(), handles[2].clone());
        let notes = Arc::new(Mutex::new(Vec::new()));
        let endings: Vec<_> = handles.iter().map(|one| one.ending(Noted(notes.clone()))).collect();
        let ends = tokio::spawn(async move {
            last.stopping().cancelled().await;
            drop(endings);
        });
        stop_all(handles).await;
        first.ended().await;
        ends.await.expect("no panic");
    }
}
