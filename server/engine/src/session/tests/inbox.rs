//! The inbox over restarts.

use store::journal::{Entity, OpenEntities};
use wire::{
    EntityState, InboxChoice, InboxDecision, InboxItem, InboxKind, PermissionDecision, PermissionId,
};

use super::interrupted::{CREATE, Folders, read_question, write_question};
use super::restart::{Server, query};
use super::*;
use crate::inbox::{AnswerError, Reply, Settlement};

fn reply(choice: InboxChoice, text: Option<&str>) -> Reply {
    Reply { choice, text: text.map(str::to_owned), by: "tester".into() }
}

/// The only item.
fn only(server: &Server) -> InboxItem {
    let items = server.sessions.inbox().list().items;
    let [item] = <[InboxItem; 1]>::try_from(items).expect("one item");
    item
}

/// How an item ended, and by whom.
async fn ended(server: &Server, id: PermissionId) -> (InboxDecision, String) {
    server.sessions.inbox().durable().await.expect("kept");
    let answered = server.sessions.inbox().answered(None, 100).await.expect("a list");
    let item = answered.items.into_iter().find(|item| item.id == id).expect("it has ended");
    (item.decision, item.by)
}

async fn open_in_store(server: &Server) -> usize {
    server.sessions.inbox().durable().await.expect("kept");
    let journal = server.sessions.live().shared().journal().clone();
    let mut open = OpenEntities::questions(&*journal);
    let mut count = 0;
    while let Some(page) = open.next().await.expect("read") {
        count += page.iter().filter(|(entity, _)| matches!(entity, Entity::Question(_))).count();
    }
    count
}

#[tokio::test]
async fn what_waited_is_there_under_the_same_id_and_an_approval_resumes_the_turn() {
    let folders = Folders::new();
    let (id, question) = folders.interrupt(&[]).await;
    for _ in 0..2 {
        // However often the server is restarted.
        let server = folders.server().await;
        let item = only(&server);
        assert_eq!((item.id, item.kind), (question, InboxKind::Interrupted));
        assert_eq!((item.session_id, &*item.folder), (Some(id), folders.work()));
        assert!(item.offers(InboxChoice::ApproveAlways));
        server.end().await;
    }
    let server = folders.server().await;
    let inbox = server.sessions.inbox();
    inbox.answer(question, reply(InboxChoice::Approve, None)).await.expect("open");
    let late = inbox.answer(question, reply(InboxChoice::Deny, None)).await;
    assert_eq!(late, Err(AnswerError::NotPending));
    server.read_until_idle(id, 2).await;
    assert_eq!(folders.file().as_deref(), Some("x"));
    assert_eq!(ended(&server, question).await, (InboxDecision::Approve, "tester".to_owned()));
    server.end().await;

    let server = folders.server().await;
    assert_eq!(server.sessions.inbox().list().items, []);
    assert_eq!(ended(&server, question).await, (InboxDecision::Approve, "tester".to_owned()));
    server.end().await;
}

#[tokio::test]
async fn an_answer_to_an_agents_question_after_a_restart_reaches_the_agent() {
    let folders = Folders::new();
    let server = folders.server().await;
    let id = server.sessions.start(MODEL, folders.work()).await.expect("a session");
    server.query(id, r#"use the ask_user tool with the arguments {"question":"Which name?"}"#);
    let question = read_question(&server, id).await;
    server.end().await;

    let server = folders.server().await;
    let item = only(&server);
    assert_eq!((item.id, item.kind), (question, InboxKind::Interrupted));
    assert_eq!(item.title, "Which name?");
    let inbox = server.sessions.inbox();
    let nothing = inbox.answer(question, reply(InboxChoice::Answer, None)).await;
    assert!(matches!(nothing, Err(AnswerError::Invalid(_))), "{nothing:?}");
    let answered = inbox.answer(question, reply(InboxChoice::Answer, Some("Ada"))).await;
    assert_eq!(answered, Ok(()));
    let seen = server.read_until_idle(id, 2).await;
    let prompt = seen.iter().find_map(|response| match response {
        SessionResponse::GeneratedUserPrompt { prompt } => Some(prompt.clone()),
        _ => None,
    });
    let prompt = prompt.expect("the turn is resumed");
    assert!(prompt.contains("Which name?") && prompt.contains("Ada"), "{prompt}");
    assert_eq!(ended(&server, question).await.0, InboxDecision::Answer);
    server.end().await;
}

#[tokio::test]
async fn a_question_that_was_not_stored_in_the_inbox_is_added() {
    let folders = Folders::new();
    let (id, question) = (SessionId::generate(), PermissionId::generate());
    // The server was killed after the session had stored it.
    write_question(&folders, id, question).await;
    let server = folders.server().await;
    server.sessions.inbox().durable().await.expect("kept");
    assert_eq!((only(&server).id, only(&server).kind), (question, InboxKind::Interrupted));
    server.end().await;
    let server = folders.server().await;
    assert_eq!(only(&server).id, question, "once");
    server.end().await;
}

#[tokio::test]
async fn an_answer_that_only_the_inbox_has_stored_does_not_count() {
    let folders = Folders::new();
    let (id, question) = folders.interrupt(&[]).await;
    let server = folders.server().await;
    // As if the server was killed before the session had stored it.
    let settlement = Settlement {
        decision: InboxDecision::Approve,
        text: Some("go".to_owned()),
        by: "tester".into(),
    };
    assert!(server.sessions.inbox().settle(question, settlement));
    server.end().await;
    for _ in 0..2 {
        let server = folders.server().await;
        assert_eq!(only(&server).id, question, "it is asked again");
        server.end().await;
    }
    let server = folders.server().await;
    let inbox = server.sessions.inbox();
    inbox.answer(question, reply(InboxChoice::Deny, None)).await.expect("open");
    assert_eq!(ended(&server, question).await, (InboxDecision::Deny, "tester".to_owned()));
    assert_eq!(server.record(id).await.state, EntityState::Idle);
    server.end().await;
    let server = folders.server().await;
    assert_eq!(server.sessions.inbox().list().items, []);
    assert_eq!(ended(&server, question).await.0, InboxDecision::Deny);
    server.end().await;
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_withdrawn_at_the_start() {
    let folders = Folders::new();
    let (id, question) = folders.interrupt(&[]).await;
    let server = folders.server().await;
    let open = only(&server);
    server.end().await;
    // The session was closed, but the server was killed before the inbox knew.
    let server = Server::start_unrestored(folders.data()).await;
    server.sessions.stop(id).await.expect("open");
    server.end().await;
    let server = folders.server().await;
    assert_eq!(server.sessions.inbox().list().items, []);
    assert_eq!(open.id, question);
    assert_eq!(ended(&server, question).await, (InboxDecision::Withdrawn, "portal".to_owned()));
    assert_eq!(open_in_store(&server).await, 0);
    server.end().await;
}

#[tokio::test]
async fn whatever_ends_a_question_takes_it_out_of_the_inbox() {
    let folders = Folders::new();
    let server = folders.server().await;
    for end in ["abort", "stop", "deny", "approve-all"] {
        let id = server.sessions.start(MODEL, folders.work()).await.expect("a session");
        query(&server, id, &CREATE.replace("a.txt", &format!("{end}.txt"))).await;
        let question = read_question(&server, id).await;
        server.sessions.inbox().durable().await.expect("kept");
        assert_eq!(only(&server).id, question);
        let session = server.sessions.get(id).expect("open");
        match end {
            "abort" => session.abort(),
            "stop" => server.sessions.stop(id).await.expect("open"),
            mode => session.set_permissions(mode.parse().expect("a mode")).await.expect("kept"),
        }
        drop(session);
        if end != "stop" {
            server.read_until_idle(id, 1).await;
            server.sessions.stop(id).await.expect("open");
        }
        let decision = match end {
            "deny" => InboxDecision::Deny,
            "approve-all" => InboxDecision::Approve,
            _ => InboxDecision::Withdrawn,
        };
        assert_eq!(ended(&server, question).await, (decision, "portal".to_owned()), "{end}");
        assert_eq!(server.sessions.inbox().list().items, []);
    }
    server.end().await;
}

#[tokio::test]
async fn always_answers_the_like_for_the_same_person() {
    let folders = Folders::new();
    let server = folders.server().await;
    let id = server.sessions.start(MODEL, folders.work()).await.expect("a session");
    query(&server, id, CREATE).await;
    let question = read_question(&server, id).await;
    let answer = agents::permission::Answer::new(PermissionDecision::ApproveAlways, "page");
    server.sessions.answer_permission(id, question, &answer).await.expect("open");
    server.read_until_idle(id, 1).await;
    let (decision, by) = ended(&server, question).await;
    assert_eq!((decision, &*by), (InboxDecision::ApproveAlways, "page"));
    server.end().await;
}
