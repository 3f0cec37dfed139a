//! Each kind of work, retried from each place. What holds for any work is in `random`.

mod random;

use std::fmt::Write;

use store::fold::{Canceler, WorkEnd};
use wire::entry::testing::{alt, number, par, repeat, seq, task};
use wire::{FailureCause, Usage};

use super::*;

/// The end of a run: `+` succeeded, `-` failed, `u` was stopped by a user, which is a failure; `!`
/// crashed, `c` was canceled with its job, `x` because another work crashed, `i` was interrupted.
fn end(mark: char) -> Option<WorkEnd> {
    let canceled = |by| Some(WorkEnd::Canceled { by });
    match mark {
        '+' => None,
        '-' => Some(WorkEnd::Failed { cause: FailureCause::NotAvailable { argument: None } }),
        '!' => Some(WorkEnd::Failed { cause: FailureCause::Internal }),
        'u' => canceled(Canceler::User),
        'c' => canceled(Canceler::Job),
        'x' => canceled(Canceler::Crash { work_id: 0 }),
        'i' => Some(WorkEnd::Interrupted),
        other => panic!("{other}"),
    }
}

fn run(work_id: u32, mark: char) -> WorkRun {
    let end = end(mark);
    let succeeded = end.is_none();
    let (usage, attempts) = (Usage::default(), Some(1));
    WorkRun { work_id, task_id: None, succeeded, end, started_at: 1, ended_at: 2, usage, attempts }
}

fn ended(words: &str) -> Vec<WorkRun> {
    let runs = words.split_whitespace().map(|word| {
        let (id, mark) = word.split_at(word.len() - 1);
        run(id.parse().expect("an id"), mark.chars().next().expect("a mark"))
    });
    runs.collect()
}

/// What a retry carries over, and which works start then: `0+ 2- >1`.
fn retry(work: &Work, words: &str, chosen: Option<u32>) -> String {
    let ended = ended(words);
    let carried = match carry_over(work, &ended, chosen) {
        Ok(carried) => carried,
        Err(error) => return error.to_string(),
    };
    let mut seen = String::new();
    for run in &carried {
        assert!(run.is_result());
        write!(seen, "{}{} ", run.work_id, if run.succeeded { '+' } else { '-' }).expect("text");
    }
    let stops = carried.into_iter().map(WorkStopped::from);
    let plan = Plan::replay(work, stops).expect("what is carried can be replayed");
    for id in plan.running() {
        write!(seen, ">{id} ").expect("text");
    }
    seen.trim_end().to_owned()
}

/// Rows of what has ended, the chosen work, and what becomes of it.
fn check(mut work: Work, table: &[(&str, Option<u32>, &str)]) {
    number(&mut work, &mut 0);
    for (words, chosen, expected) in table {
        assert_eq!(retry(&work, words, *chosen), *expected, "{words:?} from {chosen:?}");
    }
}

fn one() -> Work {
    task("t")
}

const NOTHING: &str = "nothing to retry";
const UNKNOWN: &str = "no such work";

#[test]
fn a_single_task_runs_again() {
    check(
        one(),
        &[
            ("0+", None, NOTHING),
            ("0+", Some(0), ">0"),
            ("0-", None, ">0"),
            ("0-", Some(0), ">0"),
            ("0-", Some(1), UNKNOWN),
            ("0-", Some(u32::MAX), UNKNOWN),
        ],
    );
}

#[test]
fn what_was_cut_off_runs_again_whatever_is_chosen() {
    for mark in ['!', 'c', 'x', 'i'] {
        check(
            seq([one(), par([one(), one(), one()]), one()]),
            &[
                (&format!("0+ 1+ 2{mark}"), None, "0+ 1+ >2 >3"),
                (&format!("0+ 1+ 2{mark} 3i"), Some(2), "0+ 1+ >2 >3"),
                (&format!("0+ 1+ 2{mark} 3c"), Some(3), "0+ 1+ >2 >3"),
                (&format!("0+ 1+ 2{mark} 3x"), Some(1), "0+ >1 >2 >3"),
                // It ended while the others were being stopped.
                (&format!("0+ 2{mark} 1+ 3x"), None, "0+ 1+ >2 >3"),
                (&format!("0+ 2{mark} 1- 3x"), None, "0+ >1 >2 >3"),
                (&format!("0+ 1+ 2{mark} 3c"), Some(4), NOTHING),
            ],
        );
    }
    // Canceled before anything had started.
    check(seq([one(), one()]), &[("", None, ">0"), ("", Some(0), ">0"), ("", Some(1), NOTHING)]);
}

#[test]
fn a_task_that_a_user_stopped_has_failed() {
    check(
        alt(one(), Some(one()), Some(one())),
        &[("0u 2u", None, "0- >2"), ("0u 2u", Some(0), ">0"), ("0u 2+", None, NOTHING)],
    );
}

#[test]
fn a_sequence_goes_on_from_the_work() {
    check(
        seq([one(), one(), one()]),
        &[
            ("0+ 1-", None, "0+ >1"),
            ("0+ 1-", Some(0), ">0"),
            ("0+ 1-", Some(1), "0+ >1"),
            ("0+ 1-", Some(2), NOTHING),
            ("0+ 1+ 2+", None, NOTHING),
            ("0+ 1+ 2+", Some(0), ">0"),
            ("0+ 1+ 2+", Some(1), "0+ >1"),
            ("0+ 1+ 2+", Some(2), "0+ 1+ >2"),
            ("0+ 1+ 2+", Some(3), UNKNOWN),
        ],
    );
}

#[test]
fn parallel_works_that_succeeded_do_not_run_again() {
    check(
        par([one(), one(), one()]),
        &[
            ("2+ 0- 1-", None, "2+ >0 >1"),
            ("2+ 0- 1-", Some(0), "2+ 1- >0"),
            ("2+ 0- 1-", Some(1), "2+ 0- >1"),
            ("2+ 0- 1-", Some(2), "0- 1- >2"),
            ("0+ 1+ 2+", Some(1), "0+ 2+ >1"),
        ],
    );
    check(
        seq([one(), par([seq([one(), one()]), seq([one(), one()])]), one()]),
        &[
            ("0+ 3+ 1+ 4+ 2-", None, "0+ 3+ 1+ 4+ >2"),
            ("0+ 3+ 1+ 4+ 2-", Some(1), "0+ 3+ 4+ >1"),
            ("0+ 3+ 1+ 4+ 2+ 5+", Some(3), "0+ 1+ 2+ >3"),
            ("0+ 3+ 1+ 4+ 2+ 5+", Some(5), "0+ 3+ 1+ 4+ 2+ >5"),
            ("0+ 3+ 1+ 4+ 2+ 5+", Some(0), ">0"),
            ("0+ 1- 3+ 4-", None, "0+ 3+ >1 >4"),
        ],
    );
}

#[test]
fn a_choice_is_made_again_only_if_its_condition_is_chosen() {
    check(
        seq([alt(one(), Some(one()), Some(one())), one()]),
        &[
            ("0+ 1-", None, "0+ >1"),
            ("0- 2-", None, "0- >2"),
            ("0- 2+ 3-", None, "0- 2+ >3"),
            ("0- 2-", Some(0), ">0"),
            ("0- 2+ 3+", Some(2), "0- >2"),
            // The branch that was not chosen.
            ("0- 2-", Some(1), NOTHING),
        ],
    );
    check(
        alt(par([one(), one()]), Some(one()), None),
        &[("1- 0+", Some(1), "0+ >1"), ("0+ 1+ 2-", Some(0), "1+ >0"), ("1- 0+", None, NOTHING)],
    );
}

#[test]
fn a_loop_goes_on_in_its_last_iteration() {
    check(
        seq([repeat(None, one(), Some((true, one()))), one()]),
        &[
            ("1+ 0+ 1-", None, "1+ 0+ >1"),
            ("1+ 0+ 1+ 0- 2-", None, "1+ 0+ 1+ 0- >2"),
            ("1+ 0+ 1+ 0- 2-", Some(0), "1+ 0+ 1+ >0"),
            ("1+ 0+ 1+ 0- 2-", Some(1), "1+ 0+ >1"),
            ("1+ 0+ 1+ 0!", Some(1), "1+ 0+ >1"),
            // Its last run was cut off: the earlier ones count.
            ("1+ 0+ 1i", Some(1), "1+ 0+ >1"),
            ("1+ 0+ 1i", Some(0), "1+ >0"),
        ],
    );
    check(
        repeat(Some((true, one())), one(), Some((false, one()))),
        &[
            ("0-", None, NOTHING),
            ("0-", Some(0), ">0"),
            ("0-", Some(2), NOTHING),
            ("0+ 2+ 1- 0+ 2-", None, "0+ 2+ 1- 0+ >2"),
            ("0+ 2+ 1- 0+ 2-", Some(2), "0+ 2+ 1- 0+ >2"),
            ("0+ 2+ 1- 0+ 2-", Some(0), "0+ 2+ 1- >0"),
            ("0+ 2+ 1- 0+ 2-", Some(1), "0+ 2+ >1"),
            ("0+ 2+ 1- 0-", Some(0), "0+ 2+ 1- >0"),
        ],
    );
}

#[test]
fn arms_within_a_loop_keep_the_results_of_the_iteration() {
    let body = || par([one(), seq([one(), one()])]);
    check(
        seq([repeat(None, body(), Some((true, one()))), one()]),
        &[
            ("2+ 1+ 3+ 0+ 1- 2+ 3+", None, "2+ 1+ 3+ 0+ 2+ 3+ >1"),
            ("2+ 1+ 3+ 0+ 2+ 1+ 3-", Some(2), "2+ 1+ 3+ 0+ 1+ >2"),
            ("2+ 1+ 3+ 0+ 2+ 1+ 3+ 0- 4-", Some(1), "2+ 1+ 3+ 0+ 2+ 3+ >1"),
            ("2+ 1+ 3+ 0+ 2+ 1c", Some(1), "2+ 1+ 3+ 0+ 2+ >1 >3"),
            // Due when the job was canceled, but not started: its run of the iteration before.
            ("2+ 1+ 3+ 0+ 2+ 1c", Some(3), "2+ 1+ >3"),
        ],
    );
    // A loop in an arm turns at its own pace.
    check(
        par([repeat(None, one(), Some((true, one()))), seq([one(), one()])]),
        &[
            ("1+ 2+ 0+ 1+ 3- 0-", None, "1+ 2+ 0+ 1+ 0- >3"),
            ("1+ 2+ 0+ 1+ 3- 0-", Some(1), "1+ 2+ 0+ 3- >1"),
            ("1+ 2+ 0+ 1+ 3- 0-", Some(2), "1+ 0+ 1+ 0- >2"),
        ],
    );
}

#[test]
fn failures_in_conditions_are_answers_at_any_depth() {
    // The inner loop's failure is a result for the outer one, and so are those of its arms.
    check(
        repeat(Some((false, repeat(None, par([one(), one()]), None))), one(), None),
        &[
            ("0- 1+ 2-", None, "0- 1+ >2"),
            ("0- 1+ 2+", None, NOTHING),
            ("0- 1+ 2+", Some(0), "1+ >0"),
            ("0- 1! ", None, "0- >1"),
        ],
    );
}

#[test]
fn a_retry_of_a_retry_knows_what_was_carried_over() {
    let mut work = seq([par([one(), one()]), one()]);
    number(&mut work, &mut 0);
    let first = ended("0+ 1-");
    let carried = carry_over(&work, &first, None).expect("something failed");
    // The second run takes that over, and fails later.
    let mut second: Vec<WorkRun> = carried.into_iter().cloned().collect();
    second.extend(ended("1+ 2-"));
    let carried = carry_over(&work, &second, None).expect("something failed");
    assert_eq!(carried, [&second[0], &second[1]]);
    let carried = carry_over(&work, &second, Some(0)).expect("it ran");
    assert_eq!(carried, [&second[1]]);
}

#[test]
fn works_that_no_entry_can_have_are_not_retried() {
    assert_eq!(carry_over(&seq([]), &[], None), Err(JobError::NothingToRetry));
    // An end that is not in the tree is none.
    let mut work = seq([one(), one()]);
    number(&mut work, &mut 0);
    assert_eq!(retry(&work, "0+ 7+ 1-", None), "0+ >1");
}
