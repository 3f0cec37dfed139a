//! Rights that are taken away while sessions are open.

use agents::tools::AllowedRoots;
use wire::{PermissionOutcome, SessionResponse};

use super::*;

const CREATE: &str =
    r#"use the createFile tool with the arguments {"path":"made.txt","content":"made"}"#;

/// The rights of the harness, with another mode.
fn rights(harness: &Harness, permissions: PermissionMode) -> SessionRights {
    SessionRights { permissions, ..harness.sessions.policy().rights() }
}

fn outcomes(seen: &[SessionResponse]) -> Vec<PermissionOutcome> {
    let outcome = |response: &SessionResponse| match response {
        SessionResponse::PermissionResolved { decision, .. } => Some(*decision),
        _ => None,
    };
    seen.iter().filter_map(outcome).collect()
}

#[tokio::test]
async fn a_question_that_waits_is_refused_when_sessions_may_not_do_anything_any_more() {
    let harness = Harness::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a plain path");
    let id = harness.sessions.start(MODEL, path).await.expect("a session");
    harness.query(id, CREATE);
    while harness.sessions.inbox().list().items.is_empty() {
        tokio::task::yield_now().await;
    }
    harness.sessions.policy().narrow(&rights(&harness, PermissionMode::Deny));
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(outcomes(&seen), [PermissionOutcome::Denied]);
    assert!(!folder.path().join("made.txt").exists());
    harness.end().await;
}

#[tokio::test]
async fn open_and_new_sessions_follow_a_stricter_default_until_a_person_decides() {
    let approve_all = |settings: &mut SessionSettings| {
        settings.permissions = PermissionMode::ApproveAll;
    };
    let harness = Harness::with(SimulatedSettings::for_tests(), approve_all);
    let modes = || harness.sessions.list().into_iter().map(|it| it.permissions).collect::<Vec<_>>();
    let open = harness.start().await;
    let policy = harness.sessions.policy();
    policy.narrow(&rights(&harness, PermissionMode::Ask));
    harness.start().await;
    assert_eq!(modes(), [PermissionMode::Ask; 2]);
    policy.narrow(&rights(&harness, PermissionMode::ApproveAll));
    assert_eq!(modes(), [PermissionMode::Ask; 2], "nothing is given back");

    harness
        .sessions
        .get(open)
        .expect("open")
        .set_permissions(PermissionMode::ApproveAll)
        .await
        .expect("kept");
    policy.narrow(&rights(&harness, PermissionMode::Ask));
    assert!(modes().contains(&PermissionMode::ApproveAll), "the default was not changed");
    policy.narrow(&rights(&harness, PermissionMode::Deny));
    assert_eq!(modes(), [PermissionMode::Deny; 2]);
    harness.end().await;
}

#[tokio::test]
async fn an_open_session_keeps_to_the_roots_that_are_left() {
    let approve_all = |settings: &mut SessionSettings| {
        settings.permissions = PermissionMode::ApproveAll;
    };
    let harness = Harness::with(SimulatedSettings::for_tests(), approve_all);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a plain path");
    let id = harness.sessions.start(MODEL, path).await.expect("a session");
    let create = |path: &str| CREATE.replace("made.txt", path);
    let narrow_to = |roots: &[&str]| {
        let roots = roots.iter().map(|&root| root.to_owned()).collect();
        let now = harness.sessions.policy().rights();
        let wanted = SessionRights { allowed_roots: AllowedRoots::Only(roots), ..now };
        harness.sessions.policy().narrow(&wanted);
    };
    for (turn, (roots, path, made)) in [
        (&["src", "docs"], "src/one", true),
        (&["src", "docs"], "two", false),
        (&["docs", "lib"], "src/three", false),
        (&["docs", "lib"], "docs/four", true),
        (&["src", "lib"], "docs/five", false),
    ]
    .into_iter()
    .enumerate()
    {
        narrow_to(roots);
        harness.query(id, &create(path));
        harness.read_until_idle(id, turn + 1).await;
        assert_eq!(folder.path().join(path).exists(), made, "{path}");
    }
    harness.end().await;
}
