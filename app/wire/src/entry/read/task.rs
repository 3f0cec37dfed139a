//! Tasks and their prompts.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::{Node, Object, Path, Quoted, Read, Reader, Reported, add};
use crate::entry::{
    Availability, Criteria, FailureAction, JOB_BOOLEAN_FALSE, JOB_BOOLEAN_TRUE, JOB_TOOLS, Prompt,
    RuntimeVariable, Task,
};

const FIELDS: [&str; 7] =
    ["description", "model", "prompt", "requireUserInput", "availability", "criteria", "budget"];

/// Facts about a task that are needed to check the jobs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// Whether every work with this task must name a model.
    pub(super) lacks_model: bool,
    /// `None` if a problem of the task hides it.
    pub(super) requires_user_input: Option<bool>,
}

impl<'t> Reader<'t> {
    pub(super) fn tasks(&mut self, node: &'t Node, path: &Path) -> Read<IndexMap<String, Task>> {
        let named = self.named(node, path)?;
        let mut facts = HashMap::with_capacity(named.len());
        let mut tasks = Ok(IndexMap::with_capacity(named.len()));
        for (name, node) in named {
            let path = path.key(name);
            let (task_facts, task) = match self.object(node, &path, &FIELDS) {
                Ok(object) => self.task(&object, &path),
                Err(reported) => (Facts::default(), Err(reported)),
            };
            facts.insert(name, task_facts);
            add(&mut tasks, task, |tasks, task| tasks.insert(name.to_owned(), task));
        }
        self.tasks = Some(facts);
        tasks
    }

    fn task(&mut self, object: &Object<'t>, path: &Path) -> (Facts, Read<Task>) {
        let description = self.optional(object, path, "description", Self::string);
        let model = self.optional(object, path, "model", Self::model);
        let prompt = self.required(object, path, "prompt", Self::prompt);
        let uses = prompt.as_ref().ok().map(|prompt| prompt.uses(RuntimeVariable::UserInput));
        let require_user_input =
            self.required(object, path, "requireUserInput", |reader, node, path| {
                let reason = match (reader.boolean(node, path)?, uses) {
                    (false, Some(true)) => "Must be true, as the prompt uses $user-input.",
                    (true, Some(false)) => "Must be false, as the prompt does not use $user-input.",
                    (requires, _) => return Ok(requires),
                };
                reader.report(node.ordinal, path, reason)
            });
        let availability = self.optional(object, path, "availability", Self::availability);
        let criteria = self.optional(object, path, "criteria", Self::criteria);
        let budget = self.optional(object, path, "budget", Self::budget);
        let facts = Facts {
            lacks_model: object.get("model").is_none(),
            requires_user_input: require_user_input.ok().filter(|_| uses.is_some()),
        };
        let task = || {
            Ok(Task {
                description: description?,
                model: model?,
                prompt: prompt?,
                require_user_input: require_user_input?,
                availability: availability?,
                criteria: criteria?,
                budget: budget?,
            })
        };
        (facts, task())
    }

    fn availability(&mut self, node: &'t Node, path: &Path) -> Read<Availability> {
        let object = self.object(node, path, &["condition"])?;
        let condition = self.optional(&object, path, "condition", Self::condition)?;
        Ok(Availability { condition })
    }

    fn criteria(&mut self, node: &'t Node, path: &Path) -> Read<Criteria> {
        let known = ["toolExecuted", "condition", "runConditionInSameSession", "failureAction"];
        let object = self.object(node, path, &known)?;
        let tool_executed = self.optional(&object, path, "toolExecuted", |reader, node, path| {
            reader.list(node, path, Self::tool)
        });
        let condition = self.optional(&object, path, "condition", Self::condition);
        let same_session = self.optional(&object, path, "runConditionInSameSession", Self::boolean);
        let failure_action = self.required(&object, path, "failureAction", Self::failure_action);
        Ok(Criteria {
            tool_executed: tool_executed?.unwrap_or_default(),
            condition: condition?,
            run_condition_in_same_session: same_session?.unwrap_or(true),
            failure_action: failure_action?,
        })
    }

    fn failure_action(&mut self, node: &'t Node, path: &Path) -> Read<FailureAction> {
        let object = self.object(node, path, &["retryTimes", "additionalPrompt"])?;
        let retry_times = self.required(&object, path, "retryTimes", Self::count);
        let additional_prompt = self.optional(&object, path, "additionalPrompt", Self::prompt);
        Ok(FailureAction { retry_times: retry_times?, additional_prompt: additional_prompt? })
    }

    fn tool(&mut self, node: &'t Node, path: &Path) -> Read<String> {
        let name = self.string(node, path)?;
        if JOB_TOOLS.contains(&name.as_str()) {
            return Ok(name);
        }
        let reason =
            format!("Cannot find tool: {}; there are: {}.", Quoted(&name), JOB_TOOLS.join(", "));
        self.report(node.ordinal, path, reason)
    }

    /// Reads a prompt that must be answered by one of the boolean tools.
    fn condition(&mut self, node: &'t Node, path: &Path) -> Read<Prompt> {
        let prompt = self.prompt(node, path)?;
        if [JOB_BOOLEAN_TRUE, JOB_BOOLEAN_FALSE].iter().any(|tool| prompt.as_str().contains(tool)) {
            return Ok(prompt);
        }
        let reason = format!("Must mention {JOB_BOOLEAN_TRUE} or {JOB_BOOLEAN_FALSE}.");
        self.report(node.ordinal, path, reason)
    }

    fn prompt(&mut self, node: &'t Node, path: &Path) -> Read<Prompt> {
        let text = self.lines(node, path)?;
        self.variables.expand(&text, node.ordinal, path, &mut self.problems).ok_or(Reported)
    }
}
