//! Starting, asking, queueing, aborting.

use tokio::time::{Instant, sleep};
use wire::TurnEnding;

use super::*;

#[tokio::test(start_paused = true)]
async fn starting_checks_the_model_then_the_path_then_the_folder() {
    let harness = Harness::new();
    let file = tempfile::NamedTempFile::new().expect("a file");
    let file = file.path().to_str().expect("text");
    for (model, directory, error) in [
        ("none", "relative", ErrorName::ModelIdNotFound),
        ("", "", ErrorName::ModelIdNotFound),
        (MODEL, "relative", ErrorName::WorkingDirectoryNotAbsolutePath),
        (MODEL, "./no/such", ErrorName::WorkingDirectoryNotAbsolutePath),
        (MODEL, "/no/such/folder", ErrorName::WorkingDirectoryNotExists),
        (MODEL, file, ErrorName::WorkingDirectoryNotExists),
    ] {
        let refused = harness.sessions.start(model, directory).await;
        assert_eq!(refused.expect_err("refused").name(), error);
    }
    assert!(!harness.sessions.has_running());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_works_in_its_folder_or_the_default_one() {
    let harness = Harness::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let sessions = &harness.sessions;
    let here = sessions.start(MODEL, path).await.expect("started");
    let default = sessions.start(MODEL, "\n").await.expect("started");
    let directory = |id| {
        let mut list = sessions.list().into_iter();
        let found = list.find(|summary| summary.id == id).expect("listed");
        found.working_directory
    };
    assert_eq!(directory(here), folder.path());
    assert_eq!(directory(default), PathBuf::from("/"));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn open_sessions_are_capped() {
    let harness = Harness::with(SimulatedSettings::for_tests(), |settings| {
        settings.max_sessions = 2;
    });
    let first = harness.start().await;
    harness.start().await;
    let refused = harness.sessions.start(MODEL, "").await;
    assert_eq!(refused, Err(StartError::TooManySessions));
    harness.sessions.stop(first).await.expect("stopped");
    harness.start().await;
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_query_shows_the_prompt_then_its_turn_then_idle() {
    let harness = Harness::new();
    let id = harness.start_with(&["say hello"]).await;
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(seen[0], SessionResponse::UserPrompt { prompt: "say hello".to_owned() });
    assert!(matches!(seen[1], SessionResponse::AgentStart { .. }));
    assert!(matches!(seen[2], SessionResponse::StartReasoning { .. }));
    assert_eq!(messages(&seen), ["hello"]);
    let [.., SessionResponse::AgentEnd { turn_id }, turn_end, last] = &*seen else {
        panic!("{seen:?}");
    };
    let (turn_id, outcome) = (Some(turn_id.clone()), TurnEnding::Completed);
    assert_eq!(*turn_end, SessionResponse::TurnEnd { turn_id, outcome });
    assert_eq!(*last, SessionResponse::Idle);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_in_step_sees_the_deltas() {
    let harness = Harness::paced();
    let id = harness.start_with(&["say \"one two three\", use the job_boolean_true tool"]).await;
    let seen = harness.read_until_idle(id, 1).await;
    let deltas: String = seen
        .iter()
        .filter_map(|response| match response {
            SessionResponse::Message { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, "one two three");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn queries_during_a_turn_are_answered_in_order() {
    let harness = Harness::paced();
    let id = harness.start_with(&["say one", "say two"]).await;
    sleep(Duration::from_millis(100)).await;
    harness.query(id, "say three");
    let summary = &harness.sessions.list()[0];
    assert_eq!((summary.busy, summary.queued), (true, 2));
    let seen = harness.read_until_idle(id, 3).await;
    assert_eq!(messages(&seen), ["one", "two", "three"]);
    let summary = &harness.sessions.list()[0];
    assert_eq!(summary.queued, 0);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn waiting_queries_are_capped() {
    let harness = Harness::with(SimulatedSettings::default(), |settings| {
        settings.max_queries = 2;
    });
    let id = harness.sessions.start("simulated-standard", "").await;
    let id = id.expect("a session");
    harness.query(id, "wait 1 second");
    sleep(Duration::from_millis(1)).await;
    harness.query(id, "say one");
    harness.query(id, "say two");
    let refused = harness
        .sessions
        .get(id)
        .and_then(|session| session.enqueue("say three".to_owned()).map(drop));
    assert_eq!(refused, Err(SessionError::TooManyQueries));
    let seen = harness.read_until_idle(id, 3).await;
    assert_eq!(messages(&seen)[1..], ["one", "two"]);
    harness.query(id, "say four");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_run_in_parallel() {
    let harness = Harness::paced();
    let begun = Instant::now();
    let mut reads = Vec::new();
    for _ in 0..20 {
        let id = harness.start_with(&["wait 3 seconds"]).await;
        reads.push(id);
    }
    for id in reads {
        harness.read_until_idle(id, 1).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(8));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_and_the_session_goes_on() {
    let harness = Harness::new();
    let id = harness.start_with(&["fail with \"no luck\"", "say still here"]).await;
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(errors(&seen), ["no luck"]);
    assert_eq!(messages(&seen), ["still here"]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_aborted_at_any_point_and_the_session_stays() {
    for milliseconds in (0..3_700).step_by(37) {
        let harness = Harness::paced();
        let prompt = "say \"one two three four\", \
            use the job_boolean_true tool with the argument x, wait 2 seconds, think about it";
        let id = harness.start_with(&[prompt, "say queued"]).await;
        sleep(Duration::from_millis(milliseconds)).await;
        let begun = Instant::now();
        harness.sessions.get(id).expect("open").abort();
        let seen = harness.read_until_idle(id, 1).await;
        // At once, apart from the least time between two answers to one reader.
        assert!(begun.elapsed() <= Duration::from_millis(5));
        let said = messages(&seen);
        let partial = "one two three four".starts_with(said.first().map_or("", |text| text));
        assert!(partial, "{said:?}");
        // Queued prompts still get their turns.
        let seen = harness.read_until_idle(id, 2).await;
        assert_eq!(messages(&seen).last().map(String::as_str), Some("queued"));
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn aborting_right_after_a_query_ends_its_turn() {
    let harness = Harness::paced();
    let id = harness.start_with(&["say one"]).await;
    harness.sessions.get(id).expect("open").abort();
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(messages(&seen), Vec::<String>::new());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn aborting_an_idle_session_does_nothing() {
    let harness = Harness::new();
    let id = harness.start().await;
    harness.sessions.get(id).expect("open").abort();
    harness.query(id, "say one");
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(messages(&seen), ["one"]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn each_waits_for_its_own_turn_and_gets_its_own_tools() {
    let harness = Harness::paced();
    let id = harness.start().await;
    let mut first = harness.send(id, "use the job_boolean_true tool with the argument a");
    harness.query(id, "use the job_prerequisite_failed tool with the argument b");
    let mut second = harness
        .send(id, "use the job_prepare_document tool with the argument c, use the no_such tool");
    let tools = |outcome: &TurnOutcome| {
        let tools = outcome.tools.iter();
        let tools = tools.map(|tool| {
            let argument = tool.argument().unwrap_or_default().to_owned();
            (tool.name.clone(), argument, tool.succeeded)
        });
        tools.collect::<Vec<_>>()
    };
    let called = |name: &str, argument: &str, ok: bool| (name.to_owned(), argument.to_owned(), ok);
    let outcome = first.outcome().await;
    assert_eq!(outcome.ended, TurnEnd::Idle);
    assert_eq!(tools(&outcome), [called("job_boolean_true", "a", true)]);
    assert!(harness.sessions.list()[0].queued > 0);
    let outcome = second.outcome().await;
    assert_eq!(outcome.ended, TurnEnd::Idle);
    assert_eq!(
        tools(&outcome),
        [called("job_prepare_document", "c", true), called("no_such", "", false)]
    );
    let seen = harness.read_until_idle(id, 3).await;
    let prompts = |generated: bool| {
        let prompts = seen.iter().filter(|response| match response {
            SessionResponse::GeneratedUserPrompt { .. } => generated,
            SessionResponse::UserPrompt { .. } => !generated,
            _ => false,
        });
        prompts.count()
    };
    assert_eq!((prompts(true), prompts(false)), (2, 1));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_outcome_tells_how_a_turn_ended() {
    let harness = Harness::new();
    let id = harness.start().await;
    let mut failing = harness.send(id, "fail with \"no luck\"");
    let failed = TurnEnd::Failed("no luck".to_owned());
    assert_eq!(failing.outcome().await.ended, failed);
    let mut waiting = harness.send(id, "wait 10 seconds");
    let mut queued = harness.send(id, "say never");
    let mut last = harness.send(id, "say last");
    sleep(Duration::from_secs(1)).await;
    // Each handle aborts its own turn only.
    queued.abort();
    waiting.abort();
    assert_eq!(waiting.outcome().await.ended, TurnEnd::Aborted);
    assert_eq!(queued.outcome().await.ended, TurnEnd::Aborted);
    assert_eq!(last.outcome().await.ended, TurnEnd::Idle);
    let seen = harness.read_until_idle(id, 4).await;
    assert_eq!(messages(&seen), ["last"]);
    harness.end().await;
}
