//! The verdicts of a job, read from the stored streams of its tasks.

use std::collections::VecDeque;

use platform::clock::iso_8601_of_micros;
use serde::de::DeserializeOwned;
use store::journal::{Entity, Journal, StoreError};
use wire::{JobId, JobResponse, JobVerdicts, TaskId, TaskResponse, WorkVerdict};

/// How many facts of a stream are in memory at a time, and how many bytes, more or less.
const PAGE_FACTS: usize = 1_000;
const PAGE_BYTES: usize = 1024 * 1024;
/// How many runs of works are read: the latest ones. Only a job that loops for days has more.
const MAX_RUNS: usize = 10_000;
/// Texts in one answer, in bytes. Verdicts of earlier runs are left out beyond that.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The verdicts of all runs of all works, in the order in which they were given; `None` if the job
/// is unknown. Readers see a verdict once it is stored, so what anybody has seen is among them.
pub(super) async fn list(
    journal: &dyn Journal,
    job: JobId,
) -> Result<Option<JobVerdicts>, StoreError> {
    let mut runs = VecDeque::new();
    let is_known = read_all(journal, job.into(), |_, response| {
        if let JobResponse::WorkStarted { work_id, task_id } = response {
            if runs.len() == MAX_RUNS {
                runs.pop_front();
            }
            runs.push_back((work_id, task_id));
        }
    })
    .await?;
    if !is_known {
        return Ok(None);
    }
    let mut found = Vec::new();
    let mut bytes = 0;
    for (work_id, task_id) in runs.into_iter().rev() {
        if bytes >= MAX_BYTES {
            break;
        }
        bytes += read_run(journal, work_id, task_id, &mut found).await?;
    }
    // Times are unique within a server.
    found.sort_unstable_by_key(|(at, _)| *at);
    Ok(Some(JobVerdicts { verdicts: found.into_iter().map(|(_, verdict)| verdict).collect() }))
}

/// Adds the verdicts of one run, and returns the bytes of their texts.
async fn read_run(
    journal: &dyn Journal,
    work_id: u32,
    task_id: TaskId,
    found: &mut Vec<(u64, WorkVerdict)>,
) -> Result<usize, StoreError> {
    let mut bytes = 0;
    read_all(journal, task_id.into(), |at, response| {
        if let TaskResponse::TaskVerdict(verdict) = response {
            bytes += verdict.reason.len() + verdict.evidence.as_deref().map_or(0, str::len);
            found.push((at, WorkVerdict::new(work_id, task_id, iso_8601_of_micros(at), verdict)));
        }
    })
    .await?;
    Ok(bytes)
}

/// Calls `take` with every fact of a stream and its time. False if the entity is unknown.
async fn read_all<R: DeserializeOwned>(
    journal: &dyn Journal,
    entity: Entity,
    mut take: impl FnMut(u64, R),
) -> Result<bool, StoreError> {
    let mut after = 0;
    loop {
        let page = journal.read(entity, after, PAGE_FACTS, PAGE_BYTES).await?;
        let Some(page) = page else { return Ok(false) };
        for (seq, fact) in page.facts {
            after = seq;
            // We wrote it, so it parses unless a newer version added its kind.
            if let Ok(response) = serde_json::from_str(&fact.json) {
                take(fact.at, response);
            }
        }
        if page.is_end {
            return Ok(true);
        }
    }
}
