//! Any work, any results, any interleaving: the plan does what the rules say, read literally.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wire::entry::testing::{any_work, number};

use super::*;

/// Longer runs are cut off: a loop may well be endless.
const MOST_RUNS: usize = 120;

fn numbered_work() -> impl Strategy<Value = Work> {
    any_work(Just(()).prop_map(|()| task(0)), 24, 3).prop_map(|mut work| {
        number(&mut work, &mut 0);
        work
    })
}

/// One run of a work: its id, and how many runs of it there were before.
type Run = (u32, usize);

/// The result of each run, whenever it happens.
#[derive(Clone, Debug)]
struct Results(Vec<bool>);

impl Results {
    fn of(&self, (id, nth): Run) -> bool {
        let id = usize::try_from(id).expect("ids are small");
        self.0[(id * 17 + nth * 5) % self.0.len()]
    }
}

fn any_results() -> impl Strategy<Value = Results> {
    proptest::collection::vec(prop::bool::weighted(0.6), 89).prop_map(Results)
}

/// What ran, and what had to end before it.
enum Trace {
    Run(Run),
    InOrder(Vec<Trace>),
    SideBySide(Vec<Trace>),
}

/// The rules, implemented literally.
struct Reference<'a> {
    results: &'a Results,
    runs: BTreeMap<u32, usize>,
    left: usize,
}

impl Reference<'_> {
    /// The result of a work, or nothing if it takes too long.
    fn run(&mut self, work: &Work, trace: &mut Vec<Trace>) -> Option<bool> {
        match work {
            Work::Ref { work_id_in_job: id, .. } => {
                self.left = self.left.checked_sub(1)?;
                let nth = self.runs.entry(*id).or_default();
                let run = (*id, *nth);
                *nth += 1;
                trace.push(Trace::Run(run));
                Some(self.results.of(run))
            }
            Work::Seq { works } => {
                for work in works {
                    if !self.run(work, trace)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Work::Par { works } => {
                let mut arms = Vec::new();
                let mut all = true;
                for work in works {
                    let mut arm = Vec::new();
                    all &= self.run(work, &mut arm)?;
                    arms.push(Trace::InOrder(arm));
                }
                trace.push(Trace::SideBySide(arms));
                Some(all)
            }
            Work::Loop { pre_condition, body, post_condition } => loop {
                if let Some((wanted, work)) = pre_condition
                    && self.run(work, trace)? != *wanted
                {
                    return Some(true);
                }
                if !self.run(body, trace)? {
                    return Some(false);
                }
                let Some((wanted, work)) = post_condition else { return Some(true) };
                if self.run(work, trace)? != *wanted {
                    return Some(true);
                }
            },
            Work::Alt { condition, true_work, false_work } => {
                let branch = if self.run(condition, trace)? { true_work } else { false_work };
                branch.as_ref().map_or(Some(true), |work| self.run(work, trace))
            }
        }
    }
}

/// A run of a plan. Moments are counted in stops.
#[derive(Default)]
struct Lived {
    stops: Vec<WorkStopped>,
    /// The plan at the beginning and after each stop.
    plans: Vec<Plan>,
    started: BTreeMap<Run, usize>,
    stopped: BTreeMap<Run, usize>,
    decided: Option<bool>,
}

/// Runs a plan until it is decided or takes too long. `picks` says which work stops next.
fn live(work: &Work, results: &Results, picks: &[prop::sample::Index]) -> Lived {
    let mut plan = Plan::new(work).expect("a plan");
    let mut lived = Lived::default();
    let mut runs = BTreeMap::<u32, usize>::new();
    let mut running = BTreeMap::<u32, Run>::new();
    let mut starting = plan.running().collect::<Vec<_>>();
    loop {
        let now = lived.stops.len();
        assert!(starting.is_sorted(), "works that start together do so in order: {starting:?}");
        for id in starting {
            let nth = runs.entry(id).or_default();
            let run = (id, *nth);
            *nth += 1;
            assert_eq!(running.insert(id, run), None, "work {id} runs twice at once");
            lived.started.insert(run, now);
        }
        assert!(plan.running().eq(running.keys().copied()));
        assert_eq!(plan.decided().is_some(), running.is_empty());
        lived.plans.push(plan.clone());
        if running.is_empty() || now == MOST_RUNS {
            lived.decided = plan.decided();
            return lived;
        }
        let candidates = running.keys().copied().collect::<Vec<_>>();
        let id = *picks[now % picks.len()].get(&candidates);
        let run = running.remove(&id).expect("it was picked from there");
        let stop = stop(id, results.of(run));
        lived.stops.push(stop);
        lived.stopped.insert(run, now + 1);
        starting = match plan.apply(stop).expect("it runs") {
            Next::Start(ids) => ids,
            Next::Decided(_) => Vec::new(),
        };
    }
}

impl Lived {
    /// Checks that a part of the trace began at a moment; returns the moment of its end.
    fn check(&self, trace: &Trace, begun: usize) -> usize {
        match trace {
            Trace::Run(run) => {
                assert_eq!(self.started.get(run), Some(&begun), "{run:?}");
                self.stopped[run]
            }
            Trace::InOrder(parts) => parts.iter().fold(begun, |now, part| self.check(part, now)),
            Trace::SideBySide(arms) => {
                let ends = arms.iter().map(|arm| self.check(arm, begun));
                ends.max().expect("there is an arm")
            }
        }
    }
}

fn picks() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    proptest::collection::vec(any::<prop::sample::Index>(), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

    #[test]
    fn a_plan_runs_what_the_rules_say_and_when(
        work in numbered_work(), results in any_results(), picks in picks()
    ) {
        let mut reference =
            Reference { results: &results, runs: BTreeMap::new(), left: MOST_RUNS };
        let mut trace = Vec::new();
        let result = reference.run(&work, &mut trace);
        let lived = live(&work, &results, &picks);
        prop_assert_eq!(lived.decided, result);
        if result.is_some() {
            let runs = reference.runs.values().sum::<usize>();
            prop_assert_eq!(lived.started.len(), runs);
            prop_assert_eq!(lived.stops.len(), runs);
            prop_assert_eq!(lived.check(&Trace::InOrder(trace), 0), runs);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_plan_can_be_rebuilt_from_any_beginning_of_its_log(
        work in numbered_work(), results in any_results(), picks in picks()
    ) {
        let lived = live(&work, &results, &picks);
        for (count, plan) in lived.plans.iter().enumerate() {
            let stops = lived.stops[..count].iter().copied();
            let replayed = Plan::replay(&work, stops).expect("the log is sound");
            prop_assert!(replayed.running().eq(plan.running()));
            prop_assert_eq!(&replayed, plan);
        }
    }

    #[test]
    fn stops_that_cannot_be_are_errors_at_any_moment(
        work in numbered_work(), results in any_results(), picks in picks()
    ) {
        let lived = live(&work, &results, &picks);
        let mut works = 0;
        number(&mut work.clone(), &mut works);
        for plan in &lived.plans {
            let mut tried = plan.clone();
            for id in (0..works).filter(|id| plan.running().all(|running| running != *id)) {
                prop_assert_eq!(tried.apply(stop(id, true)), Err(PlanError::NotRunning(id)));
            }
            prop_assert_eq!(tried.apply(stop(works, true)), Err(PlanError::UnknownWork(works)));
            prop_assert_eq!(&tried, plan);
        }
    }
}
