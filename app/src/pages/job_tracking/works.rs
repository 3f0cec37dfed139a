//! The works of a job as a tree, and how they stand: what the outline and the strip show.

use wire::chart::Chart;

use super::Page;
use crate::reactive::prelude::*;
use crate::state::job::Span;
use crate::state::outline::tree::{Tree, read_tree};
use crate::state::outline::{Outline, WorkFacts};
use crate::state::tracking::facts;

/// The works of the job, and how they stand.
#[derive(Clone, Copy)]
pub(super) struct Works {
    pub(super) page: Page,
    tree: StoredValue<Vec<Tree>>,
}

impl Works {
    pub(super) fn new(page: Page, chart: &Chart) -> Self {
        Self { page, tree: StoredValue::new(read_tree(chart)) }
    }

    /// Looks at all works; tracked.
    pub(super) fn look<T>(self, look: impl FnOnce(Outline<'_>) -> T) -> T {
        self.tree.with_value(|tree| match self.page.tracking {
            None => {
                let facts = |_| WorkFacts::default();
                look(Outline { tree, facts: &facts, job: None, now: 0, filter: None, choices: &[] })
            }
            Some(tracking) => {
                let now = tracking.now();
                // In a run of another job the numbers mean other works.
                let is_own = self.page.shows_its_run();
                tracking.job.with(|job| {
                    let facts = |work| if is_own { facts(job, work) } else { WorkFacts::default() };
                    let span = Some(if is_own { job.span } else { Span::default() });
                    look(Outline {
                        tree,
                        facts: &facts,
                        job: span,
                        now,
                        filter: None,
                        choices: &[],
                    })
                })
            }
        })
    }
}
