//! How a simulated model acts as the bridge's agent, which expects one JSON object per turn: the
//! goal's instructions become an agenda, and each turn writes the next step.

use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::instructions::{Argument, Step, parse};
use super::script::{Script, without_context};
use super::texts;

/// The beginning of the prompt that tells a model to work in steps.
const AGENT_RULES: &str = "<context>\nYou are an agent that works in a folder";
const GOAL: &str = "The goal:";
/// The end of the prompts that follow.
const NEXT_STEP: &str = "one JSON object.";

/// A tool in the rules: `- {"tool":"readFiles","files":[string]}: …`
static TOOL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^- \{"tool":"(\w+)"((?:,"\w+"\??:[^,}]+)*)\}"#).expect("a valid pattern")
});
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""(\w+)"(\??):([^,}]+)"#).expect("a valid pattern"));

/// A tool offered by the rules, and the field that takes a plain argument.
#[derive(Debug)]
struct Offered {
    name: String,
    field: Option<String>,
    is_list: bool,
}

/// The steps left to do for a goal.
#[derive(Debug)]
pub(super) struct Agenda {
    tools: Vec<Offered>,
    all: Vec<Step>,
    left: VecDeque<Step>,
    /// Texts to be said with the next step that is written.
    said: Vec<String>,
}

/// What the turn does next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Carried out before anything is written.
    Do(Step),
    /// The step to write, which ends the turn.
    Write(String),
}

impl Agenda {
    /// The agenda for a prompt that states a goal. `None` if the goal is a script for each turn,
    /// which is followed literally.
    pub(super) fn for_goal(prompt: &str) -> Option<Self> {
        if !prompt.starts_with(AGENT_RULES) {
            return None;
        }
        let (rules, asked) = prompt.split_once("</context>")?;
        let goal = without_context(asked.trim_start().strip_prefix(GOAL)?);
        if Script::is_script(&goal) {
            return None;
        }
        let tools: Vec<_> = TOOL.captures_iter(rules).map(|tool| offered(&tool)).collect();
        let all = parse(&goal, |name| tools.iter().any(|tool| tool.name == name));
        Some(Self { tools, left: all.iter().cloned().collect(), all, said: Vec::new() })
    }

    /// Whether a prompt asks for the next step of an agenda.
    pub(super) fn is_asked_for(prompt: &str) -> bool {
        prompt.starts_with("<context>") && prompt.ends_with(NEXT_STEP)
    }

    /// All instructions of the goal.
    pub(super) fn steps(&self) -> &[Step] {
        &self.all
    }

    /// Takes the next step; there always is one.
    pub(super) fn next(&mut self) -> Next {
        while let Some(step) = self.left.pop_front() {
            match step {
                Step::UseTool { name, argument } => return Next::Write(self.act(&name, &argument)),
                // A text that already is a step is written as such.
                Step::Say(text) if is_step(&text) => return Next::Write(text),
                Step::Say(text) => self.said.push(text),
                Step::Markdown => self.said.push(texts::MARKDOWN.to_owned()),
                Step::DoNothing => {}
                step => return Next::Do(step),
            }
        }
        let said = std::mem::take(&mut self.said);
        let summary =
            if said.is_empty() { texts::agent_summary(&self.all) } else { said.join("\n\n") };
        Next::Write(json!({ "finalSummary": summary, "done": true }).to_string())
    }

    fn act(&mut self, name: &str, argument: &Argument) -> String {
        let said = std::mem::take(&mut self.said);
        let commentary =
            if said.is_empty() { format!("I use the {name} tool.") } else { said.join(" ") };
        let mut action = Map::from_iter([("tool".to_owned(), Value::from(name))]);
        match argument {
            Argument::Object(fields, _) => action.extend(fields.clone()),
            Argument::Text(text) if text.is_empty() => {}
            Argument::Text(text) => {
                let tool = self.tools.iter().find(|tool| tool.name == name);
                let field = tool.and_then(|tool| tool.field.as_deref()).unwrap_or("argument");
                let is_list = tool.is_some_and(|tool| tool.is_list);
                let value = if is_list { json!([text]) } else { json!(text) };
                action.insert(field.to_owned(), value);
            }
        }
        json!({ "actions": [action], "commentary": commentary, "done": false }).to_string()
    }
}

/// A plain argument goes to the first required field, or else to the first one.
fn offered(tool: &regex::Captures<'_>) -> Offered {
    let fields: Vec<_> = FIELD.captures_iter(&tool[2]).collect();
    let field = fields.iter().find(|field| field[2].is_empty()).or(fields.first());
    Offered {
        name: tool[1].to_owned(),
        field: field.map(|field| field[1].to_owned()),
        is_list: field.is_some_and(|field| field[3].starts_with('[')),
    }
}

fn is_step(text: &str) -> bool {
    let object = serde_json::from_str::<Map<String, Value>>(text);
    object.is_ok_and(|step| step.contains_key("actions") || step.contains_key("finalSummary"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn agenda(goal: &str) -> Option<Agenda> {
        let rules = r#"<context>
You are an agent that works in a folder, the workspace.
- {"tool":"listFiles","glob"?:string,"max"?:integer}: Lists files, {"tool":"x"}.
- {"tool":"readFiles","files":[string]}: Reads files.
- {"tool":"createFile","path":string,"content":string}: Creates a file.
</context>

The goal:

"#;
        Agenda::for_goal(&format!("{rules}{goal}"))
    }

    fn written(agenda: &mut Agenda) -> Value {
        match agenda.next() {
            Next::Write(text) => serde_json::from_str(&text).expect("a JSON object"),
            Next::Do(step) => panic!("{step:?}"),
        }
    }

    #[test]
    fn every_tool_is_a_step_and_the_end_says_what_was_to_be_said() {
        let goal = "Say \"first\", then use the createFile tool with the arguments \
             {\"path\":\"a\",\"content\":\"b\"}. Wait 2 seconds, then use readFiles with a. \
             Say \"done with it\".";
        let mut agenda = agenda(goal).expect("a goal");
        assert_eq!(
            written(&mut agenda),
            json!({
                "actions": [{ "tool": "createFile", "path": "a", "content": "b" }],
                "commentary": "first", "done": false,
            })
        );
        assert_eq!(agenda.next(), Next::Do(Step::Wait(Duration::from_secs(2))));
        assert_eq!(
            written(&mut agenda),
            json!({
                "actions": [{ "tool": "readFiles", "files": ["a"] }],
                "commentary": "I use the readFiles tool.", "done": false,
            })
        );
        let end = json!({ "finalSummary": "done with it", "done": true });
        assert_eq!(written(&mut agenda), end);
        assert_eq!(written(&mut agenda)["done"], true, "however often it is asked");
    }

    #[test]
    fn a_goal_without_instructions_ends_with_an_introduction() {
        let end = written(&mut agenda("add a licence").expect("a goal"));
        assert_eq!(end["done"], true);
        assert!(end["finalSummary"].as_str().expect("text").contains("simulated model"), "{end}");
        let end = written(&mut agenda("use listFiles with *.md").expect("a goal"));
        assert_eq!(end["actions"][0], json!({ "tool": "listFiles", "glob": "*.md" }));
    }

    #[test]
    fn what_is_written_as_a_step_is_written_as_it_is() {
        let step = json!({ "actions": [{ "tool": "listFiles" }] });
        let mut agenda = agenda(&format!("say {}", json!(step.to_string()))).expect("a goal");
        assert_eq!(written(&mut agenda), step);
    }

    #[test]
    fn scripts_and_other_prompts_are_no_goals() {
        assert!(agenda("Turn 1: say x").is_none());
        assert!(Agenda::for_goal("say x").is_none());
        assert!(Agenda::for_goal("<context>\nWhat was said before\n</context>\n\nsay x").is_none());
        assert!(Agenda::is_asked_for("<context>\n…</context>\n\nOnce more: one JSON object."));
        assert!(!Agenda::is_asked_for("say one JSON object."));
    }
}
