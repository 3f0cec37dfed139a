//! Rights that are taken away while sessions are open.

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
    while harness.sessions.questions().is_empty() {
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

    harness.sessions.set_permissions(open, PermissionMode::ApproveAll).expect("open");
    policy.narrow(&rights(&harness, PermissionMode::Ask));
    assert!(modes().contains(&PermissionMode::ApproveAll), "the default was not changed");
    policy.narrow(&rights(&harness, PermissionMode::Deny));
    assert_eq!(modes(), [PermissionMode::Deny; 2]);
    harness.end().await;
}
