//! Each kind of work, path by path.

use std::fmt::Write;

use super::*;

/// Runs a job by a script and checks what the plan does: `>1` is a start of work 1, `1+` and `1-`
/// are its success and failure, `ok` and `failed` are the end of the job.
fn assert_run(work: &Work, told: &str) {
    let mut plan = Plan::new(work).expect("a plan");
    let mut seen = String::new();
    for id in plan.running() {
        write!(seen, ">{id} ").expect("text");
    }
    for word in told.split(' ') {
        let Some(id) = word.strip_suffix(['+', '-']) else { continue };
        let stop = stop(id.parse().expect("an id"), word.ends_with('+'));
        write!(seen, "{word} ").expect("text");
        match plan.apply(stop).expect(told) {
            Next::Start(ids) => {
                for id in ids {
                    write!(seen, ">{id} ").expect("text");
                }
            }
            Next::Decided(succeeded) => {
                assert_eq!(plan.decided(), Some(succeeded));
                assert_eq!(plan.running().len(), 0, "{told}");
                seen.push_str(if succeeded { "ok " } else { "failed " });
            }
        }
    }
    assert_eq!(seen.trim_end(), told);
}

fn assert_runs(work: &Work, table: &[&str]) {
    for told in table {
        assert_run(work, told);
    }
}

#[test]
fn a_task_decides_its_job() {
    assert_runs(&task(0), &[">0 0+ ok", ">0 0- failed"]);
}

#[test]
fn a_sequence_goes_on_until_something_fails() {
    assert_runs(
        &seq([task(0), task(1), task(2)]),
        &[">0 0- failed", ">0 0+ >1 1- failed", ">0 0+ >1 1+ >2 2- failed", ">0 0+ >1 1+ >2 2+ ok"],
    );
}

#[test]
fn parallel_works_start_in_order_and_are_all_waited_for() {
    assert_runs(
        &par([task(0), task(1), task(2)]),
        &[
            ">0 >1 >2 0+ 1+ 2+ ok",
            ">0 >1 >2 2+ 0+ 1+ ok",
            ">0 >1 >2 0- 1+ 2+ failed",
            ">0 >1 >2 1- 2+ 0+ failed",
            ">0 >1 >2 0+ 1+ 2- failed",
            ">0 >1 >2 2- 1- 0- failed",
            ">0 >1 >2 2-",
        ],
    );
}

#[test]
fn parallel_sequences_do_not_wait_for_each_other() {
    assert_runs(
        &par([seq([task(0), task(1)]), seq([task(2), task(3)])]),
        &[
            ">0 >2 0+ >1 1+ 2+ >3 3+ ok",
            ">0 >2 2+ >3 0+ >1 3+ 1+ ok",
            ">0 >2 0- 2+ >3 3+ failed",
            ">0 >2 0- 2- failed",
        ],
    );
}

#[test]
fn a_sequence_waits_for_its_parallel_part() {
    assert_runs(
        &seq([par([task(0), task(1)]), par([task(2), task(3)])]),
        &[">0 >1 1+ 0+ >2 >3 2+ 3+ ok", ">0 >1 1- 0+ failed", ">0 >1 0+ 1+ >2 >3 3- 2+ failed"],
    );
}

#[test]
fn a_loop_without_conditions_runs_once() {
    assert_runs(&repeat(None, task(0), None), &[">0 0+ ok", ">0 0- failed"]);
}

#[test]
fn a_precondition_that_differs_ends_the_loop_successfully() {
    assert_runs(
        &repeat(Some((true, task(0))), task(1), None),
        &[">0 0- ok", ">0 0+ >1 1+ ok", ">0 0+ >1 1- failed"],
    );
    assert_runs(
        &repeat(Some((false, task(0))), task(1), None),
        &[">0 0+ ok", ">0 0- >1 1+ ok", ">0 0- >1 1- failed"],
    );
}

#[test]
fn a_postcondition_that_equals_repeats_the_loop() {
    assert_runs(
        &repeat(None, task(1), Some((true, task(0)))),
        &[
            ">1 1- failed",
            ">1 1+ >0 0- ok",
            ">1 1+ >0 0+ >1 1+ >0 0+ >1 1+ >0 0- ok",
            ">1 1+ >0 0+ >1 1- failed",
        ],
    );
    assert_runs(
        &repeat(None, task(1), Some((false, task(0)))),
        &[">1 1- failed", ">1 1+ >0 0+ ok", ">1 1+ >0 0- >1 1+ >0 0+ ok"],
    );
}

#[test]
fn a_loop_with_both_conditions_begins_again_with_the_first() {
    assert_runs(
        &repeat(Some((true, task(0))), task(2), Some((false, task(1)))),
        &[
            ">0 0- ok",
            ">0 0+ >2 2- failed",
            ">0 0+ >2 2+ >1 1+ ok",
            ">0 0+ >2 2+ >1 1- >0 0- ok",
            ">0 0+ >2 2+ >1 1- >0 0+ >2 2+ >1 1+ ok",
            ">0 0+ >2 2+ >1 1- >0 0+ >2 2- failed",
        ],
    );
}

#[test]
fn a_condition_chooses_a_branch_whose_result_counts() {
    assert_runs(
        &alt(task(0), Some(task(1)), Some(task(2))),
        &[">0 0+ >1 1+ ok", ">0 0+ >1 1- failed", ">0 0- >2 2+ ok", ">0 0- >2 2- failed"],
    );
}

#[test]
fn a_missing_branch_succeeds() {
    assert_runs(
        &alt(task(0), Some(task(1)), None),
        &[">0 0+ >1 1+ ok", ">0 0+ >1 1- failed", ">0 0- ok"],
    );
    assert_runs(
        &alt(task(0), None, Some(task(1))),
        &[">0 0- >1 1+ ok", ">0 0- >1 1- failed", ">0 0+ ok"],
    );
    assert_runs(&alt(task(0), None, None), &[">0 0+ ok", ">0 0- ok"]);
}

#[test]
fn conditions_may_be_works_of_any_kind() {
    assert_runs(
        &alt(seq([task(0), task(1)]), Some(task(2)), Some(task(3))),
        &[">0 0- >3 3+ ok", ">0 0+ >1 1- >3 3+ ok", ">0 0+ >1 1+ >2 2+ ok"],
    );
    assert_runs(
        &alt(par([task(0), task(1)]), Some(task(2)), None),
        &[">0 >1 0- 1+ ok", ">0 >1 1+ 0+ >2 2+ ok"],
    );
    // The inner loop's failure is a result for the outer one.
    assert_runs(
        &repeat(Some((false, repeat(None, task(1), Some((true, task(0)))))), task(2), None),
        &[">1 1- >2 2+ ok", ">1 1+ >0 0- ok", ">1 1+ >0 0+ >1 1- >2 2- failed"],
    );
    // A choice without branches always succeeds.
    assert_runs(
        &repeat(None, task(1), Some((false, alt(task(0), None, None)))),
        &[">1 1+ >0 0- ok", ">1 1+ >0 0+ ok"],
    );
}

#[test]
fn a_loop_runs_its_parallel_body_afresh_each_time() {
    assert_runs(
        &repeat(None, par([task(1), task(2)]), Some((true, task(0)))),
        &[
            ">1 >2 2+ 1+ >0 0+ >1 >2 1+ 2+ >0 0- ok",
            ">1 >2 2+ 1+ >0 0+ >1 >2 1- 2+ failed",
            ">1 >2 1- 2+ failed",
        ],
    );
    // A failure in one iteration is forgotten in the next.
    assert_runs(
        &repeat(None, task(2), Some((false, par([task(0), task(1)])))),
        &[">2 2+ >0 >1 0- 1+ >2 2+ >0 >1 0+ 1+ ok"],
    );
}

#[test]
fn loops_side_by_side_turn_at_their_own_pace() {
    let both = par([
        repeat(None, task(1), Some((true, task(0)))),
        repeat(Some((true, task(2))), task(3), None),
    ]);
    assert_runs(
        &both,
        &[
            ">1 >2 1+ >0 0+ >1 1+ >0 2+ >3 0+ >1 3+ 1+ >0 0- ok",
            ">1 >2 1- 2- failed",
            ">1 >2 2- 1+ >0 0- ok",
        ],
    );
}

#[test]
fn completing_inner_parallel_works_completes_the_outer_ones() {
    let nested = par([alt(task(0), Some(par([task(1), task(2)])), None), task(3)]);
    assert_runs(
        &nested,
        &[
            ">0 >3 3+ 0+ >1 >2 2+ 1+ ok",
            ">0 >3 3+ 0+ >1 >2 2- 1+ failed",
            ">0 >3 0+ >1 >2 3- 2+ 1+ failed",
            ">0 >3 0- 3+ ok",
        ],
    );
}

#[test]
fn a_stop_that_cannot_be_is_refused_and_changes_nothing() {
    let work = seq([task(0), par([task(1), task(2)])]);
    let mut plan = Plan::new(&work).expect("a plan");
    let before = plan.clone();
    assert_eq!(plan.apply(stop(3, true)), Err(PlanError::UnknownWork(3)));
    assert_eq!(plan.apply(stop(u32::MAX, true)), Err(PlanError::UnknownWork(u32::MAX)));
    assert_eq!(plan.apply(stop(1, true)), Err(PlanError::NotRunning(1)));
    assert_eq!(plan, before);

    plan.apply(stop(0, true)).expect("it runs");
    assert_eq!(plan.apply(stop(0, true)), Err(PlanError::NotRunning(0)));
    plan.apply(stop(1, true)).expect("it runs");
    assert_eq!(plan.apply(stop(1, false)), Err(PlanError::NotRunning(1)));
    assert_eq!(plan.apply(stop(2, true)), Ok(Next::Decided(true)));
    assert_eq!(plan.apply(stop(2, false)), Err(PlanError::NotRunning(2)));
    assert_eq!(plan.decided(), Some(true));

    let replayed = Plan::replay(&work, [stop(0, true), stop(0, true)]);
    assert_eq!(replayed, Err(PlanError::NotRunning(0)));
}

#[test]
fn works_that_no_entry_can_have_are_refused() {
    for work in [seq([]), par([]), seq([task(0), par([])]), repeat(None, seq([]), None)] {
        assert_eq!(Plan::new(&work), Err(PlanError::NoWorks), "{work:?}");
    }
    assert_eq!(Plan::new(&seq([task(4), task(4)])), Err(PlanError::RepeatedWork(4)));
}

#[test]
fn an_endless_loop_of_loops_comes_back_to_the_same_state() {
    let inner = repeat(None, par([task(2), task(3)]), Some((true, task(1))));
    let work = repeat(None, inner, Some((true, task(0))));
    let mut plan = Plan::new(&work).expect("a plan");
    let begun = plan.clone();
    for _ in 0..1_000 {
        for (id, succeeded) in
            [(2, true), (3, true), (1, true), (3, true), (2, true), (1, false), (0, true)]
        {
            plan.apply(stop(id, succeeded)).expect("it runs");
        }
        assert_eq!(plan, begun);
    }
}

#[test]
fn large_works_are_planned_in_linear_time() {
    // A plan that walked the whole tree at each stop would take minutes here.
    const WORKS: u32 = 100_000;
    for work in [seq((0..WORKS).map(task)), par((0..WORKS).map(task))] {
        let mut plan = Plan::new(&work).expect("a plan");
        for id in 0..WORKS {
            plan.apply(stop(id, true)).expect("it runs");
        }
        assert_eq!(plan.decided(), Some(true));
    }
}

#[test]
fn works_may_be_nested_deeply() {
    let mut work = task(0);
    for level in 0..60 {
        work = match level % 4 {
            0 => seq([work]),
            1 => par([work]),
            2 => repeat(None, work, None),
            _ => alt(work, None, None),
        };
    }
    assert_run(&work, ">0 0- ok");
}
