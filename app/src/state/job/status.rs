//! What a status of the job says, and what of it counts beside live responses.

use wire::{EntityState, JobStatus, JobStatusReply, WorkStatus};

use super::JobState;
use super::lineage::Lineage;
use super::tab::Tab;
use super::time::{Millis, Span};
use super::work::Known;

impl<T: Tab> JobState<T> {
    /// Processes a fresh status of the job. `parse` reads the server's times.
    pub(crate) fn take_status(
        &mut self,
        reply: JobStatusReply,
        now: Millis,
        parse: impl Fn(&str) -> Option<Millis>,
    ) {
        let server_now = parse(&reply.server_time).unwrap_or(now);
        // The clocks of server and browser may differ.
        let here = |time: &str| parse(time).map(|time| time + now - server_now);
        let span = |start: &str, end: Option<String>| Span {
            start: here(start),
            end: end.as_deref().and_then(here),
        };
        self.replays = true;
        self.status = Some(reply.status);
        self.name = Some(reply.job_name);
        self.told = reply.usage;
        self.budget = reply.budget;
        self.spent = reply.spent;
        self.span = span(&reply.start_time, reply.end_time);
        self.state = Some(without_waiting(reply.state));
        self.reason = reply.reason;
        self.fault = reply.reason_work_id;
        self.lineage = Lineage {
            folder: reply.folder,
            user_input: reply.user_input,
            retried_from: reply.retried_from,
            retries: reply.retries,
        };
        for task in reply.tasks {
            let work = self.works.entry(task.work_id_in_job).or_default();
            work.standing = (&task).into();
            let Some(start) = task.start_time else { continue };
            work.status = task.status;
            work.span = span(&start, task.end_time);
            work.told = task.usage;
            work.told_attempts = task.attempts;
            work.known = Some(Known { task: task.task_id, span: work.span });
        }
    }

    /// Takes the states from a status that was asked for because live responses went beyond the last
    /// one. Times and runs are those of the live responses.
    pub(crate) fn take_states(&mut self, reply: JobStatusReply) {
        let is_over = |status| status != JobStatus::Running;
        // A status that is ahead of the live responses is asked for again when they catch up.
        if self.status.is_some_and(is_over) == is_over(reply.status) {
            self.state = Some(without_waiting(reply.state));
            self.reason = reply.reason;
            self.fault = reply.reason_work_id;
        }
        self.lineage.retries = reply.retries;
        for task in reply.tasks {
            let work = self.works.entry(task.work_id_in_job).or_default();
            // What is running here has not stopped here, whatever the status says by now.
            let is_running = |status| status == Some(WorkStatus::Running);
            if !is_running(work.status) || is_running(task.status) {
                work.standing = (&task).into();
                work.told_attempts = task.attempts.max(work.told_attempts);
            }
        }
    }
}

/// Who waits for a person is known from the questions themselves, as they come and go.
fn without_waiting(state: EntityState) -> EntityState {
    match state {
        EntityState::Waiting => EntityState::Running,
        state => state,
    }
}
