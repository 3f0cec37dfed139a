//! The future that runs a session: one turn after the other, until it is stopped or crashes.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agents::permission::PermissionDesk;
use agents::{AgentError, TurnOptions, TurnStop};
use extensions::{ErrorHandling, SessionExtensions};
use store::fold::{INTERRUPTED, PromptAuthor};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use wire::bridge::{Mode, RunEnd};
use wire::{Reached, TurnEnding};

use super::agent::SessionAgent;
use super::fallback::Fallback;
use super::handle::Place;
use super::parking::Parking;
use super::queue::{Next, Queue, QueuedPrompt, Switch, run_end};
use super::stream::Stream;
use super::{SessionError, StartError, SwitchError, TurnEnd, TurnOutcome};
use crate::budget::{Meter, rounded};
use crate::running::{Conclude, Ending};

/// How long a turn may go on after its budget is used up.
const BUDGET_GRACE: Duration = Duration::from_secs(1);

/// How long an agent may take to react to an abort, and to shut down. Then it is dropped.
const GRACE: Duration = Duration::from_secs(2);

const ABORTED: &str = "aborted";
const CRASHED: &str = "the session crashed";
const CUT_OFF: &str = "cut off: the model failed";

/// Sent before the prompt of a turn that another model continues after tools were called.
const CONTINUES: &str = "An earlier attempt to answer the following prompt, by another model, was \
                         cut off after it had called tools. Look at what is already done before \
                         you repeat anything.";

/// The state that the future of a session owns.
pub(super) struct Conversation {
    // Declared before `end`, so that it is dropped before the session counts as ended.
    pub(super) agent: SessionAgent,
    pub(super) extensions: Arc<SessionExtensions>,
    /// The models that continue failed turns; `None` if the session never has any.
    pub(super) fallback: Option<Arc<Fallback>>,
    pub(super) end: Ending<EndOfSession>,
}

/// What is needed to end a session, even after a panic.
pub(super) struct EndOfSession {
    pub(super) stream: Arc<Stream>,
    pub(super) queue: Arc<Queue>,
    pub(super) desk: PermissionDesk,
    pub(super) meter: Arc<Meter>,
    /// Cancelled to stop the session.
    pub(super) stop: CancellationToken,
    /// Cancelled at shutdown if stopped sessions will continue after the restart.
    pub(super) suspend: CancellationToken,
    /// How the session is parked; `None` if it never is.
    pub(super) parking: Option<Parking>,
    /// The agent is freed; the session stays open without one.
    pub(super) is_parked: bool,
    /// The agent's last error, if it crashed.
    pub(super) crash: Option<String>,
    /// Removes the session from the open ones; `None` once that is done.
    pub(super) remove: Option<Box<dyn FnOnce() + Send + Sync>>,
    /// Held until the agent is dropped.
    pub(super) _place: Place,
}

/// Ends a session with the server.
pub(super) struct Shutdown {
    /// Cancelled when the server begins to shut down.
    pub(super) begins: CancellationToken,
    /// To be cancelled if the session continues after the restart.
    pub(super) suspend: Option<CancellationToken>,
    pub(super) desk: PermissionDesk,
    pub(super) stop: CancellationToken,
}

impl Shutdown {
    /// Stops the session when the server shuts down. Before that it must be known whether it
    /// continues: else it would be closed, and its questions withdrawn.
    async fn watch(self) {
        self.begins.cancelled().await;
        if let Some(suspend) = &self.suspend {
            suspend.cancel();
            self.desk.suspend();
        }
        self.stop.cancel();
    }
}

impl Conversation {
    /// Runs until the session is stopped or parked, or crashes.
    pub(super) async fn run(self, shutdown: Shutdown) {
        let stopping = async {
            shutdown.watch().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = stopping => {}
            () = self.converse() => {}
        }
    }

    async fn converse(mut self) {
        // The first prompt waits for the tools that extensions add.
        let stop = self.end.stop.clone();
        stop.run_until_cancelled(self.extensions.start()).await;
        loop {
            let next = tokio::select! {
                biased;
                () = self.end.stop.cancelled() => break,
                message = self.end.stream.crash() => {
                    self.end.crash = Some(message);
                    break;
                }
                next = self.end.queue.next() => next,
                () = self.end.idle_for_long(), if self.agent.capabilities.resume => {
                    if self.end.park().await {
                        break;
                    }
                    continue;
                }
            };
            let prompt = match next {
                Next::Turn(prompt) => prompt,
                Next::Switch(Switch { model, done }) => {
                    // Nobody waits for it any more, if this fails.
                    let _ = done.send(self.switch_model(&model).await);
                    continue;
                }
            };
            let outcome = self.run_turn(&prompt).await;
            if let TurnEnd::Crashed(message) = &outcome.ended {
                self.end.crash = Some(message.clone());
            }
            prompt.settle(outcome);
            if self.end.crash.is_some() {
                break;
            }
        }
        let crash = self.end.crash.clone();
        // Readers and waiters learn of the end now; agent and extensions may take longer to shut
        // down.
        self.end.conclude();
        let reason = match crash {
            Some(_) => "error",
            None if self.end.is_parked => "timeout",
            None => "user_exit",
        };
        let extensions = self.extensions.end(reason, crash.as_deref());
        tokio::join!(stop_agent(&self.agent), extensions);
    }

    /// Replaces the agent by one of another model that knows the conversation. If that is not started,
    /// the session keeps the one it has.
    async fn switch_model(&mut self, model: &str) -> Result<(), SwitchError> {
        if model == self.agent.model {
            return Ok(());
        }
        let Some(fallback) = self.fallback.clone() else {
            let reason = "the model of this session is not chosen by users";
            return Err(StartError::ModelNotAvailable(reason.to_owned()).into());
        };
        let started = self.end.stop.run_until_cancelled(fallback.start_chosen(model)).await;
        match started {
            Some(Ok(next)) => {
                next.take_over(&self.end.stream);
                let replaced = std::mem::replace(&mut self.agent, next);
                stop_agent(&replaced).await;
                Ok(())
            }
            Some(Err(error)) => {
                self.restore_agent(&fallback).await;
                Err(error.into())
            }
            None => Err(SessionError::SessionNotFound.into()),
        }
    }

    async fn run_turn(&mut self, prompt: &QueuedPrompt) -> TurnOutcome {
        let stream = Arc::clone(&self.end.stream);
        stream.begin(&prompt.text, prompt.author, prompt.task.clone());
        // The prompt is durable before the agent sees it.
        let kept = prompt.abort.run_until_cancelled(stream.durable()).await;
        let (result, over_budget) = match kept {
            Some(Err(error)) => (Err(AgentError::Failed(error.to_string())), None),
            Some(Ok(())) | None => self.run_within_budget(prompt).await,
        };
        // Some agents ask for permission outside their turn. Nothing waits for those answers any
        // more.
        self.end.desk.withdraw_all();
        let is_suspended = self.end.suspend.is_cancelled();
        let (reason, error) = match result {
            _ if is_suspended => (INTERRUPTED, Some(INTERRUPTED)),
            Err(AgentError::Crashed(_)) => (CRASHED, None),
            _ => (ABORTED, None),
        };
        let finished = stream.finish(reason, error);
        let stop = result.as_ref().ok().copied();
        let ended = match result {
            Err(AgentError::Crashed(message)) => TurnEnd::Crashed(message),
            _ if let Some((owner, reached)) = over_budget => {
                stream.error(&owner.explain(reached));
                TurnEnd::OverBudget(reached)
            }
            Err(
                AgentError::Failed(message)
                | AgentError::Unavailable(message)
                | AgentError::LimitReached(message),
            ) => {
                stream.error(&message);
                TurnEnd::Failed(message)
            }
            Ok(_) if prompt.abort.is_cancelled() => TurnEnd::Aborted,
            Ok(_) => finished.failure.map_or(TurnEnd::Idle, TurnEnd::Failed),
        };
        let (run, error) = match run_end(&ended) {
            (RunEnd::Done, _) if stop == Some(TurnStop::OutOfSteps) => (RunEnd::MaxSteps, None),
            (RunEnd::Cancelled, _) if self.end.suspend.is_cancelled() => {
                (RunEnd::Cancelled, Some(INTERRUPTED.to_owned()))
            }
            end => end,
        };
        // Before the turn counts as over: a restart ends what had not ended by then.
        self.end.queue.end_message(run, error);
        // After a crash, the end of the session reports it.
        if !matches!(ended, TurnEnd::Crashed(_)) {
            stream.end_turn(if is_suspended { TurnEnding::Interrupted } else { ended.ending() });
            // Before a reader can know that the turn is over.
            stream.check_budget();
            self.end.queue.end_turn();
            stream.idle();
        }
        TurnOutcome {
            tools: finished.tools,
            usage: finished.usage,
            last_message: finished.last_message,
            ended,
        }
    }

    /// Runs a turn, until a budget ends it: the session's, or that of the task which sent the prompt.
    /// A turn that is over by the time its usage is known has ended in its own way.
    async fn run_within_budget(
        &mut self,
        prompt: &QueuedPrompt,
    ) -> (Result<TurnStop, AgentError>, Option<(Owner, Reached)>) {
        let (meter, stream) = (Arc::clone(&self.end.meter), Arc::clone(&self.end.stream));
        let before = meter.spent().minutes;
        let running = meter.run();
        let mut attempts = pin!(self.run_attempts(prompt, options_of(prompt)));
        let of_task = async {
            match &prompt.task {
                Some(task) => task.exhausted().await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            result = &mut attempts => Ok(result),
            reached = meter.exhausted() => Err((Owner::Session, reached)),
            reached = of_task => Err((Owner::Task, reached)),
        };
        let ended = match ended {
            Ok(result) => (result, None),
            Err(over_budget) => {
                prompt.abort.cancel();
                // An agent that takes longer is dropped, which ends its turn as well.
                let aborted = timeout(BUDGET_GRACE, attempts).await;
                (aborted.unwrap_or(Ok(TurnStop::Answered)), Some(over_budget))
            }
        };
        drop(running);
        stream.note_time(rounded(meter.spent().minutes - before));
        ended
    }

    /// Runs a turn: extensions may change its prompt first, and another model may answer it.
    async fn run_attempts(
        &mut self,
        prompt: &QueuedPrompt,
        options: TurnOptions,
    ) -> Result<TurnStop, AgentError> {
        let submitted = self.extensions.submit(&prompt.text);
        let changed = prompt.abort.run_until_cancelled(submitted).await.flatten();
        let text = changed.as_deref().unwrap_or(&prompt.text);
        let result = self.ask_agent(text, &options, prompt).await;
        // A task that borrows the session has tries of its own.
        if prompt.author == PromptAuthor::Engine {
            return result;
        }
        // Shared, because the agent changes meanwhile, and a turn may be dropped.
        let Some(fallback) = self.fallback.clone() else { return result };
        self.fall_back(&fallback, text, &options, prompt, result).await
    }

    /// Lets other models answer a prompt that the session's model failed to answer, one after the
    /// other. If none does, the session stays with the first whose agent has not crashed.
    async fn fall_back(
        &mut self,
        fallback: &Fallback,
        text: &str,
        options: &TurnOptions,
        prompt: &QueuedPrompt,
        mut result: Result<TurnStop, AgentError>,
    ) -> Result<TurnStop, AgentError> {
        let stream = Arc::clone(&self.end.stream);
        let mut tried = vec![self.agent.model.clone()];
        let mut first = None;
        let error = loop {
            let Some(error) = self.failure(&result, prompt) else { break None };
            if fallback.next(&tried).is_none() {
                break Some(error);
            }
            let called_tools = stream.cut_off(CUT_OFF);
            self.end.desk.withdraw_all();
            let starting = fallback.start_next(&mut tried, called_tools);
            let Some(next) = prompt.abort.run_until_cancelled(starting).await.flatten() else {
                self.restore_agent(fallback).await;
                break Some(error);
            };
            let (from, to) = (&self.agent.model, &next.model);
            stream.error(&format!("{from} failed: {error}; continuing with {to}"));
            stream.forget_errors();
            next.take_over(&stream);
            let failed = std::mem::replace(&mut self.agent, next);
            if first.is_some() || matches!(error, AgentError::Crashed(_)) {
                stop_agent(&failed).await;
            } else {
                first = Some(failed);
            }
            let text = if called_tools {
                Cow::Owned(format!("{CONTINUES}\n\n{text}"))
            } else {
                Cow::Borrowed(text)
            };
            result = self.ask_agent(&text, options, prompt).await;
        };
        match (error, first) {
            (_, None) => result,
            (None, Some(first)) => {
                stop_agent(&first).await;
                result
            }
            (Some(error), Some(first)) => {
                let failed = std::mem::replace(&mut self.agent, first);
                stop_agent(&failed).await;
                self.restore_agent(fallback).await;
                self.agent.take_over(&stream);
                // The session lives, even if the last agent has crashed.
                result.map_err(|_| AgentError::Failed(error.to_string()))
            }
        }
    }

    /// Makes everything suit the agent again. A session that stops does not wait for that.
    async fn restore_agent(&self, fallback: &Fallback) {
        self.end.stop.run_until_cancelled(fallback.restore(&self.agent)).await;
    }

    /// Why the agent did not answer, if another model may.
    fn failure(
        &self,
        result: &Result<TurnStop, AgentError>,
        prompt: &QueuedPrompt,
    ) -> Option<AgentError> {
        match result {
            _ if prompt.abort.is_cancelled() => None,
            Err(AgentError::LimitReached(_)) => None,
            Err(error) => Some(error.clone()),
            // Some agents report what a provider refused, and end the turn as usual.
            Ok(_) => self.end.stream.unanswered_error().map(AgentError::Failed),
        }
    }

    /// Lets the agent answer; extensions may retry after a failure.
    async fn ask_agent(
        &mut self,
        text: &str,
        options: &TurnOptions,
        prompt: &QueuedPrompt,
    ) -> Result<TurnStop, AgentError> {
        let text = &*match self.agent.take_preamble() {
            Some(preamble) => Cow::Owned(format!("{preamble}\n\n{text}")),
            None => Cow::Borrowed(text),
        };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let result = self.run_attempt(text, options, prompt).await;
            let error = match &result {
                Err(AgentError::Crashed(_)) | Ok(_) => return result,
                Err(_) if prompt.abort.is_cancelled() => return result,
                Err(error) => error.to_string(),
            };
            let asked = self.extensions.error_occurred(&error, attempt);
            match prompt.abort.run_until_cancelled(asked).await.unwrap_or_default() {
                ErrorHandling::Retry => {}
                ErrorHandling::Skip => return Ok(TurnStop::Answered),
                ErrorHandling::Abort => return result,
            }
        }
    }

    async fn run_attempt(
        &self,
        text: &str,
        options: &TurnOptions,
        prompt: &QueuedPrompt,
    ) -> Result<TurnStop, AgentError> {
        if prompt.abort.is_cancelled() {
            return Ok(TurnStop::Answered);
        }
        let overdue = async {
            prompt.abort.cancelled().await;
            sleep(GRACE).await;
        };
        tokio::select! {
            biased;
            result = self.agent.agent.run_turn_with(text, options, &prompt.abort) => result,
            message = self.end.stream.crash() => Err(AgentError::Crashed(message)),
            () = overdue => {
                tracing::warn!("an agent did not abort in time");
                Ok(TurnStop::Answered)
            }
        }
    }
}

/// Whose budget it is that ended a turn.
#[derive(Clone, Copy)]
enum Owner {
    Session,
    Task,
}

impl Owner {
    fn explain(self, reached: Reached) -> String {
        let figures = reached.figures();
        match self {
            Self::Session => format!("budget of the session used up: {figures}"),
            Self::Task => format!("budget of the task used up: {figures}"),
        }
    }
}

impl EndOfSession {
    /// Returns when the session has been idle for so long that it can be parked. Cancel safe.
    async fn idle_for_long(&self) {
        match &self.parking {
            Some(parking) => sleep(parking.after).await,
            None => std::future::pending().await,
        }
    }

    /// Parks the session. False if somebody uses it, or if not all of it is stored.
    async fn park(&mut self) -> bool {
        let is_durable = timeout(GRACE, self.stream.durable()).await;
        let can_park = is_durable.is_ok_and(|result| result.is_ok());
        self.is_parked = can_park && self.parking.as_ref().is_some_and(Parking::park);
        self.is_parked
    }
}

impl Conclude for EndOfSession {
    fn conclude(&mut self) {
        let Some(remove) = self.remove.take() else {
            return;
        };
        if self.is_parked {
            self.desk.close();
            return;
        }
        let stopped = self.stop.is_cancelled();
        let crash = self.crash.take();
        // Neither stopped nor crashed: the future is unwinding from a panic.
        let crash = crash.or_else(|| (!stopped).then(|| "internal error".to_owned()));
        // Removed first: a reader that sees it closed must not find it among the open sessions.
        remove();
        self.desk.close();
        if stopped && self.suspend.is_cancelled() {
            // It continues after the restart, with its queue.
            self.stream.finish(INTERRUPTED, None);
            self.stream.end_turn(TurnEnding::Interrupted);
            return;
        }
        self.stream.finish(if crash.is_some() { CRASHED } else { ABORTED }, None);
        let crashed = crash.is_some();
        let ended = crash.map_or(TurnEnd::Aborted, TurnEnd::Crashed);
        self.stream.end_turn(ended.ending());
        if let TurnEnd::Crashed(message) = &ended {
            self.stream.error(message);
        }
        self.queue.end(&ended);
        self.stream.close(crashed);
    }
}

async fn stop_agent(agent: &SessionAgent) {
    if timeout(GRACE, agent.agent.stop()).await.is_err() {
        tracing::warn!("an agent did not stop in time");
    }
}

/// What a message to the session's project says about its turn.
fn options_of(prompt: &QueuedPrompt) -> TurnOptions {
    let Some(message) = &prompt.message else { return TurnOptions::default() };
    TurnOptions {
        model: message.model.clone(),
        max_steps: message.max_steps.filter(|_| message.mode == Mode::Agent),
    }
}
