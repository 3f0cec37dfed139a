//! Mistakes in jobs and works.

use serde_json::json;

use super::{Mistake, missing, unfit, wrong};

pub(super) fn of_jobs() -> Vec<Mistake> {
    vec![
        missing("/jobs", "entry.jobs: Missing."),
        wrong("/jobs", json!(null), "entry.jobs: Must be an object, not null."),
        wrong("/jobs/one", json!([]), "entry.jobs[\"one\"]: Must be an object, not an array."),
        wrong(
            "/jobs/one/name",
            json!(1),
            "entry.jobs[\"one\"].name: Unknown field; known are: description, requireUserInput, permissions, approveFiles, budget, onInterrupted, work.",
        ),
        missing("/jobs/one/work", "entry.jobs[\"one\"].work: Missing."),
        wrong(
            "/jobs/one/permissions",
            json!("always"),
            "entry.jobs[\"one\"].permissions: Must be approve-all, ask or deny, not \"always\".",
        ),
        wrong(
            "/jobs/one/permissions",
            json!(true),
            "entry.jobs[\"one\"].permissions: Must be a string, not a boolean.",
        ),
        wrong(
            "/jobs/one/onInterrupted",
            json!("retry"),
            "entry.jobs[\"one\"].onInterrupted: Must be resume, ask or fail, not \"retry\".",
        ),
        wrong(
            "/jobs/one/onInterrupted",
            json!(null),
            "entry.jobs[\"one\"].onInterrupted: Must be a string, not null.",
        ),
        wrong(
            "/jobs/one/approveFiles",
            json!("a"),
            "entry.jobs[\"one\"].approveFiles: Must be an array, not a string.",
        ),
        unfit(
            "/jobs/one/approveFiles",
            json!(["ok/*", "../a"]),
            "entry.jobs[\"one\"].approveFiles[1]: Must be a pattern of files below the job's folder, not \"../a\".",
        ),
        unfit(
            "/jobs/one/approveFiles",
            json!(["[a"]),
            "entry.jobs[\"one\"].approveFiles[0]: Must be a pattern of files below the job's folder, not \"[a\".",
        ),
        wrong(
            "/jobs/one/requireUserInput",
            json!(null),
            "entry.jobs[\"one\"].requireUserInput: Must be a boolean, not null.",
        ),
        unfit(
            "/jobs/one/requireUserInput",
            json!(true),
            "entry.jobs[\"one\"].requireUserInput: Must be false, as no task of the job requires user input.",
        ),
        unfit(
            "/jobs/all/requireUserInput",
            json!(false),
            "entry.jobs[\"all\"].requireUserInput: Must be true, as a task of the job requires user input.",
        ),
    ]
}

pub(super) fn of_works() -> Vec<Mistake> {
    vec![
        wrong(
            "/jobs/one/work",
            json!("quick"),
            "entry.jobs[\"one\"].work: Must be an object, not a string.",
        ),
        missing("/jobs/one/work/kind", "entry.jobs[\"one\"].work.kind: Missing."),
        wrong(
            "/jobs/one/work/kind",
            json!(1),
            "entry.jobs[\"one\"].work.kind: Must be a string, not a number.",
        ),
        wrong(
            "/jobs/one/work/kind",
            json!("ref"),
            "entry.jobs[\"one\"].work.kind: Must be Ref, Seq, Par, Loop or Alt, not \"ref\".",
        ),
        missing("/jobs/one/work/taskId", "entry.jobs[\"one\"].work.taskId: Missing."),
        wrong(
            "/jobs/one/work/taskId",
            json!(1),
            "entry.jobs[\"one\"].work.taskId: Must be a string, not a number.",
        ),
        unfit(
            "/jobs/one/work/taskId",
            json!("x"),
            "entry.jobs[\"one\"].work.taskId: Cannot find task: \"x\".",
        ),
        unfit(
            "/jobs/one/work/taskId",
            json!("bare"),
            "entry.jobs[\"one\"].work.modelOverride: Missing, as the task has no model.",
        ),
        wrong(
            "/jobs/one/work/workIdInJob",
            json!(-1),
            "entry.jobs[\"one\"].work.workIdInJob: Must not be negative.",
        ),
        wrong(
            "/jobs/one/work/works",
            json!([]),
            "entry.jobs[\"one\"].work.works: Unknown field; known are: kind, taskId, workIdInJob, modelOverride.",
        ),
        wrong(
            "/jobs/one/work/modelOverride",
            json!({ "id": 1 }),
            "entry.jobs[\"one\"].work.modelOverride.id: Must be a string, not a number.",
        ),
        unfit(
            "/jobs/one/work/modelOverride",
            json!({ "category": "x" }),
            "entry.jobs[\"one\"].work.modelOverride.category: Cannot find model category: \"x\".",
        ),
    ]
}

pub(super) fn of_nested_works() -> Vec<Mistake> {
    vec![
        missing("/jobs/all/work/works", "entry.jobs[\"all\"].work.works: Missing."),
        wrong(
            "/jobs/all/work/works",
            json!([]),
            "entry.jobs[\"all\"].work.works: Must not be empty.",
        ),
        wrong(
            "/jobs/all/work/works",
            json!({}),
            "entry.jobs[\"all\"].work.works: Must be an array, not an object.",
        ),
        wrong(
            "/jobs/all/work/works/1/works",
            json!([]),
            "entry.jobs[\"all\"].work.works[1].works: Must not be empty.",
        ),
        wrong(
            "/jobs/all/work/works/1/body",
            json!({}),
            "entry.jobs[\"all\"].work.works[1].body: Unknown field; known are: kind, works.",
        ),
        missing("/jobs/all/work/works/2/body", "entry.jobs[\"all\"].work.works[2].body: Missing."),
        wrong(
            "/jobs/all/work/works/2/works",
            json!([]),
            "entry.jobs[\"all\"].work.works[2].works: Unknown field; known are: kind, preCondition, body, postCondition.",
        ),
        wrong(
            "/jobs/all/work/works/2/preCondition",
            json!({}),
            "entry.jobs[\"all\"].work.works[2].preCondition: Must be an array, not an object.",
        ),
        wrong(
            "/jobs/all/work/works/2/preCondition",
            json!([true]),
            "entry.jobs[\"all\"].work.works[2].preCondition: Must have two items: a boolean and a work.",
        ),
        wrong(
            "/jobs/all/work/works/2/preCondition/0",
            json!("true"),
            "entry.jobs[\"all\"].work.works[2].preCondition[0]: Must be a boolean, not a string.",
        ),
        wrong(
            "/jobs/all/work/works/2/postCondition/1",
            json!(null),
            "entry.jobs[\"all\"].work.works[2].postCondition[1]: Must be an object, not null.",
        ),
        unfit(
            "/jobs/all/work/works/2/postCondition/1/taskId",
            json!("x"),
            "entry.jobs[\"all\"].work.works[2].postCondition[1].taskId: Cannot find task: \"x\".",
        ),
        missing(
            "/jobs/all/work/works/3/condition",
            "entry.jobs[\"all\"].work.works[3].condition: Missing.",
        ),
        wrong(
            "/jobs/all/work/works/3/trueWork",
            json!(null),
            "entry.jobs[\"all\"].work.works[3].trueWork: Must be an object, not null.",
        ),
        wrong(
            "/jobs/all/work/works/3/falseWork/kind",
            json!(null),
            "entry.jobs[\"all\"].work.works[3].falseWork.kind: Must be a string, not null.",
        ),
        wrong(
            "/jobs/all/work/works/3/else",
            json!(1),
            "entry.jobs[\"all\"].work.works[3].else: Unknown field; known are: kind, condition, trueWork, falseWork.",
        ),
    ]
}
