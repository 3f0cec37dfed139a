//! What a retry begins with, and that it is stored before anything happens.

use futures_util::poll;
use store::fold::JobHistory;
use store::journal::{Entity, MemoryJournal};
use tokio::time::sleep;

use super::*;
use crate::job::tests::journal::TestJournal;
use crate::session::StartError;

/// A server with a journal that holds whatever comes from now on, and a job that has failed there.
async fn failed_job() -> (Arc<TestJournal>, Harness, JobId) {
    let journal = Arc::new(TestJournal::default());
    let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
    let harness = Harness::with(live);
    let original = harness.start(job(seq([task("ok"), task("no")]))).await;
    harness.ended(original).await;
    journal.hold();
    (journal, harness, original)
}

/// The one running job.
fn running(harness: &Harness) -> JobId {
    let jobs = harness.jobs.running().jobs;
    let mut running = jobs.iter().filter(|job| job.status == JobStatus::Running);
    running.next().expect("a running job").job_id
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_before_the_start_and_what_it_takes_over_are_stored_together() {
    let (journal, harness, original) = failed_job().await;
    let jobs = harness.jobs.clone();
    let call = tokio::spawn(async move { jobs.retry(original, None).await });
    // Time passes once nothing else can happen.
    sleep(Duration::from_secs(1)).await;
    let retry = running(&harness);
    let first = vec![(retry.into(), "started".to_owned()), (retry.into(), "retries".to_owned())];
    assert_eq!(journal.notes(), [first]);
    assert_eq!(harness.sessions.list().len(), 0);
    assert!(!call.is_finished());

    journal.settle_first(true);
    sleep(Duration::from_secs(1)).await;
    let linked = (Entity::from(original), "retriedBy".to_owned());
    assert!(journal.notes().concat().contains(&linked), "{:?}", journal.notes());
    assert!(!call.is_finished(), "the link is not stored");
    journal.release();
    assert_eq!(call.await.expect("no panic"), Ok(retry));
    assert_eq!(harness.status(original).await.retries, [retry]);
    assert_eq!(states(&harness.ended(retry).await), "succeeded* failed");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_cannot_be_stored_is_stopped() {
    for refused in ["started", "retriedBy"] {
        let (journal, harness, original) = failed_job().await;
        let jobs = harness.jobs.clone();
        let call = tokio::spawn(async move { jobs.retry(original, None).await });
        loop {
            sleep(Duration::from_millis(100)).await;
            let Some(first) = journal.notes().into_iter().next() else { break };
            let is_refused = first.iter().any(|(_, note)| note == refused);
            journal.settle_first(!is_refused);
            if is_refused {
                break;
            }
        }
        let error = call.await.expect("no panic").expect_err("refused");
        assert!(matches!(error, JobError::Store(_)), "{error:?}");
        journal.release();
        loop {
            let jobs = harness.jobs.running().jobs;
            if jobs.iter().all(|job| job.status != JobStatus::Running) {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(harness.sessions.list().len(), 0);
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_hangs_up_leaves_no_half_of_a_link() {
    let (journal, harness, original) = failed_job().await;
    {
        let mut call = Box::pin(harness.jobs.retry(original, None));
        while journal.notes().is_empty() {
            assert!(poll!(&mut call).is_pending());
            tokio::task::yield_now().await;
        }
    }
    let retry = running(&harness);
    journal.release();
    assert_eq!(harness.ended(retry).await.retried_from, Some(original));
    while harness.status(original).await.retries != [retry] {
        tokio::task::yield_now().await;
    }
    harness.end().await;
}

/// How permission requests are answered in a job, as it is stored.
async fn stored_permissions(harness: &Harness, job: JobId) -> Option<PermissionMode> {
    let journal = harness.jobs.live().shared().journal();
    let history = refold::<JobResponse, JobHistory>(&**journal, job.into()).await.expect("read");
    history.expect("kept").permissions
}

#[tokio::test]
async fn a_retry_is_no_less_careful_than_the_first_run_or_the_settings() {
    let journal = Arc::new(MemoryJournal::default());
    let server = |permissions: PermissionMode| {
        let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
        let settings = JobSettings { permissions, ..JobSettings::default() };
        Harness::with_settings(live, settings, Vec::new())
    };
    let careful = server(PermissionMode::Ask);
    let lenient = server(PermissionMode::ApproveAll);
    let asked = careful.start(job(task("ask"))).await;
    careful.answer(asked, &[Wanted::Failed]).await;
    careful.ended(asked).await;
    let retry = lenient.retry(asked, None).await;
    lenient.answer(retry, &[Wanted::Succeeded]).await;
    lenient.ended(retry).await;
    assert_eq!(stored_permissions(&lenient, retry).await, Some(PermissionMode::Ask));

    let made = lenient.folder.path().join("made.txt");
    let approved = lenient.start(job(task("ask"))).await;
    lenient.ended(approved).await;
    std::fs::remove_file(&made).expect("it was made");
    lenient.jobs.narrow(PermissionMode::Deny, Budget::default());
    let retry = lenient.retry(approved, Some(0)).await;
    lenient.ended(retry).await;
    assert!(!made.exists());
    assert_eq!(stored_permissions(&lenient, retry).await, Some(PermissionMode::Deny));

    // A job's own mode is the author's decision.
    let mut own = job(task("ask"));
    own.jobs["j"].permissions = Some(PermissionMode::ApproveAll);
    let own = careful.start(own).await;
    careful.ended(own).await;
    let made = careful.folder.path().join("made.txt");
    std::fs::remove_file(&made).expect("it was made");
    let retry = careful.retry(own, Some(0)).await;
    careful.ended(retry).await;
    assert!(made.exists());
    careful.end().await;
    lenient.end().await;
}

#[tokio::test]
async fn a_retry_has_a_budget_of_its_own() {
    let budget = |json: serde_json::Value| serde_json::from_value(json).expect("a budget");
    let harness = Harness::new();
    let mut entry = job(seq([task("ok"), task("ok"), task("ok")]));
    entry.jobs["j"].budget = Some(budget(json!({ "turns": 2 })));
    let original = harness.start(entry).await;
    let status = harness.ended(original).await;
    assert_eq!((states(&status).as_str(), status.spent.turns), ("succeeded succeeded failed", 2));
    // What the settings say by now counts for a limit that the job does not name.
    harness.jobs.narrow(PermissionMode::Ask, budget(json!({ "turns": 1, "minutes": 7 })));
    let retry = harness.retry(original, None).await;
    let status = harness.ended(retry).await;
    assert_eq!(states(&status), "succeeded* succeeded* succeeded");
    assert_eq!(status.budget, budget(json!({ "turns": 2, "minutes": 7 })));
    assert_eq!(status.spent.turns, 1);
    harness.end().await;
}

#[tokio::test]
async fn a_retry_is_refused_as_a_start_is() {
    let live = LiveShared::new(LiveSettings::for_tests());
    let permissions = PermissionMode::Ask;
    let settings = JobSettings { permissions, max_jobs: 1, ..JobSettings::default() };
    let mut harness = Harness::with_settings(live, settings, Vec::new());
    let original = harness.start(job(task("no"))).await;
    harness.ended(original).await;
    let other = harness.start(job(task("ask"))).await;
    let refused = harness.jobs.retry(original, None).await;
    assert_eq!(refused, Err(JobError::TooManyJobs));
    harness.jobs.stop(other).await.expect("a job");
    let gone = std::mem::replace(&mut harness.folder, tempfile::tempdir().expect("a folder"));
    let path = gone.path().to_str().expect("a plain path").to_owned();
    gone.close().expect("removed");
    let refused = harness.jobs.retry(original, None).await;
    let error = StartError::WorkingDirectoryNotExists(path);
    assert_eq!(refused, Err(JobError::WorkingDirectory(error)));
    assert_eq!(harness.status(original).await.retries, []);
    assert_eq!(harness.jobs.running().jobs.len(), 2);
    harness.end().await;
}
