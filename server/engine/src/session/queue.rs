//! The prompts that wait in a session, and the one that is being dealt with.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use store::fold::{self, PromptAuthor, SessionNote};
use store::live::LiveLog;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use wire::{SessionResponse, Usage};

use super::{SessionError, TurnEnd, TurnOutcome};

/// A prompt on its way to the agent.
#[derive(Debug)]
pub(super) struct QueuedPrompt {
    pub(super) text: String,
    pub(super) author: PromptAuthor,
    /// Ends this prompt's turn and no other's.
    pub(super) abort: CancellationToken,
    outcome: oneshot::Sender<TurnOutcome>,
}

impl QueuedPrompt {
    pub(super) fn settle(self, outcome: TurnOutcome) {
        // Nobody waits for the turns of users.
        let _ = self.outcome.send(outcome);
    }

    fn drop_unsent(self, ended: TurnEnd) {
        self.settle(TurnOutcome { tools: Vec::new(), usage: Usage::default(), ended });
    }
}

/// A prompt's turn, for those who wait for it.
#[derive(Debug)]
pub struct PendingTurn {
    outcome: oneshot::Receiver<TurnOutcome>,
    abort: CancellationToken,
}

impl PendingTurn {
    /// Waits until exactly this prompt's turn has ended. Cancel safe; the turn goes on if nobody
    /// waits.
    pub async fn outcome(&mut self) -> TurnOutcome {
        let outcome = (&mut self.outcome).await;
        outcome.unwrap_or_else(|_| TurnOutcome {
            tools: Vec::new(),
            usage: Usage::default(),
            ended: TurnEnd::Crashed("the session has ended".to_owned()),
        })
    }

    /// Ends this prompt's turn, or keeps it from beginning. Other prompts are not touched.
    pub fn abort(&self) {
        self.abort.cancel();
    }
}

/// The queue of one session. What happens to it is noted: prompts that wait are kept.
pub(super) struct Queue {
    log: Arc<LiveLog<SessionResponse>>,
    state: Mutex<QueueState>,
    added: Notify,
    capacity: usize,
    /// The parent of every prompt's token: stopping the session aborts its turns.
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<QueuedPrompt>,
    running: Option<CancellationToken>,
    closed: bool,
}

impl Queue {
    pub(super) fn new(
        log: Arc<LiveLog<SessionResponse>>,
        capacity: usize,
        stop: CancellationToken,
    ) -> Self {
        Self { log, state: Mutex::default(), added: Notify::new(), capacity, stop }
    }

    /// Prompts that waited when the server stopped wait again. They are noted already.
    pub(super) fn restore<'a>(&self, prompts: impl Iterator<Item = &'a fold::QueuedPrompt>) {
        let mut state = self.state.lock();
        for prompt in prompts {
            // Whoever sent it does not wait any more.
            let (outcome, _) = oneshot::channel();
            state.waiting.push_back(QueuedPrompt {
                text: prompt.prompt.clone(),
                author: prompt.author,
                abort: self.stop.child_token(),
                outcome,
            });
        }
        drop(state);
        self.added.notify_one();
    }

    pub(super) fn add(
        &self,
        text: String,
        author: PromptAuthor,
    ) -> Result<PendingTurn, SessionError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SessionError::SessionNotFound);
        }
        if state.waiting.len() >= self.capacity {
            return Err(SessionError::TooManyQueries);
        }
        let (sender, outcome) = oneshot::channel();
        let abort = self.stop.child_token();
        // Under the lock: the notes are in the order of the queue.
        let prompt = fold::QueuedPrompt { prompt: text.clone(), author };
        self.log.note(&SessionNote::Queued(prompt));
        state.waiting.push_back(QueuedPrompt {
            text,
            author,
            abort: abort.clone(),
            outcome: sender,
        });
        drop(state);
        // There is one taker, and a permit is kept for it if it is busy now.
        self.added.notify_one();
        Ok(PendingTurn { outcome, abort })
    }

    /// Waits for the next prompt, which is running from then on.
    pub(super) async fn next(&self) -> QueuedPrompt {
        loop {
            {
                let mut state = self.state.lock();
                state.running = None;
                if let Some(prompt) = state.waiting.pop_front() {
                    state.running = Some(prompt.abort.clone());
                    return prompt;
                }
            }
            self.added.notified().await;
        }
    }

    /// Aborts the turn that is running, or else the one that is about to.
    pub(super) fn abort(&self) {
        let state = self.state.lock();
        let next = state.waiting.front().map(|prompt| &prompt.abort);
        if let Some(abort) = state.running.as_ref().or(next) {
            abort.cancel();
        }
    }

    /// Takes no more prompts; those that wait stay.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
    }

    /// Takes no more prompts and gives up those that wait.
    pub(super) fn end(&self, ended: &TurnEnd) {
        let waiting = {
            let mut state = self.state.lock();
            state.closed = true;
            state.running = None;
            std::mem::take(&mut state.waiting)
        };
        for prompt in waiting {
            prompt.drop_unsent(ended.clone());
        }
    }

    /// Whether a turn is running, and how many prompts wait.
    pub(super) fn load(&self) -> (bool, usize) {
        let state = self.state.lock();
        (state.running.is_some(), state.waiting.len())
    }
}
