//! The agent loop: the model writes a step, its actions run, and their results lead to the next
//! step.

use std::fmt::Write;
use std::sync::Arc;

use agents::tools::RUN_COMMAND;
use agents::{Tool, ToolSet, TurnStop};
use serde_json::Value;
use wire::{ToolError, ToolResult};

use super::instructions;
use super::model::Model;
use super::report::Report;
use super::step::{self, Action, Step};

/// How often a model is asked again after an answer that is no valid step.
const MAX_CORRECTIONS: u32 = 2;
/// How much of a step's results the model gets, in bytes.
const MAX_RESULTS: usize = 256 * 1024;
/// How much of one result users see, in bytes and lines.
const MAX_SHOWN: usize = 2_000;
const MAX_SHOWN_LINES: usize = 20;

/// A run of an agent.
pub(super) struct Pursuit<'a> {
    pub(super) model: &'a Model,
    pub(super) tools: &'a ToolSet,
    pub(super) max_steps: u32,
    /// Whether the agent may run commands.
    pub(super) commands: bool,
    /// Receives what users read, piece by piece.
    pub(super) report: &'a Report,
}

impl Pursuit<'_> {
    /// Works until the model is done or has no steps left. Dropping it stops everything.
    pub(super) async fn run(&self, goal: &str) -> Result<TurnStop, String> {
        let stop = self.take_steps(goal).await;
        self.report.end_message();
        stop
    }

    async fn take_steps(&self, goal: &str) -> Result<TurnStop, String> {
        let max_steps = self.max_steps;
        // Forbidden tools are not offered.
        let is_offered = |tool: &Arc<Tool>| self.commands || tool.name != RUN_COMMAND;
        let offered: Vec<_> = self.tools.iter().filter(is_offered).collect();
        let mut prompt = instructions::goal(goal, &offered, max_steps);
        for number in 1..=max_steps {
            self.report.say(&format!("### Step {number}/{max_steps}\n\n"));
            let (actions, commentary) = match self.next_step(prompt).await? {
                Step::Finish { summary } => {
                    self.report.say(&format!("{}\n", summary.trim_end()));
                    return Ok(TurnStop::Answered);
                }
                Step::Act { actions, commentary } => (actions, commentary),
            };
            if !commentary.is_empty() {
                self.report.say(&format!("{}\n\n", commentary.trim_end()));
            }
            let results = self.act(&actions).await;
            prompt = instructions::results(number, max_steps, &results);
        }
        self.report.say(&format!("Stopped: not done after {max_steps} steps.\n"));
        Ok(TurnStop::OutOfSteps)
    }

    /// The model's next step, after corrections if necessary.
    async fn next_step(&self, mut prompt: String) -> Result<Step, String> {
        let mut corrections = 0;
        loop {
            let text = self.model.turn(&prompt).await?;
            let problem = match step::find(&text) {
                Ok(step) => return Ok(step),
                Err(problem) => problem,
            };
            if corrections == MAX_CORRECTIONS {
                let tries = MAX_CORRECTIONS + 1;
                return Err(format!("the model wrote no valid step in {tries} tries: {problem}"));
            }
            corrections += 1;
            self.report.say(&format!("*Not a step, asking again: {problem}.*\n\n"));
            prompt = instructions::correction(&problem);
        }
    }

    /// Runs the actions one after the other, and returns their results for the model.
    async fn act(&self, actions: &[Action]) -> String {
        let mut results = String::new();
        for (index, action) in actions.iter().enumerate() {
            self.report.say(&format!("- {}\n\n", describe(action)));
            let arguments = Value::Object(action.arguments.clone());
            let (call_id, call) = self.report.start_tool(&action.tool, arguments);
            let outcome = self.tools.call(&action.tool, call).await;
            self.report.end_tool(call_id, outcome.clone());
            self.report.say(&show(&outcome));
            let (tool, number) = (&action.tool, index + 1);
            let room = MAX_RESULTS.saturating_sub(results.len());
            let _ = match outcome {
                Ok(result) => {
                    let content = cut(&result.content, room);
                    writeln!(results, "Action {number}, {tool}: ok\n{content}\n")
                }
                Err(error) => {
                    let message = cut(&error.message, room);
                    writeln!(results, "Action {number}, {tool}: failed\n{message}\n")
                }
            };
        }
        results
    }
}

/// One line of Markdown about an action.
fn describe(action: &Action) -> String {
    let field = |name: &str| action.arguments.get(name).and_then(Value::as_str);
    let files = action.arguments.get("files").and_then(Value::as_array);
    let subject = match files {
        Some(files) => {
            files.iter().filter_map(Value::as_str).map(code).collect::<Vec<_>>().join(", ")
        }
        None => ["path", "command", "query", "glob"]
            .into_iter()
            .find_map(field)
            .map(code)
            .unwrap_or_default(),
    };
    format!("**{}** {subject}", code(&action.tool)).trim_end().to_owned()
}

/// A short text as Markdown code, on one line.
fn code(text: &str) -> String {
    let line = text.replace(['`', '\n', '\r'], " ");
    let line = cut(line.trim(), 200);
    if line.is_empty() { String::new() } else { format!("`{line}`") }
}

/// A result as users see it.
fn show(outcome: &Result<ToolResult, ToolError>) -> String {
    match outcome {
        Err(error) => format!("  Failed: {}\n\n", error.message.replace('\n', " ")),
        Ok(result) => match &result.detailed_content {
            Some(diff) => format!("  {}\n\n{}", result.content, fenced("diff", diff)),
            None => fenced("", &result.content),
        },
    }
}

/// A fenced block whose content can't close it.
fn fenced(language: &str, content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    let lines: Vec<_> = content.lines().take(MAX_SHOWN_LINES).collect();
    let mut shown = cut(&lines.join("\n"), MAX_SHOWN);
    if content.lines().nth(MAX_SHOWN_LINES).is_some() {
        shown.push_str("\n…");
    }
    format!("{fence}{language}\n{shown}\n{fence}\n\n")
}

fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn action(value: &Value) -> Action {
        let Value::Object(mut arguments) = value.clone() else { panic!("an object") };
        let tool = arguments.remove("tool").expect("a tool");
        Action { tool: tool.as_str().expect("a name").to_owned(), arguments }
    }

    #[test]
    fn actions_are_told_in_one_line() {
        for (value, line) in [
            (json!({ "tool": "readFiles", "files": ["a", "b"] }), "**`readFiles`** `a`, `b`"),
            (
                json!({ "tool": "editFile", "path": "a.md", "content": "x" }),
                "**`editFile`** `a.md`",
            ),
            (json!({ "tool": "runCommand", "command": "a\n`b`" }), "**`runCommand`** `a  b`"),
            (json!({ "tool": "listFiles" }), "**`listFiles`**"),
            (json!({ "tool": "odd`one", "path": 1 }), "**`odd one`**"),
        ] {
            assert_eq!(describe(&action(&value)), line);
        }
    }

    #[test]
    fn results_can_not_leave_their_block() {
        assert_eq!(fenced("", "a"), "```\na\n```\n\n");
        assert_eq!(fenced("diff", "+````\n"), "`````diff\n+````\n`````\n\n");
        let many = "x\n".repeat(100);
        assert!(fenced("", &many).lines().count() < 30);
        assert!(fenced("", &"x".repeat(100_000)).len() < 3_000);
    }
}
