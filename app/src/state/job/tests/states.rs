//! The states of works: what the status says, and what live responses add to it.

use super::*;

/// A status with a state for each work.
pub(super) fn status_of_states(job: JobStatus, states: &[WorkState]) -> JobStatusReply {
    let mut reply = status(job, None, &[]);
    let tasks = states.iter().zip(0..).map(|(state, work)| wire::JobTask {
        work_id_in_job: work,
        task_id: None,
        name: None,
        status: None,
        state: *state,
        carried: false,
        recovery: None,
        reason: Some(format!("why {work}")),
        start_time: None,
        end_time: None,
        attempts: None,
        usage: Usage::default(),
    });
    reply.tasks = tasks.collect();
    reply
}

#[test]
fn live_responses_make_a_status_outdated_until_it_is_asked_for_again() {
    use WorkState::{Canceled, NotReached, Running, Skipped, Succeeded, True};
    let mut job = state();
    job.take_status(status_of_states(JobStatus::Running, &[NotReached; 3]), 0, read);
    assert!(job.take(batch(&[("job", &["+0 t1"])]), 1).is_ok());
    assert!(job.take_outdated(), "something may have stopped before");
    assert!(job.take(batch(&[("t1", &["worker 1"])]), 1).is_ok());
    assert!(!job.take_outdated());
    assert_eq!(job.states(), [Running, NotReached, NotReached]);
    assert!(job.take(batch(&[("job", &["-0", "+2 t2"])]), 2).is_ok());
    assert_eq!(job.states(), [Succeeded, NotReached, Running]);
    assert!(job.take_outdated() && !job.take_outdated());

    // What is running here has not stopped here, whatever the status says by now.
    job.take_states(status_of_states(JobStatus::Failed, &[True, Skipped, Canceled]));
    assert_eq!(job.states(), [True, Skipped, Running]);
    assert_eq!(job.standing(1).reason.as_deref(), Some("why 1"));
    assert_eq!(job.state(), Some(EntityState::Running));
    assert!(job.take(batch(&[("job", &["~2", "failed"])]), 3).is_ok());
    assert!(job.take_outdated());
    let mut last = status_of_states(JobStatus::Failed, &[True, Skipped, Canceled]);
    (last.reason, last.reason_work_id) = (Some("because".to_owned()), Some(0));
    job.take_states(last);
    assert_eq!(job.states(), [True, Skipped, Canceled]);
    assert_eq!(job.reason(), Some(("because".to_owned(), Some(0))));
}

#[test]
fn a_status_knows_better_than_the_responses_that_repeat_it() {
    use WorkState::{Canceled, Failed, Running, True};
    let works = [(0, WorkStatus::Succeeded, "200..300"), (1, WorkStatus::Failed, "300..400")];
    let mut reply = status(JobStatus::Canceled, Some("500"), &works);
    (reply.state, reply.tasks[0].state, reply.tasks[1].state) =
        (EntityState::Interrupted, True, Canceled);
    let mut job = state();
    job.take_status(reply.clone(), 1000, read);
    let history = ["+0 t1", "-0", "+1 t2", "~1", "canceled"];
    assert!(job.take(batch(&[("job", &history)]), 1000).is_ok());
    assert_eq!(job.states(), [True, Canceled]);
    assert_eq!(job.state(), Some(EntityState::Interrupted));
    assert!(!job.take_outdated(), "nothing happened since");

    // A work that was running has failed since, and another one is new.
    (reply.status, reply.state) = (JobStatus::Running, EntityState::Running);
    (reply.tasks[1].status, reply.tasks[1].state) = (Some(WorkStatus::Running), Running);
    reply.tasks[1].task_id = Some(id("task", 2));
    let mut job = state();
    job.take_status(reply, 1000, read);
    assert!(job.take(batch(&[("job", &["+0 t1", "-0", "+1 t2", "~1", "+2 t3"])]), 1000).is_ok());
    assert_eq!(job.states(), [True, Failed, Running]);
    assert!(job.take_outdated());
}
