//! Runs that are stopped, whatever they are doing.

use super::*;

const CANCELLED: (RunEnd, Option<&str>) = (RunEnd::Cancelled, Some("cancelled"));

async fn cancel(fixture: &mut Fixture, run: MessageId) -> String {
    fixture.bridge.cancel(&run.to_string()).await.expect("running");
    let (text, done) = fixture.end().await;
    assert_eq!((done.id, ended(&done)), (run, CANCELLED));
    let again = fixture.bridge.cancel(&run.to_string()).await;
    assert_eq!(again, Err(BridgeError::RunNotFound(run.to_string())));
    text
}

#[tokio::test(start_paused = true)]
async fn a_model_that_streams_is_cut_off() {
    let mut fixture = Fixture::new().await;
    let stream = "Stream 1000000 deltas with 10 ms between deltas after 0 ms.";
    let run = fixture.send(stream, None).await;
    fixture.told("<3:").await;
    cancel(&mut fixture, run).await;
    let run = fixture.send(&format!("Turn 1: {stream}"), Some("agent")).await;
    fixture.told("### Step 1/12").await;
    cancel(&mut fixture, run).await;
    // The text of a cancelled run stays in the history.
    let history = fixture.history().await;
    assert!(history.messages[1].text.contains("<3:"));
    assert_eq!(history.messages[1].reason, Some(RunEnd::Cancelled));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_pending_question_is_withdrawn() {
    let mut fixture = Fixture::with(|settings| settings.agent.require_approval = true).await;
    let create = act(&json!({ "tool": "createFile", "path": "new.md", "content": "" }));
    let run = fixture.pursue(&[create, finish("")]).await;
    let question = fixture.approval_request().await;
    fixture.bridge.cancel(&run.to_string()).await.expect("running");
    let Event::ApprovalDecision(decision) = fixture.event().await else { panic!("a decision") };
    assert_eq!(decision.outcome, wire::PermissionOutcome::Withdrawn);
    assert_eq!(ended(&fixture.end().await.1), CANCELLED);
    assert!(
        fixture
            .bridge
            .decide(&question.approval_id.to_string(), true, false, "tester")
            .await
            .is_err()
    );
    assert!(!fixture.exists("new.md"));
    fixture.finish().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_running_command_is_killed() {
    let mut fixture = Fixture::with(|settings| settings.agent.allow_commands = true).await;
    // A pipe that a reader can wait for: it ends when the last of the command's processes does.
    let pipe = fixture.folders[0].path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let command = "exec 3>pipe; echo started >&3; sleep 1000 & sleep 1000";
    let run = fixture.pursue(&[act(&json!({ "tool": "runCommand", "command": command }))]).await;
    let reading = tokio::task::spawn_blocking(move || {
        use std::io::{BufRead, BufReader};
        let mut pipe = BufReader::new(fs::File::open(pipe).expect("pipe"));
        let mut line = String::new();
        pipe.read_line(&mut line).expect("a line");
        (line, pipe)
    });
    let (line, mut pipe) = timeout(SAFETY, reading).await.expect("in time").expect("a line");
    assert_eq!(line, "started\n");
    cancel(&mut fixture, run).await;
    let reading = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut pipe, &mut rest).map(|_| rest)
    });
    let rest = timeout(SAFETY, reading).await.expect("killed").expect("read").expect("text");
    assert_eq!(rest, "");
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_its_turn_ends_at_once() {
    let mut fixture = Fixture::new().await;
    let first = fixture.send("wait 1 minute, then say one", None).await;
    let second = fixture.send("say two", None).await;
    let third = fixture.send("say three", None).await;
    assert_eq!(cancel(&mut fixture, second).await, "");
    let (text, done) = fixture.end().await;
    assert_eq!((done.id, &*text), (first, "one"));
    let (text, done) = fixture.end().await;
    assert_eq!((done.id, &*text), (third, "three"));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_cancels_everything_and_is_told() {
    let mut fixture = Fixture::new().await;
    let runs =
        [fixture.send("wait 10 minutes", None).await, fixture.send("wait 20 minutes", None).await];
    fixture.stop().await;
    for _ in runs {
        assert_eq!(ended(&fixture.end().await.1), CANCELLED);
    }
    assert!(fixture.events.next().await.is_none(), "the events have ended");
    let request = MessageRequest { text: Some("say x".to_owned()), ..MessageRequest::default() };
    assert_eq!(fixture.bridge.send(request).await, Err(BridgeError::Stopping));
    fixture.finish().await;
}

#[tokio::test]
async fn unknown_runs_and_questions_are_not_found() {
    let fixture = Fixture::new().await;
    for id in ["", "x", "message-00000000-0000-4000-8000-000000000000"] {
        let error = Err(BridgeError::RunNotFound(id.to_owned()));
        assert_eq!(fixture.bridge.cancel(id).await, error);
        let error = Err(BridgeError::ApprovalNotFound(id.to_owned()));
        assert_eq!(fixture.bridge.decide(id, true, false, "tester").await, error);
    }
    fixture.finish().await;
}
