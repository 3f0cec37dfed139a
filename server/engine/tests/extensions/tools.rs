//! The tools that extensions add to a session.

use agents::permission::Answer;
use wire::{PendingPermission, PermissionDecision, PermissionKind};

use super::*;

#[tokio::test]
async fn every_kind_of_result_reaches_the_model() {
    let project = Project::with(&["tools"]);
    let id = project.start().await;
    for (prompt, expected) in [
        ("use the greet_someone tool with you", Ok("Hello, you!".to_owned())),
        ("use the leaves_out_the_type tool", Ok("fine".to_owned())),
        ("use the says_nothing tool", Ok(String::new())),
        ("use the fails_softly tool", failure("not today", "failure")),
        ("use the is_rejected tool", failure("rather not", "rejected")),
        ("use the is_denied tool", failure("never", "denied")),
        ("use the throws_up tool", failure("it broke", "failure")),
    ] {
        assert_eq!(results(&project.ask(id, prompt).await), [expected], "{prompt}");
    }
    let info = &project.list(id).await.extensions[0];
    assert_eq!((info.state, info.hooks), (ExtensionState::Running, false));
    assert_eq!(info.tools[0], "greet_someone");
    project.end().await;
}

#[tokio::test]
async fn arguments_are_checked_before_the_call() {
    let project = Project::with(&["tools"]);
    let id = project.start().await;
    for (arguments, problem) in [
        (r#"{"who": 5}"#, "who: must be of type string"),
        (r#"{"who": ""}"#, "who: must have at least 1 characters"),
        (r#"{"who": "x", "why": 1}"#, "why: there is no such parameter"),
        ("{}", "`who` is missing"),
    ] {
        let seen = project.ask(id, &format!("use the greet_someone tool with {arguments}")).await;
        let message = format!("invalid arguments: {problem}");
        assert_eq!(results(&seen), [failure(&message, "invalid_arguments")]);
    }
    project.end().await;
}

#[tokio::test]
async fn a_tool_knows_its_call_and_no_secrets() {
    // A variable that cargo sets for tests.
    const SECRET: &str = "CARGO_PKG_NAME";
    let project = Project::new(&["tools"], simulated(), |settings| {
        settings.secrets = vec![SECRET.to_owned()];
    });
    let id = project.start().await;
    let seen = project.ask(id, "use the tells_its_call tool").await;
    let call_id = seen.iter().find_map(|response| match response {
        SessionResponse::StartToolExecution { tool_call_id, .. } => Some(tool_call_id.clone()),
        _ => None,
    });
    let call_id = call_id.expect("a call");
    assert_eq!(results(&seen), [Ok(format!("true {call_id} tells_its_call"))]);

    let seen = project.ask(id, "use the tells_its_surroundings tool").await;
    let [Ok(text)] = &*results(&seen) else { panic!("{seen:?}") };
    let told: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let folder = project.folder.path().canonicalize().expect("a folder");
    assert_eq!(told["folder"], folder.to_str().expect("text"));
    let names: Vec<&str> =
        told["names"].as_array().expect("a list").iter().filter_map(|name| name.as_str()).collect();
    for name in
        ["PATH", "SESSION_ID", "EXTENSION_PATH", "COPILOT_SDK_PATH", "COPILOT_EXTENSION_PARENT_PID"]
    {
        assert!(names.contains(&name), "{name}");
    }
    assert!(std::env::var_os(SECRET).is_some(), "{SECRET} is not set here");
    assert!(!names.contains(&SECRET), "{SECRET} was passed on");
    project.end().await;
}

#[tokio::test]
async fn names_are_unique_among_all_tools() {
    let project = Project::with(&["tools", "twin"]);
    project.write("ours", &one_tool("job_boolean_true", "mine"));
    let id = project.start().await;
    let extensions = project.settled(id).await;
    assert_eq!(state(&extensions, "tools").0, ExtensionState::Running);
    for (name, tool) in [("twin", "greet_someone"), ("ours", "job_boolean_true")] {
        let reason = format!("there is already a tool of that name: `{tool}`");
        assert_eq!(state(&extensions, name), (ExtensionState::Failed, reason));
    }
    let seen = project.ask(id, "use the greet_someone tool with you").await;
    assert_eq!(results(&seen), [Ok("Hello, you!".to_owned())]);
    project.end().await;
}

#[tokio::test]
async fn an_aborted_turn_aborts_the_handler() {
    let project = Project::with(&["tools"]);
    let id = project.start().await;
    project.query(id, "use the waits_to_be_aborted tool").await;
    until(|| project.path("waiting").exists()).await;
    project.sessions.get(id).expect("an open session").abort();
    until(|| project.path("aborted").exists()).await;
    let seen = project.ask(id, "use the greet_someone tool with you").await;
    assert_eq!(results(&seen), [Ok("Hello, you!".to_owned())], "it goes on");
    project.end().await;
}

#[tokio::test]
async fn a_model_can_write_an_extension_that_runs_when_somebody_has_allowed_it() {
    let project = Project::with(&[]);
    let id = project.start().await;
    let scaffold = |arguments: &str| format!("use the extensions_manage tool with {arguments}");
    let fresh = scaffold(r#"{"operation": "scaffold", "name": "fresh"}"#);
    // Even in a session that approves everything.
    let (question, seen) = ask_and_decide(&project, id, &fresh, PermissionDecision::Approve).await;
    assert_eq!(question.request.kind, PermissionKind::Command);
    let path = project.path(".github/extensions/fresh/extension.mjs");
    let path = path.canonicalize().expect("it was made").display().to_string();
    assert_eq!(question.request.path.as_ref(), Some(&path), "all of it");
    let results = results(&seen);
    let [Ok(made)] = &*results else { panic!("{results:?}") };
    assert!(made.contains(&path), "{made}");
    let use_it = "use the extensions_reload tool, then use the fresh_hello tool with you";
    let results = super::results(&project.ask(id, use_it).await);
    let untrusted = "fresh (project): untrusted: it is new since extensions were allowed";
    assert_eq!(results[0], Ok(untrusted.to_owned()));
    assert!(results[1].is_err());
    project.sessions.get(id).expect("an open session").allow_extensions().await.expect("kept");
    let results = super::results(&project.ask(id, use_it).await);
    assert_eq!(results[0], Ok("fresh (project): running; tools: fresh_hello".to_owned()));
    assert_eq!(results[1], Ok("Hello, you!".to_owned()));

    let manage = async |arguments: &str| {
        let prompt = format!("use the extensions_manage tool with {arguments}");
        super::results(&project.ask(id, &prompt).await).remove(0)
    };
    let (_, seen) = ask_and_decide(&project, id, &fresh, PermissionDecision::Approve).await;
    assert!(super::results(&seen)[0].is_err(), "it is not overwritten");
    for name in ["../up", "a/b", ".git", ""] {
        let made = manage(&format!(r#"{{"operation": "scaffold", "name": "{name}"}}"#)).await;
        assert_eq!(made.expect_err(name).code.as_deref(), Some("invalid_arguments"));
    }
    let mine = scaffold(r#"{"operation": "scaffold", "name": "mine", "location": "user"}"#);
    let (_, seen) = ask_and_decide(&project, id, &mine, PermissionDecision::Approve).await;
    assert!(
        super::results(&seen)[0].is_ok()
            && project.user_folder.path().join("mine/extension.mjs").is_file()
    );
    let list = manage(r#"{"operation": "list"}"#).await.expect("a list");
    assert!(list.contains("mine (user): untrusted: it is new"), "{list}");
    let inspected = manage(r#"{"operation": "inspect", "name": "fresh"}"#).await.expect("a text");
    assert!(inspected.contains("fresh is ready"), "{inspected}");
    assert!(manage(r#"{"operation": "inspect", "name": "other"}"#).await.is_err());
    project.end().await;
}

/// Sends a prompt that leads to a question, and answers it.
async fn ask_and_decide(
    project: &Project,
    id: SessionId,
    prompt: &str,
    decision: PermissionDecision,
) -> (PendingPermission, Vec<SessionResponse>) {
    let number = project.query(id, prompt).await;
    let questions = |seen: &[SessionResponse]| -> Vec<PendingPermission> {
        let questions = seen.iter().filter_map(|response| match response {
            SessionResponse::PermissionRequest(question) => Some(question.clone()),
            _ => None,
        });
        let resolved = |id| {
            let is_it = |r: &SessionResponse| matches!(r, SessionResponse::PermissionResolved { request_id, .. } if *request_id == id);
            seen.iter().any(is_it)
        };
        questions.filter(|question| !resolved(question.id)).collect()
    };
    let seen = project.read_until(id, |seen| !questions(seen).is_empty()).await;
    let question = questions(&seen).remove(0);
    project
        .sessions
        .get(id)
        .and_then(|session| {
            session.answer_permission(question.id, &Answer::new(decision, "tester"))
        })
        .expect("it waits");
    (question, project.read_turn(id, number).await)
}

#[tokio::test]
async fn people_are_asked_before_a_tool_acts_and_extensions_do_not_answer_for_them() {
    // One of them approves everything.
    let project = Project::with(&["hooks", "tools"]);
    let id = project.start().await;
    let session = project.sessions.get(id).expect("an open session");
    session.set_permissions(PermissionMode::Ask).await.expect("kept");
    let prompt = "use the asks_first tool";
    let (question, seen) = ask_and_decide(&project, id, prompt, PermissionDecision::Deny).await;
    assert_eq!(question.request.kind, PermissionKind::Tool);
    assert_eq!(question.request.title, "Use asks_first of the extension tools");
    assert_eq!(results(&seen), [failure("refused by the user", "denied")]);
    let (_, seen) = ask_and_decide(&project, id, prompt, PermissionDecision::Approve).await;
    assert_eq!(results(&seen), [Ok("allowed".to_owned())]);

    let prompt = "use the greet_someone tool with asked";
    let (question, seen) = ask_and_decide(&project, id, prompt, PermissionDecision::Approve).await;
    assert_eq!(question.request.title, "Use greet_someone", "the hook wants it");
    assert_eq!(results(&seen), [Ok("Hello, asked!".to_owned())]);

    let prompt = "use the asks_first tool with {\"who\": \"allowed\"}";
    let seen = project.ask(id, prompt).await;
    assert_eq!(results(&seen), [Ok("allowed".to_owned())], "nobody is asked");
    let session = project.sessions.get(id).expect("an open session");
    session.set_permissions(PermissionMode::Deny).await.expect("kept");
    let seen = project.ask(id, prompt).await;
    assert!(results(&seen)[0].is_err(), "what is refused always is refused");
    project.end().await;
}
