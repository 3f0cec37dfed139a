//! Mistakes in tasks.

use serde_json::json;

use super::{Mistake, missing, unfit, wrong};

pub(super) fn of_tasks() -> Vec<Mistake> {
    let mut all = vec![
        missing("/tasks", "entry.tasks: Missing."),
        wrong("/tasks", json!([]), "entry.tasks: Must be an object, not an array."),
        wrong(
            "/tasks/ask/name",
            json!("x"),
            "entry.tasks[\"ask\"].name: Unknown field; known are: description, model, prompt, requireUserInput, availability, criteria, budget.",
        ),
        wrong(
            "/tasks/ask/model",
            json!("x"),
            "entry.tasks[\"ask\"].model: Must be an object, not a string.",
        ),
        wrong(
            "/tasks/ask/model",
            json!(null),
            "entry.tasks[\"ask\"].model: Must be an object, not null.",
        ),
        wrong(
            "/tasks/ask/model",
            json!({}),
            "entry.tasks[\"ask\"].model: Must have a category or an id.",
        ),
        wrong(
            "/tasks/ask/model/id",
            json!("x"),
            "entry.tasks[\"ask\"].model: Must have a category or an id, not both.",
        ),
        wrong(
            "/tasks/ask/model/category",
            json!(1),
            "entry.tasks[\"ask\"].model.category: Must be a string, not a number.",
        ),
        unfit(
            "/tasks/ask/model/category",
            json!("x"),
            "entry.tasks[\"ask\"].model.category: Cannot find model category: \"x\".",
        ),
        wrong(
            "/tasks/quick/model/id",
            json!(true),
            "entry.tasks[\"quick\"].model.id: Must be a string, not a boolean.",
        ),
        wrong(
            "/tasks/quick/model/name",
            json!("x"),
            "entry.tasks[\"quick\"].model.name: Unknown field; known are: category, id.",
        ),
        missing("/tasks/ask/prompt", "entry.tasks[\"ask\"].prompt: Missing."),
        wrong(
            "/tasks/ask/prompt",
            json!("x"),
            "entry.tasks[\"ask\"].prompt: Must be an array, not a string.",
        ),
        wrong("/tasks/ask/prompt", json!([]), "entry.tasks[\"ask\"].prompt: Must not be empty."),
        unfit(
            "/tasks/ask/prompt",
            json!(["", " \n\t"]),
            "entry.tasks[\"ask\"].prompt: Must not be empty.",
        ),
        wrong(
            "/tasks/ask/prompt/1",
            json!([]),
            "entry.tasks[\"ask\"].prompt[1]: Must be a string, not an array.",
        ),
        unfit(
            "/tasks/ask/prompt/1",
            json!("$nope $nope"),
            "entry.tasks[\"ask\"].prompt: Cannot find prompt variable: $nope.",
        ),
        missing("/tasks/ask/requireUserInput", "entry.tasks[\"ask\"].requireUserInput: Missing."),
        wrong(
            "/tasks/ask/requireUserInput",
            json!("true"),
            "entry.tasks[\"ask\"].requireUserInput: Must be a boolean, not a string.",
        ),
        unfit(
            "/tasks/ask/requireUserInput",
            json!(false),
            "entry.tasks[\"ask\"].requireUserInput: Must be true, as the prompt uses $user-input.",
        ),
        unfit(
            "/tasks/bare/requireUserInput",
            json!(true),
            "entry.tasks[\"bare\"].requireUserInput: Must be false, as the prompt does not use $user-input.",
        ),
        wrong(
            "/tasks/bare/criteria",
            json!({ "condition": ["$user-input job_boolean_true"], "failureAction": { "retryTimes": -1 } }),
            "entry.tasks[\"bare\"].criteria.failureAction.retryTimes: Must not be negative.",
        ),
    ];
    all.extend(of_availability());
    all.extend(of_criteria());
    all
}

fn of_availability() -> Vec<Mistake> {
    vec![
        wrong(
            "/tasks/ask/availability",
            json!([]),
            "entry.tasks[\"ask\"].availability: Must be an object, not an array.",
        ),
        wrong(
            "/tasks/ask/availability/when",
            json!(1),
            "entry.tasks[\"ask\"].availability.when: Unknown field; known are: condition.",
        ),
        wrong(
            "/tasks/ask/availability/condition",
            json!(null),
            "entry.tasks[\"ask\"].availability.condition: Must be an array, not null.",
        ),
        wrong(
            "/tasks/ask/availability/condition",
            json!([]),
            "entry.tasks[\"ask\"].availability.condition: Must not be empty.",
        ),
        unfit(
            "/tasks/ask/availability/condition",
            json!(["Ready?"]),
            "entry.tasks[\"ask\"].availability.condition: Must mention job_boolean_true or job_boolean_false.",
        ),
    ]
}

fn of_criteria() -> Vec<Mistake> {
    vec![
        wrong(
            "/tasks/ask/criteria",
            json!(true),
            "entry.tasks[\"ask\"].criteria: Must be an object, not a boolean.",
        ),
        wrong(
            "/tasks/ask/criteria/tools",
            json!([]),
            "entry.tasks[\"ask\"].criteria.tools: Unknown field; known are: toolExecuted, condition, runConditionInSameSession, failureAction.",
        ),
        wrong(
            "/tasks/ask/criteria/toolExecuted",
            json!("x"),
            "entry.tasks[\"ask\"].criteria.toolExecuted: Must be an array, not a string.",
        ),
        wrong(
            "/tasks/ask/criteria/toolExecuted/1",
            json!(1),
            "entry.tasks[\"ask\"].criteria.toolExecuted[1]: Must be a string, not a number.",
        ),
        wrong(
            "/tasks/ask/criteria/toolExecuted/1",
            json!("x"),
            "entry.tasks[\"ask\"].criteria.toolExecuted[1]: Cannot find tool: \"x\"; there are: job_prepare_document, job_boolean_true, job_boolean_false, job_prerequisite_failed.",
        ),
        wrong(
            "/tasks/ask/criteria/condition/0",
            json!(1),
            "entry.tasks[\"ask\"].criteria.condition[0]: Must be a string, not a number.",
        ),
        unfit(
            "/tasks/ask/criteria/condition",
            json!(["Done?", "$user-input"]),
            "entry.tasks[\"ask\"].criteria.condition: Must mention job_boolean_true or job_boolean_false.",
        ),
        wrong(
            "/tasks/ask/criteria/runConditionInSameSession",
            json!(0),
            "entry.tasks[\"ask\"].criteria.runConditionInSameSession: Must be a boolean, not a number.",
        ),
        missing(
            "/tasks/ask/criteria/failureAction",
            "entry.tasks[\"ask\"].criteria.failureAction: Missing.",
        ),
        wrong(
            "/tasks/ask/criteria/failureAction",
            json!(3),
            "entry.tasks[\"ask\"].criteria.failureAction: Must be an object, not a number.",
        ),
        missing(
            "/tasks/ask/criteria/failureAction/retryTimes",
            "entry.tasks[\"ask\"].criteria.failureAction.retryTimes: Missing.",
        ),
        wrong(
            "/tasks/ask/criteria/failureAction/retryTimes",
            json!(-3),
            "entry.tasks[\"ask\"].criteria.failureAction.retryTimes: Must not be negative.",
        ),
        wrong(
            "/tasks/ask/criteria/failureAction/retryTimes",
            json!(0.1),
            "entry.tasks[\"ask\"].criteria.failureAction.retryTimes: Must be a whole number.",
        ),
        wrong(
            "/tasks/ask/criteria/failureAction/x",
            json!(1),
            "entry.tasks[\"ask\"].criteria.failureAction.x: Unknown field; known are: retryTimes, additionalPrompt.",
        ),
        wrong(
            "/tasks/ask/criteria/failureAction/additionalPrompt",
            json!([]),
            "entry.tasks[\"ask\"].criteria.failureAction.additionalPrompt: Must not be empty.",
        ),
        unfit(
            "/tasks/ask/criteria/failureAction/additionalPrompt",
            json!(["$nope"]),
            "entry.tasks[\"ask\"].criteria.failureAction.additionalPrompt: Cannot find prompt variable: $nope.",
        ),
    ]
}
