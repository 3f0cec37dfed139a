//! The turns of a conversation: which prompt is being processed, and when it is finished.
//!
//! The CLI reports when it takes up a prompt and when it becomes idle. It can also be busy on its
//! own, so a prompt is finished at the first idle event after it was taken up. An aborted one is
//! finished at the next idle event.

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::events::Progress;

/// Shared by a conversation, the reader of its events, and the handlers of its tools.
pub(super) struct Turns {
    stage: watch::Sender<Stage>,
    /// Notified when the running turn should be aborted.
    abort: Notify,
    /// Cancelled when the turn is over, or should be.
    over: Mutex<CancellationToken>,
    /// Cancelled when the conversation has ended.
    ended: CancellationToken,
}

#[derive(Debug)]
enum Stage {
    /// No turn is running.
    Free,
    Busy(Busy),
    /// The conversation has died, for this reason.
    Dead(String),
}

/// State of the running turn.
#[derive(Debug, Default)]
struct Busy {
    /// The CLI's id for the prompt, once it has accepted it.
    message_id: Option<String>,
    is_aborted: bool,
    seen: Vec<Progress>,
}

impl Busy {
    fn is_over(&self) -> bool {
        if self.is_aborted {
            return self.seen.last() == Some(&Progress::Idle);
        }
        let Some(expected) = &self.message_id else { return false };
        let is_ours = |progress: &Progress| match progress {
            // Older versions of the CLI do not report the id.
            Progress::Begun { message_id } => {
                expected.is_empty() || message_id.as_ref().is_none_or(|id| id == expected)
            }
            Progress::Idle => false,
        };
        let begun = self.seen.iter().position(is_ours);
        begun.is_some_and(|begun| self.seen[begun..].contains(&Progress::Idle))
    }
}

/// The conversation has died, for this reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Died(pub(super) String);

impl Turns {
    pub(super) fn new() -> Self {
        let ended = CancellationToken::new();
        Self {
            stage: watch::Sender::new(Stage::Free),
            abort: Notify::new(),
            over: Mutex::new(ended.clone()),
            ended,
        }
    }

    /// Waits until the previous turn is over, and begins the next one. Cancel safe.
    pub(super) async fn begin(&self) -> Result<Turn<'_>, Died> {
        let mut stage = self.stage.subscribe();
        loop {
            let is_begun = self.stage.send_if_modified(|stage| {
                let is_free = matches!(stage, Stage::Free);
                if is_free {
                    *stage = Stage::Busy(Busy::default());
                }
                is_free
            });
            if is_begun {
                let over = self.ended.child_token();
                *self.over.lock() = over.clone();
                return Ok(Turn { turns: self, over });
            }
            if let Stage::Dead(reason) = &*stage.borrow_and_update() {
                return Err(Died(reason.clone()));
            }
            // Cannot fail: `self` owns the sender.
            let _ = stage.changed().await;
        }
    }

    /// A token that is cancelled when the results of the current work are no longer wanted.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.lock().clone()
    }

    /// Records what the CLI reported.
    pub(super) fn note(&self, progress: Progress) {
        self.change(|busy| busy.seen.push(progress));
    }

    /// Waits until the running turn should be aborted. Cancel safe.
    pub(super) async fn abort_wanted(&self) {
        self.abort.notified().await;
    }

    /// Requests that the running turn be aborted.
    pub(super) fn want_abort(&self) {
        self.over.lock().cancel();
        let mut is_news = false;
        self.change(|busy| is_news = !std::mem::replace(&mut busy.is_aborted, true));
        if is_news {
            self.abort.notify_one();
        }
    }

    /// Ends the aborted turn: the CLI was told, and has had its time.
    pub(super) fn conclude_abort(&self) {
        self.change(|busy| {
            if busy.is_aborted {
                busy.seen.push(Progress::Idle);
            }
        });
    }

    /// Ends everything, because the conversation has died.
    pub(super) fn die(&self, reason: &str) {
        self.ended.cancel();
        self.stage.send_replace(Stage::Dead(reason.to_owned()));
    }

    /// Ends the conversation regularly.
    pub(super) fn end(&self) {
        self.die("the session has ended");
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    fn change(&self, change: impl FnOnce(&mut Busy)) {
        self.stage.send_if_modified(|stage| {
            let Stage::Busy(busy) = stage else { return false };
            change(busy);
            let is_over = busy.is_over();
            if is_over {
                *stage = Stage::Free;
            }
            is_over
        });
    }
}

/// A running turn. Dropping it before it is over aborts it.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    over: CancellationToken,
}

impl Turn<'_> {
    /// Records the id that the CLI gave to the prompt.
    pub(super) fn sent(&self, message_id: String) {
        self.turns.change(|busy| busy.message_id = Some(message_id));
    }

    pub(super) fn abort(&self) {
        self.turns.want_abort();
    }

    /// Waits until the turn is over. Cancel safe.
    pub(super) async fn finished(&self) -> Result<(), Died> {
        let mut stage = self.turns.stage.subscribe();
        let waiting = stage.wait_for(|stage| !matches!(stage, Stage::Busy(_)));
        match waiting.await.as_deref() {
            Ok(Stage::Dead(reason)) => Err(Died(reason.clone())),
            // Cannot happen: `turns` holds the sender.
            _ => Ok(()),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.over.cancel();
        // Turns never overlap, so a turn that is still busy is this one.
        self.turns.want_abort();
        *self.turns.over.lock() = self.turns.ended.clone();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn begun(id: &str) -> Progress {
        Progress::Begun { message_id: Some(id.to_owned()) }
    }

    async fn start(turns: &Turns) -> Turn<'_> {
        turns.begin().await.expect("it lives")
    }

    #[tokio::test]
    async fn a_prompt_is_over_when_the_cli_is_idle_after_taking_it_up() {
        let turns = Turns::new();
        let turn = start(&turns).await;
        turns.note(begun("of the CLI itself"));
        turns.note(Progress::Idle);
        turn.sent("ours".to_owned());
        assert!(turn.finished().now_or_never().is_none(), "not taken up yet");
        turns.note(begun("ours"));
        assert!(turn.finished().now_or_never().is_none(), "at work");
        turns.note(Progress::Idle);
        assert_eq!(turn.finished().now_or_never(), Some(Ok(())));
        drop(turn);
        assert!(turns.abort_wanted().now_or_never().is_none(), "nothing to abort");
    }

    #[tokio::test]
    async fn events_may_be_faster_than_the_answer() {
        let turns = Turns::new();
        let turn = start(&turns).await;
        turns.note(begun("ours"));
        turns.note(Progress::Idle);
        assert!(turn.finished().now_or_never().is_none(), "whose it is is not known");
        turn.sent("ours".to_owned());
        assert_eq!(turn.finished().now_or_never(), Some(Ok(())));
    }

    #[tokio::test]
    async fn a_dropped_turn_is_aborted_before_the_next_one_begins() {
        let turns = Turns::new();
        let turn = start(&turns).await;
        let over = turns.over();
        drop(turn);
        assert!(over.is_cancelled());
        assert!(turns.abort_wanted().now_or_never().is_some());
        assert!(turns.begin().now_or_never().is_none(), "the one before is being aborted");
        turns.note(Progress::Idle);
        let next = turns.begin().now_or_never().expect("free").expect("it lives");
        assert!(!turns.over().is_cancelled());
        next.abort();
        turns.conclude_abort();
        assert_eq!(next.finished().now_or_never(), Some(Ok(())), "the CLI said nothing");
    }

    #[tokio::test]
    async fn death_ends_everything() {
        let turns = Turns::new();
        let turn = start(&turns).await;
        turns.die("killed");
        assert_eq!(turn.finished().await, Err(Died("killed".to_owned())));
        drop(turn);
        assert!(turns.begin().await.is_err_and(|died| died.0 == "killed"));
        assert!(turns.over().is_cancelled());
    }
}
