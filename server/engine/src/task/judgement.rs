//! What the tools that were called in a turn mean: conditions, criteria, reported values.

use std::borrow::Cow;
use std::fmt;

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

    /// Notes what was reported in a turn.
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

    /// A prompt with the values of now.
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

/// A condition or criterion that is not met: which field, what it says, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unmet {
    pub(super) field: &'static str,
    content: String,
    why: String,
    /// The tools that should have been called, if it is about tools.
    pub(super) missing: Vec<String>,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}\n{}", self.field, self.why, self.content)
    }
}

/// The reason why a condition holds, judged by the last boolean tool that was called.
pub(super) fn judge_condition<'t>(
    field: &'static str,
    content: String,
    tools: &'t [CalledTool],
) -> Result<&'t str, Unmet> {
    let is_boolean = |name: &str| [JOB_BOOLEAN_TRUE, JOB_BOOLEAN_FALSE].contains(&name);
    let last = tools.iter().rfind(|tool| tool.succeeded && is_boolean(&tool.name));
    let why = match last {
        Some(tool) if tool.name == JOB_BOOLEAN_TRUE => {
            return Ok(tool.argument().unwrap_or_default());
        }
        Some(tool) => {
            format!("{JOB_BOOLEAN_FALSE} was called: {}", tool.argument().unwrap_or_default())
        }
        None => format!("neither {JOB_BOOLEAN_TRUE} nor {JOB_BOOLEAN_FALSE} was called"),
    };
    Err(Unmet { field, content, why, missing: Vec::new() })
}

/// Whether all required tools were called.
pub(super) fn judge_tools(required: &[String], tools: &[CalledTool]) -> Result<(), Unmet> {
    let called = |name: &String| tools.iter().any(|tool| tool.succeeded && tool.name == *name);
    let missing: Vec<_> = required.iter().filter(|name| !called(name)).cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Unmet {
        field: "criteria.toolExecuted",
        content: required.join(", "),
        why: format!("not called: {}", missing.join(", ")),
        missing,
    })
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
        let judge = |tools: &[CalledTool]| {
            let judged = judge_condition("f", "c".to_owned(), tools);
            judged.map(str::to_owned).map_err(|unmet| unmet.why)
        };
        let none = "neither job_boolean_true nor job_boolean_false was called";
        let bad = "job_boolean_false was called: bad";
        for (tools, expected) in [
            (vec![yes.clone()], Ok("good")),
            (vec![no.clone(), yes.clone(), other.clone()], Ok("good")),
            (vec![yes.clone(), no.clone()], Err(bad)),
            (vec![no.clone(), failed(JOB_BOOLEAN_TRUE)], Err(bad)),
            (vec![other], Err(none)),
            (vec![], Err(none)),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(judge(&tools), expected, "{tools:?}");
        }
    }

    #[test]
    fn all_required_tools_must_have_been_called() {
        let required = [JOB_PREPARE_DOCUMENT.to_owned(), JOB_PREREQUISITE_FAILED.to_owned()];
        let document = call(JOB_PREPARE_DOCUMENT, "a");
        assert_eq!(judge_tools(&[], &[]), Ok(()));
        let both = [call(JOB_PREREQUISITE_FAILED, "b"), document.clone()];
        assert_eq!(judge_tools(&required, &both), Ok(()));
        let unmet = judge_tools(&required, &[document, failed(JOB_PREREQUISITE_FAILED)]);
        let unmet = unmet.expect_err("one is missing");
        assert_eq!(unmet.missing, [JOB_PREREQUISITE_FAILED]);
        assert_eq!(
            unmet.to_string(),
            "criteria.toolExecuted failed: not called: job_prerequisite_failed\n\
             job_prepare_document, job_prerequisite_failed"
        );
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
