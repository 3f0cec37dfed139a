//! How extensions start and end, and what a session notices of it.

use wire::ExtensionSource::{Project as OfProject, User};

use super::*;

#[tokio::test]
async fn what_fails_is_said_and_the_session_goes_on() {
    let project = Project::with(&["crashes", "prints", "tools"]);
    let id = project.start().await;
    let extensions = project.settled(id).await;
    let reason = |name: &str| {
        let (state, reason) = state(&extensions, name);
        assert_eq!(state, ExtensionState::Failed, "{name}");
        reason
    };
    let crashed = "it ended before it joined the session (exit code 1): TypeError: no way to start";
    assert_eq!(reason("crashes"), crashed);
    let printed = "it wrote to its standard output, which is reserved: `hello there`";
    assert_eq!(reason("prints"), printed);
    let seen = project.read_until(id, |seen| logs(seen).len() == 2).await;
    let line = format!("crashes Error: the extension has failed: {crashed}");
    assert!(logs(&seen).contains(&line), "{:?}", logs(&seen));
    let seen = project.ask(id, "use the greet_someone tool with you").await;
    assert_eq!(results(&seen), [Ok("Hello, you!".to_owned())]);
    project.end().await;
}

#[tokio::test]
async fn one_that_does_not_join_in_time_is_ended() {
    let project = Project::new(&["silent"], simulated(), |settings| {
        settings.join_time_out = Duration::from_millis(500);
    });
    let id = project.start().await;
    let extensions = project.settled(id).await;
    let reason = "it did not join the session within 0.5 s".to_owned();
    assert_eq!(state(&extensions, "silent"), (ExtensionState::Failed, reason));
    project.end().await;
}

#[tokio::test]
async fn a_tool_ends_with_its_extension() {
    let project = Project::with(&["dies"]);
    let id = project.start().await;
    let seen = project.ask(id, "use the dies_now tool").await;
    assert_eq!(results(&seen), [failure("the extension ended before its tool did", "failure")]);
    project.read_until(id, |seen| !logs(seen).is_empty()).await;
    let (state, reason) = state(&project.list(id).await.extensions, "dies");
    assert_eq!((state, &*reason), (ExtensionState::Failed, "it ended (exit code 3)"));
    let seen = project.ask(id, "use the dies_now tool").await;
    assert_eq!(results(&seen), [failure("unknown tool: `dies_now`", "unknown_tool")]);
    let reloaded = project.sessions.get(id).expect("an open session").reload_extensions().await;
    assert_eq!(reloaded.extensions[0].state, ExtensionState::Running);
    project.end().await;
}

#[tokio::test]
async fn nothing_is_left_of_an_extension_that_does_not_want_to_end() {
    let quick = |settings: &mut ExtensionSettings| {
        settings.stop_time_out = Duration::from_millis(200);
    };
    let project = Project::new(&["stubborn"], simulated(), quick);
    let id = project.start().await;
    project.settled(id).await;
    until(|| project.path("processes").exists()).await;
    let processes = std::fs::read_to_string(project.path("processes")).expect("their numbers");
    let is_alive = |process: &&str| Path::new("/proc").join(process).join("fd").exists();
    assert_eq!(processes.split(' ').filter(is_alive).count(), 2, "{processes}");
    project.sessions.stop(id).await.expect("an open session");
    // The orphaned child is reaped by another process, which may take a moment.
    until(|| processes.split(' ').filter(is_alive).count() == 0).await;
    project.end().await;
}

#[tokio::test]
async fn nothing_is_started_in_a_folder_that_is_not_trusted() {
    let project = Project::new(&["tools"], simulated(), |settings| settings.allowed.clear());
    write(project.user_folder.path(), "mine", &one_tool("my_tool", "mine"));
    let id = project.start().await;
    let seen = project.ask(id, "use the greet_someone tool with you").await;
    assert_eq!(results(&seen), [failure("unknown tool: `greet_someone`", "unknown_tool")]);
    let seen = project.ask(id, "use the extensions_reload tool").await;
    assert_eq!(results(&seen), [failure("unknown tool: `extensions_reload`", "unknown_tool")]);
    let listed = project.list(id).await;
    assert!(!listed.trusted);
    let states: Vec<_> = listed.extensions.iter().map(|info| info.state).collect();
    assert_eq!(states, [ExtensionState::Untrusted; 2]);

    let listed =
        project.sessions.get(id).expect("an open session").allow_extensions().await.expect("kept");
    assert!(listed.trusted);
    let states: Vec<_> = listed.extensions.iter().map(|info| info.state).collect();
    assert_eq!(states, [ExtensionState::Running; 2]);
    let seen = project.ask(id, "use the greet_someone tool with you").await;
    assert_eq!(results(&seen), [Ok("Hello, you!".to_owned())]);
    // Remembered for the next session, then forgotten in both.
    let other = project.start().await;
    let seen = project.ask(other, "use the greet_someone tool with you").await;
    assert_eq!(results(&seen), [Ok("Hello, you!".to_owned())]);
    let listed =
        project.sessions.get(id).expect("an open session").forbid_extensions().await.expect("kept");
    assert_eq!(listed.extensions[0].state, ExtensionState::Untrusted);
    for session in [id, other] {
        let seen = project.ask(session, "use the greet_someone tool with you").await;
        assert_eq!(results(&seen), [failure("unknown tool: `greet_someone`", "unknown_tool")]);
    }
    project.end().await;
}

#[tokio::test]
async fn an_extension_of_the_project_shadows_one_of_the_user() {
    let project = Project::with(&[]);
    project.write("same", &one_tool("whose", "of the project"));
    write(project.user_folder.path(), "same", &one_tool("whose", "of the user"));
    let id = project.start().await;
    let seen = project.ask(id, "use the whose tool").await;
    assert_eq!(results(&seen), [Ok("of the project".to_owned())]);
    let states: Vec<_> =
        project.list(id).await.extensions.iter().map(|info| (info.source, info.state)).collect();
    let expected = [(OfProject, ExtensionState::Running), (User, ExtensionState::Shadowed)];
    assert_eq!(states, expected);
    project.end().await;
}

#[tokio::test]
async fn without_node_extensions_are_listed_and_the_session_goes_on() {
    let project = Project::new(&["tools"], simulated(), |settings| {
        settings.node = Some("/no/such/node".into());
    });
    let id = project.start().await;
    assert_eq!(said(&project.ask(id, "say hello").await), ["hello"]);
    let (state, reason) = state(&project.list(id).await.extensions, "tools");
    assert_eq!(state, ExtensionState::NeedsNode);
    assert!(reason.contains("Node 20 or newer"), "{reason}");
    project.end().await;
}

#[tokio::test]
async fn a_session_can_be_stopped_while_extensions_start() {
    let project = Project::with(&["silent"]);
    let id = project.start().await;
    project.sessions.stop(id).await.expect("an open session");
    project.end().await;
}
