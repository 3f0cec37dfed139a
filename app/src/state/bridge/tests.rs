use std::cell::RefCell;
use std::rc::Rc;

use wire::PermissionKind;
use wire::bridge::{ApprovalDecision, Done, Fragment, HistoryCleared, Inbound};

use super::*;

type Cell = Rc<RefCell<Block>>;
type Log = ProjectLog<Cell>;

fn run(number: u32) -> MessageId {
    format!("message-00000000-0000-4000-8000-{number:012}").parse().expect("id")
}

fn question(number: u32) -> PermissionId {
    format!("permission-00000000-0000-4000-8000-{number:012}").parse().expect("id")
}

fn inbound(number: u32, text: &str) -> Event {
    Event::Inbound(Inbound {
        id: run(number),
        text: text.into(),
        source: "http".into(),
        session_id: "s".into(),
        mode: Mode::Agent,
        at: "t".into(),
    })
}

fn fragment(number: u32, text: &str) -> Event {
    let (fragment, model) = (text.into(), "m".into());
    Event::Fragment(Fragment { id: run(number), fragment, model, session_id: "s".into() })
}

fn done(number: u32, reason: RunEnd, error: Option<&str>) -> Event {
    Event::Done(Done {
        id: run(number),
        model: Some("m".into()),
        session_id: "s".into(),
        reason,
        error: error.map(Into::into),
    })
}

fn approval(number: u32) -> ApprovalRequest {
    ApprovalRequest {
        approval_id: question(number),
        id: run(1),
        session_id: "s".into(),
        model: "m".into(),
        action: "createFile".into(),
        kind: PermissionKind::Create,
        title: "Create a.txt".into(),
        path: "a.txt".into(),
        diff: None,
        content_preview: Some("hi".into()),
    }
}

fn decision(number: u32, outcome: PermissionOutcome) -> Event {
    Event::ApprovalDecision(ApprovalDecision {
        approval_id: question(number),
        approved: outcome.is_approved(),
        outcome,
        id: run(1),
        session_id: "s".into(),
    })
}

fn message(number: u32, role: Role, text: &str, reason: Option<RunEnd>) -> HistoryMessage {
    HistoryMessage {
        id: run(number),
        role,
        text: text.into(),
        at: "t".into(),
        mode: Mode::Agent,
        model: (role == Role::Assistant).then(|| "m".into()),
        reason,
        error: None,
    }
}

fn history(messages: Vec<HistoryMessage>, approvals: Vec<ApprovalRequest>) -> SessionHistory {
    let (id, name) = ("s".into(), "n".into());
    SessionHistory { id, name, messages, approvals, last_event_id: 10 }
}

/// Headers with bodies; permission requests with their outcomes.
fn shown(log: &Log) -> Vec<String> {
    let blocks = log.blocks().iter();
    blocks
        .map(|((_, kind, _), cell)| {
            let block = cell.borrow();
            match &block.question {
                Some(question) => format!("{} {:?}", question.request.title, question.outcome),
                None => format!("{}: {}", block.header(*kind), block.body),
            }
        })
        .collect()
}

fn hear(log: &mut Log, events: impl IntoIterator<Item = Event>) -> Vec<Notice> {
    let first = log.last_event + 1;
    (first..).zip(events).filter_map(|(number, event)| log.hear(number, event).notice).collect()
}

#[test]
fn a_run_is_shown_from_its_goal_to_its_end() {
    let mut log = Log::default();
    let notices = hear(
        &mut log,
        [
            inbound(1, "build it"),
            fragment(1, "Step 1/12\n"),
            Event::ApprovalRequest(approval(1)),
            fragment(1, "created"),
        ],
    );
    assert_eq!(notices, [Notice::Asks("Create a.txt".into())]);
    assert_eq!((log.running(), log.waiting()), (&[run(1)][..], 1));
    let notices =
        hear(&mut log, [decision(1, PermissionOutcome::Approved), done(1, RunEnd::MaxSteps, None)]);
    assert_eq!(notices, [Notice::Ended(RunEnd::MaxSteps)]);
    assert_eq!((log.running(), log.waiting()), (&[][..], 0));
    assert_eq!(
        shown(&log),
        [
            "User (Agent): build it",
            "Message (m, step limit): Step 1/12\ncreated",
            "Create a.txt Some(Approved)"
        ]
    );
}

#[test]
fn a_failure_says_why_below_what_was_written() {
    let mut log = Log::default();
    hear(&mut log, [fragment(1, "so far"), done(1, RunEnd::Failed, Some("no model"))]);
    hear(&mut log, [done(2, RunEnd::Cancelled, Some("cancelled"))]);
    assert_eq!(
        shown(&log),
        ["Message (m, failed): so far\n\nError: no model", "Message (m, cancelled): "]
    );
    assert!(log.blocks()[0].1.borrow().failed);
}

#[test]
fn an_event_is_heard_once() {
    let mut log = Log::default();
    log.load(history(Vec::new(), Vec::new()));
    assert_eq!(log.hear(10, fragment(1, "old")), Heard::default());
    assert!(log.hear(11, fragment(1, "new")).moved);
    assert_eq!(log.hear(11, fragment(1, "new")), Heard::default());
    assert_eq!(shown(&log), ["Message (m) [receiving...]: new"]);
}

#[test]
fn the_history_replaces_what_was_known() {
    let mut log = Log::default();
    hear(&mut log, [inbound(1, "go"), fragment(1, "a"), Event::ApprovalRequest(approval(1))]);
    let cell = log.blocks()[1].1.clone();
    let asked = message(1, Role::User, "go", None);
    log.load(history(
        vec![asked.clone(), message(1, Role::Assistant, "a b", None)],
        vec![approval(2)],
    ));
    assert_eq!(cell.borrow().body, "a b", "its view is notified");
    assert_eq!((log.running(), log.waiting()), (&[run(1)][..], 1));
    assert_eq!(
        shown(&log),
        [
            "User (Agent): go",
            "Message (m) [receiving...]: a b",
            "Create a.txt Some(Withdrawn)",
            "Create a.txt None"
        ]
    );
    log.load(history(vec![message(2, Role::User, "next", None)], Vec::new()));
    assert_eq!(shown(&log), ["User (Agent): next"]);
    assert_eq!((log.running(), log.waiting()), (&[run(2)][..], 0));
}

#[test]
fn clearing_leaves_what_still_runs() {
    let mut log = Log::default();
    hear(
        &mut log,
        [
            inbound(1, "one"),
            Event::ApprovalRequest(approval(1)),
            decision(1, PermissionOutcome::Denied),
            done(1, RunEnd::Done, None),
            inbound(2, "two"),
            Event::HistoryCleared(HistoryCleared { session_id: "s".into(), at: "t".into() }),
        ],
    );
    assert_eq!(shown(&log), ["User (Agent): two"]);
    hear(&mut log, [fragment(2, "x")]);
    assert_eq!(shown(&log), ["User (Agent): two", "Message (m) [receiving...]: x"]);
}
