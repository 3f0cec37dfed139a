//! The prompts that wait in a session, and the one whose turn is running.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use store::fold::{self, PromptAuthor, SessionNote};
use store::live::LiveLog;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use wire::bridge::{ProjectMessage, ProjectMessageEnd, RunEnd};
use wire::{MessageId, SessionResponse, TaskId};

use super::{SessionError, TurnEnd, TurnOutcome};
use crate::budget::Meter;

/// The error of a run that somebody cancelled.
const CANCELLED: &str = "cancelled";

/// A prompt that waits or whose turn is running.
#[derive(Debug)]
pub(super) struct QueuedPrompt {
    pub(super) text: String,
    pub(super) author: PromptAuthor,
    /// The message to the session's project that it came with.
    pub(super) message: Option<ProjectMessage>,
    /// Aborts this prompt's turn and no other.
    pub(super) abort: CancellationToken,
    /// The meter of the task that sent it.
    pub(super) task: Option<Arc<Meter>>,
    /// Cancelled when its turn begins.
    begun: CancellationToken,
    outcome: oneshot::Sender<TurnOutcome>,
}

impl QueuedPrompt {
    fn message_id(&self) -> Option<MessageId> {
        self.message.as_ref().map(|message| message.id)
    }

    pub(super) fn settle(self, outcome: TurnOutcome) {
        // Nobody waits for the turn of a user's prompt.
        let _ = self.outcome.send(outcome);
    }

    fn drop_unsent(self, ended: TurnEnd) {
        self.settle(TurnOutcome::nothing(ended));
    }
}

/// Handle to a prompt's turn, to wait for it or abort it.
#[derive(Debug)]
pub struct PendingTurn {
    outcome: oneshot::Receiver<TurnOutcome>,
    abort: CancellationToken,
    begun: CancellationToken,
}

impl PendingTurn {
    /// Waits until this prompt's turn has ended. Cancel safe; the turn continues if nobody waits.
    pub async fn outcome(&mut self) -> TurnOutcome {
        let outcome = (&mut self.outcome).await;
        outcome.unwrap_or_else(|_| {
            TurnOutcome::nothing(TurnEnd::Crashed("the session has ended".to_owned()))
        })
    }

    /// Cancelled when the turn begins.
    pub(crate) fn begun(&self) -> CancellationToken {
        self.begun.clone()
    }

    /// Ends this prompt's turn, or keeps it from beginning. Other prompts are unaffected.
    pub fn abort(&self) {
        self.abort.cancel();
    }
}

/// The queue of one session. Added prompts are noted in the log, so that they survive a restart.
pub(super) struct Queue {
    log: Arc<LiveLog<SessionResponse>>,
    state: Mutex<QueueState>,
    added: Notify,
    capacity: usize,
    /// The session's meter: nothing has its turn while the budget is used up.
    meter: Arc<Meter>,
    /// The parent of every prompt's token: stopping the session aborts its turns.
    stop: CancellationToken,
}

/// Where a prompt is added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Last,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<QueuedPrompt>,
    running: Option<Running>,
    closed: bool,
    /// Whether restored prompts wait until a question is answered.
    held: bool,
}

/// The prompt whose turn is running.
#[derive(Debug)]
struct Running {
    abort: CancellationToken,
    /// The message whose end was not reported yet.
    message: Option<MessageId>,
}

impl Queue {
    pub(super) fn new(
        log: Arc<LiveLog<SessionResponse>>,
        capacity: usize,
        meter: Arc<Meter>,
        stop: CancellationToken,
    ) -> Self {
        Self { log, state: Mutex::default(), added: Notify::new(), capacity, meter, stop }
    }

    /// Queues the prompts that waited when the server stopped, without noting them again. If they
    /// are held, they wait until they are released or another prompt comes. Those of tasks are left
    /// out: their tasks send them again.
    pub(super) fn restore<'a>(
        &self,
        prompts: impl Iterator<Item = &'a fold::QueuedPrompt>,
        held: bool,
    ) {
        let mut state = self.state.lock();
        state.held = held;
        for prompt in prompts.filter(|prompt| prompt.task.is_none()) {
            // Its sender is gone, so nobody waits for the outcome.
            let (outcome, _) = oneshot::channel();
            state.waiting.push_back(QueuedPrompt {
                text: prompt.prompt.clone(),
                author: prompt.author,
                message: prompt.message.clone(),
                abort: self.stop.child_token(),
                // Nor does anybody count: the task has ended.
                task: None,
                begun: CancellationToken::new(),
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
        self.put(text, author, None, Place::Last, None)
    }

    /// Adds a prompt of a task, whose meter counts what the turn uses.
    pub(super) fn add_for_task(
        &self,
        text: String,
        task: TaskId,
        meter: Arc<Meter>,
    ) -> Result<PendingTurn, SessionError> {
        self.put(text, PromptAuthor::Engine, None, Place::Last, Some((task, meter)))
    }

    /// Adds a message to the session's project. It is a fact, and thus seen by readers.
    pub(super) fn add_message(&self, message: ProjectMessage) -> Result<PendingTurn, SessionError> {
        self.put(message.text.clone(), PromptAuthor::User, Some(message), Place::Last, None)
    }

    /// Adds a prompt before all that wait, however many those are.
    pub(super) fn add_first(
        &self,
        text: String,
        author: PromptAuthor,
    ) -> Result<PendingTurn, SessionError> {
        self.put(text, author, None, Place::First, None)
    }

    /// Lets prompts that are held have their turns.
    pub(super) fn release(&self) {
        self.state.lock().held = false;
        self.added.notify_one();
    }

    /// Looks again whether the next prompt may have its turn: the budget has changed.
    pub(super) fn wake(&self) {
        self.added.notify_one();
    }

    fn put(
        &self,
        text: String,
        author: PromptAuthor,
        message: Option<ProjectMessage>,
        place: Place,
        task: Option<(TaskId, Arc<Meter>)>,
    ) -> Result<PendingTurn, SessionError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SessionError::SessionNotFound);
        }
        if place == Place::Last && state.waiting.len() >= self.capacity {
            return Err(SessionError::TooManyQueries);
        }
        if self.meter.used_up().is_some() {
            return Err(SessionError::BudgetExceeded);
        }
        state.held = false;
        let (sender, outcome) = oneshot::channel();
        let abort = self.stop.child_token();
        let (task, meter) = task.unzip();
        // Under the lock, so that notes and facts have the order of the queue.
        if let Some(message) = &message {
            self.log.push(&SessionResponse::ProjectMessage(message.clone()));
        } else {
            let prompt = fold::QueuedPrompt { prompt: text.clone(), author, message: None, task };
            self.log.note(&match place {
                Place::First => SessionNote::QueuedFirst(prompt),
                Place::Last => SessionNote::Queued(prompt),
            });
        }
        let begun = CancellationToken::new();
        let queued = QueuedPrompt {
            text,
            author,
            message,
            abort: abort.clone(),
            task: meter,
            begun: begun.clone(),
            outcome: sender,
        };
        match place {
            Place::First => state.waiting.push_front(queued),
            Place::Last => state.waiting.push_back(queued),
        }
        drop(state);
        // There is one consumer; if it is busy now, it finds the permit later.
        self.added.notify_one();
        Ok(PendingTurn { outcome, abort, begun })
    }

    /// Waits for the next prompt, which counts as running from then on.
    pub(super) async fn next(&self) -> QueuedPrompt {
        loop {
            {
                let mut state = self.state.lock();
                state.running = None;
                if !state.held
                    && self.meter.used_up().is_none()
                    && let Some(prompt) = state.waiting.pop_front()
                {
                    let message = prompt.message_id();
                    state.running = Some(Running { abort: prompt.abort.clone(), message });
                    prompt.begun.cancel();
                    return prompt;
                }
            }
            self.added.notified().await;
        }
    }

    /// Aborts the running turn, or the next one if none is running.
    pub(super) fn abort(&self) {
        let state = self.state.lock();
        let next = state.waiting.front().map(|prompt| &prompt.abort);
        if let Some(abort) = state.running.as_ref().map(|running| &running.abort).or(next) {
            abort.cancel();
        }
    }

    /// Ends the run of a message: one that waits has ended at once. False if there is none.
    pub(super) fn cancel(&self, message: MessageId) -> bool {
        let mut state = self.state.lock();
        if let Some(running) = &state.running
            && running.message == Some(message)
        {
            running.abort.cancel();
            return true;
        }
        let place = state.waiting.iter().position(|it| it.message_id() == Some(message));
        let Some(prompt) = place.and_then(|place| state.waiting.remove(place)) else {
            return false;
        };
        self.report_end(message, RunEnd::Cancelled, Some(CANCELLED.to_owned()));
        drop(state);
        prompt.drop_unsent(TurnEnd::Aborted);
        true
    }

    /// Reports the end of the running prompt's message, if it has one.
    pub(super) fn end_message(&self, reason: RunEnd, error: Option<String>) {
        let mut state = self.state.lock();
        if let Some(message) = state.running.as_mut().and_then(|running| running.message.take()) {
            self.report_end(message, reason, error);
        }
    }

    fn report_end(&self, id: MessageId, reason: RunEnd, error: Option<String>) {
        let end = ProjectMessageEnd { id, reason, error };
        self.log.push(&SessionResponse::ProjectMessageEnd(end));
    }

    /// Refuses further prompts; waiting ones stay.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
    }

    /// Refuses further prompts, if none waits or runs. True if it does.
    pub(super) fn close_if_idle(&self) -> bool {
        let mut state = self.state.lock();
        state.closed |= state.waiting.is_empty() && state.running.is_none();
        state.closed
    }

    /// Refuses further prompts and drops the waiting ones.
    pub(super) fn end(&self, ended: &TurnEnd) {
        let waiting = {
            let mut state = self.state.lock();
            state.closed = true;
            let running = state.running.take().and_then(|running| running.message);
            let waiting = std::mem::take(&mut state.waiting);
            for message in
                running.into_iter().chain(waiting.iter().filter_map(QueuedPrompt::message_id))
            {
                let (reason, error) = run_end(ended);
                self.report_end(message, reason, error);
            }
            waiting
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

/// How a run ends with its turn.
pub(super) fn run_end(ended: &TurnEnd) -> (RunEnd, Option<String>) {
    match ended {
        TurnEnd::Idle => (RunEnd::Done, None),
        TurnEnd::Aborted => (RunEnd::Cancelled, Some(CANCELLED.to_owned())),
        TurnEnd::Failed(message) | TurnEnd::Crashed(message) => {
            (RunEnd::Failed, Some(message.clone()))
        }
        TurnEnd::OverBudget(reached) => (RunEnd::Failed, Some(reached.to_string())),
    }
}
