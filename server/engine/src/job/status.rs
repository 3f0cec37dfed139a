//! The status of a job for clients: its fold, and what only the running server knows.

use std::collections::BTreeSet;
use std::time::SystemTime;

use platform::clock::{iso_8601, iso_8601_of_micros};
use store::fold::{JobFold, WorkEnd, WorkFold};
use wire::{
    EntityState, JobId, JobInfo, JobStatus, JobStatusReply, JobTask, Usage, WorkState, WorkStatus,
};

use super::skipped::find_skipped;

/// Works of a running job by what they wait for. Both empty for a job that has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Those that are due and wait for a place.
    pub(super) for_places: BTreeSet<u32>,
    /// Those with a question that a person must answer.
    pub(super) for_people: BTreeSet<u32>,
}

/// The job as an item of the job list.
pub(super) fn job_info(job_id: JobId, fold: &JobFold, waiting: &Waiting) -> JobInfo {
    let JobState { state, reason, .. } = job_state(fold, waiting);
    JobInfo {
        job_id,
        job_name: fold.name().to_owned(),
        start_time: iso_8601_of_micros(fold.started_at()),
        status: fold.status(),
        state,
        reason,
    }
}

/// The status of a job and its works.
pub(super) fn status_reply(job_id: JobId, fold: &JobFold, waiting: &Waiting) -> JobStatusReply {
    let JobState { state, reason, work_id } = job_state(fold, waiting);
    JobStatusReply {
        job_id,
        job_name: fold.name().to_owned(),
        start_time: iso_8601_of_micros(fold.started_at()),
        end_time: fold.ended_at().map(iso_8601_of_micros),
        server_time: iso_8601(SystemTime::now()),
        status: fold.status(),
        state,
        reason,
        reason_work_id: work_id,
        usage: fold.usage(),
        folder: fold.folder().to_owned(),
        user_input: fold.input().to_owned(),
        retried_from: fold.retried_from(),
        retries: fold.retries().to_vec(),
        budget: fold.budget(),
        spent: fold.spent(),
        tasks: tasks(fold, waiting),
    }
}

/// The state of a job, why it is in it, and the work that this is about.
struct JobState {
    state: EntityState,
    reason: Option<String>,
    work_id: Option<u32>,
}

fn job_state(fold: &JobFold, waiting: &Waiting) -> JobState {
    let asking = waiting.for_people.first().filter(|_| fold.status() == JobStatus::Running);
    if let Some(work_id) = asking {
        let name = fold.name_of(*work_id).unwrap_or_default();
        let reason = Some(format!("`{name}` waits for an answer"));
        return JobState { state: EntityState::Waiting, reason, work_id: Some(*work_id) };
    }
    let state = fold.state();
    let work_id = fold.decisive_work().filter(|_| state == EntityState::Failed);
    JobState { state, reason: fold.reason(), work_id }
}

fn tasks(fold: &JobFold, waiting: &Waiting) -> Vec<JobTask> {
    let result = |id: u32| {
        let run = fold.works().get(&id).filter(|_| !waiting.for_places.contains(&id))?;
        match run.status {
            WorkStatus::Running => None,
            WorkStatus::Succeeded => Some(true),
            // One that was cut off decides nothing.
            WorkStatus::Failed => run.end.as_ref().is_none_or(WorkEnd::is_result).then_some(false),
        }
    };
    let skipped = fold.work().map(|work| find_skipped(work, result)).unwrap_or_default();
    // A job of an earlier version knows only what was started.
    let ids: BTreeSet<u32> = fold.planned().keys().chain(fold.works().keys()).copied().collect();
    let task = |id: u32| {
        let run = fold.works().get(&id);
        let is_condition = fold.planned().get(&id).is_some_and(|work| work.is_condition);
        let state = match run {
            _ if waiting.for_places.contains(&id) => WorkState::Queued,
            Some(run) => run_state(run, is_condition, waiting.for_people.contains(&id)),
            None if skipped.contains(&id) => WorkState::Skipped,
            None => WorkState::NotReached,
        };
        let end = run.and_then(|run| run.end.as_ref()).filter(|_| state != WorkState::Queued);
        JobTask {
            work_id_in_job: id,
            task_id: run.and_then(|run| run.task_id),
            name: fold.name_of(id).map(str::to_owned),
            status: run.map(|run| run.status),
            state,
            carried: run.is_some_and(|run| run.carried),
            recovery: run.and_then(|run| run.recovery),
            reason: end.map(|end| end.reason(|id| fold.name_of(id))),
            start_time: run.map(|run| iso_8601_of_micros(run.started_at)),
            end_time: run.and_then(|run| run.ended_at).map(iso_8601_of_micros),
            attempts: run.and_then(|run| run.attempts),
            usage: run.map_or_else(Usage::default, |run| run.usage),
        }
    };
    ids.into_iter().map(task).collect()
}

fn run_state(run: &WorkFold, is_condition: bool, is_asking: bool) -> WorkState {
    match (run.status, &run.end) {
        (WorkStatus::Running, _) if is_asking => WorkState::Waiting,
        (WorkStatus::Running, _) => WorkState::Running,
        (WorkStatus::Succeeded, _) if is_condition => WorkState::True,
        (WorkStatus::Succeeded, _) => WorkState::Succeeded,
        (WorkStatus::Failed, Some(WorkEnd::Canceled { .. })) => WorkState::Canceled,
        (WorkStatus::Failed, Some(WorkEnd::Interrupted)) => WorkState::Interrupted,
        // A condition that crashed is neither true nor false.
        (WorkStatus::Failed, Some(end)) if end.is_crash() => WorkState::Failed,
        (WorkStatus::Failed, _) if is_condition => WorkState::False,
        (WorkStatus::Failed, _) => WorkState::Failed,
    }
}

#[cfg(test)]
mod tests {
    use store::fold::{Canceler, Fold, JobNote};
    use wire::entry::Work;
    use wire::entry::testing::{alt, number, repeat, seq, task};
    use wire::{Budget, FailureCause, JobResponse, TaskId};

    use super::*;

    /// A fold in which each work stands as the word says: `+` succeeded, `-` failed, `r` running,
    /// `!` crashed, `c` canceled with the job, `u` stopped by a user, `i` interrupted.
    fn fold(mut work: Work, words: &str) -> JobFold {
        number(&mut work, &mut 0);
        let mut fold = JobFold::default();
        let (name, folder, input) = ("j".to_owned(), String::new(), String::new());
        let budget = Budget::default();
        let (work, entry, permissions) = (Some(work), None, None);
        let started = JobNote::Started { name, folder, input, work, entry, permissions, budget };
        fold.note(1, &started);
        for (word, at) in words.split_whitespace().zip((2..).step_by(3)) {
            let (id, how) = word.split_at(word.len() - 1);
            let work_id = id.parse().expect("a number");
            fold.apply(at, &JobResponse::WorkStarted { work_id, task_id: TaskId::generate() });
            let end = match how {
                "r" => continue,
                "+" => None,
                "-" => {
                    let argument = Some("no".to_owned());
                    Some(WorkEnd::Failed { cause: FailureCause::NotAvailable { argument } })
                }
                "!" => Some(WorkEnd::Failed { cause: FailureCause::Internal }),
                "c" => Some(WorkEnd::Canceled { by: Canceler::Job }),
                "u" => Some(WorkEnd::Canceled { by: Canceler::User }),
                "i" => Some(WorkEnd::Interrupted),
                other => panic!("{other}"),
            };
            let succeeded = end.is_none();
            if let Some(end) = end {
                fold.note(at + 1, &JobNote::Unsuccessful { work_id, end });
            }
            fold.apply(at + 2, &JobResponse::WorkStopped { work_id, succeeded });
        }
        fold
    }

    fn states(fold: &JobFold, waiting: &Waiting) -> String {
        let states = tasks(fold, waiting).into_iter().map(|task| task.state.as_str());
        states.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_work_has_its_state() {
        let one = || task("t");
        let choice = || seq([alt(one(), Some(one()), Some(one())), one()]);
        for (words, expected) in [
            ("", "notReached notReached notReached notReached"),
            ("0r", "running notReached notReached notReached"),
            ("0+ 1r", "true running skipped notReached"),
            ("0- 2+ 3-", "false skipped succeeded failed"),
            ("0u 2r", "canceled skipped running notReached"),
            // What was cut off chose nothing.
            ("0c", "canceled notReached notReached notReached"),
            ("0i", "interrupted notReached notReached notReached"),
            ("0!", "failed notReached notReached notReached"),
            ("0+ 1i", "true interrupted skipped notReached"),
        ] {
            assert_eq!(states(&fold(choice(), words), &Waiting::default()), expected, "{words}");
        }
        let again = repeat(Some((true, one())), one(), Some((true, one())));
        for (words, expected) in [
            ("0-", "false skipped skipped"),
            ("0+ 2+ 1- 0r", "running false succeeded"),
            ("0+ 2-", "true notReached failed"),
        ] {
            let fold = fold(again.clone(), words);
            assert_eq!(states(&fold, &Waiting::default()), expected, "{words}");
        }
    }

    #[test]
    fn what_waits_says_for_what() {
        let fold = fold(seq([task("a"), task("b"), task("c")]), "0+ 1r");
        let waiting = Waiting { for_places: [0, 2].into(), for_people: [1].into() };
        assert_eq!(states(&fold, &waiting), "queued waiting queued");
        let reply = status_reply(JobId::generate(), &fold, &waiting);
        assert_eq!(reply.state, EntityState::Waiting);
        assert_eq!(reply.reason.as_deref(), Some("`b` waits for an answer"));
        assert_eq!(reply.tasks[0].status, Some(WorkStatus::Succeeded), "its last run");
        let reply = status_reply(JobId::generate(), &fold, &Waiting::default());
        assert_eq!((reply.state, reply.reason), (EntityState::Running, None));
    }

    #[test]
    fn a_job_of_an_earlier_version_lists_what_was_started() {
        let mut fold = JobFold::default();
        fold.apply(2, &JobResponse::WorkStarted { work_id: 4, task_id: TaskId::generate() });
        fold.apply(3, &JobResponse::WorkStopped { work_id: 4, succeeded: false });
        let [task] = &*tasks(&fold, &Waiting::default()) else { panic!("one work") };
        assert_eq!((task.work_id_in_job, task.state), (4, WorkState::Failed));
        assert_eq!((&task.name, &task.reason), (&None, &None));
    }
}
