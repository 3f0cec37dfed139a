//! Mistakes in budgets.

use serde_json::json;

use super::{Mistake, wrong};

pub(super) fn of_budgets() -> Vec<Mistake> {
    vec![
        wrong(
            "/tasks/ask/budget",
            json!(5),
            "entry.tasks[\"ask\"].budget: Must be an object, not a number.",
        ),
        wrong(
            "/tasks/ask/budget",
            json!(null),
            "entry.tasks[\"ask\"].budget: Must be an object, not null.",
        ),
        wrong(
            "/tasks/ask/budget",
            json!({ "hours": 1 }),
            "entry.tasks[\"ask\"].budget.hours: Unknown field; known are: minutes, turns, tokens, cost.",
        ),
        wrong(
            "/tasks/ask/budget",
            json!({ "minutes": "5" }),
            "entry.tasks[\"ask\"].budget.minutes: Must be a number, not a string.",
        ),
        wrong(
            "/tasks/ask/budget",
            json!({ "minutes": 0 }),
            "entry.tasks[\"ask\"].budget.minutes: Must be greater than 0.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "cost": -0.5 }),
            "entry.jobs[\"one\"].budget.cost: Must be greater than 0.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "cost": -3 }),
            "entry.jobs[\"one\"].budget.cost: Must be greater than 0.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "cost": null }),
            "entry.jobs[\"one\"].budget.cost: Must be a number, not null.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "turns": 0 }),
            "entry.jobs[\"one\"].budget.turns: Must be at least 1.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "turns": -2 }),
            "entry.jobs[\"one\"].budget.turns: Must be at least 1.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "turns": 1.5 }),
            "entry.jobs[\"one\"].budget.turns: Must be a whole number.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "turns": 4_294_967_296_u64 }),
            "entry.jobs[\"one\"].budget.turns: Must be at most 4294967295.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "tokens": [] }),
            "entry.jobs[\"one\"].budget.tokens: Must be a number, not an array.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "tokens": -1.0 }),
            "entry.jobs[\"one\"].budget.tokens: Must be at least 1.",
        ),
        wrong(
            "/jobs/one/budget",
            json!({ "tokens": 1e20 }),
            "entry.jobs[\"one\"].budget.tokens: Must be at most 9007199254740991.",
        ),
    ]
}
