//! Sessions whose agents are freed because nobody uses them.

use agents::Capabilities;
use tokio::time::sleep;
use wire::EntityState;

use super::continuation::{REPEAT, Remembering};
use super::*;

const IDLE: Duration = Duration::from_mins(31);

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_parked_and_goes_on_with_the_next_prompt() {
    let harness = Harness::new();
    let id = harness.start_with(&["say \"A plum.\""]).await;
    let seen = harness.read_until_idle(id, 1).await;
    sleep(Duration::from_mins(29)).await;
    assert!(harness.sessions.has_running(), "not yet");
    harness.send(id, "say \"A pear.\"").outcome().await;
    sleep(Duration::from_mins(29)).await;
    assert!(harness.sessions.has_running(), "it was used meanwhile");
    sleep(IDLE).await;
    assert!(!harness.sessions.has_running());
    assert!(harness.sessions.live().is_empty(), "its log is not in memory");
    let listed = harness.sessions.list_all().await.expect("a list");
    assert_eq!(listed.iter().map(|session| session.id).collect::<Vec<_>>(), [id]);
    assert_eq!(harness.read_until_idle(id, 1).await.len(), seen.len());

    let session = harness.sessions.find(id).await.expect("open");
    session.query(REPEAT.to_owned()).await.expect("taken");
    let seen = harness.read_until_idle(id, 3).await;
    let said = messages(&seen).pop().expect("an answer");
    assert!(said.contains("plum") && said.contains("pear"), "{said}");
    assert_eq!(errors(&seen), Vec::<String>::new());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn parked_sessions_do_not_count() {
    let harness = Harness::with(SimulatedSettings::for_tests(), |settings| {
        settings.max_sessions = 1;
    });
    let parked = harness.start().await;
    sleep(IDLE).await;
    let other = harness.start().await;
    let refused = harness.sessions.find(parked).await.err();
    assert_eq!(refused, Some(SessionError::TooManySessions));
    harness.sessions.stop(other).await.expect("open");
    harness.sessions.find(parked).await.expect("there is a place now");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_parked_session_is_closed_like_any_other() {
    let harness = Harness::new();
    let id = harness.start_with(&["say one"]).await;
    harness.read_until_idle(id, 1).await;
    sleep(IDLE).await;
    harness.sessions.abort(id).await.expect("nothing to do");
    harness.sessions.stop(id).await.expect("open");
    harness.read_to_the_end(id).await;
    let journal = harness.sessions.live().shared().journal();
    let (record, ..) = journal.record(id.into()).await.expect("read").expect("kept");
    assert_eq!(record.state, EntityState::Closed);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn unused_sessions_are_closed_by_the_time_of_their_last_fact() {
    let harness = Harness::new();
    let parked = harness.start_with(&["say one"]).await;
    harness.read_until_idle(parked, 1).await;
    sleep(IDLE).await;
    let silent = harness.start().await;
    let busy = harness.start_with(&["wait 50 minutes"]).await;
    let shared = harness.sessions.live().shared();
    let now = shared.next_time();
    let used = harness.start_with(&["say two"]).await;
    harness.read_until_idle(used, 1).await;
    assert_eq!(harness.sessions.close_unused(1).await, Ok(0));
    assert_eq!(harness.sessions.close_unused(now).await, Ok(2));
    let left = harness.sessions.list_all().await.expect("a list");
    let mut expected = [busy, used];
    expected.sort_unstable();
    assert_eq!(left.iter().map(|session| session.id).collect::<Vec<_>>(), expected);
    for closed in [parked, silent] {
        let (record, ..) =
            shared.journal().record(closed.into()).await.expect("read").expect("kept");
        assert_eq!(record.state, EntityState::Closed);
    }
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_in_use_is_not_parked() {
    let harness = Harness::new();
    // A turn takes longer than that, and a question is open.
    let working = harness.start_with(&["wait 40 minutes"]).await;
    let create = r#"use the createFile tool with the arguments {"path":"new","content":""}"#;
    let asking = harness.start_with(&[create]).await;
    // Somebody holds it, as a task does.
    let held = harness.start().await;
    let session = harness.sessions.get(held).expect("open");
    sleep(IDLE).await;
    let running = |id| harness.sessions.get(id).is_ok();
    assert!(running(working) && running(asking) && running(held));
    drop(session);
    sleep(IDLE).await;
    assert!(!running(held));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_resumed_after_it_has_shut_down_and_by_its_handle() {
    let backend = Arc::new(Remembering::default());
    assert_eq!(backend.capabilities(), Capabilities { resume: true, ..Capabilities::default() });
    let harness = Harness::with_backend(backend.clone(), |_| {});
    let id = harness.start().await;
    harness.send(id, "one").outcome().await;
    sleep(IDLE).await;
    harness.sessions.find(id).await.expect("open");
    assert_eq!(backend.resumed(), [Some("handle-0".to_owned())]);
    harness.end().await;
}
