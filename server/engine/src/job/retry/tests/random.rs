//! Any work, any results, any interleaving and any cut: what is carried over is what the rules say,
//! read literally.
//!
//! The rules are walked here without a plan. Each run is given the runs that had to end before it
//! could start, so what follows from a run is looked up instead of replayed.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use wire::entry::testing::any_work;

use super::*;

/// How often one work runs at most: a loop may well be endless.
const MOST_RUNS: usize = 4;

/// One run of a work: its id, and how many runs of it there were before.
type Run = (u32, usize);

/// Runs, all of which something follows from.
type Causes = BTreeSet<Run>;

/// A walk through the tree by the rules, with the results that are known.
struct Walk<'a> {
    results: &'a dyn Fn(Run) -> Option<bool>,
    counts: BTreeMap<u32, usize>,
    /// What each run with a result follows from.
    causes: BTreeMap<Run, Causes>,
    /// The runs that have no result yet, with what they follow from.
    due: BTreeMap<Run, Causes>,
    /// Works that are part of a condition.
    conditions: BTreeSet<u32>,
    depth: usize,
}

impl<'a> Walk<'a> {
    fn through(work: &Work, results: &'a dyn Fn(Run) -> Option<bool>) -> (Self, Option<bool>) {
        let mut walk = Self {
            results,
            counts: BTreeMap::new(),
            causes: BTreeMap::new(),
            due: BTreeMap::new(),
            conditions: BTreeSet::new(),
            depth: 0,
        };
        let result = walk.visit(work, Causes::new()).map(|(result, _)| result);
        (walk, result)
    }

    /// The result of a work that starts after `causes`, and what follows-up works come after; or
    /// nothing if it is not known yet.
    fn visit(&mut self, work: &Work, causes: Causes) -> Option<(bool, Causes)> {
        match work {
            Work::Ref { work_id_in_job: id, .. } => self.run(*id, causes),
            Work::Seq { works } => {
                let mut causes = causes;
                for work in works {
                    let (succeeded, then) = self.visit(work, causes)?;
                    if !succeeded {
                        return Some((false, then));
                    }
                    causes = then;
                }
                Some((true, causes))
            }
            Work::Par { works } => {
                let arms: Vec<_> =
                    works.iter().map(|work| self.visit(work, causes.clone())).collect();
                // It is over when all of them are, even if the first one has failed.
                let arms: Vec<_> = arms.into_iter().collect::<Option<_>>()?;
                let succeeded = arms.iter().all(|(succeeded, _)| *succeeded);
                Some((succeeded, arms.into_iter().flat_map(|(_, causes)| causes).collect()))
            }
            Work::Loop { pre_condition, body, post_condition } => {
                let mut causes = causes;
                loop {
                    if let Some((wanted, work)) = pre_condition {
                        let (result, then) = self.ask(work, causes)?;
                        if result != *wanted {
                            return Some((true, then));
                        }
                        causes = then;
                    }
                    let (succeeded, then) = self.visit(body, causes)?;
                    let Some((wanted, work)) = post_condition.as_ref().filter(|_| succeeded) else {
                        return Some((succeeded, then));
                    };
                    let (result, then) = self.ask(work, then)?;
                    if result != *wanted {
                        return Some((true, then));
                    }
                    causes = then;
                }
            }
            Work::Alt { condition, true_work, false_work } => {
                let (result, then) = self.ask(condition, causes)?;
                match if result { true_work } else { false_work } {
                    Some(work) => self.visit(work, then),
                    None => Some((true, then)),
                }
            }
        }
    }

    fn ask(&mut self, condition: &Work, causes: Causes) -> Option<(bool, Causes)> {
        self.depth += 1;
        let answer = self.visit(condition, causes);
        self.depth -= 1;
        answer
    }

    fn run(&mut self, id: u32, causes: Causes) -> Option<(bool, Causes)> {
        if self.depth > 0 {
            self.conditions.insert(id);
        }
        let count = self.counts.entry(id).or_default();
        let run = (id, *count);
        *count += 1;
        let Some(result) = (self.results)(run) else {
            self.due.insert(run, causes);
            return None;
        };
        self.causes.insert(run, causes.clone());
        Some((result, causes.into_iter().chain([run]).collect()))
    }
}

/// The result of each run, whenever it happens; those beyond the most never end.
#[derive(Clone, Debug)]
struct Results(Vec<bool>);

impl Results {
    fn of(&self, (id, nth): Run) -> Option<bool> {
        let id = usize::try_from(id).expect("ids are small");
        (nth < MOST_RUNS).then(|| self.0[(id * 17 + nth * 5) % self.0.len()])
    }
}

/// What has happened in a job that has ended in some way.
#[derive(Clone, Debug)]
struct Story {
    /// The runs in the order of their ends, with their number; those without result were cut off.
    runs: Vec<(Run, Option<bool>)>,
}

impl Story {
    /// Goes on from `begun` in any order that the rules allow, up to a moment. Then it is cut, and
    /// of what was running some has an end without a result.
    fn tell(work: &Work, results: &Results, begun: Vec<(Run, bool)>, picks: &[Index]) -> Self {
        let before: BTreeMap<Run, bool> = begun.iter().copied().collect();
        let result = |run: Run| before.get(&run).copied().or_else(|| results.of(run));
        let (walk, _) = Walk::through(work, &result);
        let mut done: Causes = before.keys().copied().collect();
        let mut runs: Vec<_> = begun.into_iter().map(|(run, result)| (run, Some(result))).collect();
        let mut picks = picks.iter().cycle();
        let mut pick = |count: usize| picks.next().expect("it goes round").index(count);
        let most = pick(walk.causes.len() + 1);
        loop {
            let left = walk.causes.iter().filter(|(run, _)| !done.contains(run));
            let ready: Vec<Run> =
                left.filter(|(_, causes)| causes.is_subset(&done)).map(|(run, _)| *run).collect();
            if ready.is_empty() || runs.len() >= most {
                break;
            }
            let run = ready[pick(ready.len())];
            done.insert(run);
            runs.push((run, result(run)));
        }
        let known = |run: Run| done.contains(&run).then(|| result(run)).flatten();
        for (run, causes) in Walk::through(work, &known).0.due {
            // It may have been cut off earlier, if others ended while the job was being stopped.
            let after =
                runs.iter().rposition(|(other, _)| causes.contains(other) || other.0 == run.0);
            let earliest = after.map_or(0, |after| after + 1);
            if pick(3) > 0 {
                runs.insert(earliest + pick(runs.len() - earliest + 1), (run, None));
            }
        }
        Self { runs }
    }

    fn ended(&self) -> Vec<WorkRun> {
        let runs = self.runs.iter().map(|((id, nth), result)| {
            let cut_off = ['!', 'c', 'x', 'i'][nth % 4];
            run(*id, result.map_or(cut_off, |succeeded| if succeeded { '+' } else { '-' }))
        });
        runs.collect()
    }

    /// The results that a retry carries over, by the rules; `None` if there is nothing to retry.
    fn carried(&self, work: &Work, chosen: Option<u32>) -> Option<Vec<(Run, bool)>> {
        let results: Vec<(Run, bool)> =
            self.runs.iter().filter_map(|(run, result)| Some((*run, (*result)?))).collect();
        let by_run: BTreeMap<Run, bool> = results.iter().copied().collect();
        let result = |run: Run| by_run.get(&run).copied();
        let (walk, _) = Walk::through(work, &result);
        assert_eq!(walk.causes.len(), results.len(), "a story of the same work");
        let last = |id: u32| self.runs.iter().rev().find(|(run, _)| run.0 == id);
        let dropped: Causes = if let Some(id) = chosen {
            let own = last(id).into_iter().filter(|(_, result)| result.is_some());
            own.map(|(run, _)| *run).collect()
        } else {
            let others = walk.counts.keys().filter(|id| !walk.conditions.contains(id));
            let failed = others.filter_map(|id| last(*id)).filter(|(_, it)| *it == Some(false));
            failed.map(|(run, _)| *run).collect()
        };
        let counts = |run: &Run| !dropped.contains(run) && walk.causes[run].is_disjoint(&dropped);
        let carried: Vec<_> = results.into_iter().filter(|(run, _)| counts(run)).collect();
        let due = due(work, &carried);
        let runs_again = chosen.map_or(!due.is_empty(), |id| due.contains(&id));
        runs_again.then_some(carried)
    }
}

/// The works that run next after these results.
fn due(work: &Work, results: &[(Run, bool)]) -> BTreeSet<u32> {
    let results: BTreeMap<Run, bool> = results.iter().copied().collect();
    let result = |run: Run| results.get(&run).copied();
    Walk::through(work, &result).0.due.keys().map(|(id, _)| *id).collect()
}

/// Checks a retry against the rules, and returns what it carries over.
fn check(work: &Work, story: &Story, chosen: Option<u32>) -> Option<Vec<(Run, bool)>> {
    let ended = story.ended();
    let expected = story.carried(work, chosen);
    match (carry_over(work, &ended, chosen), &expected) {
        (Err(error), None) => assert_eq!(error, JobError::NothingToRetry),
        (Ok(carried), Some(expected)) => {
            let stops = |run: &&WorkRun| (run.work_id, run.succeeded);
            let expected_stops = expected.iter().map(|((id, _), succeeded)| (*id, *succeeded));
            assert!(carried.iter().map(stops).eq(expected_stops), "{chosen:?}: {carried:?}");
            let plan = Plan::replay(work, carried.into_iter().map(WorkStopped::from));
            let plan = plan.expect("what is carried can be replayed");
            assert_eq!(plan.running().collect::<BTreeSet<_>>(), due(work, expected));
        }
        (found, expected) => panic!("{chosen:?}: {found:?} instead of {expected:?}"),
    }
    expected
}

fn numbered_work() -> impl Strategy<Value = (Work, u32)> {
    any_work(Just(()).prop_map(|()| task("t")), 24, 3).prop_map(|mut work| {
        let mut count = 0;
        number(&mut work, &mut count);
        (work, count)
    })
}

fn any_results() -> impl Strategy<Value = Results> {
    proptest::collection::vec(prop::bool::weighted(0.6), 89).prop_map(Results)
}

fn picks() -> impl Strategy<Value = Vec<Index>> {
    proptest::collection::vec(any::<Index>(), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn what_is_carried_over_is_what_does_not_depend_on_the_work(
        (work, works) in numbered_work(),
        (results, other_results) in (any_results(), any_results()),
        (picks, other_picks) in (picks(), picks()),
    ) {
        let first = Story::tell(&work, &results, Vec::new(), &picks);
        for chosen in (0..works).map(Some).chain([None]) {
            let Some(carried) = check(&work, &first, chosen) else { continue };
            // A retry of the retry, which went another way.
            let second = Story::tell(&work, &other_results, carried, &other_picks);
            for chosen in (0..works).map(Some).chain([None]) {
                check(&work, &second, chosen);
            }
        }
        let ended = first.ended();
        prop_assert_eq!(carry_over(&work, &ended, Some(works)), Err(JobError::WorkNotFound));
    }
}
