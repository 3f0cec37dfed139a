//! Turns that were cut off when the server stopped: what becomes of them, by every policy.

use super::*;

#[test]
fn a_turn_that_can_be_resumed_goes_on_in_its_session_and_costs_a_try() {
    check(
        plain(),
        &["cut resume changed", "back", "nothing"],
        "
        open task w
        > do it
        resume
        [INTERRUPTED] the interrupted turn is resumed
        > The server stopped while you were working on your last prompt, so your turn was interrupted. Part of it may be done: look at the folder before you repeat anything, then finish the turn. This was the prompt:||<context>|do it|</context>
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
    let mut acts = ["cut resume", "back"].repeat(4);
    let minutes = minutes_of(&plain(), None, &[&acts[..], &["crash"]].concat());
    assert!(
        minutes.ends_with(
            "[DECISION] the task session crashed 5 times, which uses up its tries\n\
             [TASK FAILED] the task session crashed: boom\n\
             = crashed\n"
        ),
        "{minutes}"
    );
    acts.extend(["cut resume", "back"]);
    let minutes = minutes_of(&plain(), None, &acts);
    assert!(
        minutes.ends_with(
            "[DECISION] the task session crashed 5 times, which uses up its tries\n\
             [TASK FAILED] the task session crashed: interrupted: the server stopped\n\
             = crashed\n"
        ),
        "{minutes}"
    );
}

#[test]
fn a_turn_that_changed_nothing_begins_again_in_a_new_session() {
    check(
        plain(),
        &["cut resume", "gone", "nothing"],
        "
        open task w
        > do it
        resume
        close broken
        [INTERRUPTED] the interrupted prompt is sent again
        open task w
        > The session crashed, please redo and here is the last request:|do it
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
    let acts = [&["cut resume", "gone"].repeat(5)[..]].concat();
    let minutes = minutes_of(&plain(), None, &acts);
    assert_eq!(minutes.matches("is sent again").count(), 4);
    assert!(minutes.ends_with("= crashed\n"), "{minutes}");
}

#[test]
fn a_person_decides_on_a_turn_that_may_have_changed_something_and_can_not_go_on() {
    let begin = "
        open task w
        > do it
        resume
        [INTERRUPTED] somebody is asked how the interrupted work goes on
        ask";
    let resumes = "> The server stopped while you were working on your last prompt, so your turn was interrupted. Part of it may be done: look at the folder before you repeat anything, then finish the turn. This was the prompt:||<context>|do it|</context>";
    for (answers, end) in [
        (
            &["continue", "nothing"][..],
            format!(
                "
        [INTERRUPTED] the interrupted turn is resumed
        {resumes}
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded"
            ),
        ),
        (
            &["redo", "nothing"],
            "
        close broken
        [INTERRUPTED] the interrupted prompt is sent again
        open task w
        > The session crashed, please redo and here is the last request:|do it
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded"
                .to_owned(),
        ),
        (
            &["done"],
            "
        [INTERRUPTED] somebody counts the interrupted work as done
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded"
                .to_owned(),
        ),
        (
            &["fail"],
            "
        [INTERRUPTED] somebody counts the interrupted work as failed
        close
        [TASK FAILED] interrupted: the server stopped; somebody counts it as failed
        = failed"
                .to_owned(),
        ),
    ] {
        let acts = [&["cut resume changed", "gone"], answers].concat();
        check(plain(), &acts, &format!("{begin}{end}"));
        // With `ask`, nothing is tried before.
        let begin = begin.replace("\n        resume", "");
        let acts = [&["cut ask"], answers].concat();
        check(plain(), &acts, &format!("{begin}{end}"));
    }
}

#[test]
fn what_an_earlier_part_of_the_turn_changed_counts_for_the_whole_turn() {
    let acts = ["cut resume changed", "back", "cut resume", "gone", "done"];
    let minutes = minutes_of(&plain(), None, &acts);
    assert!(minutes.contains("somebody is asked"), "{minutes}");
    // A crash begins a turn that has changed nothing.
    let acts = ["cut resume changed", "back", "crash", "cut resume", "gone", "nothing"];
    let minutes = minutes_of(&plain(), None, &acts);
    assert!(!minutes.contains("somebody is asked"), "{minutes}");
    assert!(minutes.contains("is sent again"), "{minutes}");
}

#[test]
fn what_an_earlier_part_of_the_turn_reported_counts_for_the_whole_turn() {
    let task = with(json!({ "criteria": {
        "toolExecuted": ["job_prepare_document", "job_prerequisite_failed"],
        "failureAction": { "retryTimes": 0 },
    }}));
    let acts = ["cut resume changed prepare_document", "back", "prerequisite_failed no"];
    let minutes = minutes_of(&task, None, &acts);
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
    // A new session has reported nothing.
    let acts = ["cut resume unchanged prepare_document", "gone", "prerequisite_failed no"];
    let minutes = minutes_of(&task, None, &acts);
    assert!(minutes.ends_with("= failed\n"), "{minutes}");
}

#[test]
fn a_driving_session_judges_again_and_costs_no_try() {
    let task = with(json!({ "availability": available(), "criteria": criteria(false, 0) }));
    for policy in ["cut resume", "cut ask"] {
        // More often than a judge may crash.
        let acts = [
            &[policy; 6][..],
            &["boolean_true free", "nothing"],
            &[policy],
            &["boolean_true done"],
        ];
        let minutes = minutes_of(&task, None, &acts.concat());
        assert_eq!(minutes.matches("[INTERRUPTED] the interrupted condition is judged").count(), 7);
        assert_eq!(minutes.matches("open driving d").count(), 9, "{minutes}");
        assert!(!minutes.contains("crashed"), "{minutes}");
        assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
    }
    // If one session does everything, it goes on as with its prompt.
    let task = with(json!({ "criteria": criteria(true, 0) }));
    let minutes = minutes_of(&task, None, &["nothing", "cut resume", "back", "boolean_true done"]);
    assert!(minutes.contains("the interrupted turn is resumed"), "{minutes}");
    assert!(
        minutes.contains(&format!("This was the prompt:||<context>|is it:|{IS_IT}|</context>\n")),
        "{minutes}"
    );
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
}

#[test]
fn works_that_are_not_to_go_on_have_failed_in_every_phase() {
    let task = with(json!({ "availability": available(), "criteria": criteria(false, 1) }));
    for before in [
        &[][..],
        &["boolean_true free"],
        &["boolean_true free", "nothing"],
        &["boolean_true free", "nothing", "boolean_false no"],
    ] {
        let minutes = minutes_of(&task, None, &[before, &["cut fail"]].concat());
        let end = "[INTERRUPTED] interrupted works fail, as the job or the settings say\nclose broken\n\
                   [TASK FAILED] interrupted: the server stopped\n= interrupted\n";
        assert!(minutes.ends_with(end), "{minutes}");
    }
}

#[test]
fn an_interruption_in_a_retry_that_uses_up_its_tries_is_one_failed_retry() {
    let task = with(json!({ "criteria": criteria(true, 2) }));
    let retry = ["cut resume", "gone"].repeat(5);
    let acts = [&["nothing", "nothing"], &retry[..], &["nothing", "boolean_true yes"]].concat();
    let minutes = minutes_of(&task, None, &acts);
    assert!(minutes.contains("retry #1 failed, because its session kept crashing"), "{minutes}");
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
}

#[test]
fn a_borrowed_session_has_not_crashed_but_is_not_resumed_for_ever() {
    let mode = Some(Mode::Borrowing);
    let resumed = ["cut resume changed", "back"].repeat(5);
    let minutes = minutes_of(&plain(), mode, &[&resumed[..], &["nothing"]].concat());
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
    assert!(!minutes.contains("close"), "{minutes}");
    let acts = [&resumed[..], &["cut resume", "done"]].concat();
    let minutes = minutes_of(&plain(), mode, &acts);
    assert!(minutes.contains("ask\n[INTERRUPTED] somebody counts"), "{minutes}");
    // Without a new session, the same one is asked again.
    let minutes = minutes_of(&plain(), mode, &["cut resume", "gone", "nothing"]);
    assert!(minutes.contains("> The session crashed, please redo"), "{minutes}");
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
}

#[test]
fn a_stop_while_it_is_resumed_or_somebody_is_asked_closes_the_session() {
    for acts in [&["cut resume", "stop"][..], &["cut ask", "stop"]] {
        let minutes = minutes_of(&plain(), None, acts);
        assert!(minutes.ends_with("[TASK FAILED] the task was stopped\n= stopped\n"), "{minutes}");
        assert_eq!(minutes.matches("close").count(), 1, "{minutes}");
    }
}

#[test]
fn what_does_not_fit_the_moment_changes_nothing() {
    let entry = entry(&plain());
    let definition = Definition::new(&entry, "t", "w", None).expect("a task");
    let (mut plan, _) = Plan::new(definition, String::new());
    let before = plan.clone();
    for event in [
        TaskEvent::Answered { calls: Vec::new(), said: None },
        TaskEvent::Resumed { is_resumed: true },
        TaskEvent::Answer { choice: wire::InboxChoice::Done },
    ] {
        assert_eq!(plan.apply(event.clone()), Err(Unexpected(event)));
        assert_eq!(plan, before);
    }
    plan.apply(TaskEvent::Stopped).expect("always possible");
    assert!(plan.apply(TaskEvent::Stopped).is_err(), "it is over");
}

#[test]
fn what_a_person_decides_costs_no_try() {
    let asked = ["cut ask", "continue"].repeat(7);
    let minutes = minutes_of(&plain(), None, &[&asked[..], &["nothing"]].concat());
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
    let asked = ["cut ask", "redo"].repeat(7);
    let minutes = minutes_of(&plain(), None, &[&asked[..], &["nothing"]].concat());
    assert!(minutes.ends_with("= succeeded\n"), "{minutes}");
}
