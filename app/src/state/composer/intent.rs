//! What is meant by the text in the box: a prompt, a task or a command; and what `/` offers.

use wire::TaskInfo;

use super::super::palette::{Offer, rank};

/// Something that the page does itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Abort,
    Budget,
    Close,
    Export,
    Extensions,
    Rename,
}

impl Command {
    pub(crate) const ALL: [Self; 6] =
        [Self::Abort, Self::Budget, Self::Close, Self::Export, Self::Extensions, Self::Rename];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Budget => "budget",
            Self::Close => "close",
            Self::Export => "export",
            Self::Extensions => "extensions",
            Self::Rename => "rename",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Abort => "Stop the current answer",
            Self::Budget => "Limit what the session may use",
            Self::Close => "End the session",
            Self::Export => "Download the conversation as Markdown",
            Self::Extensions => "List the extensions of the session",
            Self::Rename => "Change the title",
        }
    }
}

/// What sending does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent<'a> {
    /// There is nothing to send.
    Nothing,
    Prompt,
    /// Starts the task with this input.
    Task(&'a TaskInfo, &'a str),
    /// The chosen task has none.
    InputMissing,
    Command(Command),
}

/// What is meant by a text. A task that was chosen takes all of it; otherwise `/` and the name of a
/// task at its start do the same with what follows, and the name of a command alone is one.
pub(crate) fn intent<'a>(
    tasks: &'a [TaskInfo],
    chosen: Option<&'a TaskInfo>,
    text: &'a str,
) -> Intent<'a> {
    if let Some(task) = chosen {
        return start(task, text);
    }
    if text.trim().is_empty() {
        return Intent::Nothing;
    }
    let Some(name) = text.strip_prefix('/') else { return Intent::Prompt };
    let input = |task: &'a TaskInfo| {
        let rest = name.strip_prefix(&*task.name)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
    };
    let named = tasks.iter().filter_map(|task| Some((task, input(task)?)));
    // Names may have blanks in them: the longest is meant.
    if let Some((task, input)) = named.max_by_key(|(task, _)| task.name.len()) {
        return start(task, input);
    }
    let command = Command::ALL.into_iter().find(|command| command.name() == name.trim_end());
    command.map_or(Intent::Prompt, Intent::Command)
}

fn start<'a>(task: &'a TaskInfo, input: &'a str) -> Intent<'a> {
    if task.require_user_input && input.trim().is_empty() {
        return Intent::InputMissing;
    }
    Intent::Task(task, input)
}

/// What `/` offers for what was typed behind it, the best first: tasks, then commands.
pub(crate) fn offer_commands(query: &str, tasks: &[TaskInfo]) -> Vec<Offer<Option<Command>>> {
    let tasks = tasks.iter().map(|task| Offer {
        kind: None,
        title: task.name.clone(),
        detail: task.description.clone().unwrap_or_else(|| "Task".to_owned()),
    });
    let commands = Command::ALL.map(|command| Offer {
        kind: Some(command),
        title: command.name().to_owned(),
        detail: command.description().to_owned(),
    });
    let all: Vec<_> = tasks.chain(commands).collect();
    rank(query, &all).into_iter().map(|index| all[index].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, require_user_input: bool) -> TaskInfo {
        TaskInfo { name: name.to_owned(), require_user_input, description: None }
    }

    #[test]
    fn only_a_task_that_needs_no_input_starts_without_any() {
        let (needs, does_without) = (task("needs", true), task("does", false));
        for (chosen, text, meant) in [
            (None, " \n", Intent::Nothing),
            (None, "hello", Intent::Prompt),
            (Some(&needs), " \n", Intent::InputMissing),
            (Some(&needs), "hello", Intent::Task(&needs, "hello")),
            (Some(&does_without), "", Intent::Task(&does_without, "")),
            (Some(&does_without), "/needs it", Intent::Task(&does_without, "/needs it")),
        ] {
            assert_eq!(intent(&[], chosen, text), meant, "{chosen:?} {text:?}");
        }
    }

    #[test]
    fn a_slash_and_a_name_are_a_task_or_a_command() {
        let tasks = [task("review", true), task("review all", false), task("close", false)];
        let [review, review_all, close] = &tasks;
        for (text, meant) in [
            ("/review this\nnow", Intent::Task(review, "this\nnow")),
            ("/review", Intent::InputMissing),
            ("/review all", Intent::Task(review_all, "")),
            ("/review all of it", Intent::Task(review_all, "of it")),
            ("/reviewer", Intent::Prompt),
            ("/usr/bin is a folder", Intent::Prompt),
            ("see /review", Intent::Prompt),
            // The entry's own names come first.
            ("/close", Intent::Task(close, "")),
            ("/budget ", Intent::Command(Command::Budget)),
            ("/budget is too small", Intent::Prompt),
        ] {
            assert_eq!(intent(&tasks, None, text), meant, "{text}");
        }
    }

    #[test]
    fn tasks_are_offered_before_commands() {
        let tasks = [task("explain", false), task("review", true)];
        let titles = |query| {
            let offers = offer_commands(query, &tasks);
            offers.into_iter().map(|offer| offer.title).collect::<Vec<_>>()
        };
        assert_eq!(titles("").len(), 2 + Command::ALL.len());
        assert_eq!(titles("")[0], "explain");
        assert_eq!(titles("ex")[..3], ["explain", "export", "extensions"]);
        assert_eq!(titles("rev"), ["review"]);
        assert!(titles("xyz").is_empty());
    }
}
