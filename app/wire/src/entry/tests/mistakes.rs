//! Every rule with its path and message.

mod budgets;
mod jobs;
mod tasks;

use serde_json::{Value, json};

use super::{change, complete, lines};

/// A change that makes a complete entry wrong.
pub(super) struct Mistake {
    pub(super) pointer: &'static str,
    /// `None` takes the value away.
    pub(super) value: Option<Value>,
    expected: &'static str,
    /// About the shape: a schema can refuse it, too.
    pub(super) is_structural: bool,
}

impl Mistake {
    pub(super) fn entry(&self) -> Value {
        let mut entry = complete();
        change(&mut entry, self.pointer, self.value.clone());
        entry
    }
}

/// A wrong value.
fn wrong(pointer: &'static str, value: Value, expected: &'static str) -> Mistake {
    Mistake { pointer, value: Some(value), expected, is_structural: true }
}

/// A value that is missing.
fn missing(pointer: &'static str, expected: &'static str) -> Mistake {
    Mistake { pointer, value: None, expected, is_structural: true }
}

/// A value that does not go with others.
fn unfit(pointer: &'static str, value: Value, expected: &'static str) -> Mistake {
    Mistake { is_structural: false, ..wrong(pointer, value, expected) }
}

/// All of them.
pub(super) fn mistakes() -> Vec<Mistake> {
    let mut all = of_models();
    all.extend(of_variables());
    all.extend(tasks::of_tasks());
    all.extend(jobs::of_jobs());
    all.extend(jobs::of_works());
    all.extend(jobs::of_nested_works());
    all.extend(budgets::of_budgets());
    all.extend(of_grids());
    all
}

fn of_models() -> Vec<Mistake> {
    vec![
        wrong("/$schema", json!(1), "entry.$schema: Must be a string, not a number."),
        missing("/models", "entry.models: Missing."),
        wrong("/models", json!("x"), "entry.models: Must be an object, not a string."),
        missing("/models/driving", "entry.models.driving: Missing."),
        wrong(
            "/models/coding",
            json!({}),
            "entry.models[\"coding\"]: Must be a string, not an object.",
        ),
        missing("/drivingSessionRetries", "entry.drivingSessionRetries: Missing."),
        wrong(
            "/drivingSessionRetries",
            json!({}),
            "entry.drivingSessionRetries: Must be an array, not an object.",
        ),
        wrong(
            "/drivingSessionRetries",
            json!([]),
            "entry.drivingSessionRetries: Must not be empty.",
        ),
        wrong(
            "/drivingSessionRetries/1",
            json!(null),
            "entry.drivingSessionRetries[1]: Must be an object, not null.",
        ),
        unfit(
            "/drivingSessionRetries/0/modelId",
            json!("coder"),
            "entry.drivingSessionRetries[0].modelId: Must be the model of driving: \"judge\".",
        ),
        missing(
            "/drivingSessionRetries/1/modelId",
            "entry.drivingSessionRetries[1].modelId: Missing.",
        ),
        missing(
            "/drivingSessionRetries/0/retries",
            "entry.drivingSessionRetries[0].retries: Missing.",
        ),
        wrong(
            "/drivingSessionRetries/0/retries",
            json!(-1),
            "entry.drivingSessionRetries[0].retries: Must not be negative.",
        ),
        wrong(
            "/drivingSessionRetries/0/retries",
            json!(-0.5),
            "entry.drivingSessionRetries[0].retries: Must not be negative.",
        ),
        wrong(
            "/drivingSessionRetries/0/retries",
            json!(1.5),
            "entry.drivingSessionRetries[0].retries: Must be a whole number.",
        ),
        wrong(
            "/drivingSessionRetries/0/retries",
            json!(4_294_967_296_u64),
            "entry.drivingSessionRetries[0].retries: Must be at most 4294967295.",
        ),
        wrong(
            "/drivingSessionRetries/0/retries",
            json!(1e300),
            "entry.drivingSessionRetries[0].retries: Must be at most 4294967295.",
        ),
        wrong(
            "/drivingSessionRetries/0/retries",
            json!("1"),
            "entry.drivingSessionRetries[0].retries: Must be a number, not a string.",
        ),
        wrong(
            "/drivingSessionRetries/0/more",
            json!(1),
            "entry.drivingSessionRetries[0].more: Unknown field; known are: modelId, retries.",
        ),
    ]
}

fn of_variables() -> Vec<Mistake> {
    vec![
        missing("/promptVariables", "entry.promptVariables: Missing."),
        wrong(
            "/promptVariables",
            json!([]),
            "entry.promptVariables: Must be an object, not an array.",
        ),
        wrong(
            "/promptVariables/spare",
            json!("x"),
            "entry.promptVariables[\"spare\"]: Must be an array, not a string.",
        ),
        wrong(
            "/promptVariables/spare/0",
            json!(false),
            "entry.promptVariables[\"spare\"][0]: Must be a string, not a boolean.",
        ),
        wrong(
            "/promptVariables/spare",
            json!([]),
            "entry.promptVariables[\"spare\"]: Must not be empty.",
        ),
        unfit(
            "/promptVariables/spare/0",
            json!("$nope"),
            "entry.promptVariables[\"spare\"]: Cannot find prompt variable: $nope.",
        ),
        wrong(
            "/two words",
            json!(1),
            "entry[\"two words\"]: Unknown field; known are: $schema, models, drivingSessionRetries, promptVariables, tasks, jobs, grid.",
        ),
    ]
}

fn of_grids() -> Vec<Mistake> {
    vec![
        missing("/grid", "entry.grid: Missing."),
        wrong("/grid", json!({}), "entry.grid: Must be an array, not an object."),
        wrong("/grid/0", json!(null), "entry.grid[0]: Must be an object, not null."),
        missing("/grid/0/keyword", "entry.grid[0].keyword: Missing."),
        wrong("/grid/0/keyword", json!(null), "entry.grid[0].keyword: Must be a string, not null."),
        missing("/grid/0/jobs", "entry.grid[0].jobs: Missing."),
        wrong("/grid/0/jobs", json!(null), "entry.grid[0].jobs: Must be an array, not null."),
        wrong(
            "/grid/0/jobs/1",
            json!(false),
            "entry.grid[0].jobs[1]: Must be an object, not a boolean.",
        ),
        missing("/grid/0/jobs/0/name", "entry.grid[0].jobs[0].name: Missing."),
        missing("/grid/0/jobs/0/jobName", "entry.grid[0].jobs[0].jobName: Missing."),
        wrong(
            "/grid/0/jobs/0/jobName",
            json!(1),
            "entry.grid[0].jobs[0].jobName: Must be a string, not a number.",
        ),
        unfit(
            "/grid/0/jobs/0/jobName",
            json!("x"),
            "entry.grid[0].jobs[0].jobName: Cannot find job: \"x\".",
        ),
        wrong(
            "/grid/0/jobs/0/color",
            json!("x"),
            "entry.grid[0].jobs[0].color: Unknown field; known are: name, jobName.",
        ),
        wrong("/grid/1/x", json!(1), "entry.grid[1].x: Unknown field; known are: keyword, jobs."),
    ]
}

#[test]
fn every_mistake_is_reported_with_its_path_and_nothing_else_is() {
    for mistake in mistakes() {
        let text = mistake.entry().to_string();
        assert_eq!(lines(&text), [mistake.expected], "{}", mistake.pointer);
    }
}

#[test]
fn numbers_may_be_written_as_javascript_would_accept_them() {
    for (text, expected) in
        [("3", 3), ("3.0", 3), ("3e2", 300), ("-0", 0), ("4294967295", u32::MAX)]
    {
        let entry =
            complete().to_string().replace(r#""retryTimes":3"#, &format!(r#""retryTimes":{text}"#));
        let entry =
            super::Entry::parse(&entry).unwrap_or_else(|problems| panic!("{text}: {problems}"));
        let criteria = entry.tasks["ask"].criteria.as_ref().expect("given");
        assert_eq!(criteria.failure_action.retry_times, expected, "{text}");
    }
}
