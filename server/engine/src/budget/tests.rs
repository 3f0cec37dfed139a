use std::iter;

use serde_json::{Value, json};
use tokio::time::advance;

use super::*;

fn budget(json: Value) -> Budget {
    serde_json::from_value(json).expect("a budget")
}

fn meter(json: Value) -> Arc<Meter> {
    Arc::new(Meter::new(budget(json), Spent::default()))
}

fn used(tokens: u64, cost: f64) -> Usage {
    Usage { input_tokens: tokens, cost: Some(cost), ..Usage::default() }
}

/// Whether a turn that runs now would be ended at once.
async fn is_exhausted(meter: &Meter) -> bool {
    tokio::select! {
        biased;
        _ = meter.exhausted() => true,
        () = std::future::ready(()) => false,
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_turns_as_allowed_begin_and_the_last_one_may_finish() {
    let meter = meter(json!({ "turns": 3 }));
    for _ in 0..3 {
        assert_eq!(meter.begin_turn(), Ok(()));
    }
    assert!(!is_exhausted(&meter).await);
    let reached = Reached { limit: BudgetLimit::Turns, allowed: 3.0, used: 3.0 };
    assert_eq!(meter.begin_turn(), Err(reached));
    assert_eq!(meter.used_up(), Some(reached));
    assert_eq!(meter.spent().turns, 3, "what did not begin does not count");
}

#[tokio::test(start_paused = true)]
async fn tokens_and_cost_end_a_turn_as_soon_as_they_are_used_up() {
    for (limits, limit) in [
        (json!({ "tokens": 100 }), BudgetLimit::Tokens),
        (json!({ "cost": 1.0 }), BudgetLimit::Cost),
    ] {
        let meter = meter(limits);
        meter.add(used(99, 0.99));
        assert_eq!(meter.begin_turn(), Ok(()));
        assert!(!is_exhausted(&meter).await);
        let (reached, ()) = tokio::join!(meter.exhausted(), async { meter.add(used(1, 0.01)) });
        assert_eq!(reached.limit, limit);
        assert_eq!(meter.begin_turn(), Err(reached));
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_time_that_its_clock_runs_counts() {
    let meter = meter(json!({ "minutes": 2 }));
    let running = meter.run();
    advance(Duration::from_secs(90)).await;
    drop(running);
    advance(Duration::from_hours(1)).await;
    assert!((meter.spent().minutes - 1.5).abs() < 1e-9, "{:?}", meter.spent());
    assert!(!is_exhausted(&meter).await);

    let _running = meter.run();
    let before = Instant::now();
    let reached = meter.exhausted().await;
    let took = before.elapsed();
    assert_eq!(reached.limit, BudgetLimit::Minutes);
    assert!(took >= Duration::from_secs(30) && took < Duration::from_secs(31), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn each_task_has_what_is_left_of_its_jobs_budget() {
    let job = meter(json!({ "turns": 3, "tokens": 100 }));
    let task = || {
        let own = budget(json!({ "turns": 2 }));
        Arc::new(Meter::new(own, Spent::default()).within(Some(job.clone())))
    };
    let (first, second) = (task(), task());
    assert_eq!([first.begin_turn(), first.begin_turn()], [Ok(()), Ok(())]);
    let of_task = Reached { limit: BudgetLimit::Turns, allowed: 2.0, used: 2.0 };
    assert_eq!(first.begin_turn(), Err(of_task));
    assert_eq!(second.begin_turn(), Ok(()));
    let of_job = Reached { limit: BudgetLimit::Turns, allowed: 3.0, used: 3.0 };
    assert_eq!(second.begin_turn(), Err(of_job));
    assert_eq!((first.spent().turns, second.spent().turns, job.spent().turns), (2, 1, 3));

    // What one of them uses ends the turns of both.
    first.add(used(60, 0.0));
    let (ended, ()) = tokio::join!(first.exhausted(), async { second.add(used(60, 0.0)) });
    assert_eq!(ended, Reached { limit: BudgetLimit::Tokens, allowed: 100.0, used: 120.0 });
    assert!(is_exhausted(&second).await);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_tasks_that_run_at_once_counts_once_for_their_job() {
    let job = meter(json!({ "minutes": 3 }));
    let of_job = job.run();
    let tasks: Vec<_> = iter::repeat_with(|| {
        Arc::new(Meter::new(Budget::default(), Spent::default()).within(Some(job.clone())))
    })
    .take(2)
    .collect();
    let of_tasks: Vec<_> = tasks.iter().map(Meter::run).collect();
    advance(Duration::from_mins(2)).await;
    assert!(!is_exhausted(&tasks[0]).await);
    assert!((job.spent().minutes - 2.0).abs() < 1e-9);
    let reached = tasks[1].exhausted().await;
    assert_eq!((reached.limit, reached.allowed), (BudgetLimit::Minutes, 3.0));
    drop((of_tasks, of_job));
}

#[tokio::test(start_paused = true)]
async fn what_was_used_before_counts_and_what_is_used_now_is_noted() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let ledger = notes.clone();
    let before = Spent { minutes: 1.0, turns: 2, tokens: 50, cost: 0.5 };
    let limits = budget(json!({ "turns": 3, "tokens": 100 }));
    let meter = Meter::new(limits, before).noted_in(move |spent| ledger.lock().push(spent));
    let meter = Arc::new(meter);
    let running = meter.run();
    assert_eq!(meter.begin_turn(), Ok(()));
    assert!(meter.begin_turn().is_err());
    advance(Duration::from_secs(30)).await;
    meter.add(used(50, 0.25));
    assert!(is_exhausted(&meter).await);
    advance(Duration::from_secs(30)).await;
    drop(running);
    meter.note();
    let none = Spent::default();
    let expected = [
        Spent { turns: 1, ..none },
        Spent { minutes: 0.5, tokens: 50, cost: 0.25, ..none },
        Spent { minutes: 0.5, ..none },
    ];
    assert_eq!(*notes.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_raised_budget_lets_turns_begin_again() {
    let meter = meter(json!({ "tokens": 10 }));
    meter.add(used(10, 0.0));
    assert!(meter.begin_turn().is_err());
    meter.set_budget(budget(json!({ "tokens": 20 })));
    assert_eq!(meter.begin_turn(), Ok(()));
    let lowered = async { meter.set_budget(budget(json!({ "tokens": 5 }))) };
    let (reached, ()) = tokio::join!(meter.exhausted(), lowered);
    assert_eq!((reached.allowed, reached.used), (5.0, 10.0));
}
