//! What a turn's tool calls mean for conditions, criteria and reported values.

use std::borrow::Cow;

use store::fold::JobToolCall;
use wire::entry::{
    JOB_BOOLEAN_FALSE, JOB_BOOLEAN_TRUE, JOB_PREPARE_DOCUMENT, Prompt, RuntimeVariable,
};
use wire::{FailureCause, Judge, Met, Unmet, Verdict, VerdictCriterion};

/// The values of the runtime variables of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    user_input: Option<String>,
    task_model: String,
    document: Option<String>,
    /// Whether the last condition held, and why.
    condition: Option<(bool, String)>,
}

impl Variables {
    pub(super) fn new(user_input: String, task_model: String) -> Self {
        let user_input = Some(user_input).filter(|input| !input.trim().is_empty());
        Self { user_input, task_model, ..Self::default() }
    }

    /// Takes over the values that were reported in a turn.
    pub(super) fn note(&mut self, tools: &[JobToolCall]) {
        for tool in tools.iter().filter(|tool| tool.succeeded) {
            let argument = tool.argument.as_deref().unwrap_or_default();
            match tool.name.as_str() {
                JOB_PREPARE_DOCUMENT => {
                    let first = argument.lines().next().unwrap_or_default();
                    self.document = Some(first.trim().to_owned());
                }
                JOB_BOOLEAN_TRUE => self.condition = Some((true, argument.to_owned())),
                JOB_BOOLEAN_FALSE => self.condition = Some((false, argument.to_owned())),
                _ => {}
            }
        }
    }

    /// Fills in the current values.
    pub(super) fn fill_in(&self, prompt: &Prompt) -> String {
        prompt.fill_in(|variable| self.value(variable).map(Cow::Borrowed))
    }

    fn value(&self, variable: RuntimeVariable) -> Option<&str> {
        let reason = |wanted| match &self.condition {
            Some((held, reason)) if *held == wanted => Some(reason.as_str()),
            _ => None,
        };
        match variable {
            RuntimeVariable::UserInput => self.user_input.as_deref(),
            RuntimeVariable::TaskModel => Some(&self.task_model),
            RuntimeVariable::ReportedDocument => self.document.as_deref(),
            RuntimeVariable::ReportedTrueReason => reason(true),
            RuntimeVariable::ReportedFalseReason => reason(false),
        }
    }
}

/// A model's verdict on a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) met: bool,
    /// The argument of the boolean tool that decided; `None` if none was called.
    pub(super) argument: Option<String>,
}

/// Whether a condition holds: the last boolean tool that was called decides.
pub(super) fn judge_condition(tools: &[JobToolCall]) -> Answer {
    let is_boolean = |name: &str| [JOB_BOOLEAN_TRUE, JOB_BOOLEAN_FALSE].contains(&name);
    let last = tools.iter().rfind(|tool| tool.succeeded && is_boolean(&tool.name));
    Answer {
        met: last.is_some_and(|tool| tool.name == JOB_BOOLEAN_TRUE),
        argument: last.map(|tool| tool.argument.as_deref().unwrap_or_default().to_owned()),
    }
}

/// The longest evidence in a verdict, in characters.
const MAX_EVIDENCE: usize = 400;

/// Shortens what an agent said to what a verdict can need of it.
pub(super) fn shorten_evidence(said: &str) -> String {
    // One character more, so that it is seen to be cut.
    said.trim().chars().take(MAX_EVIDENCE + 1).collect()
}

/// The verdict on a condition that was answered. `said` is the judge's last message.
pub(super) fn verdict_on_condition(
    criterion: VerdictCriterion,
    answer: &Answer,
    said: Option<&str>,
    judge: Option<Judge>,
    attempt: u32,
) -> Verdict {
    let met = match (answer.met, &answer.argument) {
        (true, _) => Met::Yes,
        (false, Some(_)) => Met::No,
        (false, None) => Met::Unknown,
    };
    let no_answer = || format!("neither {JOB_BOOLEAN_TRUE} nor {JOB_BOOLEAN_FALSE} was called");
    let reason = answer.argument.clone().unwrap_or_else(no_answer);
    let said = said.map(str::trim).filter(|said| !said.is_empty() && *said != reason);
    let evidence = said.map(|said| match said.char_indices().nth(MAX_EVIDENCE) {
        Some((end, _)) => format!("{}…", &said[..end]),
        None => said.to_owned(),
    });
    Verdict { attempt, criterion, met, reason, evidence, judge }
}

/// The verdict on a condition whose judge gave no answer in any of its tries.
pub(super) fn verdict_without_answer(
    criterion: VerdictCriterion,
    cause: &FailureCause,
    judge: Option<Judge>,
    attempt: u32,
) -> Verdict {
    let (met, reason) = (Met::Unknown, cause.reason());
    Verdict { attempt, criterion, met, reason, evidence: None, judge }
}

/// The verdict on a tool that has to be called.
pub(super) fn verdict_on_tool(name: &str, tools: &[JobToolCall], attempt: u32) -> Verdict {
    let mut calls = tools.iter().filter(|tool| tool.name == name);
    let is_called = calls.clone().next().is_some();
    let (met, reason) =
        match calls.rfind(|tool| tool.succeeded).map(|tool| tool.argument.as_deref()) {
            Some(Some(argument)) if !argument.is_empty() => (Met::Yes, argument.to_owned()),
            Some(_) => (Met::Yes, format!("the agent called {name}")),
            None if is_called => (Met::No, format!("the agent called {name}, but the call failed")),
            None => (Met::No, format!("the agent never called {name}")),
        };
    let criterion = VerdictCriterion::Tool(name.to_owned());
    Verdict { attempt, criterion, met, reason, evidence: None, judge: None }
}

/// The unmet criterion, unless all required tools were called.
pub(super) fn judge_tools(required: &[String], tools: &[JobToolCall]) -> Option<Unmet> {
    let called = |name: &String| tools.iter().any(|tool| tool.succeeded && tool.name == *name);
    let missing: Vec<_> = required.iter().filter(|name| !called(name)).cloned().collect();
    (!missing.is_empty()).then(|| Unmet::ToolExecuted { required: required.to_vec(), missing })
}

#[cfg(test)]
mod tests {
    use wire::entry::JOB_PREREQUISITE_FAILED;

    use super::*;

    fn call(name: &str, argument: &str) -> JobToolCall {
        let (name, argument) = (name.to_owned(), Some(argument.to_owned()));
        JobToolCall { name, argument, succeeded: true }
    }

    fn failed(name: &str) -> JobToolCall {
        JobToolCall { succeeded: false, ..call(name, "x") }
    }

    #[test]
    fn the_last_boolean_tool_decides() {
        let (yes, no) = (call(JOB_BOOLEAN_TRUE, "good"), call(JOB_BOOLEAN_FALSE, "bad"));
        let other = call(JOB_PREPARE_DOCUMENT, "doc");
        for (tools, met, argument) in [
            (vec![yes.clone()], true, Some("good")),
            (vec![no.clone(), yes.clone(), other.clone()], true, Some("good")),
            (vec![yes.clone(), no.clone()], false, Some("bad")),
            (vec![no.clone(), failed(JOB_BOOLEAN_TRUE)], false, Some("bad")),
            (vec![other], false, None),
            (vec![], false, None),
        ] {
            let expected = Answer { met, argument: argument.map(str::to_owned) };
            assert_eq!(judge_condition(&tools), expected, "{tools:?}");
        }
    }

    #[test]
    fn evidence_is_what_the_judge_said_unless_that_is_the_reason() {
        let answer = Answer { met: true, argument: Some("good".to_owned()) };
        let long = "ä".repeat(MAX_EVIDENCE + 1);
        let cut = format!("{}…", "ä".repeat(MAX_EVIDENCE));
        for (said, evidence) in [
            (None, None),
            (Some(" \n"), None),
            (Some("good\n"), None),
            (Some("I looked.\nIt is."), Some("I looked.\nIt is.")),
            (Some(&*long), Some(&*cut)),
        ] {
            let condition = VerdictCriterion::Condition;
            let verdict = verdict_on_condition(condition, &answer, said, None, 1);
            assert_eq!(verdict.evidence.as_deref(), evidence);
            assert_eq!((verdict.met, &*verdict.reason), (Met::Yes, "good"));
        }
    }

    #[test]
    fn a_tool_counts_if_one_of_its_calls_succeeded() {
        let name = JOB_PREPARE_DOCUMENT;
        for (tools, met, reason) in [
            (vec![], Met::No, "the agent never called job_prepare_document"),
            (
                vec![call(JOB_BOOLEAN_TRUE, "x")],
                Met::No,
                "the agent never called job_prepare_document",
            ),
            (
                vec![failed(name)],
                Met::No,
                "the agent called job_prepare_document, but the call failed",
            ),
            (vec![call(name, "")], Met::Yes, "the agent called job_prepare_document"),
            (vec![call(name, "a"), call(name, "b"), failed(name)], Met::Yes, "b"),
        ] {
            let verdict = verdict_on_tool(name, &tools, 2);
            assert_eq!((verdict.met, &*verdict.reason, verdict.attempt), (met, reason, 2));
            assert_eq!(verdict.criterion.to_string(), "tool:job_prepare_document");
        }
    }

    #[test]
    fn all_required_tools_must_have_been_called() {
        let required = [JOB_PREPARE_DOCUMENT.to_owned(), JOB_PREREQUISITE_FAILED.to_owned()];
        let document = call(JOB_PREPARE_DOCUMENT, "a");
        assert_eq!(judge_tools(&[], &[]), None);
        let both = [call(JOB_PREREQUISITE_FAILED, "b"), document.clone()];
        assert_eq!(judge_tools(&required, &both), None);
        let unmet = judge_tools(&required, &[document, failed(JOB_PREREQUISITE_FAILED)]);
        let missing = vec![JOB_PREREQUISITE_FAILED.to_owned()];
        assert_eq!(unmet, Some(Unmet::ToolExecuted { required: required.into(), missing }));
    }

    #[test]
    fn variables_have_the_values_that_were_reported_last() {
        use RuntimeVariable as V;
        let mut variables = Variables::new("in".to_owned(), "m".to_owned());
        assert_eq!(variables.value(V::UserInput), Some("in"));
        assert_eq!(variables.value(V::TaskModel), Some("m"));
        assert_eq!(
            V::ALL.map(|one| variables.value(one).is_some()),
            [true, true, false, false, false]
        );
        variables
            .note(&[call(JOB_PREPARE_DOCUMENT, " a.md \nmore"), call(JOB_BOOLEAN_TRUE, "yes")]);
        assert_eq!(variables.value(V::ReportedDocument), Some("a.md"));
        assert_eq!(variables.value(V::ReportedTrueReason), Some("yes"));
        variables.note(&[call(JOB_BOOLEAN_FALSE, "no"), failed(JOB_PREPARE_DOCUMENT)]);
        assert_eq!(variables.value(V::ReportedTrueReason), None);
        assert_eq!(variables.value(V::ReportedFalseReason), Some("no"));
        assert_eq!(variables.value(V::ReportedDocument), Some("a.md"));
        let blank = Variables::new(" \n".to_owned(), String::new());
        assert_eq!(blank.value(V::UserInput), None);
    }
}
