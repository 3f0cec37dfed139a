//! What people are asked about a job's interrupted works: no session asks it, so it comes from the
//! inbox.

use wire::{InboxItem, JobId};

/// The questions of a job.
#[derive(Default)]
pub(super) struct Questions(Vec<InboxItem>);

impl Questions {
    /// Takes those that the inbox lists now. Returns whether they have changed, and
    /// whether one was settled.
    pub(super) fn take(&mut self, job: JobId, items: &[InboxItem]) -> (bool, bool) {
        let is_ours = |item: &&InboxItem| item.job_id == Some(job) && item.is_about_work();
        let now: Vec<_> = items.iter().filter(is_ours).cloned().collect();
        let is_settled = self.0.iter().any(|old| now.iter().all(|item| item.id != old.id));
        let has_changed = self.0 != now;
        self.0 = now;
        (has_changed, is_settled)
    }

    /// Those about a work.
    pub(super) fn of(&self, work: u32) -> impl Iterator<Item = &InboxItem> {
        self.0.iter().filter(move |item| item.work_id == Some(work))
    }
}
