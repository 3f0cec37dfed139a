//! What is different in a run that retries another one, and in one that the server was restarted in.

use wire::{InboxChoice, InboxKind, InboxOption, Recovery};

use super::*;

/// A status with one running work, about whose interruption this was decided.
fn recovered(recovery: Recovery) -> JobStatusReply {
    let mut reply = status(JobStatus::Running, None, &[(1, WorkStatus::Running, "200..")]);
    reply.tasks[0].recovery = Some(recovery);
    reply
}

/// A question about how a work of a job goes on.
fn question(number: u32, job: u32, work: u32) -> InboxItem {
    InboxItem {
        id: id("permission", number),
        kind: InboxKind::Interrupted,
        title: "How does it go on?".to_owned(),
        detail: None,
        path: None,
        diff: None,
        options: vec![InboxOption { id: InboxChoice::Continue, label: "Continue".to_owned() }],
        asked_at: String::new(),
        expires_at: None,
        session_id: None,
        task_id: None,
        job_id: Some(id("job", job)),
        work_id: Some(work),
        folder: String::new(),
    }
}

#[test]
fn an_ended_job_can_be_retried_from_what_has_run_in_it() {
    use WorkState::{
        Canceled, Failed, False, Interrupted, NotReached, Queued, Running, Skipped, Succeeded, True,
    };
    let states =
        [Succeeded, Failed, Canceled, Interrupted, True, False, NotReached, Skipped, Queued];
    for (how, can_retry) in [
        (JobStatus::Running, false),
        (JobStatus::Failed, true),
        (JobStatus::Canceled, true),
        (JobStatus::Succeeded, false),
    ] {
        let mut job = state();
        job.take_status(super::states::status_of_states(how, &states), 0, read);
        assert_eq!(job.can_retry(), can_retry, "{how:?}");
        let has_ended = how != JobStatus::Running;
        for (state, work) in states.into_iter().zip(0..) {
            let has_run = !matches!(state, NotReached | Skipped | Queued);
            assert_eq!(job.can_retry_from(work), has_ended && has_run, "{how:?} {state}");
        }
        assert!(!job.can_retry_from(99), "it has no such work");
    }
    let mut job = state();
    assert!(!job.can_retry(), "nothing is known");
    job.take_status(super::states::status_of_states(JobStatus::Running, &[Running]), 0, read);
    assert!(job.take(batch(&[("job", &["failed"])]), 0).is_ok());
    assert!(job.can_retry(), "a page that follows it knows at once");
}

#[test]
fn a_work_that_was_carried_over_says_so_until_it_is_run_again() {
    let works = [(0, WorkStatus::Succeeded, "20..30"), (1, WorkStatus::Running, "200..")];
    let mut reply = status(JobStatus::Running, None, &works);
    (reply.tasks[0].carried, reply.retried_from) = (true, Some(id("job", 7)));
    let mut job = state();
    job.take_status(reply, 1000, read);
    assert!(job.take(batch(&[("job", &["+1 t11"])]), 1000).is_ok());
    assert_eq!(job.standing(0).past, Some(Past::CarriedOver));
    assert_eq!(job.standing(1).past, None);
    assert_eq!(job.lineage.retried_from, Some(id("job", 7)));
    assert!(job.take(batch(&[("job", &["-1", "+0 t12"])]), 1001).is_ok());
    assert_eq!(job.standing(0), WorkState::Running.into());
}

#[test]
fn later_retries_and_decisions_are_taken_from_the_next_status() {
    let mut job = state();
    job.take_status(recovered(Recovery::Asked), 1000, read);
    let mut next = recovered(Recovery::SentAgain);
    next.retries = vec![id("job", 8)];
    job.take_states(next);
    assert_eq!(job.standing(1).recovery(), Some(Recovery::SentAgain));
    assert_eq!(job.lineage.retries, [id("job", 8)]);
    // The end of the run leaves it as it is.
    assert!(job.take(batch(&[("job", &["-1"])]), 1001).is_ok());
    assert_eq!(job.standing(1).recovery(), Some(Recovery::SentAgain));
    assert_eq!(job.states(), [WorkState::Succeeded]);
}

#[test]
fn an_interrupted_work_that_waits_for_a_place_runs_when_it_has_one() {
    let mut queued = recovered(Recovery::Resumed);
    (queued.tasks[0].state, queued.tasks[0].recovery) = (WorkState::Queued, None);
    let mut job = state();
    job.take_status(queued, 1000, read);
    assert_eq!(job.states(), [WorkState::Queued]);
    job.take_states(recovered(Recovery::Resumed));
    assert_eq!(job.states(), [WorkState::Running]);
    assert_eq!(job.standing(1).recovery(), Some(Recovery::Resumed));
}

#[test]
fn a_question_about_an_interrupted_work_comes_from_the_inbox() {
    let mut job = state();
    job.take_status(recovered(Recovery::Resumed), 1000, read);
    assert!(!job.may_be_asked());

    job.take_status(recovered(Recovery::Asked), 1000, read);
    assert_eq!(job.states(), [WorkState::Waiting]);
    assert_eq!((job.state(), job.asking()), (Some(EntityState::Waiting), Some(1)));
    assert!(job.may_be_asked());
    let (ours, elsewhere) = (question(1, 0, 1), question(2, 5, 1));
    let permission = InboxItem { options: Vec::new(), ..question(3, 0, 1) };
    assert!(job.take_questions(&[ours.clone(), elsewhere.clone(), permission.clone()]));
    assert_eq!(job.questions_about(1), std::slice::from_ref(&ours));
    assert_eq!(job.questions_about(0), []);
    assert!(!job.take_outdated());

    assert!(!job.take_questions(&[ours, permission.clone()]));
    assert!(!job.take_outdated(), "it was about another job");
    assert!(job.take_questions(&[permission]));
    assert!(job.take_outdated(), "the status says how it goes on");
    job.take_states(recovered(Recovery::SentAgain));
    assert_eq!((job.states(), job.asking()), (vec![WorkState::Running], None));
    assert!(!job.may_be_asked());
}

#[test]
fn what_was_answered_while_nobody_listened_is_not_asked_any_more() {
    let mut job = state();
    job.take_status(recovered(Recovery::Asked), 1000, read);
    assert!(job.take_questions(&[question(1, 0, 1)]));
    job.take_status(recovered(Recovery::SentAgain), 1000, read);
    assert_eq!(job.questions_about(1), []);
}

#[test]
fn a_decision_after_a_restart_makes_the_status_outdated() {
    let mut job = state();
    assert!(job.take(batch(&[("job", &["+1 t1"]), ("t1", &["worker 1"])]), 0).is_ok());
    job.take_outdated();
    assert!(job.take(batch(&[("t1", &["[met"])]), 0).is_ok());
    assert!(!job.take_outdated());
    assert!(job.take(batch(&[("t1", &["recovered"])]), 0).is_ok());
    assert!(job.take_outdated());
}

#[test]
fn a_session_that_goes_on_after_a_restart_is_followed_again_in_its_tab() {
    let mut job = state();
    assert!(job.take(batch(&[("job", &["+1 t1"]), ("t1", &["worker 1"])]), 0).is_ok());
    assert!(job.take(batch(&[("s1", &["do it"])]), 0).is_ok());
    assert!(job.take(batch(&[("s1", &["closed"])]), 0).is_ok());
    assert_eq!(open(&job), "j0 t1");
    assert!(job.take(batch(&[("t1", &["worker 1", "worker 2"])]), 0).is_ok());
    assert_eq!(open(&job), "j0 t1 s1 s2");
    assert!(job.take(batch(&[("s1", &["go on"]), ("s2", &["again"])]), 0).is_ok());
    assert_eq!(shown(&job), ["1 Running 0.. |  | 0 do it, !0, 0 go on | 0 again"]);
}

#[test]
fn a_page_that_comes_late_knows_when_nobody_waits_any_more() {
    let mut reply = status(JobStatus::Running, None, &[(1, WorkStatus::Running, "200..")]);
    (reply.state, reply.tasks[0].state) = (EntityState::Waiting, WorkState::Waiting);
    let mut job = state();
    job.take_status(reply.clone(), 1000, read);
    // Its session tells who waits, and when that is over.
    assert_eq!((job.state(), job.states()), (Some(EntityState::Running), vec![WorkState::Running]));
    job.take_states(reply);
    assert_eq!(job.state(), Some(EntityState::Running));
}
