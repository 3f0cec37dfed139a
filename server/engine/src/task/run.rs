//! The sessions of one run, as its control flow sees them, and the end of the run.

use std::sync::Arc;

use parking_lot::Mutex;
use store::fold::TaskNote;
use store::live::LiveLog;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use wire::{Decision, FailedTurn, Reached, SessionId, SessionRole, TaskResponse, Usage, Verdict};

use super::flow::{Broken, Port, TaskEnd};
use crate::budget::Meter;
use crate::running::Conclude;
use crate::session::{
    CalledTool, PendingTurn, Session, SessionError, SessionManager, StartOptions, TurnEnd,
    TurnOutcome,
};

/// Where a run's prompts go.
pub(super) enum Sessions {
    /// To a session that a user has opened. It is held, so that it is not parked.
    Borrowed(Arc<Session>),
    /// To sessions of its own in this folder, one at a time.
    Own { working_directory: String, options: StartOptions, open: Option<SessionId> },
}

/// The port of a running task.
pub(super) struct SessionPort {
    pub(super) manager: Arc<SessionManager>,
    pub(super) sessions: Sessions,
    pub(super) log: Arc<LiveLog<TaskResponse>>,
    pub(super) stop: CancellationToken,
    /// Counts for the task's budget, and for that of its job.
    pub(super) meter: Arc<Meter>,
    /// What its turns have used so far.
    pub(super) usage: Arc<Mutex<Usage>>,
    /// The agent's last message in the turn that ended last.
    pub(super) last_message: Option<String>,
}

impl SessionPort {
    fn begin_send(&self, prompt: String) -> Result<PendingTurn, Broken> {
        let crashed = |error: SessionError| Broken::Crashed(error.to_string());
        let session = match &self.sessions {
            Sessions::Borrowed(session) => session.clone(),
            Sessions::Own { open: Some(id), .. } => self.manager.get(*id).map_err(crashed)?,
            Sessions::Own { open: None, .. } => {
                return Err(Broken::Crashed("no session is open".to_owned()));
            }
        };
        if let Some(reached) = session.budget_reached() {
            return Err(Broken::OverBudget(reached));
        }
        self.meter.begin_turn().map_err(Broken::OverBudget)?;
        session.send_generated(prompt, Some(self.meter.clone())).map_err(crashed)
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

    fn take_own(&mut self) -> Option<SessionId> {
        match &mut self.sessions {
            Sessions::Own { open, .. } => open.take(),
            Sessions::Borrowed(_) => None,
        }
    }
}

impl Port for SessionPort {
    async fn open(&mut self, role: SessionRole, model: &str) -> Result<(), Broken> {
        let Sessions::Own { working_directory, options, open } = &mut self.sessions else {
            return Ok(());
        };
        if let Some(reached) = self.meter.used_up() {
            return Err(Broken::OverBudget(reached));
        }
        let session = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(Broken::Stopped),
            reached = self.meter.exhausted() => return Err(Broken::OverBudget(reached)),
            started = self.manager.start_with(model, working_directory, options.clone()) => started,
        };
        let session_id = session.map_err(|error| Broken::Crashed(error.to_string()))?;
        *open = Some(session_id);
        let is_driving = role == SessionRole::Driving;
        self.log.push(&TaskResponse::TaskSessionStarted { session_id, is_driving });
        Ok(())
    }

    async fn send(&mut self, prompt: String) -> (Vec<CalledTool>, Result<(), Broken>) {
        self.last_message = None;
        let mut turn = match self.begin_send(prompt) {
            Ok(turn) => turn,
            Err(broken) => return (Vec::new(), Err(broken)),
        };
        let begun = turn.begun();
        let TurnOutcome { tools, usage, last_message, ended } = tokio::select! {
            biased;
            () = self.stop.cancelled() => {
                turn.abort();
                return (Vec::new(), Err(Broken::Stopped));
            }
            outcome = turn.outcome() => outcome,
            reached = self.expired_in_queue(begun) => {
                turn.abort();
                return (Vec::new(), Err(Broken::OverBudget(reached)));
            }
        };
        self.last_message = last_message;
        self.meter.note();
        *self.usage.lock() += usage;
        if !usage.is_empty() {
            self.log.note(&TaskNote::Used { usage });
        }
        let result = match ended {
            TurnEnd::Idle => Ok(()),
            _ if self.stop.is_cancelled() => Err(Broken::Stopped),
            TurnEnd::Aborted => {
                Err(Broken::TurnFailed(FailedTurn::Aborted, "the turn was aborted".to_owned()))
            }
            TurnEnd::OverBudget(reached) => Err(Broken::OverBudget(reached)),
            TurnEnd::Failed(error) => Err(Broken::TurnFailed(FailedTurn::Failed, error)),
            TurnEnd::Crashed(error) => Err(Broken::Crashed(error)),
        };
        (tools, result)
    }

    fn session(&self) -> Option<SessionId> {
        match &self.sessions {
            Sessions::Borrowed(session) => Some(session.id()),
            Sessions::Own { open, .. } => *open,
        }
    }

    fn last_message(&self) -> Option<&str> {
        self.last_message.as_deref()
    }

    async fn close(&mut self, succeeded: bool) {
        let Some(session_id) = self.take_own() else { return };
        // Fails if it has crashed, since then it is gone.
        let _ = self.manager.stop(session_id).await;
        self.log.push(&TaskResponse::TaskSessionStopped { session_id, succeeded });
    }

    fn decide(&mut self, decision: Decision) {
        self.log.push(&decision.into());
    }

    fn judge(&mut self, verdict: Verdict) {
        self.log.push(&TaskResponse::TaskVerdict(verdict));
    }
}

impl Drop for SessionPort {
    /// Stops a session that is still open, which happens only in a panic.
    fn drop(&mut self) {
        if let Some(session) = self.take_own() {
            let _ = self.manager.begin_stop(session);
        }
    }
}

/// What is needed to end a run, even after a panic.
pub(super) struct EndOfTask {
    pub(super) log: Arc<LiveLog<TaskResponse>>,
    /// Taken by whoever started the task.
    pub(super) outcome: Option<oneshot::Sender<TaskEnd>>,
    pub(super) end: TaskEnd,
}

impl Conclude for EndOfTask {
    fn conclude(&mut self) {
        if let TaskEnd::Crashed(cause) = &self.end {
            self.log.push(&TaskResponse::Error { message: cause.to_string() });
        }
        if self.end == TaskEnd::Stopped {
            self.log.note(&TaskNote::Stopped);
        }
        self.log.push(&match self.end {
            TaskEnd::Succeeded => TaskResponse::TaskSucceeded,
            TaskEnd::Failed(_) | TaskEnd::Crashed(_) | TaskEnd::Stopped => TaskResponse::TaskFailed,
        });
        self.log.close();
        if let Some(outcome) = self.outcome.take() {
            // Nobody waits for a task in a borrowed session.
            let _ = outcome.send(self.end.clone());
        }
    }
}
