//! Entries, right and wrong.

mod limits;
mod mistakes;
mod normal;
mod random;
#[cfg(feature = "schema")]
mod schema;
mod variables;

use serde_json::{Value, json};

use super::{Entry, Problems};

/// An entry that has everything.
fn complete() -> Value {
    let ask = || json!({ "kind": "Ref", "taskId": "ask" });
    json!({
        "$schema": "http://localhost:8888/entry.schema.json",
        "models": { "driving": "judge", "coding": "coder" },
        "drivingSessionRetries": [
            { "modelId": "judge", "retries": 2 },
            { "modelId": "coder", "retries": 0 },
        ],
        "promptVariables": {
            "greeting": ["Hello,", "$user-input"],
            "decision": ["Use job_boolean_true or job_boolean_false."],
            "spare": ["$decision"],
        },
        "tasks": {
            "ask": {
                "model": { "category": "coding" },
                "prompt": ["$greeting", "by $task-model"],
                "requireUserInput": true,
                "availability": { "condition": ["Ready?", "$decision"] },
                "criteria": {
                    "toolExecuted": ["job_prepare_document", "job_boolean_true"],
                    "condition": ["Done?", "$decision"],
                    "runConditionInSameSession": false,
                    "failureAction": { "retryTimes": 3, "additionalPrompt": ["Go on."] },
                },
            },
            "bare": { "prompt": ["Work."], "requireUserInput": false },
            "quick": {
                "model": { "id": "quick" },
                "prompt": ["Work."],
                "requireUserInput": false,
                "availability": {},
                "criteria": { "failureAction": { "retryTimes": 0 } },
            },
        },
        "jobs": {
            "all": {
                "requireUserInput": true,
                "work": { "kind": "Seq", "works": [
                    { "kind": "Ref", "taskId": "ask", "workIdInJob": 7 },
                    { "kind": "Par", "works": [
                        { "kind": "Ref", "taskId": "bare", "modelOverride": { "id": "other" } },
                        { "kind": "Ref", "taskId": "quick", "modelOverride": { "category": "coding" } },
                    ] },
                    { "kind": "Loop", "preCondition": [true, ask()], "body": ask(), "postCondition": [false, ask()] },
                    { "kind": "Alt", "condition": ask(), "trueWork": ask(), "falseWork": ask() },
                ] },
            },
            "one": { "work": { "kind": "Ref", "taskId": "quick" } },
        },
        "grid": [
            { "keyword": "first", "jobs": [{ "name": "All", "jobName": "all" }, null] },
            { "keyword": "second", "jobs": [] },
        ],
    })
}

fn parse(entry: &Value) -> Result<Entry, Problems> {
    Entry::parse(&entry.to_string())
}

fn valid(entry: &Value) -> Entry {
    parse(entry).unwrap_or_else(|problems| panic!("refused:\n{problems}\n{entry}"))
}

/// What is reported, line by line.
fn lines(text: &str) -> Vec<String> {
    let problems = Entry::parse(text).expect_err("must be refused").to_string();
    problems.lines().map(str::to_owned).collect()
}

/// A change of an entry: a value at a place (as a JSON pointer), or nothing there any more.
fn change(entry: &mut Value, pointer: &str, value: Option<Value>) {
    let (parent, last) = pointer.rsplit_once('/').expect("a pointer");
    let last = last.replace("~1", "/").replace("~0", "~");
    match (entry.pointer_mut(parent).expect(pointer), value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(last, value)),
        (Value::Object(fields), None) => drop(fields.remove(&last).expect(pointer)),
        (Value::Array(items), Some(value)) => {
            items[last.parse::<usize>().expect(pointer)] = value;
        }
        (Value::Array(items), None) => drop(items.remove(last.parse().expect(pointer))),
        (other, _) => panic!("{pointer}: {other}"),
    }
}

#[test]
fn a_complete_entry_has_no_problems() {
    let entry = valid(&complete());
    assert_eq!(entry.tasks.len(), 3);
    assert_eq!(entry.tasks["ask"].prompt.as_str(), "Hello,\n$user-input\nby $task-model");
    assert!(entry.jobs["all"].require_user_input && !entry.jobs["one"].require_user_input);
    let criteria = entry.tasks["quick"].criteria.as_ref().expect("given");
    assert!(criteria.run_condition_in_same_session);
}

#[test]
fn a_mark_at_the_beginning_of_the_file_is_skipped() {
    assert!(Entry::parse(&format!("\u{feff}{}", complete())).is_ok());
}

#[test]
fn what_is_not_json_is_told_from_what_is_no_entry() {
    for (text, expected) in [
        ("", "not JSON, line 1, column 0: EOF while parsing a value"),
        ("{\n  \"models\": }", "not JSON, line 2, column 13: expected value"),
        ("{} {}", "not JSON, line 1, column 4: trailing characters"),
        ("{'a': 1}", "not JSON, line 1, column 2: key must be a string"),
    ] {
        let problems = Entry::parse(text).expect_err("must be refused");
        assert!(matches!(problems, Problems::NotJson { .. }), "{text}");
        assert_eq!(problems.to_string(), expected, "{text}");
    }
    for text in ["null", "1", "\"\"", "[]", "{}"] {
        let problems = Entry::parse(text).expect_err("must be refused");
        assert!(matches!(problems, Problems::Invalid { .. }), "{text}");
    }
    assert_eq!(
        lines("{}"),
        ["models", "drivingSessionRetries", "promptVariables", "tasks", "jobs", "grid"]
            .map(|name| format!("entry.{name}: Missing."))
    );
}

#[test]
fn problems_come_in_the_order_of_the_text() {
    // Names are used before they are defined, and each part has a problem.
    let text = r#"{
        "grid": [{ "keyword": 1, "jobs": [{ "name": "n", "jobName": "nope" }] }],
        "extra": true,
        "jobs": {
            "j": { "work": { "kind": "Seq", "works": [
                { "kind": "Ref", "taskId": "nope" },
                { "kind": "Ref", "taskId": "t" },
                { "kind": "Ref" } ] }, "requireUserInput": true }
        },
        "tasks": {
            "t": {
                "requireUserInput": true,
                "criteria": { "failureAction": { "retryTimes": -1 }, "condition": ["$broken"] },
                "prompt": ["Work."]
            }
        },
        "promptVariables": { "broken": ["$nope"], "unused": [] },
        "models": { "other": 5 },
        "drivingSessionRetries": []
    }"#;
    assert_eq!(
        lines(text),
        [
            "entry.grid[0].keyword: Must be a string, not a number.",
            "entry.grid[0].jobs[0].jobName: Cannot find job: \"nope\".",
            "entry.extra: Unknown field; known are: $schema, models, drivingSessionRetries, \
             promptVariables, tasks, jobs, grid.",
            "entry.jobs[\"j\"].work.works[0].taskId: Cannot find task: \"nope\".",
            "entry.jobs[\"j\"].work.works[1].modelOverride: Missing, as the task has no model.",
            "entry.jobs[\"j\"].work.works[2].taskId: Missing.",
            "entry.tasks[\"t\"].requireUserInput: Must be false, as the prompt does not use \
             $user-input.",
            "entry.tasks[\"t\"].criteria.failureAction.retryTimes: Must not be negative.",
            "entry.tasks[\"t\"].criteria.condition/$broken: Cannot find prompt variable: $nope.",
            "entry.promptVariables[\"unused\"]: Must not be empty.",
            "entry.models.driving: Missing.",
            "entry.models[\"other\"]: Must be a string, not a number.",
            "entry.drivingSessionRetries: Must not be empty.",
        ]
    );
}

#[test]
fn fields_that_are_given_twice_are_reported_where_they_are_given_again() {
    let text = complete().to_string();
    let text = text.replace(r#""keyword":"first""#, r#""keyword":"first","keyword":"again""#);
    let text = text.replace(r#""one":{"#, r#""one":{},"one":{"#);
    assert_eq!(
        lines(&text),
        [
            "entry.jobs[\"one\"].work: Missing.",
            "entry.jobs[\"one\"]: Given more than once.",
            "entry.grid[0].keyword: Given more than once.",
        ]
    );
}

#[test]
fn names_mean_nothing_but_themselves() {
    let mut entry = complete();
    let names = ["constructor", "__proto__", "", "a \"quoted\"\nname", "$user-input", "toString"];
    for name in names {
        entry["models"][name] = json!("model");
        entry["promptVariables"][name] = json!(["text"]);
        entry["tasks"][name] = json!({
            "model": { "category": name }, "prompt": ["text"], "requireUserInput": false
        });
        entry["jobs"][name] = json!({ "work": { "kind": "Ref", "taskId": name } });
        entry["grid"][1]["jobs"] = json!([{ "name": name, "jobName": name }]);
    }
    assert_eq!(valid(&entry).jobs.len(), 2 + names.len());

    for name in ["constructor", "__proto__", "toString", "hasOwnProperty"] {
        let mut entry = complete();
        change(&mut entry, "/grid/0/jobs/0/jobName", Some(json!(name)));
        change(&mut entry, "/tasks/ask/model/category", Some(json!(name)));
        assert_eq!(
            lines(&entry.to_string()),
            [
                format!(
                    "entry.tasks[\"ask\"].model.category: Cannot find model category: \"{name}\"."
                ),
                format!("entry.grid[0].jobs[0].jobName: Cannot find job: \"{name}\"."),
            ]
        );
    }
    // A problem stays on its line, whatever the names are.
    let mut entry = complete();
    entry["jobs"]["a \"quoted\"\nname"] = json!({ "work": null });
    assert_eq!(
        lines(&entry.to_string()),
        [r#"entry.jobs["a \"quoted\"\nname"].work: Must be an object, not null."#]
    );
}

#[test]
fn consequences_of_a_problem_are_not_reported() {
    for (pointer, value, expected) in [
        ("/models", json!([]), &["entry.models: Must be an object, not an array."][..]),
        (
            "/models/driving",
            json!(1),
            &["entry.models[\"driving\"]: Must be a string, not a number."],
        ),
        ("/tasks", json!(1), &["entry.tasks: Must be an object, not a number."]),
        ("/tasks/ask", json!(1), &["entry.tasks[\"ask\"]: Must be an object, not a number."]),
        ("/jobs", json!(1), &["entry.jobs: Must be an object, not a number."]),
        (
            "/promptVariables/greeting",
            json!(1),
            &["entry.promptVariables[\"greeting\"]: Must be an array, not a number."],
        ),
        (
            "/tasks/ask/requireUserInput",
            json!(false),
            &[
                "entry.tasks[\"ask\"].requireUserInput: Must be true, as the prompt uses $user-input.",
            ],
        ),
        (
            "/tasks/ask/prompt",
            json!(["$nope"]),
            &["entry.tasks[\"ask\"].prompt: Cannot find prompt variable: $nope."],
        ),
        (
            "/tasks/quick/model",
            json!({}),
            &["entry.tasks[\"quick\"].model: Must have a category or an id."],
        ),
    ] {
        let mut entry = complete();
        change(&mut entry, pointer, Some(value));
        assert_eq!(lines(&entry.to_string()), expected, "{pointer}");
    }
}
