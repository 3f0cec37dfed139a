//! The control flow of a task: which prompt goes where, what its answer means, what comes next.
//!
//! Knows sessions only as a [`Port`], so that every path can be tested as a table of what the
//! sessions do and how the flow reacts.
//!
//! ```text
//!   availability ──no──▶ failed
//!        │yes
//!        ▼
//!     prompt ◀───────────────────┐  + missing tools, + additional prompt
//!        │                       │
//!        ▼                       │
//!     criteria ──not met──▶ retries left? ──no──▶ failed
//!        │met
//!        ▼
//!    succeeded          a budget that is used up, anywhere: failed, without a retry
//!                       a crash or a failed turn, anywhere: the same prompt again in a new
//!                       session, while the budget lasts
//! ```

use std::future::Future;
use std::iter;

use wire::entry::{Criteria, DrivingSessionRetry, Prompt, Task};
use wire::{
    Decision, FailedTurn, FailureCause, Judge, Reached, SessionId, SessionRole as Role, Setback,
    Unmet, UsedUp, Verdict, VerdictCriterion,
};

use super::judgement::{
    Answer, Variables, judge_condition, judge_tools, verdict_on_condition, verdict_on_tool,
    verdict_without_answer,
};
use crate::session::CalledTool;

/// How often a task prompt is tried in total if its sessions crash or its turns fail.
const TASK_TRIES: usize = 5;

/// Number of the first run of a task's prompt. Availability, which is judged before it, belongs to
/// it.
const FIRST: u32 = 1;

/// First line of a prompt that is sent again after a crash or a failed turn.
const AFTER_CRASH: &str = "The session crashed, please redo and here is the last request:";

/// Which session runs the prompt, and which one judges the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A user's session does everything, and is not replaced if it crashes.
    Borrowing,
    /// One session of the task's model does everything.
    SingleModel,
    /// One session for each attempt at the prompt, and a driving one for each condition.
    SeveralModels,
}

impl Mode {
    /// The mode of a task that opens its own sessions.
    pub(super) fn managed(task: &Task) -> Self {
        match &task.criteria {
            Some(criteria) if !criteria.run_condition_in_same_session => Self::SeveralModels,
            _ => Self::SingleModel,
        }
    }
}

/// A task with all that its flow depends on.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    pub(super) task: &'a Task,
    pub(super) mode: Mode,
    pub(super) task_model: &'a str,
    pub(super) driving_model: &'a str,
    pub(super) driving_retries: &'a [DrivingSessionRetry],
}

/// What the flow needs from outside. At most one session is open at a time.
pub(super) trait Port: Send {
    /// Opens a session, to which the next prompts go.
    fn open(&mut self, role: Role, model: &str) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Sends a prompt to the open session and waits for the end of its turn. Returns the tool calls
    /// even if the turn failed.
    fn send(
        &mut self,
        prompt: String,
    ) -> impl Future<Output = (Vec<CalledTool>, Result<(), Broken>)> + Send;

    /// The session that prompts go to, if one is open.
    fn session(&self) -> Option<SessionId>;

    /// The agent's last message in the turn that ended last, if it said anything.
    fn last_message(&self) -> Option<&str>;

    /// Closes the open session.
    fn close(&mut self, succeeded: bool) -> impl Future<Output = ()> + Send;

    /// Reports a decision to the readers of the task.
    fn decide(&mut self, decision: Decision);

    /// Reports a verdict to the readers of the task.
    fn judge(&mut self, verdict: Verdict);
}

/// Why a prompt got no answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Broken {
    /// The session crashed or failed to start.
    Crashed(String),
    /// The turn failed or was aborted; the session is alive. Counts as a try, like a crash.
    TurnFailed(FailedTurn, String),
    /// A budget is used up. Nothing is tried again.
    OverBudget(Reached),
    /// The task was asked to stop.
    Stopped,
}

/// How a run of a task ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskEnd {
    /// Its criteria are met, or it has none.
    Succeeded,
    /// It isn't available, its criteria were not met, or its budget is used up.
    Failed(FailureCause),
    /// Unknown whether it succeeded: its sessions crashed or their turns failed.
    Crashed(FailureCause),
    /// It was stopped before its end.
    Stopped,
}

impl TaskEnd {
    /// Name for logs, without the error, which may be private.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed(_) => "failed",
            Self::Crashed(_) => "crashed",
            Self::Stopped => "stopped",
        }
    }
}

/// Runs a task to its end. When it returns, no session of its own is open.
pub(super) async fn run(plan: Plan<'_>, user_input: String, port: &mut impl Port) -> TaskEnd {
    let variables = Variables::new(user_input, plan.task_model.to_owned());
    let mut flow = Flow { plan, variables, port, open: false, asked: None };
    let result = flow.run().await;
    let (decision, end) = match result {
        Ok(()) => (Decision::Succeeded, TaskEnd::Succeeded),
        Err(cause) => {
            let end = match &cause {
                FailureCause::Stopped => TaskEnd::Stopped,
                cause if cause.is_crash() => TaskEnd::Crashed(cause.clone()),
                cause => TaskEnd::Failed(cause.clone()),
            };
            (Decision::Failed(cause), end)
        }
    };
    // A session did its part even if the task failed.
    flow.close(matches!(end, TaskEnd::Succeeded | TaskEnd::Failed(_))).await;
    if end == TaskEnd::Stopped {
        port.decide(Decision::Stopped);
    }
    port.decide(decision);
    end
}

struct Flow<'a, P> {
    plan: Plan<'a>,
    variables: Variables,
    port: &'a mut P,
    /// Whether a session of the task's own is open.
    open: bool,
    /// The session that the current prompt was sent to last, and its model.
    asked: Option<Judge>,
}

/// A prompt, and what is added to it in a retry.
#[derive(Clone, Copy)]
struct Request<'a> {
    prompt: &'a Prompt,
    missing: &'a [String],
    additional: Option<&'a Prompt>,
}

impl<'a> From<&'a Prompt> for Request<'a> {
    fn from(prompt: &'a Prompt) -> Self {
        Self { prompt, missing: &[], additional: None }
    }
}

impl Request<'_> {
    fn text(&self, variables: &Variables) -> String {
        let mut text = variables.fill_in(self.prompt);
        if !self.missing.is_empty() {
            text += "\n\n## Required Tool Not Called: ";
            text += &self.missing.join(", ");
        }
        if let Some(additional) = self.additional {
            text += "\n\n## You accidentally Stopped\n\n";
            text += &variables.fill_in(additional);
        }
        text
    }
}

impl<P: Port> Flow<'_, P> {
    async fn run(&mut self) -> Result<(), FailureCause> {
        self.check_availability().await?;
        let task = self.plan.task;
        let tools = self.ask(Role::Task, (&task.prompt).into()).await?;
        let Some(criteria) = &task.criteria else {
            return Ok(());
        };
        match self.check_criteria(criteria, &tools, FIRST).await? {
            Some(unmet) => self.retry(criteria, unmet).await,
            None => Ok(()),
        }
    }

    async fn check_availability(&mut self) -> Result<(), FailureCause> {
        let availability = self.plan.task.availability.as_ref();
        let condition = availability.and_then(|availability| availability.condition.as_ref());
        let Some(condition) = condition.filter(|_| self.plan.mode != Mode::Borrowing) else {
            return Ok(());
        };
        let judged = self.ask_condition(condition, VerdictCriterion::Availability, FIRST).await?;
        let (condition, Answer { met, argument }) = judged;
        self.port.decide(Decision::Availability { condition, met, argument: argument.clone() });
        if met { Ok(()) } else { Err(FailureCause::NotAvailable { argument }) }
    }

    /// The criterion that is not met after an attempt, if any. If tools are missing, the condition
    /// is not checked.
    async fn check_criteria(
        &mut self,
        criteria: &Criteria,
        tools: &[CalledTool],
        attempt: u32,
    ) -> Result<Option<Unmet>, FailureCause> {
        for name in &criteria.tool_executed {
            self.port.judge(verdict_on_tool(name, tools, attempt));
        }
        let mut unmet = judge_tools(&criteria.tool_executed, tools);
        if let (None, Some(condition)) = (&unmet, &criteria.condition) {
            let judged = self.ask_condition(condition, VerdictCriterion::Condition, attempt);
            let (condition, Answer { met, argument }) = judged.await?;
            unmet = (!met).then_some(Unmet::Condition { condition, argument });
        }
        self.port.decide(Decision::Criteria { attempt, unmet: unmet.clone() });
        Ok(unmet)
    }

    /// Retries until the criteria are met or no retry is left.
    async fn retry(&mut self, criteria: &Criteria, mut unmet: Unmet) -> Result<(), FailureCause> {
        let retries = criteria.failure_action.retry_times;
        for attempt in (1..=retries).map(|retry| retry.saturating_add(1)) {
            self.port.decide(Decision::Operation { attempt, retries });
            let setback = match self.retry_once(criteria, &unmet, attempt).await {
                Ok(None) => return Ok(()),
                Ok(Some(still)) => {
                    unmet = still;
                    continue;
                }
                Err(cause) if self.plan.mode == Mode::Borrowing => return Err(cause),
                Err(FailureCause::SessionCrashed { .. }) => Setback::SessionCrashed,
                Err(FailureCause::TurnFailed { .. }) => Setback::TurnFailed,
                Err(cause) => return Err(cause),
            };
            self.port.decide(Decision::UsedUp(UsedUp::Attempt { attempt, setback }));
        }
        self.port.decide(Decision::UsedUp(UsedUp::Retries { retries }));
        Err(unmet.into_cause())
    }

    async fn retry_once(
        &mut self,
        criteria: &Criteria,
        unmet: &Unmet,
        attempt: u32,
    ) -> Result<Option<Unmet>, FailureCause> {
        let request = Request {
            prompt: &self.plan.task.prompt,
            missing: unmet.missing(),
            additional: criteria.failure_action.additional_prompt.as_ref(),
        };
        let tools = self.ask(Role::Task, request).await?;
        self.check_criteria(criteria, &tools, attempt).await
    }

    /// Asks for a condition and reports the verdict; returns the condition as it was sent, and the
    /// answer.
    async fn ask_condition(
        &mut self,
        condition: &Prompt,
        criterion: VerdictCriterion,
        attempt: u32,
    ) -> Result<(String, Answer), FailureCause> {
        let content = self.variables.fill_in(condition);
        let asked = self.ask(Role::Driving, condition.into()).await;
        let judge = self.asked.take();
        match asked {
            Ok(tools) => {
                let answer = judge_condition(&tools);
                let said = self.port.last_message();
                let verdict = verdict_on_condition(criterion, &answer, said, judge, attempt);
                self.port.judge(verdict);
                Ok((content, answer))
            }
            Err(FailureCause::Stopped) => Err(FailureCause::Stopped),
            Err(cause) => {
                self.port.judge(verdict_without_answer(criterion, &cause, judge, attempt));
                Err(cause)
            }
        }
    }

    /// Sends a prompt, and again if its session crashes or its turn fails, while the budget lasts.
    async fn ask(
        &mut self,
        role: Role,
        request: Request<'_>,
    ) -> Result<Vec<CalledTool>, FailureCause> {
        // If one session does everything, it has the task's role.
        let role = if self.plan.mode == Mode::SeveralModels { role } else { Role::Task };
        let (mut crashes, mut failed_turns) = (0, 0);
        let mut cause = None;
        self.asked = None;
        for model in budget(&self.plan, role) {
            let (session_id, broken) =
                match self.ask_once(role, model, request, cause.is_some()).await {
                    Ok(tools) => return Ok(tools),
                    Err(failure) => failure,
                };
            let tries = crashes + failed_turns + 1;
            let model = model.to_owned();
            match broken {
                Broken::Stopped => return Err(FailureCause::Stopped),
                Broken::OverBudget(reached) => {
                    self.port.decide(reached.into());
                    return Err(reached.into());
                }
                Broken::Crashed(error) => {
                    crashes += 1;
                    cause = Some(FailureCause::SessionCrashed {
                        role,
                        error: error.clone(),
                        crashes: Some(crashes),
                    });
                    self.port.decide(Decision::SessionCrashed {
                        role,
                        model,
                        session_id,
                        tries,
                        error,
                    });
                }
                Broken::TurnFailed(outcome, error) => {
                    failed_turns += 1;
                    cause = Some(FailureCause::TurnFailed {
                        role,
                        error: error.clone(),
                        failed_turns: Some(failed_turns),
                    });
                    self.port.decide(Decision::TurnFailed {
                        role,
                        model,
                        session_id,
                        tries,
                        outcome,
                        error,
                    });
                }
            }
        }
        self.port.decide(Decision::UsedUp(UsedUp::Tries { role, crashes, failed_turns }));
        let nothing_tried =
            FailureCause::SessionCrashed { role, error: String::new(), crashes: None };
        Err(cause.unwrap_or(nothing_tried))
    }

    /// Sends a prompt once. An error has the session that failed, if one was open.
    async fn ask_once(
        &mut self,
        role: Role,
        model: &str,
        request: Request<'_>,
        is_repeated: bool,
    ) -> Result<Vec<CalledTool>, (Option<SessionId>, Broken)> {
        if self.plan.mode != Mode::Borrowing && !self.open {
            self.port.open(role, model).await.map_err(|broken| (None, broken))?;
            self.open = true;
            if let Some(session_id) = self.port.session() {
                let model = model.to_owned();
                self.port.decide(Decision::SessionStarted { role, model, session_id });
            }
        }
        let session = self.port.session();
        if let Some(session_id) = session {
            self.asked = Some(Judge { session_id, model: model.to_owned() });
        }
        let text = request.text(&self.variables);
        let text = if is_repeated { format!("{AFTER_CRASH}\n{text}") } else { text };
        let (tools, result) = self.port.send(text).await;
        self.variables.note(&tools);
        // It is no longer needed, unless it does everything.
        if result.is_err() || self.plan.mode == Mode::SeveralModels {
            self.close(result.is_ok()).await;
        }
        result.map(|()| tools).map_err(|broken| (session, broken))
    }

    async fn close(&mut self, succeeded: bool) {
        if std::mem::take(&mut self.open) {
            self.port.close(succeeded).await;
        }
    }
}

/// The models to try a prompt with, one after the other.
fn budget<'a>(plan: &Plan<'a>, role: Role) -> Box<dyn Iterator<Item = &'a str> + Send + 'a> {
    match (plan.mode, role) {
        (Mode::Borrowing, _) => Box::new(iter::once(plan.task_model)),
        (_, Role::Task) => Box::new(iter::repeat_n(plan.task_model, TASK_TRIES)),
        (_, Role::Driving) => {
            Box::new(iter::once(plan.driving_model).chain(round_robin(plan.driving_retries)))
        }
    }
}

/// One retry of each model in turn, until all have used up theirs.
fn round_robin(retries: &[DrivingSessionRetry]) -> impl Iterator<Item = &str> + Send {
    let longest = retries.iter().map(|model| model.retries).max().unwrap_or(0);
    (0..longest).flat_map(move |used| {
        let left = retries.iter().filter(move |model| model.retries > used);
        left.map(|model| model.model_id.as_str())
    })
}

#[cfg(test)]
mod tests;
