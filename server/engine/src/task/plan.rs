//! What a task does next, given what has happened in it. No waiting, no clock, no I/O.
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
//!                       session, while the tries last
//!                       the server stopped, anywhere: resumed, sent again, or a person is asked
//! ```
//!
//! Each [`TaskEvent`] has [`Effect`]s, the last of which is the one that the plan waits for. Events
//! are the only input: [`Plan::replay`] rebuilds the same plan from the same events, and
//! [`Plan::pending`] says what it waits for.

mod asking;
mod definition;
mod interruption;
mod request;

#[cfg(test)]
mod tests;

use store::fold::{JobToolCall, NoAnswer, TaskEvent};
use wire::entry::Criteria;
use wire::{
    Decision, FailureCause, Judge, SessionId, SessionRole as Role, Setback, TaskResponse, Unmet,
    UsedUp, VerdictCriterion,
};

use super::TaskEnd;
use super::judgement::{
    Answer, Variables, judge_condition, judge_tools, verdict_on_condition, verdict_on_tool,
    verdict_without_answer,
};
use asking::{Asking, Form, Interrupted, Step};
pub(super) use definition::{Definition, Mode};

/// Number of the first run of a task's prompt. Availability, which is judged before it, belongs to
/// it.
const FIRST: u32 = 1;

/// What the runner of a task has to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Tells the readers of the task something.
    Report(TaskResponse),
    /// Closes a session of the task's own.
    Close { session_id: SessionId, succeeded: bool },
    /// Opens a session.
    Open { role: Role, model: String },
    /// Sends a prompt to the session and waits for the end of its turn.
    Send { session_id: SessionId, prompt: String },
    /// Starts the agent of a session again, whose turn was cut off.
    Resume { session_id: SessionId },
    /// Asks a person how the interrupted work goes on.
    Ask,
    /// The task is over.
    End(TaskEnd),
}

/// An event that can't happen in the state of the plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the task does not wait for this: {0:?}")]
pub(super) struct Unexpected(pub(super) TaskEvent);

/// The state machine of one run of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    definition: Definition,
    variables: Variables,
    /// The session that prompts go to.
    session: Option<SessionId>,
    /// How many turns in that session were settled for this task.
    settled: usize,
    /// Which run of the task's prompt this is.
    attempt: u32,
    /// The criterion that was not met in the run before.
    unmet: Option<Unmet>,
    asking: Asking,
    waits_for: Waiting,
}

/// What the plan waits for.
#[derive(Clone, Debug, PartialEq)]
enum Waiting {
    Session,
    Turn,
    /// The agent of the turn that was cut off.
    Agent,
    Person,
    Nothing(TaskEnd),
}

/// The effects of an event, in order.
type Effects = Vec<Effect>;

impl Plan {
    /// The plan of a task that has just begun, and what it does first.
    pub(super) fn new(definition: Definition, user_input: String) -> (Self, Effects) {
        let variables = Variables::new(user_input, definition.task_model.clone());
        let mut plan = Self {
            session: definition.borrowed,
            definition,
            variables,
            settled: 0,
            attempt: FIRST,
            unmet: None,
            asking: Asking::new(Step::Work, Role::Task),
            waits_for: Waiting::Session,
        };
        let mut effects = Effects::new();
        let step = if plan.availability().is_some() { Step::Availability } else { Step::Work };
        plan.ask(step, &mut effects);
        (plan, effects)
    }

    /// The plan after `events`, in the order in which they happened.
    pub(super) fn replay(
        definition: Definition,
        user_input: String,
        events: impl IntoIterator<Item = TaskEvent>,
    ) -> Result<Self, Unexpected> {
        let (mut plan, _) = Self::new(definition, user_input);
        for event in events {
            plan.apply(event)?;
        }
        Ok(plan)
    }

    /// What the plan waits for, as the effect that brings it about.
    pub(super) fn pending(&self) -> Effect {
        match (&self.waits_for, self.session) {
            (Waiting::Nothing(end), _) => Effect::End(end.clone()),
            (Waiting::Person, _) => Effect::Ask,
            (Waiting::Agent, Some(session_id)) => Effect::Resume { session_id },
            (Waiting::Turn, Some(session_id)) => Effect::Send { session_id, prompt: self.prompt() },
            (Waiting::Session | Waiting::Turn | Waiting::Agent, _) => {
                Effect::Open { role: self.asking.role, model: self.model().unwrap_or_default() }
            }
        }
    }

    /// How the task has ended, given that it has. An end that its plan does not know was a panic.
    pub(super) fn end(&self) -> TaskEnd {
        match &self.waits_for {
            Waiting::Nothing(end) => end.clone(),
            _ => TaskEnd::Crashed(FailureCause::Internal),
        }
    }

    /// The session that prompts go to, and how many turns in it were settled for this task.
    pub(super) fn session(&self) -> Option<(SessionId, usize)> {
        self.session.map(|session| (session, self.settled))
    }

    /// Continues after an event. An unexpected one changes nothing.
    pub(super) fn apply(&mut self, event: TaskEvent) -> Result<Effects, Unexpected> {
        let mut effects = Effects::new();
        match (&self.waits_for, event) {
            (Waiting::Session, TaskEvent::Opened { session_id }) => {
                self.opened(session_id, &mut effects);
            }
            (Waiting::Session, TaskEvent::NotOpened { failure }) => {
                self.setback(None, failure, &mut effects);
            }
            (Waiting::Turn, TaskEvent::Answered { calls, said }) => {
                self.settle(&calls);
                if self.definition.mode == Mode::SeveralModels {
                    self.close(true, &mut effects);
                }
                // The parts of a turn that was cut off count as one turn.
                let mut all = std::mem::take(&mut self.asking.interrupted.calls);
                all.extend(calls);
                self.answered(&all, said.as_deref(), &mut effects);
            }
            (Waiting::Turn, TaskEvent::Unanswered { calls, failure }) => {
                self.settle(&calls);
                let session = self.session;
                self.close(false, &mut effects);
                self.setback(session, failure, &mut effects);
            }
            (Waiting::Turn, TaskEvent::CutOff { policy, may_have_changed, calls }) => {
                self.settle(&calls);
                let interrupted = &mut self.asking.interrupted;
                interrupted.turns += 1;
                interrupted.may_have_changed |= may_have_changed;
                interrupted.calls.extend(calls);
                self.cut_off(policy, &mut effects);
            }
            (Waiting::Agent, TaskEvent::Resumed { is_resumed }) => {
                self.resumed(is_resumed, &mut effects);
            }
            (Waiting::Person, TaskEvent::Answer { choice }) if Self::is_way_on(choice) => {
                self.go_on(choice, &mut effects);
            }
            (Waiting::Nothing(_), event) => return Err(Unexpected(event)),
            (_, TaskEvent::Stopped) => self.fail(FailureCause::Stopped, &mut effects),
            (_, event) => return Err(Unexpected(event)),
        }
        Ok(effects)
    }

    /// Takes over what was reported in a turn.
    fn settle(&mut self, calls: &[JobToolCall]) {
        self.settled += 1;
        self.variables.note(calls);
    }

    fn opened(&mut self, session_id: SessionId, effects: &mut Effects) {
        self.session = Some(session_id);
        self.settled = 0;
        let (role, model) = (self.asking.role, self.model().unwrap_or_default());
        let is_driving = role == Role::Driving;
        effects.push(Effect::Report(TaskResponse::TaskSessionStarted { session_id, is_driving }));
        decide(effects, Decision::SessionStarted { role, model, session_id });
        self.send(effects);
    }

    /// Closes the session, unless it belongs to a user.
    fn close(&mut self, succeeded: bool, effects: &mut Effects) {
        if self.definition.borrowed.is_some() {
            return;
        }
        if let Some(session_id) = self.session.take() {
            effects.push(Effect::Close { session_id, succeeded });
        }
    }

    /// Begins with a prompt.
    fn ask(&mut self, step: Step, effects: &mut Effects) {
        // If one session does everything, it has the task's role.
        let is_driving = step != Step::Work && self.definition.mode == Mode::SeveralModels;
        self.asking = Asking::new(step, if is_driving { Role::Driving } else { Role::Task });
        self.asking.content = self
            .condition()
            .map_or_else(String::new, |condition| self.variables.fill_in(condition));
        self.try_once(effects);
    }

    /// Tries the prompt once more, if a try is left.
    fn try_once(&mut self, effects: &mut Effects) {
        match self.model() {
            None => self.exhausted(effects),
            Some(_) if self.session.is_some() => self.send(effects),
            Some(model) => {
                self.waits_for = Waiting::Session;
                effects.push(Effect::Open { role: self.asking.role, model });
            }
        }
    }

    /// Sends the prompt to the session.
    fn send(&mut self, effects: &mut Effects) {
        let Some(session_id) = self.session else { return };
        let model = self.model().unwrap_or_default();
        self.asking.judge = Some(Judge { session_id, model });
        self.waits_for = Waiting::Turn;
        effects.push(Effect::Send { session_id, prompt: self.prompt() });
    }

    /// The model of the next try, if one is left.
    fn model(&self) -> Option<String> {
        let tries = self.asking.crashes + self.asking.failed_turns;
        self.definition.model(self.asking.role, tries).map(str::to_owned)
    }

    fn setback(&mut self, session_id: Option<SessionId>, failure: NoAnswer, effects: &mut Effects) {
        let model = self.model().unwrap_or_default();
        let Asking { role, crashes, failed_turns, .. } = self.asking;
        let tries = crashes + failed_turns + 1;
        match failure {
            NoAnswer::OverBudget(reached) => {
                decide(effects, reached.into());
                return self.unanswered(reached.into(), effects);
            }
            NoAnswer::Crashed { error } => {
                self.asking.crashed(error.clone());
                let crashed = Decision::SessionCrashed { role, model, session_id, tries, error };
                decide(effects, crashed);
            }
            NoAnswer::TurnFailed { outcome, error } => {
                self.asking.failed_turns += 1;
                self.asking.cause = Some(FailureCause::TurnFailed {
                    role,
                    error: error.clone(),
                    failed_turns: Some(self.asking.failed_turns),
                });
                let failed =
                    Decision::TurnFailed { role, model, session_id, tries, outcome, error };
                decide(effects, failed);
            }
        }
        self.repeat(effects);
    }

    /// The prompt again, after a try that gave no answer.
    fn repeat(&mut self, effects: &mut Effects) {
        self.asking.form = Form::Repeated;
        self.asking.interrupted = Interrupted::default();
        self.try_once(effects);
    }

    /// No try is left.
    fn exhausted(&mut self, effects: &mut Effects) {
        let Asking { role, crashes, failed_turns, ref cause, .. } = self.asking;
        let nothing_tried =
            || FailureCause::SessionCrashed { role, error: String::new(), crashes: None };
        let cause = cause.clone().unwrap_or_else(nothing_tried);
        decide(effects, Decision::UsedUp(UsedUp::Tries { role, crashes, failed_turns }));
        self.unanswered(cause, effects);
    }

    /// The prompt will have no answer.
    fn unanswered(&mut self, cause: FailureCause, effects: &mut Effects) {
        let criterion = match self.asking.step {
            Step::Availability => Some(VerdictCriterion::Availability),
            Step::Condition => Some(VerdictCriterion::Condition),
            Step::Work => None,
        };
        if let Some(criterion) = criterion {
            let judge = self.asking.judge.take();
            let verdict = verdict_without_answer(criterion, &cause, judge, self.attempt);
            effects.push(Effect::Report(TaskResponse::TaskVerdict(verdict)));
        }
        let setback = match &cause {
            FailureCause::SessionCrashed { .. } => Setback::SessionCrashed,
            FailureCause::TurnFailed { .. } => Setback::TurnFailed,
            _ => return self.fail(cause, effects),
        };
        if self.attempt == FIRST || self.definition.mode == Mode::Borrowing {
            return self.fail(cause, effects);
        }
        // Within a retry, it is the retry that has failed.
        let attempt = self.attempt;
        decide(effects, Decision::UsedUp(UsedUp::Attempt { attempt, setback }));
        self.retry(effects);
    }

    fn answered(&mut self, calls: &[JobToolCall], said: Option<&str>, effects: &mut Effects) {
        match self.asking.step {
            Step::Availability => {
                let criterion = VerdictCriterion::Availability;
                let Answer { met, argument } = self.judge(criterion, calls, said, effects);
                let condition = std::mem::take(&mut self.asking.content);
                let decision =
                    Decision::Availability { condition, met, argument: argument.clone() };
                decide(effects, decision);
                if met {
                    self.ask(Step::Work, effects);
                } else {
                    self.fail(FailureCause::NotAvailable { argument }, effects);
                }
            }
            Step::Work => self.check_criteria(calls, effects),
            Step::Condition => {
                let criterion = VerdictCriterion::Condition;
                let Answer { met, argument } = self.judge(criterion, calls, said, effects);
                let condition = std::mem::take(&mut self.asking.content);
                let unmet = (!met).then_some(Unmet::Condition { condition, argument });
                self.criteria_judged(unmet, effects);
            }
        }
    }

    /// Reports the verdict on a condition.
    fn judge(
        &mut self,
        criterion: VerdictCriterion,
        calls: &[JobToolCall],
        said: Option<&str>,
        effects: &mut Effects,
    ) -> Answer {
        let answer = judge_condition(calls);
        let judge = self.asking.judge.take();
        let verdict = verdict_on_condition(criterion, &answer, said, judge, self.attempt);
        effects.push(Effect::Report(TaskResponse::TaskVerdict(verdict)));
        answer
    }

    /// Checks which tools were called. If some are missing, the condition is not asked.
    fn check_criteria(&mut self, calls: &[JobToolCall], effects: &mut Effects) {
        let Some(criteria) = &self.definition.task.criteria else { return self.succeed(effects) };
        for name in &criteria.tool_executed {
            let verdict = verdict_on_tool(name, calls, self.attempt);
            effects.push(Effect::Report(TaskResponse::TaskVerdict(verdict)));
        }
        match judge_tools(&criteria.tool_executed, calls) {
            None if criteria.condition.is_some() => self.ask(Step::Condition, effects),
            unmet => self.criteria_judged(unmet, effects),
        }
    }

    fn criteria_judged(&mut self, unmet: Option<Unmet>, effects: &mut Effects) {
        decide(effects, Decision::Criteria { attempt: self.attempt, unmet: unmet.clone() });
        if unmet.is_none() {
            return self.succeed(effects);
        }
        self.unmet = unmet;
        self.retry(effects);
    }

    /// Retries, if a retry is left.
    fn retry(&mut self, effects: &mut Effects) {
        let retries = self.criteria().map_or(0, |criteria| criteria.failure_action.retry_times);
        if self.attempt <= retries {
            self.attempt = self.attempt.saturating_add(1);
            decide(effects, Decision::Operation { attempt: self.attempt, retries });
            return self.ask(Step::Work, effects);
        }
        decide(effects, Decision::UsedUp(UsedUp::Retries { retries }));
        let cause = self.unmet.take().map_or(FailureCause::Internal, Unmet::into_cause);
        self.fail(cause, effects);
    }

    fn succeed(&mut self, effects: &mut Effects) {
        self.conclude(TaskEnd::Succeeded, Decision::Succeeded, effects);
    }

    fn fail(&mut self, cause: FailureCause, effects: &mut Effects) {
        let end = match &cause {
            FailureCause::Stopped => TaskEnd::Stopped,
            FailureCause::Interrupted => TaskEnd::Interrupted,
            cause if cause.is_crash() => TaskEnd::Crashed(cause.clone()),
            cause => TaskEnd::Failed(cause.clone()),
        };
        self.conclude(end, Decision::Failed(cause), effects);
    }

    fn conclude(&mut self, end: TaskEnd, decision: Decision, effects: &mut Effects) {
        // A session did its part even if the task failed.
        self.close(matches!(end, TaskEnd::Succeeded | TaskEnd::Failed(_)), effects);
        if end == TaskEnd::Stopped {
            decide(effects, Decision::Stopped);
        }
        decide(effects, decision);
        self.waits_for = Waiting::Nothing(end.clone());
        effects.push(Effect::End(end));
    }

    fn criteria(&self) -> Option<&Criteria> {
        self.definition.task.criteria.as_ref()
    }
}

fn decide(effects: &mut Effects, decision: Decision) {
    effects.push(Effect::Report(decision.into()));
}
