//! Entries: the tasks and jobs that a portal offers.
//!
//! An entry is written by people, as JSON. What stands here is the entry after it was checked:
//! prompts are expanded, works are flattened and numbered, every name refers to something. The
//! engine runs it, the schema for editors is generated from it.

mod prompt;
mod stub;
pub use stub::*;

use indexmap::IndexMap;
use serde::Serialize;

pub use prompt::{Prompt, RuntimeVariable};

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

/// A checked entry. Maps keep the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Model ids by category. The category `driving` judges conditions.
    pub models: IndexMap<String, String>,
    /// What to fall back on when a driving session crashes. The first is the driving model.
    pub driving_session_retries: Vec<DrivingSessionRetry>,
    /// The tasks by name.
    pub tasks: IndexMap<String, Task>,
    /// The jobs by name.
    pub jobs: IndexMap<String, Job>,
    /// Where the jobs stand in the matrix.
    pub grid: Vec<GridRow>,
}

/// How often a model is tried again when a driving session crashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrivingSessionRetry {
    /// The model.
    pub model_id: String,
    /// How often.
    pub retries: u32,
}

/// Something to ask an agent for, and how to know that it was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// What runs it, unless a work says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// What to do.
    pub prompt: Prompt,
    /// Whether the prompt uses `$user-input`.
    pub require_user_input: bool,
    /// Whether it can be begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<Availability>,
    /// Whether it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criteria: Option<Criteria>,
}

/// A model, by category or by its own id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Model {
    /// A key of the entry's `models`.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Availability {
    /// Judged before the task begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Prompt>,
}

/// When a task was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Criteria {
    /// Tools that must have been called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_executed: Vec<String>,
    /// Judged after the task's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Prompt>,
    /// Whether the task's own session judges; else a driving session does.
    pub run_condition_in_same_session: bool,
    /// What to do if not.
    pub failure_action: FailureAction,
}

/// What to do if a task was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureAction {
    /// How often to try again.
    pub retry_times: u32,
    /// What to say besides when trying again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_prompt: Option<Prompt>,
}

/// A tree of tasks that can be started as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Whether one of its tasks uses `$user-input`.
    pub require_user_input: bool,
    /// What it consists of.
    pub work: Work,
}

/// A part of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum Work {
    /// One task.
    Ref {
        /// Which task.
        task_id: String,
        /// Counted through the job from 0.
        work_id_in_job: u32,
        /// What runs it instead of the task's model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model_override: Option<Model>,
    },
    /// One after the other.
    Seq {
        /// At least one, none of them a `Seq`.
        works: Vec<Work>,
    },
    /// All at once.
    Par {
        /// At least one, none of them a `Par`.
        works: Vec<Work>,
    },
    /// Again and again.
    Loop {
        /// Goes on only while the work's result is this.
        #[serde(skip_serializing_if = "Option::is_none")]
        pre_condition: Option<(bool, Box<Work>)>,
        /// What is done each time.
        body: Box<Work>,
        /// Goes on only if the work's result is this.
        #[serde(skip_serializing_if = "Option::is_none")]
        post_condition: Option<(bool, Box<Work>)>,
    },
    /// One or the other.
    Alt {
        /// Whose result decides.
        condition: Box<Work>,
        /// Done if it succeeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        true_work: Option<Box<Work>>,
        /// Done if it failed.
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
}

/// A row of the matrix of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GridRow {
    /// What its jobs have in common.
    pub keyword: String,
    /// Cell by cell; `None` is an empty one.
    pub jobs: Vec<Option<GridCell>>,
}

/// A button of the matrix of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GridCell {
    /// What stands on it.
    pub name: String,
    /// Which job it starts.
    pub job_name: String,
}
