//! The prompts of a conversation: which one is being dealt with, and when that is over.
//!
//! The CLI says when it takes up a prompt and when it has nothing more to do. It can be busy by
//! itself, too, so a prompt is over at the first idleness after it was taken up. One that is
//! aborted is over at the next one.

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::events::Progress;

/// Shared by a conversation, what reads its events, and the handlers of its tools.
pub(super) struct Turns {
    stage: watch::Sender<Stage>,
    /// Somebody wants the running turn to be aborted.
    abort: Notify,
    /// Cancelled when the turn is over, or is to be.
    over: Mutex<CancellationToken>,
    /// Cancelled when the conversation is over.
    ended: CancellationToken,
}

#[derive(Debug)]
enum Stage {
    /// No prompt is being dealt with.
    Free,
    Busy(Busy),
    /// How the conversation died.
    Dead(String),
}

/// A prompt that is being dealt with.
#[derive(Debug, Default)]
struct Busy {
    /// What the CLI calls it, once it has answered.
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
            // An older CLI does not name it.
            Progress::Begun { message_id } => {
                expected.is_empty() || message_id.as_ref().is_none_or(|id| id == expected)
            }
            Progress::Idle => false,
        };
        let begun = self.seen.iter().position(is_ours);
        begun.is_some_and(|begun| self.seen[begun..].contains(&Progress::Idle))
    }
}

/// How the conversation died.
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

    /// Waits until the turn before is over, and begins the next one. Cancel safe.
    pub(super) async fn begin(&self) -> Result<Turn<'_>, Died> {
        let mut stage = self.stage.subscribe();
        loop {
            let died = self.stage.send_if_modified(|stage| {
                let is_free = matches!(stage, Stage::Free);
                if is_free {
                    *stage = Stage::Busy(Busy::default());
                }
                is_free
            });
            if died {
                let over = self.ended.child_token();
                *self.over.lock() = over.clone();
                return Ok(Turn { turns: self, over });
            }
            if let Stage::Dead(reason) = &*stage.borrow_and_update() {
                return Err(Died(reason.clone()));
            }
            // The sender is ours, so it is there.
            let _ = stage.changed().await;
        }
    }

    /// A token that is cancelled when what is done now is not wanted any more.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.lock().clone()
    }

    /// What the CLI says.
    pub(super) fn note(&self, progress: Progress) {
        self.change(|busy| busy.seen.push(progress));
    }

    /// Waits until a turn is to be aborted. Cancel safe.
    pub(super) async fn abort_wanted(&self) {
        self.abort.notified().await;
    }

    /// The turn is to be aborted.
    pub(super) fn want_abort(&self) {
        self.over.lock().cancel();
        let mut is_news = false;
        self.change(|busy| is_news = !std::mem::replace(&mut busy.is_aborted, true));
        if is_news {
            self.abort.notify_one();
        }
    }

    /// The CLI has been told to abort and has had its time.
    pub(super) fn conclude_abort(&self) {
        self.change(|busy| {
            if busy.is_aborted {
                busy.seen.push(Progress::Idle);
            }
        });
    }

    /// The conversation has died.
    pub(super) fn die(&self, reason: &str) {
        self.ended.cancel();
        self.stage.send_replace(Stage::Dead(reason.to_owned()));
    }

    /// The conversation ends, as it should.
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

/// A turn that runs. Dropped before it is over, it is aborted.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    over: CancellationToken,
}

impl Turn<'_> {
    /// The CLI has taken the prompt and calls it by an id.
    pub(super) fn sent(&self, message_id: String) {
        self.turns.change(|busy| busy.message_id = Some(message_id));
    }

    pub(super) fn abort(&self) {
        self.turns.want_abort();
    }

    /// Waits until it is over. Cancel safe.
    pub(super) async fn finished(&self) -> Result<(), Died> {
        let mut stage = self.turns.stage.subscribe();
        let waiting = stage.wait_for(|stage| !matches!(stage, Stage::Busy(_)));
        match waiting.await.as_deref() {
            Ok(Stage::Dead(reason)) => Err(Died(reason.clone())),
            // The sender is held by `turns`.
            _ => Ok(()),
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.over.cancel();
        // Turns follow one another, so a turn that is still busy is this one.
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
