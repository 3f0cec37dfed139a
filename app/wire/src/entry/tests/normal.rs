//! What checking makes of an entry: flat, numbered, filled in.

use serde_json::{Value, json};

use super::{complete, valid};
use crate::entry::testing::json::{par, seq};
use crate::entry::{Entry, Model, NamedModel, OnInterrupted, Work};

/// `a` for a task, `S(a b)`, `P(a b)`, `L(pre? body post?)` and `A(condition true? false?)`.
fn write(work: &Work) -> String {
    let condition = |condition: &Option<(bool, Box<Work>)>| match condition {
        Some((expected, work)) => format!("{expected}={}", write(work)),
        None => "-".to_owned(),
    };
    let branch =
        |work: &Option<Box<Work>>| work.as_ref().map_or("-".to_owned(), |work| write(work));
    let list = |works: &[Work]| works.iter().map(write).collect::<Vec<_>>().join(" ");
    match work {
        Work::Ref { work_id_in_job, .. } => work_id_in_job.to_string(),
        Work::Seq { works } => format!("S({})", list(works)),
        Work::Par { works } => format!("P({})", list(works)),
        Work::Loop { pre_condition, body, post_condition } => {
            format!("L({} {} {})", condition(pre_condition), write(body), condition(post_condition))
        }
        Work::Alt { condition, true_work, false_work } => {
            format!("A({} {} {})", write(condition), branch(true_work), branch(false_work))
        }
    }
}

fn task() -> Value {
    json!({ "kind": "Ref", "taskId": "quick", "workIdInJob": 9 })
}

fn with_work(work: Value) -> Entry {
    let mut entry = complete();
    entry["jobs"]["one"]["work"] = work;
    valid(&entry)
}

#[test]
fn works_are_flattened_at_any_depth_and_then_numbered() {
    let pair = || seq([task(), task()]);
    for (work, expected) in [
        (task(), "0"),
        (seq([task()]), "S(0)"),
        (seq([seq([seq([task()])])]), "S(0)"),
        (seq([task(), seq([task(), pair()]), task()]), "S(0 1 2 3 4)"),
        (par([par([task(), par([task()])]), task()]), "P(0 1 2)"),
        (seq([par([seq([task()]), par([task()])]), task()]), "S(P(S(0) 1) 2)"),
        (par([pair(), pair()]), "P(S(0 1) S(2 3))"),
        (
            json!({ "kind": "Loop", "preCondition": [true, task()], "body": pair(), "postCondition": [false, pair()] }),
            "L(true=0 S(3 4) false=S(1 2))",
        ),
        (
            json!({ "kind": "Loop", "body": task(), "postCondition": [true, task()] }),
            "L(- 1 true=0)",
        ),
        (json!({ "kind": "Loop", "body": seq([pair()]) }), "L(- S(0 1) -)"),
        (
            json!({ "kind": "Alt", "falseWork": task(), "trueWork": seq([pair()]), "condition": pair() }),
            "A(S(0 1) S(2 3) 4)",
        ),
        (json!({ "kind": "Alt", "condition": task(), "falseWork": task() }), "A(0 - 1)"),
    ] {
        let entry = with_work(work.clone());
        let work_of_job = &entry.jobs["one"].work;
        assert_eq!(write(work_of_job), expected, "{work}");
        let numbers = work_of_job.task_refs().into_iter().map(|task| task.work_id_in_job);
        assert!(
            numbers.eq(0..u32::try_from(work_of_job.task_refs().len()).expect("few")),
            "{work}"
        );
    }
}

#[test]
fn what_is_stored_with_a_run_is_what_it_needs_of_the_entry() {
    let mut entry = complete();
    entry["jobs"]["all"]["onInterrupted"] = json!("ask");
    entry["jobs"]["all"]["budget"] = json!({ "turns": 3 });
    let entry = valid(&entry);
    let reread = |entry: &Entry| -> Entry {
        let json = serde_json::to_string(entry).expect("JSON");
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
    };
    let all = reread(&entry.of_job("all").expect("a job"));
    assert_eq!(all.jobs["all"], entry.jobs["all"]);
    assert_eq!(all.jobs["all"].on_interrupted, Some(OnInterrupted::Ask));
    assert_eq!((all.tasks, &all.models), (entry.tasks.clone(), &entry.models));
    assert_eq!(all.driving_session_retries, entry.driving_session_retries);

    let one = reread(&entry.of_job("one").expect("a job"));
    assert_eq!(one.tasks.keys().collect::<Vec<_>>(), ["quick"]);
    assert_eq!(one.jobs.keys().collect::<Vec<_>>(), ["one"]);
    assert_eq!(one.jobs["one"].on_interrupted, None);
    let task = reread(&entry.of_task("ask").expect("a task"));
    assert_eq!((task.tasks.len(), task.jobs.len()), (1, 0));
    assert_eq!(task.tasks["ask"], entry.tasks["ask"]);
    assert_eq!((entry.of_job("none"), entry.of_task("none")), (None, None));
}

#[test]
fn a_job_requires_user_input_if_one_of_its_tasks_does() {
    let ask = json!({ "kind": "Ref", "taskId": "ask" });
    for (work, expected) in [
        (task(), false),
        (ask.clone(), true),
        (seq([task(), par([task(), ask.clone()])]), true),
        (json!({ "kind": "Alt", "condition": task(), "falseWork": ask.clone() }), true),
        (json!({ "kind": "Loop", "body": task(), "postCondition": [true, ask] }), true),
    ] {
        assert_eq!(with_work(work.clone()).jobs["one"].require_user_input, expected, "{work}");
    }
}

#[test]
fn maps_keep_the_order_of_the_text() {
    let text = complete().to_string();
    let text =
        text.replace(r#""one":{"#, r#""zero":{"work":{"kind":"Ref","taskId":"quick"}},"one":{"#);
    let entry = Entry::parse(&text).expect("valid");
    assert!(entry.jobs.keys().eq(["all", "zero", "one"]));
}

#[test]
fn every_model_id_is_known_with_its_path() {
    let text = r#"{
        "drivingSessionRetries": [{ "modelId": "d", "retries": 1 }, { "modelId": "e", "retries": 1 }],
        "promptVariables": {},
        "models": { "driving": "d", "other": "o" },
        "jobs": { "j": { "work": { "kind": "Seq", "works": [{ "kind": "Seq", "works": [
            { "kind": "Ref", "taskId": "t", "modelOverride": { "category": "other" } },
            { "kind": "Ref", "taskId": "t", "modelOverride": { "id": "i" } } ] }] } } },
        "tasks": { "t": { "model": { "id": "m" }, "prompt": ["p"], "requireUserInput": false } },
        "grid": []
    }"#;
    let entry = Entry::parse(text).expect("valid");
    let expected = [
        ("entry.drivingSessionRetries[0].modelId", "d"),
        ("entry.drivingSessionRetries[1].modelId", "e"),
        ("entry.models[\"driving\"]", "d"),
        ("entry.models[\"other\"]", "o"),
        ("entry.jobs[\"j\"].work.works[0].works[1].modelOverride.id", "i"),
        ("entry.tasks[\"t\"].model.id", "m"),
    ];
    let expected = expected.map(|(path, id)| NamedModel { path: path.into(), id: id.into() });
    assert_eq!(entry.model_ids(), expected);
}

#[test]
fn the_override_wins_over_the_task_and_the_task_over_driving() {
    let entry = valid(&complete());
    let (category, id) = (Model::Category("coding".into()), Model::Id("mine".into()));
    for (task, model_override, expected) in [
        ("ask", None, "coder"),
        ("quick", None, "quick"),
        ("bare", None, "judge"),
        ("quick", Some(&category), "coder"),
        ("ask", Some(&id), "mine"),
        ("bare", Some(&id), "mine"),
    ] {
        let resolved = entry.resolve_model(&entry.tasks[task], model_override);
        assert_eq!(resolved, expected, "{task} {model_override:?}");
    }
}
