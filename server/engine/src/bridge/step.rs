//! Finds the step in a model's answer.
//!
//! The text is searched for one JSON object: fenced blocks first, then braces that balance. The
//! first candidate that parses and fits the schema is the step; prose around it is tolerated.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The most actions in one step.
const MAX_ACTIONS: usize = 20;
/// How many opening braces are tried as the start of a step.
const MAX_CANDIDATES: usize = 200;
const FENCE: &str = "```";

/// What a model decides to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Run these actions and continue with their results.
    Act { actions: Vec<Action>, commentary: String },
    /// The goal is reached, or can't be reached.
    Finish { summary: String },
}

/// One tool call of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Action {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// Why a text has no step; worded for the model, which is asked again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StepError {
    #[error("there is no JSON object in the answer")]
    NoObject,
    #[error("the JSON object has neither `actions` nor `finalSummary`")]
    Unrelated,
    #[error("the JSON object does not parse: {0}")]
    Syntax(String),
    #[error("{0}")]
    Schema(String),
}

impl StepError {
    /// An invalid step is a more useful error than a brace in prose.
    fn weight(&self) -> u8 {
        match self {
            Self::NoObject => 0,
            Self::Unrelated => 1,
            Self::Syntax(_) => 2,
            Self::Schema(_) => 3,
        }
    }
}

/// The first valid step in a text, or the most useful error.
pub(super) fn find(text: &str) -> Result<Step, StepError> {
    let mut problem = StepError::NoObject;
    let mut fits = |candidate: &str| match read(candidate) {
        Ok(step) => Some(step),
        Err(error) => {
            if error.weight() > problem.weight() {
                problem = error;
            }
            None
        }
    };
    for block in fenced_blocks(text) {
        if let Some(step) = find_balanced(block, &mut fits) {
            return Ok(step);
        }
    }
    let step = find_balanced(text, &mut fits);
    step.ok_or(problem)
}

/// The contents of fenced code blocks. An unclosed block extends to the end.
fn fenced_blocks(text: &str) -> Vec<&str> {
    let (mut blocks, mut open, mut at) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        if line.trim_start().starts_with(FENCE) {
            match open.take() {
                None => open = Some(next),
                Some(start) => blocks.push(&text[start..at]),
            }
        }
        at = next;
    }
    blocks.extend(open.map(|start| &text[start..]));
    blocks
}

/// The first object with balanced braces that `fits` accepts.
fn find_balanced<T>(text: &str, fits: &mut impl FnMut(&str) -> Option<T>) -> Option<T> {
    let mut at = 0;
    for _ in 0..MAX_CANDIDATES {
        let start = at + text[at..].find('{')?;
        // If the braces don't balance, parsing fails and explains why.
        let length = balanced_length(&text[start..]).unwrap_or(text.len() - start);
        let candidate = &text[start..start + length];
        if let Some(found) = fits(candidate) {
            return Some(found);
        }
        // An object inside another one is no step, but a brace in prose may enclose one.
        let is_object = serde_json::from_str::<Map<String, Value>>(candidate).is_ok();
        at = if is_object { start + length } else { start + 1 };
    }
    None
}

/// The length up to the brace that closes the first one; braces in strings don't count.
fn balanced_length(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The fields of any step, before validation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyStep {
    actions: Option<Vec<Map<String, Value>>>,
    commentary: Option<String>,
    #[serde(default)]
    done: bool,
    final_summary: Option<String>,
}

fn read(candidate: &str) -> Result<Step, StepError> {
    let value: Value =
        serde_json::from_str(candidate).map_err(|error| StepError::Syntax(error.to_string()))?;
    if ["actions", "finalSummary", "done"].iter().all(|key| value.get(key).is_none()) {
        return Err(StepError::Unrelated);
    }
    let schema = |problem: &str| StepError::Schema(problem.to_owned());
    let step: AnyStep = serde_json::from_value(value)
        .map_err(|error| StepError::Schema(format!("the object is no step: {error}")))?;
    let actions = step.actions.unwrap_or_default();
    if step.done {
        return match step.final_summary {
            _ if !actions.is_empty() => Err(schema("a final step has no `actions`")),
            Some(summary) => Ok(Step::Finish { summary }),
            None => Err(schema("a final step needs a `finalSummary`")),
        };
    }
    if actions.is_empty() {
        return Err(schema("a step that is not final needs at least one action"));
    }
    if actions.len() > MAX_ACTIONS {
        return Err(StepError::Schema(format!("a step has at most {MAX_ACTIONS} actions")));
    }
    let actions = actions.into_iter().map(|mut action| match action.remove("tool") {
        Some(Value::String(tool)) => Ok(Action { tool, arguments: action }),
        _ => Err(schema("every action needs the name of its `tool`")),
    });
    Ok(Step::Act {
        actions: actions.collect::<Result<_, _>>()?,
        commentary: step.commentary.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
