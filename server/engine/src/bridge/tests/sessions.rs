//! Workspace folders as projects, and what is stored of them.

use super::*;

#[tokio::test(start_paused = true)]
async fn sessions_are_found_by_id_and_by_path() {
    let mut fixture = Fixture::with_folders(2, |_| {}).await;
    let sessions = fixture.bridge.sessions().await.expect("projects");
    assert_eq!(sessions.len(), 2);
    let path = fixture.folders[1].path().to_str().expect("text").to_owned();
    for id in [&sessions[1].id, &path, &format!("{path}/")] {
        assert_eq!(fixture.bridge.history(id).await.expect(id).id, sessions[1].id);
        let request = MessageRequest {
            text: Some("say x".to_owned()),
            session_id: Some(id.clone()),
            ..MessageRequest::default()
        };
        let accepted = fixture.bridge.send(request).await.expect("accepted");
        assert_eq!(accepted.session_id, sessions[1].id);
        assert_eq!(fixture.end().await.1.session_id, sessions[1].id);
    }
    for id in ["", "nothing", "/nothing", &path[1..]] {
        let error = BridgeError::SessionNotFound(id.to_owned());
        assert_eq!(fixture.bridge.history(id).await, Err(error));
    }
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_wait_for_each_other() {
    let mut fixture = Fixture::with_folders(2, |_| {}).await;
    let slow = fixture.send("wait 1 minute, then say slow", None).await;
    let request = MessageRequest {
        text: Some("say quick".to_owned()),
        session_id: Some(fixture.bridge.sessions().await.expect("projects")[1].id.clone()),
        ..MessageRequest::default()
    };
    let quick = fixture.bridge.send(request).await.expect("accepted").id;
    assert_eq!(fixture.end().await.1.id, quick);
    assert_eq!(fixture.end().await.1.id, slow);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_history_is_there_again_after_a_restart() {
    let mut fixture = Fixture::new().await;
    fixture.send("say before", None).await;
    fixture.end().await;
    fixture.send("wait 10 minutes", None).await;
    let before = fixture.history().await;
    let mut fixture = fixture.restart().await;
    let after = fixture.history().await;
    assert_eq!(after.messages[..3], before.messages[..3]);
    assert_eq!(after.messages[3].reason, Some(RunEnd::Cancelled));
    let (created, count) = (&before.messages[0].at, fixture.summary().await.count);
    assert!(fixture.summary().await.created <= *created);
    assert_eq!(count, 4);

    fixture.bridge.clear(&fixture.id().await).await.expect("a session");
    let Event::HistoryCleared(cleared) = fixture.event().await else { panic!("told") };
    assert_eq!(cleared.session_id, fixture.id().await);
    let fixture = fixture.restart().await;
    assert!(fixture.history().await.messages.is_empty());
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn clearing_keeps_what_still_runs() {
    let mut fixture = Fixture::new().await;
    fixture.send("say before", None).await;
    fixture.end().await;
    let run = fixture.send("wait 1 minute, then say after", None).await;
    fixture.bridge.clear(&fixture.id().await).await.expect("a session");
    fixture.end().await;
    let history = fixture.history().await;
    let messages: Vec<_> = history.messages.iter().map(|it| (it.id, &*it.text)).collect();
    assert_eq!(messages, [(run, "wait 1 minute, then say after"), (run, "after")]);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_history_and_the_events_after_it_have_everything_once() {
    let mut fixture = Fixture::new().await;
    let stream = "Stream 50 deltas with 10 ms between deltas after 10 ms.";
    let run = fixture.send(stream, None).await;
    fixture.told("<10:").await;
    let history = fixture.history().await;
    let mut text = history.messages.last().expect("the running one").text.clone();
    assert_eq!(history.messages.last().expect("the running one").reason, None);
    let session = fixture.id().await;
    let start = Start::After(&history.last_event_id);
    let mut client = fixture.bridge.subscribe(Some(&session), start).await.expect("a place");
    'reading: loop {
        for event in client.next().await.expect("events").events {
            match Event::read(event.name, &event.data).expect("an event") {
                Event::Fragment(fragment) => text += &fragment.fragment,
                Event::Done(done) => {
                    assert_eq!(done.id, run);
                    break 'reading;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    for number in 0..50 {
        assert_eq!(text.matches(&format!("<{number}:")).count(), 1, "{number}: {text}");
    }
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_is_where_it_was_before_it_reads_anything() {
    let mut fixture = Fixture::new().await;
    fixture.send("Stream 3 deltas with 100 ms between deltas after 100 ms.", None).await;
    while !matches!(fixture.event().await, Event::Fragment(_)) {}
    let inside = fixture.events.read_up_to();
    assert!(inside.contains('-'), "in the middle of a message: {inside}");
    fixture.end().await;
    for place in [inside, fixture.events.read_up_to()] {
        let back = fixture.bridge.subscribe(None, Start::After(&place)).await.expect("a place");
        assert_eq!(back.read_up_to(), place);
    }
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn settings_change_while_everything_goes_on() {
    let mut fixture = Fixture::with_folders(2, |_| {}).await;
    let run = fixture.send("wait 1 minute, then say still here", None).await;
    let first = fixture.id().await;
    let mut settings = BridgeSettings::clone(&fixture.bridge.settings());
    let third = tempfile::tempdir().expect("temporary folder");
    settings.workspaces.remove(0);
    settings.workspaces.push(WorkspaceFolder::new(third.path()));
    settings.agent.prefix = "go:".to_owned();
    let expected: Vec<_> = settings.workspaces.iter().map(WorkspaceFolder::id).collect();
    fixture.bridge.set_settings(settings.clone());
    let listed: Vec<_> =
        fixture.bridge.sessions().await.expect("projects").into_iter().map(|it| it.id).collect();
    assert_eq!(listed, expected);
    assert!(fixture.bridge.history(&first).await.is_err());
    let (text, done) = fixture.end().await;
    assert_eq!((done.id, &*text), (run, "still here"));

    fixture.send(&format!("go:\n{}", script(&[finish("by prefix")])), None).await;
    assert!(fixture.end().await.0.ends_with("by prefix\n"));

    // Back on the list, its history is there.
    settings.workspaces.insert(0, WorkspaceFolder::new(fixture.folders[0].path()));
    fixture.bridge.set_settings(settings);
    assert_eq!(fixture.bridge.history(&first).await.expect("history").messages.len(), 2);
    fixture.finish().await;
}
