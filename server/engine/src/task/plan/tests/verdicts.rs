//! What is said of each criterion: met, not met, or unknown.

use super::*;

/// The verdicts of a run, one a line: attempt, criterion, result and reason.
fn verdicts_of(task: &Value, mode: Option<Mode>, acts: &[&'static str]) -> String {
    let verdicts = run_script(task, mode, acts).verdicts;
    let lines = verdicts.iter().map(|verdict| {
        let Verdict { attempt, criterion, met, reason, .. } = verdict;
        format!("{attempt} {criterion} {met}: {reason}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

const NOT_JUDGED: &str = "neither job_boolean_true nor job_boolean_false was called";

#[test]
fn a_condition_is_met_not_met_or_unknown() {
    for same_session in [true, false] {
        let task = with(json!({
            "availability": available(),
            "criteria": criteria(same_session, 0),
        }));
        // Each try of a judge that one session does everything for, or a driving one.
        let (tries, sentence): (&[&str], _) = if same_session {
            (&["crash"; 5], "the task session crashed 5 times: boom")
        } else {
            (&["crash"; 4], "the driving session crashed 4 times: boom")
        };
        let unknown = format!("1 availability unknown: {NOT_JUDGED}");
        for (acts, expected) in [
            (vec!["boolean_false busy"], "1 availability no: busy"),
            (vec!["nothing"], &*unknown),
            (tries.to_vec(), &*format!("1 availability unknown: {sentence}")),
            (
                vec!["boolean_true free", "nothing", "boolean_true done"],
                "1 availability yes: free\n1 condition yes: done",
            ),
            (
                vec!["boolean_true free", "nothing", "boolean_false ugly"],
                "1 availability yes: free\n1 condition no: ugly",
            ),
            (
                vec!["boolean_true free", "nothing", "nothing"],
                &*format!("1 availability yes: free\n1 condition unknown: {NOT_JUDGED}"),
            ),
            (
                [&["boolean_true free", "nothing"], tries].concat(),
                &*format!("1 availability yes: free\n1 condition unknown: {sentence}"),
            ),
        ] {
            assert_eq!(verdicts_of(&task, None, &acts), expected, "{acts:?}");
        }
    }
}

#[test]
fn each_required_tool_has_a_verdict_in_each_attempt() {
    let task = with(json!({ "criteria": {
        "toolExecuted": ["job_prepare_document", "job_boolean_true"],
        "condition": ["is it:", IS_IT],
        "failureAction": { "retryTimes": 2 },
    }}));
    let acts = ["prepare_document a.md", "boolean_true b", "nothing"];
    let expected = "\
        1 tool:job_prepare_document yes: a.md\n\
        1 tool:job_boolean_true no: the agent never called job_boolean_true\n\
        2 tool:job_prepare_document no: the agent never called job_prepare_document\n\
        2 tool:job_boolean_true yes: b\n\
        3 tool:job_prepare_document no: the agent never called job_prepare_document\n\
        3 tool:job_boolean_true no: the agent never called job_boolean_true";
    assert_eq!(verdicts_of(&task, None, &acts), expected);
}

#[test]
fn attempts_count_the_runs_of_the_prompt_whatever_crashed_in_them() {
    let task = with(json!({ "criteria": criteria(false, 2) }));
    let acts = [
        &["crash", "nothing", "boolean_false ugly"][..],
        // The second attempt is never judged: its judge crashes.
        &["nothing", "crash", "crash", "crash", "crash"],
        &["nothing", "fail", "boolean_true done"],
    ]
    .concat();
    let expected = "\
        1 condition no: ugly\n\
        2 condition unknown: the driving session crashed 4 times: boom\n\
        3 condition yes: done";
    assert_eq!(verdicts_of(&task, None, &acts), expected);
}

#[test]
fn a_stop_is_no_verdict_and_a_borrowed_session_is_not_asked_for_availability() {
    let task = with(json!({ "availability": available(), "criteria": criteria(true, 0) }));
    assert_eq!(verdicts_of(&task, None, &["stop"]), "");
    let acts = ["boolean_true free", "nothing", "stop"];
    assert_eq!(verdicts_of(&task, None, &acts), "1 availability yes: free");
    let acts = ["nothing", "boolean_true done"];
    let borrowed = verdicts_of(&task, Some(Mode::Borrowing), &acts);
    assert_eq!(borrowed, "1 condition yes: done");
}

#[test]
fn a_condition_names_its_judge_and_what_that_said() {
    let task = with(json!({ "criteria": criteria(false, 0) }));
    let judge = |model: &str| Some(Judge { session_id: session_id(), model: model.to_owned() });
    for (acts, model, evidence) in [
        (vec!["nothing", "boolean_true done"], Some("d"), Some("I looked")),
        (vec!["nothing", "crash", "fail", "boolean_false no"], Some("e"), Some("I looked")),
        (vec!["nothing", "crash", "crash", "crash", "crash"], Some("e"), None),
        // Without a session there is no judge.
        (vec!["nothing", "refuse", "refuse", "refuse", "refuse"], None, None),
    ] {
        let script = run_script(&task, None, &acts);
        let [verdict] = &*script.verdicts else { panic!("{:?}", script.verdicts) };
        assert_eq!(verdict.judge, model.and_then(judge), "{acts:?}");
        assert_eq!(verdict.evidence.as_deref(), evidence, "{acts:?}");
    }
}
