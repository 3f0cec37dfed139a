//! What comes and goes.

use wire::{
    AliveItem, AliveResponse, AliveState, EntityKind, InboxAnswer, InboxDecision, InboxItem,
    InboxKind, InboxResponse, PermissionId, SessionId,
};

use super::*;
use crate::live::LiveBoard;

type Board = LiveBoard<InboxResponse>;

fn new_board() -> Board {
    LiveBoard::new(LiveShared::new(LiveSettings::default()))
}

fn added(id: PermissionId) -> InboxResponse {
    InboxResponse::InboxAdded(Box::new(InboxItem {
        id,
        kind: InboxKind::Permission,
        title: "t".to_owned(),
        detail: None,
        path: None,
        diff: None,
        options: Vec::new(),
        asked_at: String::new(),
        expires_at: None,
        session_id: Some(SessionId::generate()),
        task_id: None,
        job_id: None,
        work_id: None,
        folder: String::new(),
    }))
}

fn removed(id: PermissionId) -> InboxResponse {
    let (decision, by) = (InboxDecision::Deny, "local".to_owned());
    InboxResponse::InboxResolved(InboxAnswer { id, decision, by })
}

/// What the next answer says, committed: `+` for what was added, `-` for what was removed, by the
/// order of the ids.
async fn read(board: &Board, reader: &ReaderKey, ids: &[PermissionId]) -> Vec<String> {
    let delivery = board.source().poll(reader.clone()).await.expect("an answer");
    let name = |id: &PermissionId| ids.iter().position(|known| known == id).expect("known");
    let told = delivery.entries().into_iter().map(|json| {
        match serde_json::from_str(&json).expect("a response") {
            InboxResponse::InboxAdded(item) => format!("+{}", name(&item.id)),
            InboxResponse::InboxResolved(answer) => format!("-{}", name(&answer.id)),
        }
    });
    let told = told.collect();
    delivery.commit();
    told
}

/// Long enough for the board to be tended by its next use.
async fn later() {
    tokio::time::advance(Duration::from_secs(6)).await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_gets_what_is_there_and_then_what_changes() {
    let board = new_board();
    let ids: Vec<_> = (0..4).map(|_| PermissionId::generate()).collect();
    for id in &ids[..3] {
        board.push(&added(*id));
    }
    board.push(&removed(ids[1]));
    later().await;
    let reader = token("early");
    assert_eq!(read(&board, &reader, &ids).await, ["+0", "+2"], "what is gone is not told");
    board.push(&removed(ids[0]));
    board.push(&added(ids[3]));
    later().await;
    // It has to learn that the first is gone, however long it takes.
    assert_eq!(read(&board, &reader, &ids).await, ["-0", "+3"]);
    let waits = board.source().poll(reader.clone()).await;
    assert_eq!(waits.expect_err("nothing new"), PollError::Timeout);
    later().await;
    assert_eq!(read(&board, &token("late"), &ids).await, ["+2", "+3"]);
}

#[tokio::test(start_paused = true)]
async fn what_came_and_went_costs_nothing_once_everybody_has_seen_it() {
    let board = new_board();
    let stays = PermissionId::generate();
    let reader = token("slow");
    board.push(&added(stays));
    assert_eq!(read(&board, &reader, &[stays]).await, ["+0"]);
    board.push(&removed(stays));
    for _ in 0..1_000 {
        let id = PermissionId::generate();
        board.push(&added(id));
        board.push(&removed(id));
    }
    later().await;
    assert_eq!(board.entries(), 2_002, "a reader has not seen it");
    let delivery = board.source().poll(reader).await.expect("an answer");
    assert_eq!(delivery.entries().len(), 2_001);
    delivery.commit();
    later().await;
    board.source();
    assert_eq!(board.entries(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_come_back_is_forgotten() {
    let board = new_board();
    let ids = [PermissionId::generate()];
    board.push(&added(ids[0]));
    read(&board, &token("gone"), &ids).await;
    board.push(&removed(ids[0]));
    tokio::time::advance(LiveSettings::default().forget_after).await;
    board.source();
    assert_eq!(board.entries(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_position_from_an_earlier_life_leads_to_the_beginning() {
    let ids: Vec<_> = (0..2).map(|_| PermissionId::generate()).collect();
    let positions = async |board: &Board, reader: &str| {
        let delivery = board.source().poll(token(reader)).await.expect("an answer");
        let position = delivery.position().expect("a position");
        delivery.commit();
        position
    };
    let shared = LiveShared::new(LiveSettings::default());
    let earlier = Board::new(shared.clone());
    for id in &ids {
        earlier.push(&added(*id));
    }
    let before = positions(&earlier, "a").await;
    let board = Board::new(shared);
    board.push(&added(ids[0]));
    let source = board.source().after(Some(before));
    let delivery = source.poll(token("b")).await.expect("an answer");
    assert_eq!(delivery.entries().len(), 1, "it is told again");
    drop(delivery);
    let here = positions(&board, "c").await;
    board.push(&added(ids[1]));
    let rest = board.source().after(Some(here)).poll(token("d")).await.expect("an answer");
    assert_eq!(rest.entries().len(), 1);
}

fn version(id: SessionId, number: u64) -> AliveResponse {
    let item = AliveItem {
        id: id.into(),
        kind: EntityKind::Session,
        title: String::new(),
        folder: String::new(),
        model: None,
        state: AliveState::Idle,
        since: number,
        started_at: 0,
        parent: None,
        label: None,
        done: None,
        total: None,
        waiting: 0,
    };
    AliveResponse::AliveChanged { item: Box::new(item) }
}

/// What the next answer says, committed: the versions, and `None` for what is gone.
async fn read_versions(board: &LiveBoard<AliveResponse>, reader: &str) -> Vec<Option<u64>> {
    let delivery = board.source().poll(token(reader)).await.expect("an answer");
    let told = delivery.entries().into_iter().map(|json| {
        match serde_json::from_str(&json).expect("a response") {
            AliveResponse::AliveChanged { item } => Some(item.since),
            AliveResponse::AliveGone { .. } => None,
        }
    });
    let told = told.collect();
    delivery.commit();
    told
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_versions_cost_as_much_as_the_newest() {
    let board = LiveBoard::new(LiveShared::new(LiveSettings::default()));
    let (stays, changes) = (SessionId::generate(), SessionId::generate());
    // What never changes stands before all that does.
    board.push(&version(stays, 1));
    board.push(&version(changes, 2));
    assert_eq!(read_versions(&board, "slow").await, [Some(1), Some(2)]);
    for number in 3..10_003 {
        board.push(&version(changes, number));
        if number == 5_000 {
            assert_eq!(read_versions(&board, "quick").await, [Some(1), Some(5_000)]);
        }
    }
    assert!(board.entries() < 300, "{} are left", board.entries());
    for (reader, told) in [
        ("slow", vec![Some(10_002)]),
        ("quick", vec![Some(10_002)]),
        ("late", vec![Some(1), Some(10_002)]),
    ] {
        assert_eq!(read_versions(&board, reader).await, told, "{reader}");
    }
    // Places stay valid while others are taken out.
    board.push(&version(stays, 20_000));
    for number in 20_001..20_200 {
        board.push(&version(changes, number));
    }
    assert_eq!(read_versions(&board, "slow").await, [Some(20_000), Some(20_199)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_takes_the_place_of_its_versions() {
    let board = LiveBoard::new(LiveShared::new(LiveSettings::default()));
    let id = SessionId::generate();
    board.push(&version(id, 1));
    assert_eq!(read_versions(&board, "early").await, [Some(1)]);
    board.push(&version(id, 2));
    board.push(&AliveResponse::AliveGone { id: id.into() });
    assert_eq!(read_versions(&board, "early").await, [None]);
    later().await;
    let waits = board.source().poll(token("late")).await;
    assert_eq!(waits.expect_err("nothing is there"), PollError::Timeout);
    // It may come back.
    board.push(&version(id, 3));
    assert_eq!(read_versions(&board, "early").await, [Some(3)]);
    assert_eq!(board.entries(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_followed_by_the_newest_version() {
    let board = LiveBoard::new(LiveShared::new(LiveSettings::default()));
    let id = SessionId::generate();
    board.push(&version(id, 1));
    drop(board.source().poll(token("reader")).await.expect("an answer"));
    board.push(&version(id, 2));
    assert_eq!(read_versions(&board, "reader").await, [Some(2)]);
}
