//! Sessions that crash and turns that fail: what they cost, and when they fail the task.

use super::*;

#[test]
fn what_crashed_is_replaced_and_asked_again() {
    check(
        plain(),
        &["crash", "refuse", "nothing"],
        "
        open task w
        > do it
        close broken
        [SESSION CRASHED] task session with model w crashed: boom
        refused task w
        [SESSION CRASHED] task session with model w crashed: the agent did not start
        open task w
        > The session crashed, please redo and here is the last request:|do it
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
}

#[test]
fn a_failed_turn_costs_a_try_but_is_no_crash() {
    let again = "> The session crashed, please redo and here is the last request:|do it";
    check(
        plain(),
        &["fail", "abort", "crash", "nothing"],
        &format!(
            "
        open task w
        > do it
        close broken
        [TURN FAILED] the turn of the task session with model w failed: no quota
        open task w
        {again}
        close broken
        [TURN FAILED] the turn of the task session with model w failed: aborted
        open task w
        {again}
        close broken
        [SESSION CRASHED] task session with model w crashed: boom
        open task w
        {again}
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded"
        ),
    );
    let acts = ["fail", "crash", "fail", "crash", "fail"];
    let minutes = minutes_of(&plain(), None, &acts);
    let end = "
[DECISION] the tries of the task session are used up: 2 crashes, 3 failed turns
[TASK FAILED] the turn of the task session failed: no quota
= crashed
";
    assert!(minutes.ends_with(end), "{minutes}");
}

#[test]
fn decisions_carry_their_facts() {
    let task = with(json!({ "criteria": criteria(false, 1) }));
    let acts = ["fail", "nothing", "boolean_false ugly", "nothing", "refuse", "boolean_true done"];
    let script = run_script(&task, None, &acts);
    let text = str::to_owned;
    let started = |role, model| Decision::SessionStarted {
        role,
        model: text(model),
        session_id: session_id(),
    };
    let condition = format!("is it:\n{IS_IT}");
    let unmet = Unmet::Condition { condition, argument: Some(text("ugly")) };
    let expected = [
        started(Role::Task, "w"),
        Decision::TurnFailed {
            role: Role::Task,
            model: text("w"),
            session_id: Some(session_id()),
            tries: 1,
            outcome: FailedTurn::Failed,
            error: text("no quota"),
        },
        started(Role::Task, "w"),
        started(Role::Driving, "d"),
        Decision::Criteria { attempt: 1, unmet: Some(unmet) },
        Decision::Operation { attempt: 2, retries: 1 },
        started(Role::Task, "w"),
        Decision::SessionCrashed {
            role: Role::Driving,
            model: text("d"),
            session_id: None,
            tries: 1,
            error: text("the agent did not start"),
        },
        started(Role::Driving, "d"),
        Decision::Criteria { attempt: 2, unmet: None },
        Decision::Succeeded,
    ];
    assert_eq!(script.decisions, expected);
}

#[test]
fn a_task_prompt_is_tried_five_times_in_all() {
    let minutes = minutes_of(&plain(), None, &["crash"; 5]);
    assert_eq!(minutes.matches("open task w").count(), 5);
    assert_eq!(minutes.matches("close broken").count(), 5);
    let end = "
[DECISION] the task session crashed 5 times, which uses up its tries
[TASK FAILED] the task session crashed: boom
= crashed
";
    assert!(minutes.ends_with(end), "{minutes}");
}

#[test]
fn a_driving_prompt_falls_back_in_rounds_with_a_fresh_budget_each() {
    let task = with(json!({ "availability": available(), "criteria": criteria(false, 0) }));
    let acts = [
        "crash",
        "crash",
        "crash",
        "boolean_true a",
        "nothing",
        "crash",
        "crash",
        "crash",
        "crash",
    ];
    check(task, &acts, "
        open driving d
        > can it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model d crashed: boom
        open driving d
        > The session crashed, please redo and here is the last request:|can it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model d crashed: boom
        open driving e
        > The session crashed, please redo and here is the last request:|can it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model e crashed: boom
        open driving e
        > The session crashed, please redo and here is the last request:|can it:|job_boolean_true or job_boolean_false?
        close
        [AVAILABILITY] availability.condition holds: a
        open task w
        > do it
        close
        open driving d
        > is it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model d crashed: boom
        open driving d
        > The session crashed, please redo and here is the last request:|is it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model d crashed: boom
        open driving e
        > The session crashed, please redo and here is the last request:|is it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model e crashed: boom
        open driving e
        > The session crashed, please redo and here is the last request:|is it:|job_boolean_true or job_boolean_false?
        close broken
        [SESSION CRASHED] driving session with model e crashed: boom
        [DECISION] the driving session crashed 4 times, which uses up its tries
        [TASK FAILED] the driving session crashed: boom
        = crashed");
}

#[test]
fn in_one_session_a_condition_has_the_budget_of_the_task() {
    let acts = ["crash", "crash", "crash", "crash", "boolean_true ok", "nothing"];
    let task = with(json!({ "availability": available() }));
    let minutes = minutes_of(&task, None, &acts);
    assert_eq!(minutes.matches("open task w").count(), 5, "{minutes}");
    assert!(!minutes.contains("driving"), "{minutes}");
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
}

#[test]
fn a_budget_used_up_in_a_retry_is_one_failed_retry() {
    for (same_session, crashes) in [(true, ["crash"; 5].as_slice()), (false, &["crash"; 5])] {
        let task = with(json!({ "criteria": criteria(same_session, 2) }));
        let mut acts = vec!["nothing", "boolean_false no"];
        acts.extend(crashes);
        acts.extend(["nothing", "boolean_true yes"]);
        let minutes = minutes_of(&task, None, &acts);
        let lines: Vec<_> = minutes.lines().filter(|line| line.starts_with(['[', '='])).collect();
        let crash = "[SESSION CRASHED] task session with model w crashed: boom";
        assert_eq!(
            lines,
            [
                "[CRITERIA] criteria.condition failed: job_boolean_false was called: no",
                "[OPERATION] retry #1 of 2 starts",
                crash,
                crash,
                crash,
                crash,
                crash,
                "[DECISION] the task session crashed 5 times, which uses up its tries",
                "[DECISION] retry #1 failed, because its session kept crashing",
                "[OPERATION] retry #2 of 2 starts",
                "[CRITERIA] all criteria are met",
                "[TASK SUCCEEDED] the task succeeded",
                "= succeeded",
            ]
        );
        let (opened, closed) = (minutes.matches("open ").count(), minutes.matches("close").count());
        assert_eq!(opened, closed, "{minutes}");
    }
}

#[test]
fn a_crash_of_the_judge_in_a_retry_is_one_failed_retry_too() {
    let task = with(json!({ "criteria": criteria(false, 1) }));
    let acts = ["nothing", "boolean_false no", "nothing", "crash", "crash", "crash", "crash"];
    let minutes = minutes_of(&task, None, &acts);
    let end = "
[DECISION] retry #1 failed, because its session kept crashing
[DECISION] all 1 retries are used up
[TASK FAILED] criteria.condition is not met
= failed
";
    assert!(minutes.ends_with(end), "{minutes}");
}

#[test]
fn a_crash_of_a_borrowed_session_fails_the_task_at_once() {
    let task = with(json!({ "criteria": criteria(true, 3) }));
    let mode = Some(Mode::Borrowing);
    check_in(
        mode,
        &task,
        &["crash"],
        "
        > do it
        [SESSION CRASHED] task session with model w crashed: boom
        [DECISION] the task session crashed, and is not tried again
        [TASK FAILED] the task session crashed: boom
        = crashed",
    );
    check_in(mode, &task, &["nothing", "nothing", "crash"], "
        > do it
        > is it:|job_boolean_true or job_boolean_false?
        [CRITERIA] criteria.condition failed: neither job_boolean_true nor job_boolean_false was called
        [OPERATION] retry #1 of 3 starts
        > do it
        [SESSION CRASHED] task session with model w crashed: boom
        [DECISION] the task session crashed, and is not tried again
        [TASK FAILED] the task session crashed: boom
        = crashed");
}
