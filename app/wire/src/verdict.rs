//! Verdicts: what was judged in a task, how, and by whom.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::json::{FromJson, Value};
use crate::permission::{UnknownWord, words};
use crate::{SessionId, TaskId};

/// The judgement of one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Which run of the task's prompt was judged, counted from 1. Availability is judged before the
    /// first one, and belongs to it.
    pub attempt: u32,
    /// What was judged.
    pub criterion: VerdictCriterion,
    /// The result.
    pub met: Met,
    /// The argument of the tool that decided; without one, why the result is what it is.
    pub reason: String,
    /// What the judge said last, truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The session that judged a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
}

/// A session that judges, and its model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Judge {
    /// Id of the session.
    pub session_id: SessionId,
    /// Id of the session's model.
    pub model: String,
}

words!(
    /// Result of a judgement.
    Met {
        /// The criterion is met.
        Yes = "yes",
        /// The criterion is not met.
        No = "no",
        /// The judge crashed or called no boolean tool. Counts as not met.
        Unknown = "unknown",
    }
);

/// What a verdict is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictCriterion {
    /// `availability.condition`
    Availability,
    /// `criteria.condition`
    Condition,
    /// One of `criteria.toolExecuted`, by its name.
    Tool(String),
}

const TOOL: &str = "tool:";

impl fmt::Display for VerdictCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Availability => f.write_str("availability"),
            Self::Condition => f.write_str("condition"),
            Self::Tool(name) => write!(f, "{TOOL}{name}"),
        }
    }
}

impl FromStr for VerdictCriterion {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "availability" => Ok(Self::Availability),
            "condition" => Ok(Self::Condition),
            text => {
                text.strip_prefix(TOOL).map(|name| Self::Tool(name.to_owned())).ok_or(UnknownWord)
            }
        }
    }
}

impl Serialize for VerdictCriterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VerdictCriterion {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(de::Error::custom)
    }
}

impl FromJson for VerdictCriterion {
    fn from_json(value: Value<'_>) -> Self {
        value.parsed("a criterion", Self::Condition)
    }
}

/// The answer of `job/{id}/verdicts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJson)]
pub struct JobVerdicts {
    /// In the order in which they were given.
    pub verdicts: Vec<WorkVerdict>,
}

/// A verdict in a run of a work. The fields of [`Verdict`] are repeated because flattening them
/// would copy each answer into a generic tree first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct WorkVerdict {
    /// Number of the work within its job.
    pub work_id: u32,
    /// The run of the work's task.
    pub task_id: TaskId,
    /// When it was given; ISO 8601, UTC.
    pub at: String,
    /// As in [`Verdict::attempt`].
    pub attempt: u32,
    /// What was judged.
    pub criterion: VerdictCriterion,
    /// The result.
    pub met: Met,
    /// As in [`Verdict::reason`].
    pub reason: String,
    /// As in [`Verdict::evidence`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The session that judged a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
}

impl WorkVerdict {
    /// A verdict with where and when it was given.
    pub fn new(work_id: u32, task_id: TaskId, at: String, verdict: Verdict) -> Self {
        let Verdict { attempt, criterion, met, reason, evidence, judge } = verdict;
        Self { work_id, task_id, at, attempt, criterion, met, reason, evidence, judge }
    }

    /// The verdict alone.
    pub fn into_verdict(self) -> Verdict {
        let Self { attempt, criterion, met, reason, evidence, judge, .. } = self;
        Verdict { attempt, criterion, met, reason, evidence, judge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_of_a_job_has_its_work_and_time_beside_its_own_fields() {
        let task_id: TaskId = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c12".parse().expect("an id");
        let verdict = Verdict {
            attempt: 1,
            criterion: VerdictCriterion::Availability,
            met: Met::No,
            reason: "busy".to_owned(),
            evidence: None,
            judge: None,
        };
        let listed = WorkVerdict::new(3, task_id, "t".to_owned(), verdict.clone());
        let json = serde_json::json!({ "verdicts": [{
            "workId": 3, "taskId": task_id, "at": "t", "attempt": 1, "criterion": "availability",
            "met": "no", "reason": "busy",
        }]});
        let answer = JobVerdicts { verdicts: vec![listed.clone()] };
        assert_eq!(serde_json::to_value(&answer).expect("json"), json);
        assert_eq!(serde_json::from_value::<JobVerdicts>(json).expect("an answer"), answer);
        assert_eq!(listed.into_verdict(), verdict);
    }
}
