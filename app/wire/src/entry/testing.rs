//! Works for tests, of this crate and of others: as values, and as the JSON of an entry in [`json`].

use proptest::prelude::*;

use super::{Job, Work};

/// A work that runs a task; see [`number`] for its number.
pub fn task(name: &str) -> Work {
    Work::Ref { task_id: name.to_owned(), work_id_in_job: 0, model_override: None }
}

/// Works that run one after the other.
pub fn seq(works: impl IntoIterator<Item = Work>) -> Work {
    Work::Seq { works: works.into_iter().collect() }
}

/// Works that run concurrently.
pub fn par(works: impl IntoIterator<Item = Work>) -> Work {
    Work::Par { works: works.into_iter().collect() }
}

/// A branch, either side of which may be missing.
pub fn alt(condition: Work, true_work: Option<Work>, false_work: Option<Work>) -> Work {
    Work::Alt {
        condition: Box::new(condition),
        true_work: true_work.map(Box::new),
        false_work: false_work.map(Box::new),
    }
}

/// The result that lets a loop continue, and the work that must have this result.
pub type Condition = Option<(bool, Work)>;

/// A loop with optional conditions.
pub fn repeat(pre_condition: Condition, body: Work, post_condition: Condition) -> Work {
    let boxed = |condition: Condition| condition.map(|(result, work)| (result, Box::new(work)));
    Work::Loop {
        pre_condition: boxed(pre_condition),
        body: Box::new(body),
        post_condition: boxed(post_condition),
    }
}

/// A job with this work and no further settings.
pub fn job(work: Work) -> Job {
    Job {
        description: None,
        require_user_input: false,
        permissions: None,
        approve_files: Vec::new(),
        budget: None,
        on_interrupted: None,
        work,
    }
}

/// Numbers the tasks as reading an entry would, starting with `next`.
pub fn number(work: &mut Work, next: &mut u32) {
    match work {
        Work::Ref { work_id_in_job, .. } => {
            *work_id_in_job = *next;
            *next += 1;
        }
        Work::Seq { works } | Work::Par { works } => {
            for work in works {
                number(work, next);
            }
        }
        Work::Loop { pre_condition, body, post_condition } => {
            let conditions = [pre_condition, post_condition].into_iter().flatten();
            conditions.for_each(|(_, work)| number(work, next));
            number(body, next);
        }
        Work::Alt { condition, true_work, false_work } => {
            number(condition, next);
            let branches = [true_work, false_work].into_iter().flatten();
            branches.for_each(|work| number(work, next));
        }
    }
}

/// Works of at most about `size` tasks, in groups of at most `most`.
pub fn any_work(
    task: impl Strategy<Value = Work> + 'static,
    size: u32,
    most: u8,
) -> impl Strategy<Value = Work> {
    task.prop_recursive(5, size, most.into(), move |inner| {
        let works = || prop::collection::vec(inner.clone(), 1..=usize::from(most));
        let condition = || prop::option::of((any::<bool>(), inner.clone()));
        let branch = || prop::option::of(inner.clone());
        prop_oneof![
            works().prop_map(seq),
            works().prop_map(par),
            (condition(), inner.clone(), condition())
                .prop_map(|(pre, body, post)| repeat(pre, body, post)),
            (inner.clone(), branch(), branch())
                .prop_map(|(condition, yes, no)| alt(condition, yes, no)),
        ]
    })
}

/// Works as JSON, as they are written in an entry.
pub mod json {
    use serde_json::{Value, json};

    /// A work that runs a task of the entry.
    pub fn task(name: &str) -> Value {
        json!({ "kind": "Ref", "taskId": name })
    }

    /// Works that run one after the other.
    pub fn seq(works: impl IntoIterator<Item = Value>) -> Value {
        json!({ "kind": "Seq", "works": works.into_iter().collect::<Vec<_>>() })
    }

    /// Works that run concurrently.
    pub fn par(works: impl IntoIterator<Item = Value>) -> Value {
        json!({ "kind": "Par", "works": works.into_iter().collect::<Vec<_>>() })
    }

    /// A branch; null for no work.
    pub fn alt(condition: Value, true_work: Value, false_work: Value) -> Value {
        let fields = [("condition", condition), ("trueWork", true_work), ("falseWork", false_work)];
        with_fields("Alt", fields)
    }

    /// A loop; null for no condition.
    pub fn repeat(pre_condition: Value, body: Value, post_condition: Value) -> Value {
        let fields =
            [("preCondition", pre_condition), ("body", body), ("postCondition", post_condition)];
        with_fields("Loop", fields)
    }

    /// A work with those fields that are not null.
    fn with_fields(kind: &str, fields: [(&str, Value); 3]) -> Value {
        let mut work = json!({ "kind": kind });
        for (name, value) in fields {
            if !value.is_null() {
                work[name] = value;
            }
        }
        work
    }
}
