//! What a turn's tool calls mean for conditions, criteria and reported values.

use std::borrow::Cow;

use wire::Unmet;
use wire::entry::{
    JOB_BOOLEAN_FALSE, JOB_BOOLEAN_TRUE, JOB_PREPARE_DOCUMENT, Prompt, RuntimeVariable,
};

use crate::session::CalledTool;

/// The values of the runtime variables of one run.
#[derive(Clone, Debug, Default)]
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
    pub(super) fn note(&mut self, tools: &[CalledTool]) {
        for tool in tools.iter().filter(|tool| tool.succeeded) {
            let argument = tool.argument().unwrap_or_default();
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
pub(super) fn judge_condition(tools: &[CalledTool]) -> Answer {
    let is_boolean = |name: &str| [JOB_BOOLEAN_TRUE, JOB_BOOLEAN_FALSE].contains(&name);
    let last = tools.iter().rfind(|tool| tool.succeeded && is_boolean(&tool.name));
    Answer {
        met: last.is_some_and(|tool| tool.name == JOB_BOOLEAN_TRUE),
        argument: last.map(|tool| tool.argument().unwrap_or_default().to_owned()),
    }
}

/// The unmet criterion, unless all required tools were called.
pub(super) fn judge_tools(required: &[String], tools: &[CalledTool]) -> Option<Unmet> {
    let called = |name: &String| tools.iter().any(|tool| tool.succeeded && tool.name == *name);
    let missing: Vec<_> = required.iter().filter(|name| !called(name)).cloned().collect();
    (!missing.is_empty()).then(|| Unmet::ToolExecuted { required: required.to_vec(), missing })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::entry::JOB_PREREQUISITE_FAILED;

    use super::*;

    fn call(name: &str, argument: &str) -> CalledTool {
        let arguments = json!({ "argument": argument });
        CalledTool { name: name.to_owned(), arguments, succeeded: true }
    }

    fn failed(name: &str) -> CalledTool {
        CalledTool { succeeded: false, ..call(name, "x") }
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
