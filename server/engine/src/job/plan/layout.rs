//! A tree of works as jumps: where control goes when a work has succeeded, and when it has failed.
//!
//! ```text
//!   Seq   a ─ok─► b ─ok─► out              Alt   c ─ok─► true branch  ─► out
//!         └─failed┴─────► failed                 └failed► false branch ─► out
//!
//!   Par   Fork ─┬► a ─┬► Join ─► out       Loop  ┌► pre ─wanted─► body ─► post ─other─► out
//!               └► b ─┘                          │   └─other─► out          │
//!                                                └───────── Again ◄─wanted──┘
//! ```

use std::collections::BTreeMap;

use wire::entry::Work;

use super::PlanError;

/// A jump target: where control goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Starts a work, by its id.
    Work(u32),
    /// Starts all arms of a `Par`, by its index in the layout.
    Fork(usize),
    /// Ends one arm of a `Par`.
    Join { par: usize, succeeded: bool },
    /// Back to the start of a loop, by its index in the layout.
    Again(usize),
    /// Ends the job; true if it succeeded.
    End(bool),
}

/// Where control goes after a work, or a tree of works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exits {
    succeeded: Target,
    failed: Target,
}

impl Exits {
    /// `wanted` if the condition's result equals `result`, else `other`.
    fn of_condition(result: bool, wanted: Target, other: Target) -> Self {
        if result {
            Self { succeeded: wanted, failed: other }
        } else {
            Self { succeeded: other, failed: wanted }
        }
    }

    pub(super) fn after(self, succeeded: bool) -> Target {
        if succeeded { self.succeeded } else { self.failed }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Par {
    /// The start of each child, in order: a work or a `Fork`.
    pub(super) arms: Vec<Target>,
    pub(super) exits: Exits,
}

/// A tree of works as a program of jumps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) start: Target,
    pub(super) works: BTreeMap<u32, Exits>,
    pub(super) pars: Vec<Par>,
    /// Where each loop starts.
    pub(super) loops: Vec<Target>,
}

impl Layout {
    pub(super) fn new(work: &Work) -> Result<Self, PlanError> {
        let start = Target::End(false);
        let mut layout =
            Self { start, works: BTreeMap::new(), pars: Vec::new(), loops: Vec::new() };
        let exits = Exits { succeeded: Target::End(true), failed: Target::End(false) };
        layout.start = layout.lay_out(work, exits)?;
        Ok(layout)
    }

    /// Lays out `work` back to front, since `exits` must be known. Returns its start, which is a
    /// work or a `Fork`: so control can't loop without anything running.
    fn lay_out(&mut self, work: &Work, exits: Exits) -> Result<Target, PlanError> {
        match work {
            Work::Ref { work_id_in_job: id, .. } => match self.works.insert(*id, exits) {
                None => Ok(Target::Work(*id)),
                Some(_) => Err(PlanError::RepeatedWork(*id)),
            },
            Work::Seq { works } if !works.is_empty() => {
                works.iter().rev().try_fold(exits.succeeded, |succeeded, work| {
                    self.lay_out(work, Exits { succeeded, ..exits })
                })
            }
            Work::Par { works } if !works.is_empty() => {
                let par = self.pars.len();
                self.pars.push(Par { arms: Vec::new(), exits });
                let join = |succeeded| Target::Join { par, succeeded };
                let exits = Exits { succeeded: join(true), failed: join(false) };
                let arms = works.iter().map(|work| self.lay_out(work, exits));
                let arms = arms.collect::<Result<_, _>>()?;
                self.pars[par].arms = arms;
                Ok(Target::Fork(par))
            }
            Work::Seq { .. } | Work::Par { .. } => Err(PlanError::NoWorks),
            Work::Loop { pre_condition, body, post_condition } => {
                // The start is known last, so `Again` refers to it by index.
                let index = self.loops.len();
                self.loops.push(exits.succeeded);
                let end = exits.succeeded;
                let after_body = match post_condition {
                    Some((result, work)) => {
                        let exits = Exits::of_condition(*result, Target::Again(index), end);
                        self.lay_out(work, exits)?
                    }
                    None => end,
                };
                let body = self.lay_out(body, Exits { succeeded: after_body, ..exits })?;
                let start = match pre_condition {
                    Some((result, work)) => {
                        self.lay_out(work, Exits::of_condition(*result, body, end))?
                    }
                    None => body,
                };
                self.loops[index] = start;
                Ok(start)
            }
            Work::Alt { condition, true_work, false_work } => {
                let mut branch = |work: &Option<Box<Work>>| match work {
                    Some(work) => self.lay_out(work, exits),
                    None => Ok(exits.succeeded),
                };
                let exits = Exits { succeeded: branch(true_work)?, failed: branch(false_work)? };
                self.lay_out(condition, exits)
            }
        }
    }
}
