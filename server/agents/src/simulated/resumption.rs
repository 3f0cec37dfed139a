//! What is left to do of a prompt whose turn was cut off. A simulated model is a careful agent: it
//! does not run a command a second time, and does not do again what has succeeded.

use crate::facts::Fact;
use crate::tools::RUN_COMMAND;

use super::instructions::Step;

/// The beginning of a prompt that resumes a turn which the end of the server has cut off. The prompt of
/// that turn follows as context.
const RESUMES: &str = "The server stopped while you were working on your last prompt";

/// Whether a prompt only resumes the one before.
pub(super) fn is_resumption(prompt: &str) -> bool {
    prompt.starts_with(RESUMES)
}

/// The steps that are left, given those of the interrupted prompt and what was done since. `repeats`
/// says that the call which was cut off is repeated anyway.
pub(super) fn steps_left(steps: &[Step], facts: &[Fact], repeats: bool) -> Vec<Step> {
    let begun = facts
        .iter()
        .rposition(|fact| matches!(fact, Fact::Prompt(prompt) if !is_resumption(prompt)))
        .unwrap_or(0);
    let mut next = 0;
    let mut is_done = true;
    for fact in &facts[begun..] {
        let Fact::ToolCall { name, outcome, .. } = fact else { continue };
        let is_it = |step: &Step| matches!(step, Step::UseTool { name: tool, .. } if tool == name);
        let is_repeated = !is_done && is_it(&steps[next - 1]);
        if !is_repeated {
            let Some(place) = steps[next..].iter().position(is_it) else { continue };
            next += place + 1;
        }
        is_done = name == RUN_COMMAND || !was_cut_off(outcome.as_ref());
    }
    steps[if is_done || repeats { next } else { next - 1 }..].to_vec()
}

fn was_cut_off<R>(outcome: Option<&Result<R, wire::ToolError>>) -> bool {
    match outcome {
        None => true,
        Some(Ok(_)) => false,
        Some(Err(error)) => error.message.starts_with("interrupted"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use wire::{ToolError, ToolResult};

    use super::super::instructions::parse;
    use super::*;

    const PROMPT: &str = "use createFile with a, then use runCommand with b, then use createFile \
                          with c, then say done";

    fn call(name: &str, error: Option<&str>) -> Fact {
        let outcome = match error {
            None => Ok(ToolResult::default()),
            Some(message) => Err(ToolError { message: message.to_owned(), code: None }),
        };
        Fact::ToolCall { name: name.to_owned(), arguments: Value::Null, outcome: Some(outcome) }
    }

    fn left(facts: Vec<Fact>) -> usize {
        let steps = parse(PROMPT, |name| ["createFile", "runCommand"].contains(&name));
        assert_eq!(steps.len(), 4);
        let earlier = [Fact::Prompt("x".to_owned()), call("createFile", None)];
        let prompt = [Fact::Prompt(PROMPT.to_owned()), Fact::Round];
        let resumption = [Fact::Prompt(format!("{RESUMES}, so …"))];
        let facts: Vec<_> =
            earlier.into_iter().chain(prompt).chain(facts).chain(resumption).collect();
        let with_repetition = steps_left(&steps, &facts, true).len();
        let left = steps_left(&steps, &facts, false).len();
        assert!(with_repetition == left || with_repetition + 1 == left);
        left
    }

    #[test]
    fn what_has_succeeded_is_not_done_again_and_no_command_runs_twice() {
        let cut_off = Some("interrupted: the server stopped");
        for (facts, steps) in [
            (vec![], 4),
            (vec![call("createFile", cut_off)], 4),
            (vec![call("createFile", None)], 3),
            (vec![call("createFile", Some("it exists"))], 3),
            (vec![call("createFile", None), call("runCommand", cut_off)], 2),
            (
                vec![
                    call("createFile", cut_off),
                    Fact::Prompt(format!("{RESUMES}.")),
                    call("createFile", None),
                ],
                3,
            ),
            (
                vec![
                    call("createFile", None),
                    call("runCommand", None),
                    call("createFile", None),
                    Fact::Message("do".to_owned()),
                ],
                1,
            ),
        ] {
            assert_eq!(left(facts.clone()), steps, "{facts:?}");
        }
    }
}
