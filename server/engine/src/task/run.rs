//! The future that runs a task: it carries out what the plan says, and tells the plan what happened.
//!
//! ```text
//!   Plan ── effects ──▶ Runner ──▶ SessionManager
//!    ▲                    │ event and reports, stored together
//!    └──── event ─────────┴──▶ LiveLog
//! ```
//!
//! An event is stored with everything that it leads to, before the next effect begins. So a restart
//! finds the plan where it was, and only the last effect is in doubt.

mod recovery;
mod sessions;

use std::iter;
use std::sync::Arc;

use parking_lot::Mutex;
use store::fold::{INTERRUPTED, JobToolCall, NoAnswer, TaskEvent, TaskNote};
use store::live::{LiveItem, LiveLog};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use wire::entry::{JOB_TOOLS, OnInterrupted};
use wire::{
    Decision, FailedTurn, FailureCause, Reached, Recovery, SessionId, SessionRole, TaskId,
    TaskResponse, Usage,
};

use super::TaskEnd;
use super::judgement::shorten_evidence;
use super::plan::{Effect, Plan};
use super::question::{About, Answered, Questions};
use crate::budget::Meter;
use crate::running::{Conclude, Handle};
use crate::session::{
    CalledTool, PendingTurn, Session, SessionManager, StartOptions, TurnEnd, TurnOutcome,
};

/// Where a run's prompts go.
pub(super) enum Sessions {
    /// To a session that a user has opened. It is held, so that it is not parked.
    Borrowed(Arc<Session>),
    /// To a session that a user has opened, before the server was started again.
    BorrowedBefore,
    /// To sessions of its own in this folder, one at a time.
    Own { working_directory: String, options: StartOptions },
}

/// A running task.
pub(super) struct Runner {
    pub(super) id: TaskId,
    pub(super) plan: Plan,
    pub(super) manager: Arc<SessionManager>,
    pub(super) sessions: Sessions,
    /// The session of its own that is open.
    pub(super) open: Option<SessionId>,
    pub(super) log: Arc<LiveLog<TaskResponse>>,
    pub(super) handle: Handle,
    /// Whether the task goes on after a restart.
    pub(super) is_lasting: bool,
    /// What happens to turns that were cut off.
    pub(super) on_interrupted: OnInterrupted,
    /// Counts for the task's budget, and for that of its job.
    pub(super) meter: Arc<Meter>,
    /// What its turns have used so far.
    pub(super) usage: Arc<Mutex<Usage>>,
    pub(super) questions: Arc<Questions>,
    /// What a question about the task says of it.
    pub(super) about: About,
    /// What the agent that is resumed is to be told about what it had asked.
    pub(super) answers: Vec<String>,
    /// The answer that is confirmed once it is handed to the journal.
    pub(super) answered: Option<Answered>,
    /// The session that is closed once the answer is handed to the journal.
    pub(super) left: Option<SessionId>,
    /// Whether the turn that is to begin was counted before the server was started again.
    pub(super) is_turn_counted: bool,
    /// Is told how an interrupted work goes on.
    pub(super) on_recovery: Option<OnRecovery>,
    /// What is to be stored with the next effect that begins.
    pub(super) unsaved: Vec<LiveItem<TaskResponse>>,
}

/// Is told what was decided about an interrupted work.
pub(super) type OnRecovery = Box<dyn Fn(Recovery) + Send + Sync>;

/// What the plan waits for has not happened: the task is suspended with the server.
struct Suspended;

impl Runner {
    /// Runs the task to its end. What is left to be stored is stored with that. When it returns, no
    /// session of the task's own is open, unless it is suspended.
    pub(super) async fn run(
        &mut self,
        mut effects: Vec<Effect>,
    ) -> (TaskEnd, Vec<LiveItem<TaskResponse>>) {
        loop {
            let event = match self.carry_out(effects).await {
                Ok(event) => event,
                Err(Over::Ended(end)) => {
                    if self.answered.is_some() {
                        self.save();
                        self.close_left().await;
                    }
                    return (end, std::mem::take(&mut self.unsaved));
                }
                Err(Over::Suspended) => return (TaskEnd::Suspended, Vec::new()),
            };
            effects = match self.take(event) {
                Ok(effects) => effects,
                Err(end) => return (end, std::mem::take(&mut self.unsaved)),
            };
        }
    }

    /// Tells the plan what has happened.
    fn take(&mut self, event: TaskEvent) -> Result<Vec<Effect>, TaskEnd> {
        self.note(TaskNote::Event(event.clone()));
        self.plan.apply(event).map_err(|error| {
            tracing::error!(task = %self.id, %error, "a task lost its way");
            TaskEnd::Crashed(FailureCause::Internal)
        })
    }

    /// Carries out effects, and returns what the last one comes to.
    async fn carry_out(&mut self, effects: Vec<Effect>) -> Result<TaskEvent, Over> {
        let mut event = None;
        for effect in effects {
            event = match effect {
                Effect::Report(response) => {
                    self.report(response);
                    continue;
                }
                Effect::Close { session_id, succeeded } => {
                    self.close(session_id, succeeded).await;
                    continue;
                }
                Effect::End(end) => return Err(Over::Ended(end)),
                Effect::Open { role, model } => self.open(role, &model).await,
                Effect::Send { session_id, prompt } => self.send(session_id, prompt).await,
                Effect::Resume { session_id } => self.resume(session_id).await,
                Effect::Ask => self.ask().await,
            }
            .map(Some)
            .map_err(|Suspended| Over::Suspended)?;
        }
        event.ok_or(Over::Suspended)
    }

    fn report(&mut self, response: TaskResponse) {
        if let TaskResponse::TaskDecision { decision, .. } = &response
            && let Decision::Interrupted { recovery } = decision
            && let Some(on_recovery) = &self.on_recovery
        {
            on_recovery(*recovery);
        }
        self.unsaved.push(LiveItem::Entry(response));
    }

    fn note(&mut self, note: TaskNote) {
        self.unsaved.push(LiveItem::Note(note));
    }

    /// Hands everything to the journal that led to the effect which begins now.
    fn save(&mut self) {
        if !self.unsaved.is_empty() {
            self.log.append(&std::mem::take(&mut self.unsaved));
        }
        if let Some(answered) = self.answered.take() {
            answered.settle();
        }
    }

    /// What a stop means: the end of the task, or only its suspension.
    fn stopped(&self) -> Result<TaskEvent, Suspended> {
        if self.is_lasting && self.handle.is_suspended() {
            return Err(Suspended);
        }
        Ok(TaskEvent::Stopped)
    }

    async fn open(&mut self, role: SessionRole, model: &str) -> Result<TaskEvent, Suspended> {
        self.save();
        self.close_left().await;
        let not_opened = |failure| Ok(TaskEvent::NotOpened { failure });
        if let Some(reached) = self.meter.used_up() {
            return not_opened(NoAnswer::OverBudget(reached));
        }
        let Sessions::Own { working_directory, options } = &self.sessions else {
            let error = "the borrowed session is gone".to_owned();
            return not_opened(NoAnswer::Crashed { error });
        };
        let started = tokio::select! {
            biased;
            () = self.handle.stopping().cancelled() => return self.stopped(),
            reached = self.meter.exhausted() => {
                return not_opened(NoAnswer::OverBudget(reached));
            }
            started = self.manager.start_with(model, working_directory, options.clone()) => started,
        };
        match started {
            Ok(session_id) => {
                tracing::debug!(task = %self.id, session = %session_id, %role, "opened");
                self.open = Some(session_id);
                Ok(TaskEvent::Opened { session_id })
            }
            Err(error) => not_opened(NoAnswer::Crashed { error: error.to_string() }),
        }
    }

    async fn send(
        &mut self,
        session_id: SessionId,
        prompt: String,
    ) -> Result<TaskEvent, Suspended> {
        self.save();
        let unanswered = |failure| Ok(TaskEvent::Unanswered { calls: Vec::new(), failure });
        let stopping = self.handle.stopping().clone();
        let Some(found) = stopping.run_until_cancelled(self.find(session_id)).await else {
            return self.stopped();
        };
        let answers = std::mem::take(&mut self.answers);
        let prompt = iter::once(prompt).chain(answers).collect::<Vec<_>>().join("\n\n");
        let sent = found.and_then(|session| self.begin_send(&session, prompt));
        let mut turn = match sent {
            Ok(turn) => turn,
            Err(failure) => return unanswered(failure),
        };
        let begun = turn.begun();
        let outcome = tokio::select! {
            biased;
            () = stopping.cancelled() => {
                let stopped = self.stopped();
                if stopped.is_ok() {
                    turn.abort();
                }
                return stopped;
            }
            outcome = turn.outcome() => outcome,
            reached = self.expired_in_queue(begun) => {
                turn.abort();
                return unanswered(NoAnswer::OverBudget(reached));
            }
        };
        self.meter.note();
        self.take_outcome(outcome)
    }

    fn begin_send(&mut self, session: &Session, prompt: String) -> Result<PendingTurn, NoAnswer> {
        if let Some(reached) = session.budget_reached() {
            return Err(NoAnswer::OverBudget(reached));
        }
        if !std::mem::take(&mut self.is_turn_counted) {
            self.meter.begin_turn().map_err(NoAnswer::OverBudget)?;
        }
        session
            .send_for_task(prompt, self.id, self.meter.clone())
            .map_err(|error| NoAnswer::Crashed { error: error.to_string() })
    }

    /// Returns when the budget is used up while a prompt waits for its turn. Later, the session ends
    /// the turn.
    async fn expired_in_queue(&self, begun: CancellationToken) -> Reached {
        let reached = self.meter.exhausted().await;
        if begun.is_cancelled() {
            std::future::pending::<()>().await;
        }
        reached
    }

    /// What the outcome of a turn means to the plan.
    fn take_outcome(&mut self, outcome: TurnOutcome) -> Result<TaskEvent, Suspended> {
        let TurnOutcome { tools, usage, last_message, ended } = outcome;
        if !matches!(ended, TurnEnd::Idle) && self.handle.stopping().is_cancelled() {
            return self.stopped();
        }
        self.note_usage(usage);
        let calls = job_tool_calls(&tools);
        let failure = match ended {
            TurnEnd::Idle => {
                let said = last_message.as_deref().map(shorten_evidence);
                return Ok(TaskEvent::Answered { calls, said });
            }
            TurnEnd::Aborted => NoAnswer::TurnFailed {
                outcome: FailedTurn::Aborted,
                error: "the turn was aborted".to_owned(),
            },
            TurnEnd::OverBudget(reached) => NoAnswer::OverBudget(reached),
            TurnEnd::Failed(error) => NoAnswer::TurnFailed { outcome: FailedTurn::Failed, error },
            TurnEnd::Crashed(error) => NoAnswer::Crashed { error },
        };
        Ok(TaskEvent::Unanswered { calls, failure })
    }

    fn note_usage(&mut self, usage: Usage) {
        *self.usage.lock() += usage;
        if !usage.is_empty() {
            self.note(TaskNote::Used { usage });
        }
    }

    async fn close(&mut self, session_id: SessionId, succeeded: bool) {
        self.left = Some(session_id);
        // An answer that is not stored is asked for again, and the next one may let the session go on.
        // What else closes a session is found out again after a restart.
        if self.answered.is_none() {
            self.close_left().await;
        }
        self.report(TaskResponse::TaskSessionStopped { session_id, succeeded });
    }

    /// Closes the session that the plan has left.
    async fn close_left(&mut self) {
        let Some(session_id) = self.left.take() else { return };
        self.open = None;
        // Fails if it has crashed, since then it is gone.
        let _ = self.manager.stop(session_id).await;
    }
}

impl Drop for Runner {
    /// Stops a session that is still open, which happens only in a panic.
    fn drop(&mut self) {
        if !self.handle.is_suspended()
            && let Some(session) = self.open.take()
        {
            let _ = self.manager.begin_stop(session);
        }
    }
}

/// Why nothing more happens in a run.
enum Over {
    Ended(TaskEnd),
    Suspended,
}

/// The calls by which an agent reported to the task.
fn job_tool_calls(tools: &[CalledTool]) -> Vec<JobToolCall> {
    let reports = tools.iter().filter(|tool| JOB_TOOLS.contains(&tool.name.as_str()));
    let calls = reports.map(|tool| JobToolCall {
        name: tool.name.clone(),
        argument: tool.argument().map(str::to_owned),
        succeeded: tool.succeeded,
    });
    calls.collect()
}

/// What is needed to end a run, even after a panic.
pub(super) struct EndOfTask {
    pub(super) log: Arc<LiveLog<TaskResponse>>,
    /// Taken by whoever started the task.
    pub(super) outcome: Option<oneshot::Sender<TaskEnd>>,
    pub(super) end: TaskEnd,
    /// What is stored together with the end.
    pub(super) unsaved: Vec<LiveItem<TaskResponse>>,
}

impl Conclude for EndOfTask {
    fn conclude(&mut self) {
        let mut items = std::mem::take(&mut self.unsaved);
        let response = match &self.end {
            TaskEnd::Succeeded => Some(TaskResponse::TaskSucceeded),
            TaskEnd::Failed(_) => Some(TaskResponse::TaskFailed),
            TaskEnd::Crashed(cause) => {
                items.push(LiveItem::Entry(TaskResponse::Error { message: cause.to_string() }));
                Some(TaskResponse::TaskFailed)
            }
            TaskEnd::Stopped => {
                items.push(LiveItem::Note(TaskNote::Stopped));
                Some(TaskResponse::TaskFailed)
            }
            TaskEnd::Interrupted => {
                items.push(LiveItem::Note(TaskNote::Interrupted));
                let message = INTERRUPTED.to_owned();
                items.push(LiveItem::Entry(TaskResponse::Error { message }));
                Some(TaskResponse::TaskFailed)
            }
            TaskEnd::Suspended => None,
        };
        if let Some(response) = response {
            items.push(LiveItem::Entry(response));
            self.log.append(&items);
            self.log.close();
        }
        if let Some(outcome) = self.outcome.take() {
            // Nobody waits for a task in a borrowed session.
            let _ = outcome.send(self.end.clone());
        }
    }
}
