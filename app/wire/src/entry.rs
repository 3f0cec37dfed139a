//! Entries: the tasks and jobs that a portal offers.
//!
//! An entry is written by people, as JSON. What stands here is the entry after it was checked:
//! prompts are expanded, works are flattened and numbered, every name refers to something. The
//! engine runs it, the schema for editors is generated from it.

mod json;
mod problem;
mod prompt;
mod read;
#[cfg(feature = "schema")]
mod schema;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod variables;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::json::FromJson;
use crate::permission::{UnknownWord, words};
use crate::{Budget, PermissionMode};

pub use problem::{Problem, Problems};
pub use prompt::{Prompt, RuntimeVariable};
#[cfg(feature = "schema")]
pub use schema::schema;

/// The tools by which a model answers to the task engine. Every session has them.
pub const JOB_TOOLS: [&str; 4] =
    [JOB_PREPARE_DOCUMENT, JOB_BOOLEAN_TRUE, JOB_BOOLEAN_FALSE, JOB_PREREQUISITE_FAILED];

/// Reports a document: the first line of its argument.
pub const JOB_PREPARE_DOCUMENT: &str = "job_prepare_document";
/// Says that a condition holds, and why.
pub const JOB_BOOLEAN_TRUE: &str = "job_boolean_true";
/// Says that a condition does not hold, and why.
pub const JOB_BOOLEAN_FALSE: &str = "job_boolean_false";
/// Says that a task cannot be begun, and why.
pub const JOB_PREREQUISITE_FAILED: &str = "job_prerequisite_failed";

/// The category of the model that judges: every entry has it.
pub const DRIVING: &str = "driving";

/// Tasks for coding agents, jobs that are made of them, and where the jobs stand in the matrix.
// Maps keep the order of the file. Like its parts, it is read by `Deserialize` only from the store:
// what people write is read and checked by `read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields, transform = schema::complete_entry))]
pub struct Entry {
    /// Model ids by category. Tasks name a category, so that a model can be exchanged in one
    /// place. The category `driving` must be there: it judges conditions.
    #[cfg_attr(feature = "schema", schemars(transform = schema::require_driving))]
    pub models: IndexMap<String, String>,
    /// Which models to try, and how often, when a session that judges a condition crashes. The
    /// first one is the model of `driving`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub driving_session_retries: Vec<DrivingSessionRetry>,
    /// The tasks by name.
    pub tasks: IndexMap<String, Task>,
    /// The jobs by name.
    pub jobs: IndexMap<String, Job>,
    /// The matrix of jobs, row by row.
    pub grid: Vec<GridRow>,
    #[serde(skip)]
    named_models: Vec<NamedModel>,
}

/// A model that an entry names by its own id, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedModel {
    /// Where, as a JavaScript expression from `entry` on.
    pub path: String,
    /// The model's id.
    pub id: String,
}

impl Entry {
    /// Reads and checks the text of an entry. All problems are found at once.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        read::read(text)
    }

    /// Every model id in the entry, in the order of its text. Whether there are such models is
    /// known only where the entry is installed.
    pub fn model_ids(&self) -> &[NamedModel] {
        &self.named_models
    }

    /// What a run of a job needs of this entry, to be stored with it.
    pub fn of_job(&self, name: &str) -> Option<Self> {
        let job = self.jobs.get(name)?;
        let refs = job.work.task_refs();
        let tasks =
            self.tasks.iter().filter(|(name, _)| refs.iter().any(|it| it.task_id == **name));
        Some(Self {
            jobs: IndexMap::from([(name.to_owned(), job.clone())]),
            ..self.with_tasks(tasks)
        })
    }

    /// What a run of a task needs of this entry, to be stored with it.
    pub fn of_task(&self, name: &str) -> Option<Self> {
        self.tasks.get_key_value(name).map(|task| self.with_tasks([task]))
    }

    fn with_tasks<'a>(&self, tasks: impl IntoIterator<Item = (&'a String, &'a Task)>) -> Self {
        Self {
            models: self.models.clone(),
            driving_session_retries: self.driving_session_retries.clone(),
            tasks: tasks.into_iter().map(|(name, task)| (name.clone(), task.clone())).collect(),
            jobs: IndexMap::new(),
            grid: Vec::new(),
            named_models: Vec::new(),
        }
    }

    /// The id of the model that runs a task of this entry.
    pub fn resolve_model<'a>(
        &'a self,
        task: &'a Task,
        model_override: Option<&'a Model>,
    ) -> &'a str {
        match model_override.or(task.model.as_ref()) {
            Some(Model::Id(id)) => id,
            Some(Model::Category(category)) => self.model_of(category),
            None => self.model_of(DRIVING),
        }
    }

    /// The model of a category, which a checked entry has.
    fn model_of(&self, category: &str) -> &str {
        self.models.get(category).map_or("", String::as_str)
    }
}

/// How often a model is tried again when a driving session crashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct DrivingSessionRetry {
    /// The model's own id.
    pub model_id: String,
    /// How often it is tried.
    #[cfg_attr(feature = "schema", schemars(range(max = u32::MAX)))]
    pub retries: u32,
}

/// Something to ask an agent for, and how to know that it was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Task {
    /// What it is for, in a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Which model runs it. If absent, each work that uses the task must have a `modelOverride`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// What the agent is asked to do, line by line.
    pub prompt: Prompt,
    /// Whether the user must type something first: true exactly if the prompt uses `$user-input`.
    pub require_user_input: bool,
    /// When the task can be begun. If absent: always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<Availability>,
    /// When the task was done. If absent: as soon as the agent has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criteria: Option<Criteria>,
    /// How much one run of the task may use. A limit that is left out is the server's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// A model, by category or by its own id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Model {
    /// A category in the entry's `models`.
    Category(String),
    /// A model's own id.
    Id(String),
}

impl Model {
    /// As it is written in the entry.
    pub fn name(&self) -> &str {
        match self {
            Self::Category(name) | Self::Id(name) => name,
        }
    }
}

/// When a task can be begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Availability {
    /// Asked before the task begins; the task fails unless it is answered by `job_boolean_true`.
    /// Must mention `job_boolean_true` or `job_boolean_false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Prompt>,
}

/// When a task was done: all the tools were called, and the condition holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Criteria {
    /// Tools that the agent must have called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default, schema_with = "schema::tools"))]
    pub tool_executed: Vec<String>,
    /// Asked when the agent has answered; it holds if it is answered by `job_boolean_true`. Must
    /// mention `job_boolean_true` or `job_boolean_false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Prompt>,
    /// Whether the session that did the task also judges the condition. If false, a new session
    /// with the model of `driving` does. If absent: true.
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub run_condition_in_same_session: bool,
    /// What to do if the task was not done.
    pub failure_action: FailureAction,
}

/// What to do if a task was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct FailureAction {
    /// How often the agent is asked again before the task fails.
    #[cfg_attr(feature = "schema", schemars(range(max = u32::MAX)))]
    pub retry_times: u32,
    /// What is said besides the prompt when the agent is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_prompt: Option<Prompt>,
}

/// A tree of tasks that is started as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Job {
    /// What it is for, in a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the user must type something first: true exactly if one of its tasks requires it.
    /// Can be left out.
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub require_user_input: bool,
    /// Whether its agents may change things: `approve-all`, `ask` (people are asked) or `deny`. Left
    /// out, the server's setting counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionMode>,
    /// Files that run later, such as `.github/workflows/*.yml`, which its agents may change with
    /// `approve-all`; globs below the folder of the job. All others are asked for each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub approve_files: Vec<String>,
    /// How much all tasks of one run of the job may use together. A limit that is left out is the
    /// server's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What happens to works that were running when the server stopped: `resume` lets them go on,
    /// `ask` asks a person, `fail` fails the job. Left out, the server's setting counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_interrupted: Option<OnInterrupted>,
    /// What the job consists of.
    pub work: Work,
}

words!(
    /// What happens to a work that was running when the server stopped.
    #[derive(Default)]
    OnInterrupted {
        /// It goes on if that is safe; otherwise a person is asked.
        #[default]
        Resume = "resume",
        /// A person is asked.
        Ask = "ask",
        /// It has failed, and so has its job.
        Fail = "fail",
    }
);

impl OnInterrupted {
    /// The more careful of the two: `fail` before `ask` before `resume`.
    #[must_use]
    pub fn more_careful(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fail, _) | (_, Self::Fail) => Self::Fail,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::Resume, Self::Resume) => Self::Resume,
        }
    }
}

/// A part of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub enum Work {
    /// One task. It succeeds or fails as the task does.
    Ref {
        /// The task's name.
        task_id: String,
        /// Counts the tasks of the job from 0. Can be left out: it is filled in.
        #[cfg_attr(feature = "schema", schemars(with = "Option<u32>", range(max = u32::MAX)))]
        work_id_in_job: u32,
        /// Which model runs the task here, instead of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        model_override: Option<Model>,
    },
    /// One work after the other. The first that fails ends it.
    Seq {
        /// The works in their order, at least one.
        // None of them is a `Seq`: those were flattened.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        works: Vec<Work>,
    },
    /// All works at once. It fails if one of them fails.
    Par {
        /// The works, at least one.
        // None of them is a `Par`: those were flattened.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        works: Vec<Work>,
    },
    /// A work again and again. It fails if the body fails.
    Loop {
        /// Before each round: ends the loop, successfully, if the result of the work (true if it
        /// succeeds) is not this boolean.
        #[serde(skip_serializing_if = "Option::is_none")]
        pre_condition: Option<(bool, Box<Work>)>,
        /// What is done in each round.
        body: Box<Work>,
        /// After each round: begins another one if the result of the work (true if it succeeds)
        /// is this boolean. If absent, there is one round.
        #[serde(skip_serializing_if = "Option::is_none")]
        post_condition: Option<(bool, Box<Work>)>,
    },
    /// One work or the other.
    Alt {
        /// Decides: true if it succeeds.
        condition: Box<Work>,
        /// Done if the condition succeeds. If absent, nothing is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        true_work: Option<Box<Work>>,
        /// Done if the condition fails. If absent, nothing is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        false_work: Option<Box<Work>>,
    },
}

impl Work {
    /// The parts of this work, in the order in which works are numbered.
    pub fn children(&self) -> Vec<&Work> {
        match self {
            Self::Ref { .. } => Vec::new(),
            Self::Seq { works } | Self::Par { works } => works.iter().collect(),
            Self::Loop { pre_condition, body, post_condition } => {
                let conditions = [pre_condition, post_condition].into_iter().flatten();
                let conditions = conditions.map(|(_, work)| &**work);
                conditions.chain([&**body]).collect()
            }
            Self::Alt { condition, true_work, false_work } => {
                let branches = [true_work, false_work].into_iter().flatten();
                [condition].into_iter().chain(branches).map(|work| &**work).collect()
            }
        }
    }

    /// The same, to change them.
    fn children_mut(&mut self) -> Vec<&mut Work> {
        match self {
            Self::Ref { .. } => Vec::new(),
            Self::Seq { works } | Self::Par { works } => works.iter_mut().collect(),
            Self::Loop { pre_condition, body, post_condition } => {
                let conditions = [pre_condition, post_condition].into_iter().flatten();
                let conditions = conditions.map(|(_, work)| &mut **work);
                conditions.chain([&mut **body]).collect()
            }
            Self::Alt { condition, true_work, false_work } => {
                let branches = [true_work, false_work].into_iter().flatten();
                [condition].into_iter().chain(branches).map(|work| &mut **work).collect()
            }
        }
    }

    /// Every task in this work, in the order in which they are numbered.
    pub fn task_refs(&self) -> Vec<TaskRef<'_>> {
        let mut found = Vec::new();
        self.collect_task_refs(&mut found);
        found
    }

    /// The numbers of all tasks that are part of a condition: their results are true or false.
    pub fn condition_ids(&self) -> BTreeSet<u32> {
        let conditions: Vec<&Work> = match self {
            Self::Loop { pre_condition, post_condition, .. } => {
                let conditions = [pre_condition, post_condition].into_iter().flatten();
                conditions.map(|(_, work)| &**work).collect()
            }
            Self::Alt { condition, .. } => vec![&**condition],
            Self::Ref { .. } | Self::Seq { .. } | Self::Par { .. } => Vec::new(),
        };
        let within = conditions.into_iter().flat_map(Self::task_refs);
        let below = self.children().into_iter().flat_map(Self::condition_ids);
        within.map(|task| task.work_id_in_job).chain(below).collect()
    }

    fn collect_task_refs<'a>(&'a self, found: &mut Vec<TaskRef<'a>>) {
        if let Self::Ref { task_id, work_id_in_job, model_override } = self {
            let (work_id_in_job, model_override) = (*work_id_in_job, model_override.as_ref());
            found.push(TaskRef { task_id, work_id_in_job, model_override });
        }
        for child in self.children() {
            child.collect_task_refs(found);
        }
    }
}

/// A task in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRef<'a> {
    /// Name of the task in the entry.
    pub task_id: &'a str,
    /// Counted through the job from 0.
    pub work_id_in_job: u32,
    /// What runs it instead of the task's model.
    pub model_override: Option<&'a Model>,
}

/// A row of the matrix of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct GridRow {
    /// What the jobs of the row have in common.
    pub keyword: String,
    /// Cell by cell; null leaves one empty.
    pub jobs: Vec<Option<GridCell>>,
}

/// A button of the matrix of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct GridCell {
    /// What stands on it.
    pub name: String,
    /// The job that it starts.
    pub job_name: String,
}

#[cfg(test)]
mod tests;
