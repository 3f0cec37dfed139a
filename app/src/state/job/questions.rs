//! What people are asked about a job's interrupted works: no session asks it, so it comes from the
//! inbox.

use wire::{InboxItem, InboxResponse, JobId, Timed};

use crate::state::inbox;

/// The questions of a job.
#[derive(Default)]
pub(super) struct Questions(Vec<InboxItem>);

impl Questions {
    /// Processes what the inbox tells. Returns whether one of them was settled.
    pub(super) fn take(&mut self, job: JobId, responses: Vec<Timed<InboxResponse>>) -> bool {
        let mut is_settled = false;
        for Timed { response, .. } in responses {
            let is_ours = match &response {
                InboxResponse::InboxAdded(item) => item.job_id == Some(job) && item.is_about_work(),
                InboxResponse::InboxResolved(answer) => {
                    self.0.iter().any(|item| item.id == answer.id)
                }
            };
            if is_ours {
                is_settled |= !inbox::apply(&mut self.0, response);
            }
        }
        is_settled
    }

    /// Those about a work.
    pub(super) fn of(&self, work: u32) -> impl Iterator<Item = &InboxItem> {
        self.0.iter().filter(move |item| item.work_id == Some(work))
    }
}
