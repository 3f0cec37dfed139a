//! Which works a job has passed by, given the latest results. No waiting, no clock, no I/O.
//!
//! A work that has not run was either not reached yet, or control went another way: the other
//! branch of an `Alt` was chosen, or the `preCondition` of a `Loop` ended it. Only conditions that
//! have a result pass anything by.

use std::collections::BTreeSet;

use wire::entry::Work;

/// The works that were passed by. `result` is that of a work's latest run, if it has ended with one
/// that counts. Works that have run at some time may be among them, since a loop may choose
/// differently each time.
pub(super) fn find_skipped(work: &Work, result: impl Fn(u32) -> Option<bool>) -> BTreeSet<u32> {
    let mut walk = Walk { result, skipped: BTreeSet::new() };
    walk.visit(work);
    walk.skipped
}

struct Walk<F> {
    result: F,
    skipped: BTreeSet<u32>,
}

impl<F: Fn(u32) -> Option<bool>> Walk<F> {
    /// The result of a work, if it has one.
    fn visit(&mut self, work: &Work) -> Option<bool> {
        match work {
            Work::Ref { work_id_in_job, .. } => (self.result)(*work_id_in_job),
            Work::Seq { works } => {
                // All are visited, but the first that did not succeed counts.
                let results: Vec<_> = works.iter().map(|work| self.visit(work)).collect();
                results.into_iter().find(|result| *result != Some(true)).unwrap_or(Some(true))
            }
            Work::Par { works } => {
                let results: Vec<_> = works.iter().map(|work| self.visit(work)).collect();
                let all: Option<Vec<bool>> = results.into_iter().collect();
                all.map(|all| !all.contains(&false))
            }
            Work::Loop { pre_condition, body, post_condition } => {
                if let Some((wanted, condition)) = pre_condition {
                    let result = self.visit(condition)?;
                    if result != *wanted {
                        self.skip(body);
                        if let Some((_, condition)) = post_condition {
                            self.skip(condition);
                        }
                        return Some(true);
                    }
                }
                let result = self.visit(body);
                let again = post_condition.as_ref().map(|(wanted, condition)| {
                    self.visit(condition).map(|result| result == *wanted)
                });
                match (result?, again) {
                    (false, _) => Some(false),
                    // Another round begins.
                    (true, Some(None | Some(true))) => None,
                    (true, Some(Some(false)) | None) => Some(true),
                }
            }
            Work::Alt { condition, true_work, false_work } => {
                let (chosen, other) = if self.visit(condition)? {
                    (true_work, false_work)
                } else {
                    (false_work, true_work)
                };
                if let Some(other) = other {
                    self.skip(other);
                }
                chosen.as_ref().map_or(Some(true), |chosen| self.visit(chosen))
            }
        }
    }

    fn skip(&mut self, work: &Work) {
        self.skipped.extend(work.task_refs().iter().map(|task| task.work_id_in_job));
    }
}

#[cfg(test)]
mod tests {
    use wire::entry::testing::{alt, number, par, repeat, seq, task};

    use super::*;

    /// Results as `0+ 1-`: work 0 succeeded, work 1 failed, others have no result.
    fn skipped(work: &Work, results: &str) -> Vec<u32> {
        let result = |id: u32| {
            let of = |mark: char| results.split(' ').any(|word| word == format!("{id}{mark}"));
            of('+').then_some(true).or_else(|| of('-').then_some(false))
        };
        find_skipped(work, result).into_iter().collect()
    }

    fn check(mut work: Work, table: &[(&str, &[u32])]) {
        number(&mut work, &mut 0);
        for (results, expected) in table {
            assert_eq!(skipped(&work, results), *expected, "{results:?} in {work:?}");
        }
    }

    fn one() -> Work {
        task("t")
    }

    #[test]
    fn the_branch_that_was_not_chosen_is_passed_by() {
        check(
            alt(one(), Some(seq([one(), one()])), Some(one())),
            &[("", &[]), ("0+", &[3]), ("0-", &[1, 2]), ("0+ 1-", &[3]), ("1+", &[])],
        );
        check(alt(one(), None, Some(one())), &[("0+", &[1]), ("0-", &[])]);
        check(alt(one(), Some(one()), None), &[("0+", &[]), ("0-", &[1])]);
    }

    #[test]
    fn a_condition_of_several_works_chooses_once_all_have_their_say() {
        check(
            alt(seq([one(), one()]), Some(one()), Some(one())),
            // The second one may have a result of an earlier round.
            &[("0+", &[]), ("0-", &[2]), ("0+ 1+", &[3]), ("0+ 1-", &[2]), ("1-", &[])],
        );
        check(
            alt(par([one(), one()]), Some(one()), Some(one())),
            &[("0-", &[]), ("0- 1+", &[2]), ("0+ 1+", &[3])],
        );
        check(
            alt(alt(one(), None, Some(one())), Some(one()), Some(one())),
            &[("0+", &[1, 3]), ("0-", &[]), ("0- 1-", &[2])],
        );
        check(
            alt(repeat(Some((true, one())), one(), Some((true, one()))), Some(one()), None),
            &[("0-", &[1, 2]), ("0+ 2- ", &[3]), ("0+ 1+ 2+", &[]), ("0+ 1- 2+", &[])],
        );
    }

    #[test]
    fn a_loop_that_ends_before_its_first_round_passes_its_body_by() {
        let work = || repeat(Some((true, one())), seq([one(), one()]), Some((true, one())));
        check(work(), &[("", &[]), ("0+", &[]), ("0-", &[1, 2, 3])]);
        check(seq([work(), one()]), &[("0-", &[1, 2, 3]), ("0- 4-", &[1, 2, 3])]);
        check(repeat(Some((false, one())), one(), None), &[("0+", &[1]), ("0-", &[])]);
        check(repeat(None, alt(one(), Some(one()), None), Some((true, one()))), &[("1-", &[2])]);
    }

    #[test]
    fn what_comes_after_a_failure_is_not_reached_and_not_passed_by() {
        check(seq([one(), one()]), &[("0-", &[])]);
        check(par([seq([one(), one()]), one()]), &[("0- 2+", &[])]);
        check(seq([one(), alt(one(), Some(one()), None)]), &[("0-", &[])]);
    }
}
