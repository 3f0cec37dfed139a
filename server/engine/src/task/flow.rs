//! The control flow of a task: which prompt goes where, what its answer means, what comes next.
//!
//! Knows sessions only as a [`Port`], so that every path can be tested as a table of what the
//! sessions did and what the engine did about it.
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
//!    succeeded          a crash, anywhere: the same prompt again in a new session, while the
//!                       budget lasts
//! ```

use std::fmt;
use std::future::Future;
use std::iter;

use wire::entry::{Criteria, DrivingSessionRetry, Prompt, Task};

use super::decision::Decision;
use super::judgement::{Unmet, Variables, judge_condition, judge_tools};
use crate::session::CalledTool;

/// How often a task prompt is tried in all when its sessions crash.
const TASK_TRIES: usize = 5;

/// What a prompt begins with that is sent again after a crash.
const AFTER_CRASH: &str = "The session crashed, please redo and here is the last request:";

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Judges conditions.
    Driving,
    /// Does the task.
    Task,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driving => "driving",
            Self::Task => "task",
        })
    }
}

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A session that somebody else opened does everything, and is not replaced.
    Borrowing,
    /// One session of the task's model does everything.
    SingleModel,
    /// A session for each run of the prompt, and a driving one for each condition.
    SeveralModels,
}

impl Mode {
    /// How a task is run that opens its own sessions.
    pub(super) fn managed(task: &Task) -> Self {
        match &task.criteria {
            Some(criteria) if !criteria.run_condition_in_same_session => Self::SeveralModels,
            _ => Self::SingleModel,
        }
    }
}

/// What is to be run.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    pub(super) task: &'a Task,
    pub(super) mode: Mode,
    pub(super) task_model: &'a str,
    pub(super) driving_model: &'a str,
    pub(super) driving_retries: &'a [DrivingSessionRetry],
}

/// What the flow needs of the world. One session of a role is open at a time.
pub(super) trait Port: Send {
    /// Opens a session.
    fn open(&mut self, role: Role, model: &str) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Sends a prompt to the open session and waits for the end of its turn. With the tools that
    /// were called even if the turn did not end well.
    fn send(
        &mut self,
        prompt: String,
    ) -> impl Future<Output = (Vec<CalledTool>, Result<(), Broken>)> + Send;

    /// Closes the open session.
    fn close(&mut self, succeeded: bool) -> impl Future<Output = ()> + Send;

    /// Tells the readers.
    fn decide(&mut self, decision: Decision<'_>);
}

/// Why a session did not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It died, or was not even born.
    Crashed(String),
    /// The task is to stop.
    Stopped,
}

/// How a run of a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// It was done.
    Succeeded,
    /// It was not done.
    Failed,
    /// It could not be told whether it was done, because sessions crashed. Says how.
    Crashed(String),
    /// It was stopped.
    Stopped,
}

impl TaskEnd {
    /// Which end, without what may be private.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Crashed(_) => "crashed",
            Self::Stopped => "stopped",
        }
    }
}

/// Runs a task to its end. When it returns, no session of its own is open.
pub(super) async fn run(plan: Plan<'_>, user_input: String, port: &mut impl Port) -> TaskEnd {
    let variables = Variables::new(user_input, plan.task_model.to_owned());
    let mut flow = Flow { plan, variables, port, open: false };
    let result = flow.run().await;
    flow.close(result.is_ok()).await;
    let (decision, end) = match &result {
        Ok(None) => (Decision::Succeeded, TaskEnd::Succeeded),
        Ok(Some(why)) => (Decision::Failed { why }, TaskEnd::Failed),
        Err(Broken::Crashed(why)) => (Decision::Failed { why }, TaskEnd::Crashed(why.clone())),
        Err(Broken::Stopped) => {
            (Decision::Failed { why: "the task was stopped" }, TaskEnd::Stopped)
        }
    };
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
    /// Whether a session of our own is open.
    open: bool,
}

/// A prompt, and what is added when it is sent for the second time.
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
    /// Says why the task failed, if it did.
    async fn run(&mut self) -> Result<Option<String>, Broken> {
        if let Some(unmet) = self.check_availability().await? {
            return Ok(Some(format!("{} does not hold", unmet.field)));
        }
        let task = self.plan.task;
        let tools = self.ask(Role::Task, (&task.prompt).into()).await?;
        let Some(criteria) = &task.criteria else {
            return Ok(None);
        };
        let Some(unmet) = self.check_criteria(criteria, &tools).await? else {
            return Ok(None);
        };
        let unmet = self.retry(criteria, unmet).await?;
        Ok(unmet.map(|unmet| format!("{} is not met", unmet.field)))
    }

    async fn check_availability(&mut self) -> Result<Option<Unmet>, Broken> {
        let availability = self.plan.task.availability.as_ref();
        let condition = availability.and_then(|availability| availability.condition.as_ref());
        let Some(condition) = condition.filter(|_| self.plan.mode != Mode::Borrowing) else {
            return Ok(None);
        };
        let field = "availability.condition";
        let (content, tools) = self.ask_condition(condition).await?;
        match judge_condition(field, content, &tools) {
            Ok(reason) => {
                self.port.decide(Decision::Available { reason });
                Ok(None)
            }
            Err(unmet) => {
                self.port.decide(Decision::NotAvailable { unmet: &unmet });
                Ok(Some(unmet))
            }
        }
    }

    /// What is not met, if anything. The condition is not asked for if tools are missing.
    async fn check_criteria(
        &mut self,
        criteria: &Criteria,
        tools: &[CalledTool],
    ) -> Result<Option<Unmet>, Broken> {
        let judged = match (judge_tools(&criteria.tool_executed, tools), &criteria.condition) {
            (Ok(()), Some(condition)) => {
                let (content, tools) = self.ask_condition(condition).await?;
                judge_condition("criteria.condition", content, &tools).map(|_| ())
            }
            (judged, _) => judged,
        };
        let Err(unmet) = judged else {
            self.port.decide(Decision::CriteriaMet);
            return Ok(None);
        };
        self.port.decide(Decision::CriteriaNotMet { unmet: &unmet });
        Ok(Some(unmet))
    }

    /// Tries again until the criteria are met, and says what is not met in the end.
    async fn retry(
        &mut self,
        criteria: &Criteria,
        mut unmet: Unmet,
    ) -> Result<Option<Unmet>, Broken> {
        let action = &criteria.failure_action;
        for number in 1..=action.retry_times {
            self.port.decide(Decision::Retry { number, of: action.retry_times });
            match self.retry_once(criteria, &unmet).await {
                Ok(None) => return Ok(None),
                Ok(Some(still)) => unmet = still,
                Err(Broken::Crashed(_)) if self.plan.mode != Mode::Borrowing => {
                    self.port.decide(Decision::RetryCrashed { number });
                }
                Err(broken) => return Err(broken),
            }
        }
        self.port.decide(Decision::RetriesUsedUp { retries: action.retry_times });
        Ok(Some(unmet))
    }

    async fn retry_once(
        &mut self,
        criteria: &Criteria,
        unmet: &Unmet,
    ) -> Result<Option<Unmet>, Broken> {
        let request = Request {
            prompt: &self.plan.task.prompt,
            missing: &unmet.missing,
            additional: criteria.failure_action.additional_prompt.as_ref(),
        };
        let tools = self.ask(Role::Task, request).await?;
        self.check_criteria(criteria, &tools).await
    }

    /// The condition as it was sent, and the tools that were called for it.
    async fn ask_condition(
        &mut self,
        condition: &Prompt,
    ) -> Result<(String, Vec<CalledTool>), Broken> {
        let content = self.variables.fill_in(condition);
        let tools = self.ask(Role::Driving, condition.into()).await?;
        Ok((content, tools))
    }

    /// Sends a prompt, again and again while its sessions crash and the budget lasts.
    async fn ask(&mut self, role: Role, request: Request<'_>) -> Result<Vec<CalledTool>, Broken> {
        // One session that does everything is the task's.
        let role = if self.plan.mode == Mode::SeveralModels { role } else { Role::Task };
        let mut last_crash = None;
        let mut tries = 0;
        for model in budget(&self.plan, role) {
            tries += 1;
            match self.ask_once(role, model, request, last_crash.is_some()).await {
                Err(Broken::Crashed(error)) => {
                    self.port.decide(Decision::SessionCrashed { role, model, error: &error });
                    last_crash = Some(error);
                }
                result => return result,
            }
        }
        let decision = Decision::CrashesUsedUp { role, tries };
        self.port.decide(decision);
        let error = last_crash.unwrap_or_default();
        Err(Broken::Crashed(format!("the {role} session crashed: {error}")))
    }

    async fn ask_once(
        &mut self,
        role: Role,
        model: &str,
        request: Request<'_>,
        crashed_before: bool,
    ) -> Result<Vec<CalledTool>, Broken> {
        if self.plan.mode != Mode::Borrowing && !self.open {
            self.port.open(role, model).await?;
            self.open = true;
            self.port.decide(Decision::SessionStarted { role, model });
        }
        let text = request.text(&self.variables);
        let text = if crashed_before { format!("{AFTER_CRASH}\n{text}") } else { text };
        let (tools, result) = self.port.send(text).await;
        self.variables.note(&tools);
        // Its mission has ended, unless it is the one that does everything.
        if result.is_err() || self.plan.mode == Mode::SeveralModels {
            self.close(result.is_ok()).await;
        }
        result.map(|()| tools)
    }

    async fn close(&mut self, succeeded: bool) {
        if std::mem::take(&mut self.open) {
            self.port.close(succeeded).await;
        }
    }
}

/// The models with which a prompt is tried, one after the other.
fn budget<'a>(plan: &Plan<'a>, role: Role) -> Box<dyn Iterator<Item = &'a str> + Send + 'a> {
    match (plan.mode, role) {
        (Mode::Borrowing, _) => Box::new(iter::once(plan.task_model)),
        (_, Role::Task) => Box::new(iter::repeat_n(plan.task_model, TASK_TRIES)),
        (_, Role::Driving) => {
            Box::new(iter::once(plan.driving_model).chain(rounds(plan.driving_retries)))
        }
    }
}

/// Rounds over the models, each with one try for every model that has retries left.
fn rounds(retries: &[DrivingSessionRetry]) -> impl Iterator<Item = &str> + Send {
    let longest = retries.iter().map(|model| model.retries).max().unwrap_or(0);
    (0..longest).flat_map(move |round| {
        let left = retries.iter().filter(move |model| model.retries > round);
        left.map(|model| model.model_id.as_str())
    })
}

#[cfg(test)]
mod tests;
