//! Retries of jobs that only the store knows any more.

use store::fold::{Fold, JobNote, to_fact};
use store::journal::Append;
use wire::entry::OnInterrupted;

use super::*;

#[tokio::test]
async fn a_job_that_a_kill_cut_off_is_retried_after_the_restart() {
    let (folder, copy) = (tempfile::tempdir(), tempfile::tempdir());
    let (folder, copy) = (folder.expect("a folder"), copy.expect("a folder"));
    let (journal, harness) = open_store(folder.path()).await;
    let work = seq([task("ok"), par([task("ask"), task("ok")]), task("ok")]);
    let mut entry = job(work);
    entry.jobs["j"].on_interrupted = Some(OnInterrupted::Fail);
    let original = harness.start(entry).await;
    harness.questions(1).await;
    while harness.status(original).await.tasks[2].state != WorkState::Succeeded {
        tokio::task::yield_now().await;
    }
    harness.jobs.live().durable(original).await.expect("stored");
    copy_files(folder.path(), copy.path());
    let working_directory = harness.folder().to_owned();

    let (copied, restarted) = open_store(copy.path()).await;
    let before = restarted.ended(original).await;
    assert_eq!(states(&before), "succeeded interrupted succeeded notReached");
    let retry = restarted.retry(original, None).await;
    restarted.answer(retry, &[Wanted::Succeeded]).await;
    let after = restarted.ended(retry).await;
    assert_eq!(states(&after), "succeeded* succeeded succeeded* succeeded");
    assert_eq!((after.folder, after.user_input), (working_directory, "input".to_owned()));
    let mut started = restarted.started(retry).await;
    started.sort_unstable();
    assert_eq!(started, [1, 3]);
    let linked = restarted.status(original).await;
    assert_eq!((&*linked.retries, untouched(linked.clone())), (&[retry][..], untouched(before)));
    let after = untouched(restarted.status(retry).await);
    restarted.end().await;
    copied.close();

    // Once more: all of it is kept, and the retry can be retried.
    let (copied, restarted) = open_store(copy.path()).await;
    let kept = restarted.status(original).await;
    assert_eq!(kept.retries, [retry]);
    assert_same_but_time(&untouched(kept), &untouched(linked));
    assert_same_but_time(&untouched(restarted.status(retry).await), &after);
    let again = restarted.retry(retry, Some(3)).await;
    let status = restarted.ended(again).await;
    assert_eq!(states(&status), "succeeded* succeeded* succeeded* succeeded");
    assert_eq!(status.retried_from, Some(retry));
    assert_eq!(restarted.started(again).await, [3]);
    restarted.end().await;
    copied.close();
    harness.end().await;
    journal.close();
}

/// Copies what a kill would leave.
fn copy_files(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).expect("a folder").flatten() {
        std::fs::copy(file.path(), to.join(file.file_name())).expect("copied");
    }
}

#[tokio::test]
async fn a_retry_that_a_kill_cut_off_still_has_what_it_took_over() {
    let (folder, copy) = (tempfile::tempdir(), tempfile::tempdir());
    let (folder, copy) = (folder.expect("a folder"), copy.expect("a folder"));
    let (journal, harness) = open_store(folder.path()).await;
    let mut entry = job(seq([task("ok"), par([task("ask"), task("ask")]), task("ok")]));
    entry.jobs["j"].on_interrupted = Some(OnInterrupted::Fail);
    let original = harness.start(entry).await;
    harness.answer(original, &[Wanted::Succeeded, Wanted::Failed]).await;
    harness.ended(original).await;
    let retry = harness.retry(original, None).await;
    harness.questions(1).await;
    copy_files(folder.path(), copy.path());

    let (copied, restarted) = open_store(copy.path()).await;
    let cut_off = restarted.ended(retry).await;
    assert_eq!(states(&cut_off), "succeeded* succeeded* interrupted notReached");
    assert_eq!(cut_off.retried_from, Some(original));
    assert_eq!(restarted.status(original).await.retries, [retry]);
    let again = restarted.retry(retry, None).await;
    restarted.answer(again, &[Wanted::Succeeded]).await;
    let status = restarted.ended(again).await;
    assert_eq!(states(&status), "succeeded* succeeded* succeeded succeeded");
    assert_eq!(restarted.started(again).await, [2, 3]);
    restarted.end().await;
    copied.close();
    harness.end().await;
    journal.close();
}

/// The time that was used is rounded when it is stored.
fn assert_same_but_time(one: &JobStatusReply, other: &JobStatusReply) {
    let without = |status: &JobStatusReply| {
        let mut status = status.clone();
        status.spent.minutes = 0.0;
        status
    };
    assert_eq!(without(one), without(other));
}

#[tokio::test]
async fn retries_of_a_stored_job_at_the_same_time_are_all_linked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, harness) = open_store(folder.path()).await;
    let works_in = tempfile::tempdir().expect("a folder");
    let path = works_in.path().to_str().expect("a plain path");
    let started = harness.jobs.start(Arc::new(job(task("no"))), "j", path, String::new());
    let original = started.await.expect("a job");
    harness.ended(original).await;
    harness.jobs.live().durable(original).await.expect("stored");
    harness.end().await;
    journal.close();

    // Nobody can follow it any more, so it gets no log, either.
    let journal = Arc::new(SqliteJournal::open(folder.path()).expect("a store"));
    let settings = LiveSettings { count_down: Duration::ZERO, ..LiveSettings::for_tests() };
    let harness = Harness::with(LiveShared::with_journal(settings, journal.clone()));
    let mut linked = join_all((0..8).map(|_| harness.retry(original, None))).await;
    assert!(harness.jobs.live().get(original).is_none());
    let mut found = harness.status(original).await.retries;
    found.sort_unstable();
    linked.sort_unstable();
    assert_eq!(found, linked);
    for retry in linked {
        harness.ended(retry).await;
    }
    harness.end().await;
    journal.close();
}

#[tokio::test]
async fn a_job_of_an_earlier_version_cannot_be_retried() {
    let harness = Harness::new();
    let id = JobId::generate();
    let work = job(task("no")).jobs["j"].work.clone();
    let started = JobNote::Started {
        name: "j".to_owned(),
        folder: harness.folder().to_owned(),
        input: String::new(),
        work: Some(work),
        entry: None,
        permissions: None,
        budget: Budget::default(),
    };
    let mut fold = JobFold::default();
    fold.note(1, &started);
    fold.apply(2, &JobResponse::JobFailed);
    let append = Append {
        notes: vec![to_fact(1, &started)],
        facts: vec![to_fact(2, &JobResponse::JobFailed)],
        record: Some(fold.record()),
        ..Append::new(id, 0, 0)
    };
    let journal = harness.jobs.live().shared().journal();
    journal.submit(append.into()).durable().await.expect("stored");
    assert_eq!(harness.status(id).await.status, JobStatus::Failed);
    for work in [None, Some(0), Some(1)] {
        assert_eq!(harness.jobs.retry(id, work).await, Err(JobError::NothingToRetry));
    }
    harness.end().await;
}
