//! Tasks that open their own sessions.

use tokio::time::sleep;

use super::*;

/// Text in a prompt that makes the judge say no at first, and yes in a retry.
const REPORT_NO: &str =
    "Use the job_prepare_document tool with the argument \"job_boolean_false\".";
const REPORT_YES: &str =
    "Use the job_prepare_document tool with the argument \"job_boolean_true\".";

fn criteria(same_session: bool, retries: u32, additional: &str) -> Value {
    json!({ "criteria": {
        "toolExecuted": ["job_prepare_document"],
        "condition": ["$judge"],
        "runConditionInSameSession": same_session,
        "failureAction": { "retryTimes": retries, "additionalPrompt": [additional] },
    }})
}

#[tokio::test(start_paused = true)]
async fn one_session_does_everything() {
    let harness = Harness::new();
    let mut full = task(
        "Do $user-input with $task-model. $no",
        json!({
            "availability": { "condition": ["$yes"] },
        }),
    );
    full["criteria"] = json!({
        "condition": ["Was it $reported-false-reason? $yes"],
        "failureAction": { "retryTimes": 0 },
    });
    let minutes = harness.run(full).await;
    assert_eq!(minutes.end, TaskEnd::Succeeded);
    assert_eq!(minutes.sessions(), "task gpt-5.2");
    assert_eq!(minutes.prompts.len(), 3);
    assert!(minutes.prompts[1].starts_with("Do the input with gpt-5.2. Use"));
    assert!(minutes.prompts[2].starts_with("Was it bad? Use"));
    assert_eq!(
        minutes.prefixes(),
        "[SESSION STARTED]\n[AVAILABILITY]\n[CRITERIA]\n[TASK SUCCEEDED]"
    );
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn several_models_each_have_their_sessions() {
    let harness = Harness::new();
    let mut full = task(REPORT_YES, criteria(false, 0, "x"));
    full["availability"] = json!({ "condition": ["$yes"] });
    let minutes = harness.run(full).await;
    assert_eq!(minutes.end, TaskEnd::Succeeded);
    assert_eq!(minutes.sessions(), "driving gpt-5-mini\ntask gpt-5.2\ndriving gpt-5-mini");
    let driving: Vec<_> = minutes
        .responses
        .iter()
        .filter_map(|response| match response {
            TaskResponse::TaskSessionStarted { is_driving, .. } => Some(*is_driving),
            _ => None,
        })
        .collect();
    assert_eq!(driving, [true, false, true]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_model_is_the_work_s_else_the_task_s_else_the_driving_one() {
    let harness = Harness::new();
    for (own, model_override, expected) in [
        (None, None, DRIVING_MODEL),
        (Some(TASK_MODEL), None, TASK_MODEL),
        (Some(TASK_MODEL), Some(OTHER_MODEL), OTHER_MODEL),
    ] {
        let mut task = json!({ "prompt": ["say hi"], "requireUserInput": false });
        if let Some(id) = own {
            task["model"] = json!({ "id": id });
        }
        let task = ManagedTask {
            model_override: model_override.map(|id: &str| wire::entry::Model::Id(id.to_owned())),
            ..managed(&task)
        };
        let started = harness.tasks.start_managed(task, |_| {});
        let mut running = started.expect("the task is there");
        let end = running.outcome().await;
        let minutes = harness.minutes(running.id, end).await;
        assert_eq!(minutes.sessions(), format!("task {expected}"));
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_availability_that_does_not_hold_fails_the_task_before_it_begins() {
    let harness = Harness::new();
    for (condition, same_session) in [("$no", true), ("say job_boolean_true", true), ("$no", false)]
    {
        let mut unavailable = task("say never", criteria(same_session, 0, "x"));
        unavailable["availability"] = json!({ "condition": [condition] });
        let minutes = harness.run(unavailable).await;
        assert!(matches!(minutes.end, TaskEnd::Failed(_)));
        assert_eq!(minutes.prompts.len(), 1);
        assert_eq!(minutes.prefixes(), "[SESSION STARTED]\n[AVAILABILITY]\n[TASK FAILED]");
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn each_criterion_can_fail_and_a_retry_can_mend_it() {
    let harness = Harness::new();
    for same_session in [true, false] {
        for (prompt, field) in
            [("say hi", "criteria.toolExecuted"), (REPORT_NO, "criteria.condition")]
        {
            let minutes = harness.run(task(prompt, criteria(same_session, 0, REPORT_YES))).await;
            assert!(matches!(minutes.end, TaskEnd::Failed(_)), "{field}");
            let failed = format!("[CRITERIA] {field} failed: ");
            let decided = minutes.decisions().into_iter().any(|text| text.starts_with(&failed));
            assert!(decided, "{:?}", minutes.decisions());

            let minutes = harness.run(task(prompt, criteria(same_session, 3, REPORT_YES))).await;
            assert_eq!(minutes.end, TaskEnd::Succeeded, "{field}");
            let retries = minutes.prefixes().matches("[OPERATION]").count();
            assert_eq!(retries, 1, "no more than needed");
        }
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn retries_are_used_up() {
    let harness = Harness::new();
    for same_session in [true, false] {
        let minutes = harness.run(task("say hi", criteria(same_session, 3, "say again"))).await;
        assert!(matches!(minutes.end, TaskEnd::Failed(_)));
        let retry = "say hi\n\n## Required Tool Not Called: job_prepare_document\n\n\
                     ## You accidentally Stopped\n\nsay again";
        assert_eq!(minutes.prompts, ["say hi", retry, retry, retry]);
        let sessions = if same_session { 1 } else { 4 };
        assert_eq!(minutes.sessions().lines().count(), sessions);
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_recovered_from() {
    let harness = Harness::new();
    let minutes = harness.run(task("Crash once.", json!({}))).await;
    assert_eq!(minutes.end, TaskEnd::Succeeded);
    let again = "The session crashed, please redo and here is the last request:\nCrash once.";
    assert_eq!(minutes.prompts, ["Crash once.", again]);
    assert_eq!(
        minutes.prefixes(),
        "[SESSION STARTED]\n[SESSION CRASHED]\n[SESSION STARTED]\n[TASK SUCCEEDED]"
    );
    // The decision names the session that crashed.
    let mut started = None;
    for response in &minutes.responses {
        match response {
            TaskResponse::TaskSessionStarted { session_id, .. } => started = Some(*session_id),
            TaskResponse::TaskDecision {
                decision: Decision::SessionCrashed { session_id, tries, .. },
                ..
            } => assert_eq!((*session_id, *tries), (started, 1)),
            _ => {}
        }
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fails_costs_a_try_though_its_session_lives() {
    let harness = Harness::new();
    let minutes = harness.run(task("Fail with \"no quota\".", json!({}))).await;
    assert!(matches!(&minutes.end, TaskEnd::Crashed(cause) if cause.reason().contains("no quota")));
    assert_eq!(minutes.prompts.len(), 5);
    let failed = facts(&minutes.responses).filter_map(|decision| match decision {
        Decision::TurnFailed { outcome, tries, session_id, .. } => {
            assert!(session_id.is_some());
            Some((*outcome, *tries))
        }
        _ => None,
    });
    assert_eq!(failed.collect::<Vec<_>>(), [1, 2, 3, 4, 5].map(|n| (FailedTurn::Failed, n)));
    assert!(!minutes.prefixes().contains("[SESSION CRASHED]"), "{}", minutes.prefixes());
    let stopped = minutes.responses.iter().filter(|response| {
        matches!(response, TaskResponse::TaskSessionStopped { succeeded: false, .. })
    });
    assert_eq!(stopped.count(), 5);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn driving_sessions_fall_back_on_other_models_in_rounds() {
    let harness = Harness::new();
    let mut crashing = task("say hi", criteria(false, 0, "x"));
    crashing["availability"] = json!({ "condition": ["job_boolean_true. Crash."] });
    let minutes = harness.run(crashing).await;
    assert!(matches!(minutes.end, TaskEnd::Crashed(_)));
    assert_eq!(
        minutes.sessions(),
        "driving gpt-5-mini\ndriving gpt-5-mini\ndriving simulated-quick\ndriving simulated-quick"
    );
    let mut once = task("say hi", criteria(false, 0, "x"));
    once["criteria"]["toolExecuted"] = json!([]);
    once["criteria"]["condition"] = json!(["Crash once. $yes"]);
    let minutes = harness.run(once).await;
    assert_eq!(minutes.end, TaskEnd::Succeeded);
    assert_eq!(minutes.sessions(), "task gpt-5.2\ndriving gpt-5-mini\ndriving gpt-5-mini");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_inside_a_criteria_retry_is_one_failed_retry() {
    let harness = Harness::new();
    for same_session in [true, false] {
        let minutes = harness.run(task("say hi", criteria(same_session, 2, "Crash."))).await;
        assert!(matches!(minutes.end, TaskEnd::Failed(_)), "not crashed");
        assert_eq!(minutes.prefixes().matches("[OPERATION]").count(), 2);
        assert_eq!(minutes.prefixes().matches("[SESSION CRASHED]").count(), 10);
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_opened_counts_as_crashed() {
    let harness = Harness::with(|settings| settings.max_sessions = 0);
    let minutes = harness.run(task("say hi", json!({}))).await;
    let TaskEnd::Crashed(cause) = &minutes.end else { panic!("{:?}", minutes.end) };
    assert!(cause.reason().contains("too many sessions"), "{cause:?}");
    assert_eq!(minutes.prefixes().matches("[SESSION CRASHED]").count(), 5);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_task_at_once_in_every_phase() {
    let slow = |same_session| {
        let mut slow = task("Wait 1 second.", criteria(same_session, 2, REPORT_NO));
        slow["availability"] = json!({ "condition": ["Wait 1 second. $yes"] });
        slow["criteria"]["condition"] = json!(["Wait 1 second. $no"]);
        slow
    };
    for same_session in [true, false] {
        let mut prompts = 0;
        for milliseconds in (0..4_900).step_by(350) {
            let harness = Harness::new();
            let mut running = harness.start(&slow(same_session));
            sleep(Duration::from_millis(milliseconds)).await;
            assert_eq!(harness.tasks.stop(running.id).await, Ok(()));
            assert!(!harness.sessions.has_running(), "at {milliseconds} ms");
            assert_eq!(running.outcome().await, TaskEnd::Stopped);
            let minutes = harness.minutes(running.id, TaskEnd::Stopped).await;
            let [.., misc, failed] = &*minutes.decisions() else { panic!("too few decisions") };
            assert_eq!(*misc, "[MISC] the task was stopped");
            assert_eq!(*failed, "[TASK FAILED] the task was stopped");
            prompts = prompts.max(minutes.prompts.len());
            assert_eq!(harness.tasks.stop(running.id).await, Ok(()), "again");
            harness.end().await;
        }
        assert_eq!(prompts, 5, "the last retry was reached");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_stopped_by_somebody_else_is_replaced() {
    let harness = Harness::new();
    let mut running = harness.start(&task("Wait 1 second.", json!({})));
    sleep(Duration::from_millis(500)).await;
    let [session] = &*harness.sessions.list() else { panic!("one session") };
    harness.sessions.stop(session.id).await.expect("stopped");
    assert_eq!(running.outcome().await, TaskEnd::Succeeded);
    let minutes = harness.minutes(running.id, TaskEnd::Succeeded).await;
    assert_eq!(minutes.prompts.len(), 2);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_tasks_and_their_sessions() {
    let harness = Harness::new();
    for _ in 0..5 {
        harness.start(&task("Wait 1 minute.", json!({})));
    }
    sleep(Duration::from_millis(10)).await;
    assert_eq!(harness.sessions.list().len(), 5);
    assert_eq!(harness.lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    assert!(!harness.sessions.has_running());
}

#[tokio::test(start_paused = true)]
async fn a_run_is_forgotten_some_time_after_its_end() {
    let harness = Harness::new();
    let mut running = harness.start(&task("say hi", json!({})));
    running.outcome().await;
    assert_eq!(harness.tasks.stop(running.id).await, Ok(()));
    sleep(LiveSettings::for_tests().count_down + Duration::from_secs(6)).await;
    assert_eq!(harness.tasks.stop(running.id).await, Err(TaskError::TaskNotFound));
    assert!(harness.tasks.live().source(running.id).await.is_none(), "gone");
    harness.end().await;
}
