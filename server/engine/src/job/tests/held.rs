//! What must not be lost while the journal is slow.

use tokio::time::sleep;

use super::journal::TestJournal;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_job_that_is_stopped_while_its_session_is_being_stored_leaves_no_session() {
    let journal = Arc::new(TestJournal::default());
    let live = LiveShared::with_journal(LiveSettings::for_tests(), journal.clone());
    let harness = Harness::with(live);
    let started = harness.jobs.start(entry(), "j", harness.folder(), String::new());
    let job = started.await.expect("a job");
    journal.hold();
    while harness.sessions.list().is_empty() {
        tokio::task::yield_now().await;
    }
    let jobs = harness.jobs.clone();
    let stop = tokio::spawn(async move { jobs.stop(job).await });
    // Time passes once nothing else can happen.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(harness.sessions.list().len(), 0);
    journal.release();
    assert_eq!(stop.await.expect("no panic"), Ok(()));
    assert_eq!(harness.jobs.status(job).await.expect("a job").status, JobStatus::Canceled);
    harness.end().await;
}
