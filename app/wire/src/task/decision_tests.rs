//! Every kind of decision, its fields and its sentence.

use serde_json::{Value, json};

use super::TaskResponse;
use crate::{
    BudgetLimit, Criterion, Decision, FailedTurn, FailureCause, Recovery, SessionId, SessionRole,
    Setback, Unmet, UsedUp,
};

const SESSION: &str = "session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

fn session_id() -> SessionId {
    SESSION.parse().expect("an id")
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// What happened to sessions and their turns.
fn sessions() -> Vec<(Decision, Value, &'static str)> {
    use Decision as D;
    let (role, model) = (SessionRole::Driving, text("m"));
    let failed_turn = |outcome| D::TurnFailed {
        role: SessionRole::Task,
        model: text("m"),
        session_id: Some(session_id()),
        tries: 2,
        outcome,
        error: text("no quota"),
    };
    vec![
        (
            D::SessionStarted { role, model: model.clone(), session_id: session_id() },
            json!({ "kind": "SessionStarted", "role": "driving", "model": "m", "sessionId": SESSION }),
            "[SESSION STARTED] driving session started with model m",
        ),
        (
            D::SessionCrashed { role, model, session_id: None, tries: 1, error: text("boom") },
            json!({
                "kind": "SessionCrashed", "role": "driving", "model": "m", "tries": 1,
                "error": "boom",
            }),
            "[SESSION CRASHED] driving session with model m crashed: boom",
        ),
        (
            failed_turn(FailedTurn::Failed),
            json!({
                "kind": "TurnFailed", "role": "task", "model": "m", "sessionId": SESSION,
                "tries": 2, "outcome": "failed", "error": "no quota",
            }),
            "[TURN FAILED] the turn of the task session with model m failed: no quota",
        ),
        (
            failed_turn(FailedTurn::Aborted),
            json!({
                "kind": "TurnFailed", "role": "task", "model": "m", "sessionId": SESSION,
                "tries": 2, "outcome": "aborted", "error": "no quota",
            }),
            "[TURN FAILED] the turn of the task session with model m failed: no quota",
        ),
    ]
}

/// Judgements, and all else that is neither used up nor failed.
fn judgements() -> Vec<(Decision, Value, &'static str)> {
    use Decision as D;
    vec![
        (
            D::Availability { condition: text("is it?"), met: true, argument: Some(text("free")) },
            json!({
                "kind": "Availability", "criterion": "availability", "condition": "is it?",
                "met": true, "argument": "free",
            }),
            "[AVAILABILITY] availability.condition holds: free",
        ),
        (
            D::Availability { condition: text("is it?\nor not?"), met: false, argument: None },
            json!({
                "kind": "Availability", "criterion": "availability",
                "condition": "is it?\nor not?", "met": false,
            }),
            "[AVAILABILITY] availability.condition failed: neither job_boolean_true nor \
             job_boolean_false was called\nis it?\nor not?\nCounts as job_prerequisite_failed.",
        ),
        (
            D::Criteria { attempt: 1, unmet: None },
            json!({ "kind": "Criteria", "attempt": 1, "met": true }),
            "[CRITERIA] all criteria are met",
        ),
        (
            D::Criteria {
                attempt: 2,
                unmet: Some(Unmet::Condition {
                    condition: text("is it?"),
                    argument: Some(text("ugly")),
                }),
            },
            json!({
                "kind": "Criteria", "attempt": 2, "met": false, "criterion": "condition",
                "condition": "is it?", "argument": "ugly",
            }),
            "[CRITERIA] criteria.condition failed: job_boolean_false was called: ugly\nis it?",
        ),
        (
            D::Criteria {
                attempt: 1,
                unmet: Some(Unmet::ToolExecuted {
                    required: vec![text("a"), text("b")],
                    missing: vec![text("b")],
                }),
            },
            json!({
                "kind": "Criteria", "attempt": 1, "met": false, "criterion": "toolExecuted",
                "required": ["a", "b"], "missing": ["b"],
            }),
            "[CRITERIA] criteria.toolExecuted failed: not called: b\na, b",
        ),
        (
            D::Operation { attempt: 2, retries: 3 },
            json!({ "kind": "Operation", "attempt": 2, "retries": 3 }),
            "[OPERATION] retry #1 of 3 starts",
        ),
        (
            D::Interrupted { recovery: Recovery::SentAgain },
            json!({ "kind": "Interrupted", "recovery": "sentAgain" }),
            "[INTERRUPTED] the interrupted prompt is sent again",
        ),
        (
            D::Budget { limit: BudgetLimit::Minutes, allowed: 5.0, used: 5.5 },
            json!({ "kind": "Budget", "limit": "minutes", "allowed": 5.0, "used": 5.5 }),
            "[BUDGET] the budget is used up: 5.5 of 5 minutes",
        ),
        (D::Succeeded, json!({ "kind": "Succeeded" }), "[TASK SUCCEEDED] the task succeeded"),
        (D::Stopped, json!({ "kind": "Misc", "event": "stopped" }), "[MISC] the task was stopped"),
    ]
}

/// Everything that can be used up: kind `Decision`.
fn used_up() -> Vec<(Decision, Value, &'static str)> {
    let role = SessionRole::Task;
    let tries = |crashes, failed_turns, sentence| {
        let fields = json!({
            "kind": "Decision", "usedUp": "tries", "role": "task",
            "crashes": crashes, "failedTurns": failed_turns,
        });
        (Decision::UsedUp(UsedUp::Tries { role, crashes, failed_turns }), fields, sentence)
    };
    let attempt = |setback, word, sentence| {
        let fields =
            json!({ "kind": "Decision", "usedUp": "attempt", "attempt": 2, "setback": word });
        (Decision::UsedUp(UsedUp::Attempt { attempt: 2, setback }), fields, sentence)
    };
    let retries = |retries, sentence| {
        let fields = json!({ "kind": "Decision", "usedUp": "retries", "retries": retries });
        (Decision::UsedUp(UsedUp::Retries { retries }), fields, sentence)
    };
    vec![
        tries(1, 0, "[DECISION] the task session crashed, and is not tried again"),
        tries(5, 0, "[DECISION] the task session crashed 5 times, which uses up its tries"),
        tries(0, 1, "[DECISION] the turn of the task session failed, and is not tried again"),
        tries(
            2,
            3,
            "[DECISION] the tries of the task session are used up: 2 crashes, 3 failed turns",
        ),
        attempt(
            Setback::SessionCrashed,
            "sessionCrashed",
            "[DECISION] retry #1 failed, because its session kept crashing",
        ),
        attempt(
            Setback::TurnFailed,
            "turnFailed",
            "[DECISION] retry #1 failed, because its turns kept failing",
        ),
        retries(0, "[DECISION] no retry is allowed"),
        retries(3, "[DECISION] all 3 retries are used up"),
    ]
}

/// Every cause of a failure.
fn failures() -> Vec<(Decision, Value, &'static str)> {
    use FailureCause as C;
    let role = SessionRole::Task;
    let error = || text("boom");
    let causes = [
        (
            C::NotAvailable { argument: Some(text("busy")) },
            json!({
                "kind": "Failed", "cause": "notAvailable", "criterion": "availability",
                "argument": "busy",
            }),
            "[TASK FAILED] availability.condition does not hold",
        ),
        (
            C::CriteriaNotMet {
                criterion: Criterion::ToolExecuted,
                argument: None,
                missing: Some(vec![text("b")]),
            },
            json!({
                "kind": "Failed", "cause": "criteriaNotMet", "criterion": "toolExecuted",
                "missing": ["b"],
            }),
            "[TASK FAILED] criteria.toolExecuted is not met",
        ),
        (
            // As earlier versions stored it.
            C::CriteriaNotMet { criterion: Criterion::Condition, argument: None, missing: None },
            json!({ "kind": "Failed", "cause": "criteriaNotMet", "criterion": "condition" }),
            "[TASK FAILED] criteria.condition is not met",
        ),
        (
            C::SessionCrashed { role, error: error(), crashes: Some(5) },
            json!({
                "kind": "Failed", "cause": "sessionCrashed", "role": "task", "error": "boom",
                "crashes": 5,
            }),
            "[TASK FAILED] the task session crashed: boom",
        ),
        (
            C::TurnFailed { role, error: error(), failed_turns: None },
            json!({ "kind": "Failed", "cause": "turnFailed", "role": "task", "error": "boom" }),
            "[TASK FAILED] the turn of the task session failed: boom",
        ),
        (
            C::Internal,
            json!({ "kind": "Failed", "cause": "internal" }),
            "[TASK FAILED] internal error",
        ),
        (
            C::Budget { limit: BudgetLimit::Turns, allowed: 3.0, used: 3.0 },
            json!({
                "kind": "Failed", "cause": "budget", "limit": "turns", "allowed": 3.0, "used": 3.0,
            }),
            "[TASK FAILED] the budget is used up: 3 of 3 turns",
        ),
        (
            C::Stopped,
            json!({ "kind": "Failed", "cause": "stopped" }),
            "[TASK FAILED] the task was stopped",
        ),
    ];
    causes.map(|(cause, fields, sentence)| (Decision::Failed(cause), fields, sentence)).into()
}

#[test]
fn every_kind_has_its_fields_and_its_sentence() {
    let all = [sessions(), judgements(), used_up(), failures()].concat();
    for (decision, mut fields, sentence) in all {
        assert_eq!(decision.to_string(), sentence);
        fields["callback"] = json!("taskDecision");
        fields["reason"] = json!(sentence);
        let response = TaskResponse::from(decision);
        assert_eq!(serde_json::to_value(&response).expect("json"), fields);
        // Its tag comes first only as text.
        let text = serde_json::to_string(&response).expect("json");
        let read: TaskResponse = serde_json::from_str(&text).expect(sentence);
        assert_eq!(read, response);
    }
}
