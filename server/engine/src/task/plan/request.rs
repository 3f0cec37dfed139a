//! The texts that are sent to agents.

use wire::entry::Prompt;

use super::Plan;
use super::asking::{Form, Step};

/// First line of a prompt that is sent again after a crash or a failed turn.
const AFTER_CRASH: &str = "The session crashed, please redo and here is the last request:";

/// Begins the prompt that resumes a turn. Simulated models know it.
const RESUMES: &str = "The server stopped while you were working on your last prompt, so your turn was \
     interrupted. Part of it may be done: look at the folder before you repeat anything, then \
     finish the turn.";

impl Plan {
    /// The text to send now.
    pub(super) fn prompt(&self) -> String {
        match self.asking.form {
            Form::Plain => self.request(),
            Form::Repeated => format!("{AFTER_CRASH}\n{}", self.request()),
            // The agent may have lost it: the Copilot CLI saves a prompt some time after it took it up.
            // As context, simulated models do not obey it a second time.
            Form::Resumed => {
                format!(
                    "{RESUMES} This was the prompt:\n\n<context>\n{}\n</context>",
                    self.request()
                )
            }
        }
    }

    fn request(&self) -> String {
        let prompt = match self.asking.step {
            Step::Availability | Step::Condition => self.condition(),
            Step::Work => Some(&self.definition.task.prompt),
        };
        let mut text = prompt.map_or_else(String::new, |prompt| self.variables.fill_in(prompt));
        if self.asking.step != Step::Work {
            return text;
        }
        let Some(unmet) = &self.unmet else { return text };
        if !unmet.missing().is_empty() {
            text += "\n\n## Required Tool Not Called: ";
            text += &unmet.missing().join(", ");
        }
        let action = self.criteria().map(|criteria| &criteria.failure_action);
        if let Some(additional) = action.and_then(|action| action.additional_prompt.as_ref()) {
            text += "\n\n## You accidentally Stopped\n\n";
            text += &self.variables.fill_in(additional);
        }
        text
    }

    /// The condition that decides whether the task can be begun.
    pub(super) fn availability(&self) -> Option<&Prompt> {
        if self.definition.borrowed.is_some() {
            return None;
        }
        self.definition.task.availability.as_ref()?.condition.as_ref()
    }

    /// The condition that is asked now.
    pub(super) fn condition(&self) -> Option<&Prompt> {
        match self.asking.step {
            Step::Availability => self.availability(),
            Step::Condition => self.criteria()?.condition.as_ref(),
            Step::Work => None,
        }
    }
}
