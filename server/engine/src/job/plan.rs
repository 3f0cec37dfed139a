//! What a job does next, given what has happened in it. No waiting, no clock, no I/O.
//!
//! ```text
//!   Work ─► Layout   where control goes when a work has succeeded or failed; never changes
//!             │
//!   WorkStopped ─► Plan ─► Next: these works start, or the job is decided
//! ```
//!
//! The tree is laid out once as a program of jumps. So the cost of a stop grows with the works it
//! starts and the `Par`s it completes, not with the tree; and a loop jumps back instead of growing
//! anything.
//!
//! Results are the only input: [`Plan::replay`] rebuilds the same plan from the same results.

mod layout;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use wire::entry::Work;

use layout::{Layout, Target};

/// Why a plan can't be made, or can't continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// An empty `Seq` or `Par`. A checked entry has none.
    #[error("a sequence or parallel work without works")]
    NoWorks,
    /// Two works with the same id. A checked entry has none.
    #[error("two works have the same id: {0}")]
    RepeatedWork(u32),
    /// The work that stopped is not in the job.
    #[error("the job has no such work: {0}")]
    UnknownWork(u32),
    /// The work that stopped was not running.
    #[error("the work is not running: {0}")]
    NotRunning(u32),
}

/// The end of one run of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkStopped {
    /// Number of the work within its job.
    pub work_id: u32,
    /// Whether its task succeeded.
    pub succeeded: bool,
}

/// What happens after a work has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// These works start now, in this order. If there are none, others have to stop first.
    Start(Vec<u32>),
    /// The job is over; true if it succeeded. Nothing is running.
    Decided(bool),
}

/// The state machine of one run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    layout: Layout,
    progress: Progress,
}

/// The mutable part of a plan. Its size is bounded by the tree's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Progress {
    running: BTreeSet<u32>,
    /// One for each `Par` of the layout.
    joins: Vec<Join>,
    decided: Option<bool>,
}

/// The progress of a `Par`; the default while it isn't running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Join {
    /// How many arms are still running.
    open: usize,
    failed: bool,
}

impl Plan {
    /// The plan of a job that has just begun: [`running`](Self::running) has the works that start.
    pub fn new(work: &Work) -> Result<Self, PlanError> {
        let layout = Layout::new(work)?;
        let joins = vec![Join::default(); layout.pars.len()];
        let mut progress = Progress { running: BTreeSet::new(), joins, decided: None };
        progress.follow(&layout, layout.start, &mut Vec::new());
        Ok(Self { layout, progress })
    }

    /// The plan after `stops`, in the order in which they happened.
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

    /// Continues after a work has stopped. An impossible stop changes nothing.
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

    /// The works that have started and not stopped, by id: works that start together start in this
    /// order.
    pub fn running(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.progress.running.iter().copied()
    }

    /// Whether the job has succeeded, once it is over.
    pub fn decided(&self) -> Option<bool> {
        self.progress.decided
    }
}

impl Progress {
    /// Follows control from `target` until it has to wait for a work to stop.
    fn follow(&mut self, layout: &Layout, mut target: Target, started: &mut Vec<u32>) {
        loop {
            target = match target {
                Target::Work(id) => {
                    // A work never runs twice at once: only the arms of a `Par` are concurrent, and
                    // control leaves it when all of them are over.
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
