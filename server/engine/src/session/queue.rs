//! The prompts that wait in a session, and the one whose turn is running.
//!
//! Readers are told of the prompts that wait behind others, and may remove or change them; those of
//! the engine and messages to projects are not shown.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use store::fold::{self, PromptAuthor, SessionFold, SessionNote};
use store::live::LiveLog;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use wire::bridge::{ProjectMessage, ProjectMessageEnd, RunEnd};
use wire::{MessageId, PromptQueue, SessionResponse, TaskId, WaitingPrompt, shorten};

use super::{SessionError, SwitchError, TurnEnd, TurnOutcome};
use crate::budget::Meter;

/// The error of a run that somebody cancelled.
const CANCELLED: &str = "cancelled";

/// A prompt that waits or whose turn is running.
#[derive(Debug)]
pub(super) struct QueuedPrompt {
    /// Its number in the session, as its fold counts.
    number: u64,
    pub(super) text: String,
    pub(super) author: PromptAuthor,
    /// The message to the session's project that it came with.
    pub(super) message: Option<ProjectMessage>,
    /// Whether the running turn may take it.
    steers: bool,
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

    /// Whether users see it in the queue.
    fn is_shown(&self) -> bool {
        is_shown(self.author, self.message.is_some())
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
    /// Before those that do not steer. Only while a turn is running.
    Steering,
    Last,
}

/// What the session does next.
#[derive(Debug)]
pub(super) enum Next {
    /// The turn of a prompt.
    Turn(QueuedPrompt),
    /// Another model takes over.
    Switch(Switch),
}

/// A change of the session's model.
#[derive(Debug)]
pub(super) struct Switch {
    /// The model as the client named it.
    pub(super) model: String,
    pub(super) done: oneshot::Sender<Result<(), SwitchError>>,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<QueuedPrompt>,
    running: Option<Running>,
    closed: bool,
    /// Whether restored prompts wait until a question is answered.
    held: bool,
    /// Whether readers were told of prompts that wait.
    shows_queue: bool,
    switching: Switching,
}

/// Whether the session's model is being switched.
#[derive(Debug, Default)]
enum Switching {
    #[default]
    No,
    Asked(Switch),
    UnderWay,
}

impl QueueState {
    /// The place of a prompt that users may remove or change.
    fn place_of(&self, number: u64) -> Result<usize, SessionError> {
        let place = self.waiting.iter().position(|it| it.number == number && it.is_shown());
        place.ok_or(SessionError::NotQueued)
    }
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

    /// Queues the prompts that waited when the server stopped, without noting them again. If a
    /// question is open, they are held until they are released or another prompt comes. Those of tasks
    /// are left out: their tasks send them again.
    pub(super) fn restore(&self, fold: &SessionFold) {
        let mut state = self.state.lock();
        state.held = !fold.questions().is_empty();
        state.shows_queue = fold.shows_queue();
        let prompts = fold.numbered_queue();
        for (number, prompt) in prompts.filter(|(_, prompt)| prompt.task.is_none()) {
            // Its sender is gone, so nobody waits for the outcome.
            let (outcome, _) = oneshot::channel();
            state.waiting.push_back(QueuedPrompt {
                number,
                text: prompt.prompt.clone(),
                author: prompt.author,
                message: prompt.message.clone(),
                steers: prompt.steers,
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

    /// Adds a user's prompt for the running turn.
    pub(super) fn add_steering(&self, text: String) -> Result<PendingTurn, SessionError> {
        self.put(text, PromptAuthor::User, None, Place::Steering, None)
    }

    /// Takes the next prompt for the running turn.
    pub(super) fn take_steering(&self) -> Option<String> {
        let mut state = self.state.lock();
        let may_take = |next: &mut QueuedPrompt| next.steers && !next.abort.is_cancelled();
        let mut prompt = state.waiting.pop_front_if(may_take)?;
        prompt.begun.cancel();
        self.show_change(&mut state);
        drop(state);
        let text = std::mem::take(&mut prompt.text);
        prompt.drop_unsent(TurnEnd::Idle);
        Some(text)
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
        if place == Place::Steering && state.running.is_none() {
            return Err(SessionError::NotWorking);
        }
        if place != Place::First && state.waiting.len() >= self.capacity {
            return Err(SessionError::TooManyQueries);
        }
        if self.meter.used_up().is_some() {
            return Err(SessionError::BudgetExceeded);
        }
        state.held = false;
        let (sender, outcome) = oneshot::channel();
        let abort = self.stop.child_token();
        let (task, meter) = task.unzip();
        let steers = place == Place::Steering;
        // Under the lock, so that notes and facts have the order of the queue.
        if let Some(message) = &message {
            self.log.push(&SessionResponse::ProjectMessage(message.clone()));
        } else {
            let prompt =
                fold::QueuedPrompt { prompt: text.clone(), author, message: None, task, steers };
            self.log.note(&match place {
                Place::First => SessionNote::QueuedFirst(prompt),
                Place::Steering | Place::Last => SessionNote::Queued(prompt),
            });
        }
        let number = self.log.fold(SessionFold::last_queued).unwrap_or_default();
        let begun = CancellationToken::new();
        let queued = QueuedPrompt {
            number,
            text,
            author,
            message,
            steers,
            abort: abort.clone(),
            task: meter,
            begun: begun.clone(),
            outcome: sender,
        };
        let is_behind = queued.is_shown() && (state.running.is_some() || state.shows_queue);
        match place {
            Place::First => state.waiting.push_front(queued),
            Place::Steering => {
                let place = state.waiting.iter().take_while(|other| other.steers).count();
                state.waiting.insert(place, queued);
            }
            Place::Last => state.waiting.push_back(queued),
        }
        if is_behind {
            self.show(&mut state);
        }
        drop(state);
        // There is one consumer; if it is busy now, it finds the permit later.
        self.added.notify_one();
        Ok(PendingTurn { outcome, abort, begun })
    }

    /// Has the model switched. Refused while a turn is running or about to begin.
    pub(super) fn switch(
        &self,
        model: String,
    ) -> Result<oneshot::Receiver<Result<(), SwitchError>>, SessionError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SessionError::SessionNotFound);
        }
        let is_waiting = !state.waiting.is_empty() && !state.held && self.meter.used_up().is_none();
        if state.running.is_some() || is_waiting || !matches!(state.switching, Switching::No) {
            return Err(SessionError::SessionBusy);
        }
        let (done, switched) = oneshot::channel();
        state.switching = Switching::Asked(Switch { model, done });
        drop(state);
        self.added.notify_one();
        Ok(switched)
    }

    /// Waits for the next prompt, which counts as running from then on, or for a switch of the model.
    pub(super) async fn next(&self) -> Next {
        loop {
            {
                let mut state = self.state.lock();
                state.running = None;
                if let Switching::Asked(switch) = mem::take(&mut state.switching) {
                    state.switching = Switching::UnderWay;
                    return Next::Switch(switch);
                }
                if !state.held
                    && self.meter.used_up().is_none()
                    && let Some(prompt) = state.waiting.pop_front()
                {
                    let message = prompt.message_id();
                    state.running = Some(Running { abort: prompt.abort.clone(), message });
                    prompt.begun.cancel();
                    // Those that came before this turn began are behind it now.
                    if state.shows_queue || state.waiting.iter().any(QueuedPrompt::is_shown) {
                        self.show(&mut state);
                    }
                    return Next::Turn(prompt);
                }
            }
            self.added.notified().await;
        }
    }

    /// Removes a prompt that waits.
    pub(super) fn remove(&self, number: u64) -> Result<(), SessionError> {
        let mut state = self.state.lock();
        let place = state.place_of(number)?;
        let removed = state.waiting.remove(place).ok_or(SessionError::NotQueued)?;
        self.log.note(&SessionNote::Removed { prompt: number });
        self.show_change(&mut state);
        drop(state);
        removed.drop_unsent(TurnEnd::Aborted);
        Ok(())
    }

    /// Changes the text of a prompt that waits.
    pub(super) fn edit(&self, number: u64, text: String) -> Result<(), SessionError> {
        let mut state = self.state.lock();
        let place = state.place_of(number)?;
        self.log.note(&SessionNote::Edited { prompt: number, text: text.clone() });
        state.waiting[place].text = text;
        self.show_change(&mut state);
        Ok(())
    }

    /// Tells readers of the prompts that wait, if they know of any.
    fn show_change(&self, state: &mut QueueState) {
        if state.shows_queue {
            self.show(state);
        }
    }

    fn show(&self, state: &mut QueueState) {
        let shown = state.waiting.iter().filter(|prompt| prompt.is_shown());
        let queue: Vec<_> = shown
            .map(|prompt| WaitingPrompt { id: prompt.number, prompt: shorten(&prompt.text) })
            .collect();
        state.shows_queue = !queue.is_empty();
        self.log.push(&SessionResponse::QueueChanged(PromptQueue { queue }));
    }

    /// No turn is running any more. Comes before readers can know.
    pub(super) fn end_turn(&self) {
        self.state.lock().running = None;
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
        let mut state = self.state.lock();
        state.closed = true;
        state.switching = Switching::No;
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
            state.switching = Switching::No;
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

/// The prompts of a session that wait and are shown, whole.
pub(super) fn shown_queue(fold: &SessionFold) -> PromptQueue {
    let shown = fold
        .numbered_queue()
        .filter(|(_, prompt)| is_shown(prompt.author, prompt.message.is_some()));
    let waiting = |(id, prompt): (u64, &fold::QueuedPrompt)| WaitingPrompt {
        id,
        prompt: prompt.prompt.clone(),
    };
    PromptQueue { queue: shown.map(waiting).collect() }
}

/// Tasks send their prompts, and projects have messages that are cancelled by the bridge.
fn is_shown(author: PromptAuthor, is_message: bool) -> bool {
    author != PromptAuthor::Engine && !is_message
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
