//! What extensions do in a session on their own.

use super::*;

#[tokio::test]
async fn log_lines_reach_the_stream_and_the_list() {
    let project = Project::with(&["talks"]);
    let id = project.start().await;
    let seen = project.read_until(id, |seen| logs(seen).len() == 2).await;
    let folder = project.folder.path().display();
    let expected =
        [format!("talks Warning: in {folder}"), "talks Info for now: for a moment".into()];
    assert_eq!(logs(&seen), expected);
    let mut lines = Vec::new();
    while lines.len() < 3 {
        let info = project.settled(id).await.remove(0);
        lines = info.log.into_iter().map(|line| line.message).collect();
    }
    assert!(lines.contains(&"to standard error".to_owned()), "{lines:?}");
    project.end().await;
}

#[tokio::test]
async fn an_extension_can_ask_and_hear_the_answer() {
    let project = Project::with(&["talks"]);
    let id = project.start().await;
    project.ask(id, "do nothing @ask").await;
    let heard = "talks Info: heard: pong".to_owned();
    let seen = project.read_until(id, |seen| logs(seen).contains(&heard)).await;
    let asked = SessionResponse::GeneratedUserPrompt { prompt: "say pong".to_owned() };
    assert!(seen.contains(&asked));
    project.end().await;
}

#[tokio::test]
async fn prompts_of_extensions_name_what_is_attached() {
    let project = Project::with(&["talks"]);
    let id = project.start().await;
    project.ask(id, "do nothing @send").await;
    let prompt = "say what is attached\n\nAttached:\n- a.md".to_owned();
    let sent = SessionResponse::GeneratedUserPrompt { prompt };
    project.read_until(id, |seen| seen.contains(&sent)).await;
    project.end().await;
}

#[tokio::test]
async fn an_extension_can_abort_and_is_told_what_is_not_there() {
    let project = Project::with(&["talks"]);
    let id = project.start().await;
    // It would take a minute otherwise.
    project.ask(id, "wait 1 minute @abort").await;
    project.ask(id, "do nothing @unknown").await;
    let told = "talks Info: -32601: ";
    project.read_until(id, |seen| logs(seen).iter().any(|line| line.starts_with(told))).await;
    project.end().await;
}

#[tokio::test]
async fn events_are_told_as_they_happen_and_remembered() {
    let project = Project::with(&["talks", "tools"]);
    let id = project.start().await;
    project.ask(id, "say hello, then use the greet_someone tool with you").await;
    project.ask(id, "fail with something").await;
    let seen = project.ask(id, "use the tells_what_it_saw tool").await;
    let [Ok(events)] = &*results(&seen) else { panic!("{seen:?}") };
    let turn = "user.message assistant.turn_start";
    let expected = format!(
        "{turn} assistant.message tool.execution_start tool.execution_complete assistant.turn_end \
         session.idle {turn} assistant.turn_end session.error session.idle {turn} \
         tool.execution_start"
    );
    assert_eq!(*events, expected);
    let seen = project.ask(id, "use the tells_the_history tool").await;
    let [Ok(remembered)] = &*results(&seen) else { panic!("{seen:?}") };
    assert!(remembered.starts_with("user.message assistant.turn_start assistant.message"));
    assert!(!remembered.contains("session.idle"));
    project.end().await;
}
