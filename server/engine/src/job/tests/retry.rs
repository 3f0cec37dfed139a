//! Retries: what they run again, what they take over, and how they are linked.

mod begin;
mod restart;

use futures_util::future::join_all;
use store::fold::{JobFold, refold};
use store::journal::HistoryQuery;
use tokio::time::advance;
use wire::entry::Work;
use wire::entry::testing::{alt, number, par, repeat, seq, task};
use wire::{EntityKind, JobId, JobResponse, JobStatusReply, JobTask, PermissionDecision, TaskId};

use super::*;

/// An entry with one job, `j`. Its tasks are `ok`, which succeeds, `no`, which fails, `crash`, and
/// `ask`, which does as [`Harness::answer`] says.
fn job(mut work: Work) -> Entry {
    number(&mut work, &mut 0);
    let task = |prompt: &str| json!({ "model": { "id": MODEL }, "prompt": [prompt], "requireUserInput": false });
    let mut no = task("say hi");
    no["criteria"] = json!({
        "toolExecuted": ["job_boolean_true"],
        "failureAction": { "retryTimes": 0 },
    });
    let entry = json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": {
            "ok": task("say hi"),
            "no": no,
            "crash": task("Crash."),
            "ask": task(CREATE),
        },
        "jobs": { "j": { "work": work } },
        "grid": [],
    });
    Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A work that has ended, as a test wants it.
#[derive(Clone, Copy)]
enum Wanted {
    Succeeded,
    Failed,
}

impl Harness {
    async fn start(&self, entry: Entry) -> JobId {
        let started = self.jobs.start(Arc::new(entry), "j", self.folder(), "input".to_owned());
        started.await.expect("a job")
    }

    async fn retry(&self, job: JobId, work: Option<u32>) -> JobId {
        self.jobs.retry(job, work).await.expect("a job")
    }

    async fn status(&self, job: JobId) -> JobStatusReply {
        self.jobs.status(job).await.expect("a job")
    }

    /// Lets works with the task `ask` end, which are those that wait now, in the order of their
    /// works.
    async fn answer(&self, job: JobId, wanted: &[Wanted]) {
        let mut asked = self.questions(wanted.len()).await;
        asked.sort_by_key(|question| question.work_id);
        for (question, wanted) in asked.iter().zip(wanted) {
            assert_eq!(question.job_id, Some(job));
            match wanted {
                Wanted::Succeeded => {
                    let session = question.session_id.expect("a session");
                    let answer = Answer::new(PermissionDecision::Deny, "tester");
                    let session = self.sessions.get(session).expect("a session");
                    session.answer_permission(question.id, &answer).expect("it waits");
                }
                // Stopped by a user: that is a result.
                Wanted::Failed => {
                    self.tasks.stop(question.task_id.expect("a task")).await.expect("a task");
                }
            }
        }
    }

    /// The works that were started in a job, in their order, from the store.
    async fn started(&self, job: JobId) -> Vec<u32> {
        let journal = self.jobs.live().shared().journal();
        let page = journal.read(job.into(), 0, usize::MAX, usize::MAX).await.expect("read");
        let facts = page.expect("kept").facts.into_iter();
        let facts = facts.map(|(_, fact)| serde_json::from_str(&fact.json).expect("a response"));
        let works: Vec<(u32, TaskId)> = facts
            .filter_map(|fact| match fact {
                JobResponse::WorkStarted { work_id, task_id } => Some((work_id, task_id)),
                _ => None,
            })
            .collect();
        // Nothing else runs for it.
        let tasks =
            HistoryQuery { limit: 1_000, kind: Some(EntityKind::Task), ..Default::default() };
        let tasks = journal.history(tasks).await.expect("read").items;
        let of_job = tasks.iter().filter(|task| task.record.parent == Some(job.into()));
        let mut of_job: Vec<_> = of_job.map(|task| task.entity).collect();
        let mut expected: Vec<_> = works.iter().map(|(_, task)| (*task).into()).collect();
        of_job.sort_unstable();
        expected.sort_unstable();
        assert_eq!(of_job, expected);
        works.into_iter().map(|(work, _)| work).collect()
    }
}

/// The works of a job with their states, and `*` behind those that were carried over.
fn states(status: &JobStatusReply) -> String {
    let state = |task: &JobTask| {
        let mark = if task.carried { "*" } else { "" };
        format!("{}{mark}", task.state.as_str())
    };
    status.tasks.iter().map(state).collect::<Vec<_>>().join(" ")
}

/// A status without what a retry adds to it, and without the time of the answer.
fn untouched(status: JobStatusReply) -> JobStatusReply {
    JobStatusReply { retries: Vec::new(), server_time: String::new(), ..status }
}

#[tokio::test]
async fn a_retry_runs_what_failed_and_takes_over_the_rest() {
    let harness = Harness::new();
    let arms = [task("ok"), task("ask"), task("ok")];
    let original = harness.start(job(seq([par(arms), task("ok")]))).await;
    harness.answer(original, &[Wanted::Failed]).await;
    let before = harness.ended(original).await;
    assert_eq!(states(&before), "succeeded canceled succeeded notReached");
    assert_eq!((before.status, &*before.retries), (JobStatus::Failed, &[][..]));

    let retry = harness.retry(original, None).await;
    let [asked] = &*harness.questions(1).await else { panic!("one question") };
    assert_eq!((asked.job_id, asked.work_id), (Some(retry), Some(1)));
    assert_eq!(harness.sessions.list().len(), 1, "nothing else runs");
    let running = harness.status(retry).await;
    assert_eq!(states(&running), "succeeded* waiting succeeded* notReached");
    assert_eq!((running.retried_from, running.job_name.as_str()), (Some(original), "j"));
    assert_eq!((running.folder.as_str(), running.user_input.as_str()), (harness.folder(), "input"));
    for (carried, own) in [0, 2].map(|id: usize| (&running.tasks[id], &before.tasks[id])) {
        assert_eq!((&carried.start_time, &carried.end_time), (&own.start_time, &own.end_time));
        assert_eq!((carried.status, carried.task_id), (Some(WorkStatus::Succeeded), None));
    }
    // The original shows the link, and nothing else has changed.
    let linked = harness.status(original).await;
    assert_eq!(linked.retries, [retry]);
    assert_eq!(untouched(linked), untouched(before));

    harness.answer(retry, &[Wanted::Succeeded]).await;
    let after = harness.ended(retry).await;
    assert_eq!((after.status, after.state), (JobStatus::Succeeded, EntityState::Succeeded));
    assert_eq!(states(&after), "succeeded* succeeded succeeded* succeeded");
    assert_eq!(harness.started(retry).await, [1, 3]);
    assert_eq!(harness.started(original).await.len(), 3);
    harness.end().await;
}

#[tokio::test]
async fn a_retry_can_be_retried() {
    let harness = Harness::new();
    let first = harness.start(job(seq([task("ok"), task("ask"), task("ask")]))).await;
    harness.answer(first, &[Wanted::Failed]).await;
    harness.ended(first).await;
    let second = harness.retry(first, None).await;
    harness.answer(second, &[Wanted::Succeeded]).await;
    harness.answer(second, &[Wanted::Failed]).await;
    assert_eq!(states(&harness.ended(second).await), "succeeded* succeeded canceled");
    let third = harness.retry(second, None).await;
    harness.questions(1).await;
    assert_eq!(states(&harness.status(third).await), "succeeded* succeeded* waiting");
    harness.answer(third, &[Wanted::Succeeded]).await;
    let status = harness.ended(third).await;
    assert_eq!(
        (states(&status).as_str(), status.status),
        ("succeeded* succeeded* succeeded", JobStatus::Succeeded)
    );
    assert_eq!(harness.started(third).await, [2]);
    // From the first work of all, which the second run had only taken over.
    let fourth = harness.retry(second, Some(0)).await;
    harness.answer(fourth, &[Wanted::Failed]).await;
    assert_eq!(states(&harness.ended(fourth).await), "succeeded canceled notReached");
    assert_eq!(harness.started(fourth).await, [0, 1]);
    let links =
        [(first, None), (second, Some(first)), (third, Some(second)), (fourth, Some(second))];
    for (job, from) in links {
        assert_eq!(harness.status(job).await.retried_from, from);
    }
    assert_eq!(harness.status(first).await.retries, [second]);
    assert_eq!(harness.status(second).await.retries, [third, fourth]);
    harness.end().await;
}

#[tokio::test]
async fn a_retry_begins_at_any_work_that_has_run() {
    for (work, chosen, started, states_after) in [
        (
            seq([task("ok"), task("ok"), task("ok")]),
            1,
            vec![1, 2],
            "succeeded* succeeded succeeded",
        ),
        (par([task("ok"), task("ok")]), 0, vec![0], "succeeded succeeded*"),
        (
            alt(task("no"), Some(task("ok")), Some(task("ok"))),
            2,
            vec![2],
            "false* skipped succeeded",
        ),
        (
            alt(task("no"), Some(task("ok")), Some(task("ok"))),
            0,
            vec![0, 2],
            "false skipped succeeded",
        ),
        // Once through the loop.
        (
            repeat(Some((true, task("ok"))), task("ok"), Some((true, task("no")))),
            1,
            vec![1],
            "true* false succeeded*",
        ),
        (
            repeat(Some((true, task("ok"))), task("ok"), Some((true, task("no")))),
            2,
            vec![2, 1],
            "true* false succeeded",
        ),
    ] {
        let harness = Harness::new();
        let original = harness.start(job(work)).await;
        assert_eq!(harness.ended(original).await.status, JobStatus::Succeeded);
        let retry = harness.retry(original, Some(chosen)).await;
        let status = harness.ended(retry).await;
        assert_eq!((status.status, states(&status).as_str()), (JobStatus::Succeeded, states_after));
        assert_eq!(harness.started(retry).await, started);
        harness.end().await;
    }
}

#[tokio::test]
async fn the_last_iteration_of_a_loop_goes_on() {
    let harness = Harness::new();
    // Again as long as the condition is true: its task succeeds, or is stopped.
    let work = repeat(None, par([task("ok"), task("ask")]), Some((true, task("ask"))));
    let original = harness.start(job(work)).await;
    for wanted in [Wanted::Succeeded, Wanted::Succeeded, Wanted::Failed] {
        harness.answer(original, &[wanted]).await;
    }
    assert_eq!(harness.ended(original).await.status, JobStatus::Failed);
    let before = harness.started(original).await.len();
    assert_eq!(before, 5, "two in each iteration, and the condition between them");
    let retry = harness.retry(original, None).await;
    harness.answer(retry, &[Wanted::Succeeded]).await;
    harness.answer(retry, &[Wanted::Failed]).await;
    let status = harness.ended(retry).await;
    assert_eq!(
        (status.status, states(&status).as_str()),
        (JobStatus::Succeeded, "canceled succeeded* succeeded")
    );
    assert_eq!(harness.started(retry).await, [2, 0]);
    harness.end().await;
}

#[tokio::test]
async fn a_job_that_crashed_or_was_stopped_goes_on_with_what_has_no_result() {
    let harness = Harness::new();
    let crashed = harness.start(job(seq([task("ok"), par([task("ok"), task("crash")])]))).await;
    let status = harness.ended(crashed).await;
    assert_eq!((status.status, status.tasks[2].state), (JobStatus::Failed, WorkState::Failed));
    let again = harness.retry(crashed, None).await;
    assert_eq!(harness.ended(again).await.status, JobStatus::Failed);
    assert!(harness.started(again).await.contains(&2));
    assert!(!harness.started(again).await.contains(&0));

    let arms = par([task("ok"), task("ask"), task("ask")]);
    let stopped = harness.start(job(seq([arms, task("ok")]))).await;
    harness.questions(2).await;
    while harness.status(stopped).await.tasks[0].state != WorkState::Succeeded {
        tokio::task::yield_now().await;
    }
    harness.jobs.stop(stopped).await.expect("a job");
    let status = harness.status(stopped).await;
    assert_eq!(states(&status), "succeeded canceled canceled notReached");
    assert_eq!(status.state, EntityState::Canceled);
    // One of them is chosen, but the other one has no result either.
    let retry = harness.retry(stopped, Some(2)).await;
    harness.answer(retry, &[Wanted::Succeeded, Wanted::Succeeded]).await;
    let status = harness.ended(retry).await;
    assert_eq!(states(&status), "succeeded* succeeded succeeded succeeded");
    let mut started = harness.started(retry).await;
    started.sort_unstable();
    assert_eq!(started, [1, 2, 3]);
    harness.end().await;
}

#[tokio::test]
async fn a_failure_that_is_taken_over_decides_the_job_in_the_end() {
    let harness = Harness::new();
    let original = harness.start(job(par([task("ask"), task("no"), task("ok")]))).await;
    harness.answer(original, &[Wanted::Failed]).await;
    harness.ended(original).await;
    let retry = harness.retry(original, Some(0)).await;
    assert_eq!(harness.status(retry).await.status, JobStatus::Running, "not before it has run");
    harness.answer(retry, &[Wanted::Succeeded]).await;
    let status = harness.ended(retry).await;
    assert_eq!(states(&status), "succeeded failed* succeeded*");
    assert_eq!((status.status, status.reason_work_id), (JobStatus::Failed, Some(1)));
    assert!(status.reason.expect("a reason").starts_with("`no` failed: "));
    assert_eq!(harness.started(retry).await, [0]);
    harness.end().await;
}

#[tokio::test]
async fn what_cannot_be_retried_says_why() {
    let harness = Harness::new();
    let refused = async |job: JobId, work: Option<u32>| {
        harness.jobs.retry(job, work).await.expect_err("refused")
    };
    assert_eq!(refused(JobId::generate(), None).await, JobError::JobNotFound);
    let ok = harness.start(job(alt(task("ok"), Some(task("ok")), Some(task("ok"))))).await;
    harness.ended(ok).await;
    assert_eq!(refused(ok, None).await, JobError::NothingToRetry);
    assert_eq!(refused(ok, Some(2)).await, JobError::NothingToRetry, "not reached");
    assert_eq!(refused(ok, Some(3)).await, JobError::WorkNotFound);
    let running = harness.start(job(task("ask"))).await;
    for work in [None, Some(0), Some(9)] {
        assert_eq!(refused(running, work).await, JobError::StillRunning);
    }
    harness.questions(1).await;
    assert_eq!(harness.jobs.running().jobs.len(), 2, "nothing was started");
    assert_eq!(harness.status(ok).await.retries, []);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn all_of_many_retries_at_once_are_linked() {
    let harness = Harness::new();
    let original = harness.start(job(task("no"))).await;
    harness.ended(original).await;
    let mut linked = Vec::new();
    // Its log is still there; it was freed; not even the list has the job any more.
    for pause in [0, 60, 2 * 60 * 60] {
        advance(Duration::from_secs(pause)).await;
        harness.jobs.live().sweep();
        let at_once = join_all((0..5).map(|_| harness.retry(original, None))).await;
        linked.extend(at_once);
        let status = harness.status(original).await;
        let (mut found, mut expected) = (status.retries.clone(), linked.clone());
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "after {pause} s");
        let journal = harness.jobs.live().shared().journal();
        let kept = refold::<JobResponse, JobFold>(&**journal, original.into()).await;
        assert_eq!(kept.expect("read").expect("kept").retries(), status.retries);
    }
    assert!(harness.jobs.live().get(original).is_none());
    for retry in linked {
        assert_eq!(harness.ended(retry).await.retried_from, Some(original));
    }
    harness.end().await;
}
