//! Runs that ended before the page came, and earlier ones.

use super::*;

#[test]
fn what_was_over_before_it_could_be_read_is_stored() {
    let mut state = state();
    let take = |state: &mut JobState<Notes>, items: &[(&str, &[&str])]| {
        // What can't be read yet is asked for again.
        let _ = state.take(batch(items), 0);
        let missed = state.take_missed().into_iter();
        missed.map(|(session, _, source)| (session, source)).collect::<Vec<_>>()
    };
    take(&mut state, &[("job", &["+0 t1", "-0", "+1 t2"])]);
    let missed =
        take(&mut state, &[("t1", &["gone"]), ("t2", &["driver 1", "worker 2", "driver 3"])]);
    assert_eq!(missed, []);
    assert_eq!(state.stored_run(0), Some(id("task", 1)), "all of it");
    assert_eq!(state.stored_run(1), None, "it is told live");
    let missed = take(&mut state, &[("s1", &["gone"]), ("s2", &["a"]), ("s3", &["late"])]);
    assert_eq!(missed, [(id("session", 1), DECISIONS + 1)]);
    assert_eq!(take(&mut state, &[("s2", &["gone"])]), []);
}

#[test]
fn attempts_are_those_that_were_heard_or_that_the_status_knows() {
    let told = |attempts: Option<u32>| {
        let mut reply = status(JobStatus::Running, None, &[(0, WorkStatus::Succeeded, "1..2")]);
        reply.tasks[0].attempts = attempts;
        reply
    };
    let known = |state: &JobState<Notes>| state.work(0).expect("a work").known_attempts();
    for attempts in [None, Some(0), Some(3)] {
        let mut state = state();
        state.take_status(told(attempts), 0, read);
        assert_eq!(known(&state), attempts);
        // It begins again.
        state.take(batch(&[("job", &["+0 t1"])]), 1).expect("no error");
        assert_eq!(known(&state), Some(0));
        state.take(batch(&[("t1", &["worker 1", "driver 2", "worker 3"])]), 1).expect("no error");
        assert_eq!(known(&state), Some(2));
        state.take(batch(&[("job", &["-0"])]), 2).expect("no error");
        assert_eq!(known(&state), Some(2));
    }
    // It was over before the page could follow it.
    let mut state = state();
    state.take(batch(&[("job", &["+0 t1", "-0"])]), 0).expect("no error");
    assert_eq!(known(&state), None);
    state.take_states(told(Some(2)));
    assert_eq!(known(&state), Some(2));
}

#[test]
fn all_runs_of_a_work_are_known() {
    let mut state = state();
    for items in [&["+0 t1", "-0", "+0 t2"][..], &["-0", "+0 t3"]] {
        state.take(batch(&[("job", items)]), 0).expect("no error");
    }
    let rounds = [1, 2, 3].map(|number| id::<TaskId>("task", number));
    assert_eq!(state.work(0).expect("a work").rounds(), rounds);
    assert!(!state.lacks_runs());
}

#[test]
fn the_runs_of_a_job_that_ended_long_ago_are_stored() {
    let mut state = state();
    state.take_status(
        status(JobStatus::Succeeded, Some("9"), &[(0, WorkStatus::Succeeded, "1..2")]),
        0,
        read,
    );
    state.take(batch(&[("job", &["gone"])]), 0).expect("no error");
    assert!(state.lacks_runs());
    assert_eq!(state.stored_run(0), None);
    state.take_stored(["+0 t1", "-0", "+0 t2", "-0", "error e", "succeeded"].map(job).into());
    assert_eq!(state.stored_run(0), Some(id("task", 2)));
    assert_eq!(state.work(0).expect("a work").rounds().len(), 2);
    assert_eq!(state.errors, ["error e"]);
    assert!(state.standing(0).has_run());
}
