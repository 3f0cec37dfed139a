//! What a tool call did, in one line: `src/main.rs +3 −1`, `cargo test → exit 1`.
//!
//! Stands next to the header of a tool block, and decides what counts as looking around
//! ([`grouping`](super::grouping)).

mod arguments;
mod changes;
mod kinds;

#[cfg(test)]
mod tests;

use arguments::{Value, fields, items, unescape};
use kinds::kind_of;

/// The most characters of an object.
const LONGEST_OBJECT: usize = 120;

/// A tool call, as far as it has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolCall<'a> {
    pub(crate) name: &'a str,
    /// The arguments as JSON text.
    pub(crate) arguments: &'a str,
    /// The folder of the session, which paths are shortened by; may be empty.
    pub(crate) folder: &'a str,
    pub(crate) ending: Ending<'a>,
}

/// How far a tool call has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending<'a> {
    Running,
    Returned {
        content: &'a str,
        details: Option<&'a str>,
    },
    Failed {
        message: &'a str,
        denied: bool,
    },
    /// Its turn was aborted or interrupted before it ended.
    Aborted,
}

/// What a tool did something with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolIcon {
    Read,
    Search,
    Edit,
    Run,
    Web,
    Ask,
    Agent,
    Other,
}

/// Why a call did not simply succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command ran, and ended with this code, which is not 0.
    Exit(i32),
    Failed,
    Denied,
    Aborted,
}

impl Outcome {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Exit(_) | Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Aborted => "aborted",
        }
    }
}

/// What a tool call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolSummary {
    pub(crate) icon: ToolIcon,
    /// Such as `Edited`; `Edit` while it runs, or if it did not come to it.
    pub(crate) verb: &'static str,
    /// What it was done to: a path, a command, a pattern; may be empty.
    pub(crate) object: String,
    /// How many files or patterns the object stands for.
    pub(crate) count: u32,
    /// Lines that were added.
    pub(crate) added: Option<u32>,
    /// Lines that were removed.
    pub(crate) removed: Option<u32>,
    /// `None` if it succeeded, or still runs.
    pub(crate) outcome: Option<Outcome>,
}

impl ToolSummary {
    /// The summary of a call.
    pub(crate) fn of(call: &ToolCall<'_>) -> Self {
        let mut kind = kind_of(call.name);
        // An editor that does several things says in its arguments which one.
        if let Some((_, Value::Text(command @ ("view" | "create")))) =
            fields(call.arguments).find(|(name, _)| *name == "command")
            && kind.icon == ToolIcon::Edit
        {
            kind = kind_of(command);
        }
        let (object, count) = object(kind.icon, call);
        let outcome = outcome(kind.icon, call.ending);
        let lines = match (kind.icon, call.ending) {
            (ToolIcon::Edit, Ending::Running) => changes::intended(call.arguments),
            (ToolIcon::Edit, Ending::Returned { content, details }) => {
                changes::told(content, details).or_else(|| changes::intended(call.arguments))
            }
            _ => None,
        };
        let is_done = matches!(
            (call.ending, outcome),
            (Ending::Returned { .. }, _) | (_, Some(Outcome::Exit(_)))
        );
        Self {
            icon: kind.icon,
            verb: if is_done { kind.past } else { kind.verb },
            object,
            count,
            added: lines.map(|(added, _)| added),
            removed: lines.map(|(_, removed)| removed),
            outcome,
        }
    }

    /// The object and what came of it, in one line.
    pub(crate) fn text(&self) -> String {
        let mut text = self.object.clone();
        let mut add = |part: String| {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&part);
        };
        let parts = [("+", self.added), ("−", self.removed)];
        for (sign, count) in parts {
            if let Some(count) = count.filter(|count| *count > 0) {
                add(format!("{sign}{count}"));
            }
        }
        match self.outcome {
            None => {}
            Some(Outcome::Exit(code)) => add(format!("→ exit {code}")),
            Some(outcome) => add(format!("→ {}", outcome.word())),
        }
        text
    }
}

/// The fields that say what a tool acts on, the most telling first.
fn telling(icon: ToolIcon) -> &'static [&'static str] {
    match icon {
        ToolIcon::Read | ToolIcon::Edit => &[
            "path",
            "file_path",
            "filePath",
            "files",
            "paths",
            "file",
            "filename",
            "target_file",
            "notebook_path",
            "uri",
        ],
        ToolIcon::Search => &["query", "pattern", "glob", "regex", "path"],
        ToolIcon::Run => &["command", "cmd", "script", "shellId", "input"],
        ToolIcon::Web => &["url", "query"],
        ToolIcon::Ask => &["question", "questions", "prompt"],
        ToolIcon::Agent => &["description", "agent_id", "name", "prompt"],
        ToolIcon::Other => &[],
    }
}

/// What a call acts on, and how many things that is.
fn object(icon: ToolIcon, call: &ToolCall<'_>) -> (String, u32) {
    let of_field = |wanted: &&str| {
        let (_, value) = fields(call.arguments).find(|(name, _)| name == wanted)?;
        let (first, count) = match value {
            Value::Text(text) => (text, 1),
            Value::List(list) => {
                let mut texts = items(list).filter_map(Value::text);
                (texts.next()?, 1 + texts.count())
            }
            Value::Object(_) | Value::Other => return None,
        };
        let first = shorten(&unescape(first), call.folder);
        (!first.is_empty()).then_some((first, count))
    };
    let first_text = || {
        let texts = fields(call.arguments).filter_map(|(_, value)| value.text());
        let mut texts = texts.map(|text| shorten(&unescape(text), call.folder));
        Some((texts.find(|text| !text.is_empty())?, 1))
    };
    let told = telling(icon).iter().find_map(of_field).or_else(first_text);
    let (object, count) = told.unwrap_or_else(|| {
        // Some tools take a plain text, for example a patch.
        let is_json = call.arguments.trim_start().starts_with(['{', '[']);
        (if is_json { String::new() } else { shorten(call.arguments, call.folder) }, 1)
    });
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let object = if count > 1 { format!("{object} and {} more", count - 1) } else { object };
    (object, count)
}

/// The first line with something in it, cut if it is long, and relative to the folder if it is a
/// path below it.
fn shorten(text: &str, folder: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = lines.next().unwrap_or_default();
    if line == "*** Begin Patch" {
        let file = lines.next().and_then(|line| line.split_once(" File: "));
        line = file.map_or(line, |(_, file)| file);
    }
    let folder = folder.trim_end_matches('/');
    if let Some(below) = line.strip_prefix(folder).and_then(|below| below.strip_prefix('/'))
        && !folder.is_empty()
        && !below.is_empty()
    {
        line = below;
    }
    match line.char_indices().nth(LONGEST_OBJECT) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

fn outcome(icon: ToolIcon, ending: Ending<'_>) -> Option<Outcome> {
    let exit = |text| exit_code(text).filter(|code| *code != 0 && icon == ToolIcon::Run);
    match ending {
        Ending::Running => None,
        Ending::Returned { content, .. } if was_killed(icon, content) => Some(Outcome::Failed),
        Ending::Returned { content, .. } => exit(content).map(Outcome::Exit),
        Ending::Failed { denied: true, .. } => Some(Outcome::Denied),
        Ending::Failed { message, .. } => {
            Some(exit(message).map_or(Outcome::Failed, Outcome::Exit))
        }
        Ending::Aborted => Some(Outcome::Aborted),
    }
}

/// Whether a command ended without an exit code, as the portal's tool says.
fn was_killed(icon: ToolIcon, content: &str) -> bool {
    icon == ToolIcon::Run && content.starts_with("[ended")
}

/// The exit code of a command: the portal's tool has it in the first line (`[exit code 1]`), the
/// Copilot CLI in the last one (`<exited with exit code 1>`), others as `Exit code: 1`.
fn exit_code(text: &str) -> Option<i32> {
    let text = text.trim();
    let first = text.lines().next()?;
    let last = text.lines().next_back()?;
    [first, last].into_iter().find_map(|line| {
        // Not what a command happens to print.
        let is_told = line.starts_with(['[', '<']) || line.to_ascii_lowercase().starts_with("exit");
        let (_, code) = line.rsplit_once("xit code").filter(|_| is_told)?;
        let code = code.trim_start_matches([':', ' ']);
        let end = code.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(code.len());
        code[..end].parse().ok()
    })
}
