//! What a job does next, given what has happened in it. No waiting, no clock, no I/O.
//!
//! ```text
//!   Work ─► Layout   where control goes when a work has succeeded or failed; never changes
//!             │
//!   WorkStopped ─► Plan ─► Next: these works start, or the job is decided
//! ```
//!
//! The tree is laid out once as a program of jumps, so a stop costs what it starts plus the `Par`s
//! that it completes, however large the tree is; and a loop jumps back instead of growing anything.
//!
//! Results are all that ever comes in: a plan is the same whether it lived through them or was
//! rebuilt from them by [`Plan::replay`].

mod layout;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use wire::entry::Work;

use layout::{Layout, Target};

/// Why a plan cannot be made, or cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A `Seq` or `Par` of nothing. A checked entry has none.
    #[error("a sequence or parallel work without works")]
    NoWorks,
    /// Two works with the same id. A checked entry has none.
    #[error("two works have the same id: {0}")]
    RepeatedWork(u32),
    /// A stop of a work that the job does not have.
    #[error("the job has no such work: {0}")]
    UnknownWork(u32),
    /// A stop of a work that was not running.
    #[error("the work is not running: {0}")]
    NotRunning(u32),
}

/// The end of one run of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkStopped {
    /// Number of the work within its job.
    pub work_id: u32,
    /// Whether its task was done.
    pub succeeded: bool,
}

/// What follows from a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// These works start now, in this order. None: others have to stop first.
    Start(Vec<u32>),
    /// The job is over, and whether it has succeeded. Nothing is running.
    Decided(bool),
}

/// The control flow of one run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    layout: Layout,
    progress: Progress,
}

/// All of a plan that changes. Its size is bounded by the tree's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Progress {
    running: BTreeSet<u32>,
    /// One for each `Par` of the layout.
    joins: Vec<Join>,
    decided: Option<bool>,
}

/// How far a `Par` is. All zero while it does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Join {
    /// How many arms are not over.
    open: usize,
    failed: bool,
}

impl Plan {
    /// A job that has just begun: [`running`](Self::running) says which works start.
    pub fn new(work: &Work) -> Result<Self, PlanError> {
        let layout = Layout::new(work)?;
        let joins = vec![Join::default(); layout.pars.len()];
        let mut progress = Progress { running: BTreeSet::new(), joins, decided: None };
        progress.follow(&layout, layout.start, &mut Vec::new());
        Ok(Self { layout, progress })
    }

    /// The job after `stops`, in the order in which they happened.
    pub fn replay(
        work: &Work,
        stops: impl IntoIterator<Item = WorkStopped>,
    ) -> Result<Self, PlanError> {
        let mut plan = Self::new(work)?;
        for stop in stops {
            plan.apply(stop)?;
        }
        Ok(plan)
    }

    /// Goes on after a work has stopped. A stop that cannot be changes nothing.
    pub fn apply(&mut self, stop: WorkStopped) -> Result<Next, PlanError> {
        let id = stop.work_id;
        let exits = self.layout.works.get(&id).ok_or(PlanError::UnknownWork(id))?;
        if !self.progress.running.remove(&id) {
            return Err(PlanError::NotRunning(id));
        }
        let mut started = Vec::new();
        self.progress.follow(&self.layout, exits.after(stop.succeeded), &mut started);
        Ok(self.progress.decided.map_or(Next::Start(started), Next::Decided))
    }

    /// The works that were to start and have not stopped, by id: among works that start together,
    /// that is the order in which they do.
    pub fn running(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.progress.running.iter().copied()
    }

    /// Whether the job has succeeded, once it is over.
    pub fn decided(&self) -> Option<bool> {
        self.progress.decided
    }
}

impl Progress {
    /// Lets control go to `target` and on from there until something has to be waited for.
    fn follow(&mut self, layout: &Layout, mut target: Target, started: &mut Vec<u32>) {
        loop {
            target = match target {
                Target::Work(id) => {
                    // Control is in one place of a work at most: only the arms of a `Par` run side
                    // by side, and a `Par` is left when all of them are over.
                    let idle = self.running.insert(id);
                    debug_assert!(idle, "work {id} is started while it runs");
                    started.push(id);
                    return;
                }
                Target::Fork(par) => {
                    let arms = &layout.pars[par].arms;
                    self.joins[par].open = arms.len();
                    for arm in arms {
                        self.follow(layout, *arm, started);
                    }
                    return;
                }
                Target::Join { par, succeeded } => {
                    let join = &mut self.joins[par];
                    join.open -= 1;
                    join.failed |= !succeeded;
                    if join.open > 0 {
                        return;
                    }
                    let failed = std::mem::take(&mut join.failed);
                    layout.pars[par].exits.after(!failed)
                }
                Target::Again(start) => layout.loops[start],
                Target::End(succeeded) => {
                    self.decided = Some(succeeded);
                    return;
                }
            }
        }
    }
}
