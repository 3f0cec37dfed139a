use std::cell::RefCell;
use std::rc::Rc;

use wire::PermissionKind;
use wire::bridge::{
    ApprovalDecision, AskedApproval, Done, DraftTaken, Fragment, HistoryCleared, Inbound,
};

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
        each_time: false,
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
        approvals: Vec::new(),
    }
}

fn history(messages: Vec<HistoryMessage>, approvals: Vec<ApprovalRequest>) -> SessionHistory {
    let (id, name) = ("s".into(), "n".into());
    SessionHistory {
        id,
        name,
        messages,
        approvals,
        drafts: Vec::new(),
        last_event_id: "s~1~10".into(),
    }
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
    events.into_iter().filter_map(|event| log.hear(event).notice).collect()
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
            "Message (m): Step 1/12\n",
            "Create a.txt Some(Approved)",
            "Message (m, step limit): created",
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
    assert_eq!(log.blocks()[0].1.borrow().trouble, Some(Trouble::Failed));
}

#[test]
fn each_answer_stands_below_its_question_also_when_others_wait() {
    let mut log = Log::default();
    hear(&mut log, [inbound(1, "one"), inbound(2, "two"), fragment(1, "first")]);
    let asked = ApprovalRequest { id: run(1), ..approval(1) };
    hear(&mut log, [Event::ApprovalRequest(asked), fragment(2, "second")]);
    assert_eq!(
        shown(&log),
        [
            "User (Agent): one",
            "Message (m): first",
            "Create a.txt None",
            "User (Agent): two",
            "Message (m) [receiving...]: second"
        ]
    );
}

#[test]
fn a_history_shows_questions_where_they_were_asked() {
    let asked =
        |number, offset, outcome| AskedApproval { request: approval(number), offset, outcome };
    let approvals = vec![
        asked(1, 6, Some(PermissionOutcome::Denied)),
        asked(2, 6, Some(PermissionOutcome::Approved)),
        asked(3, 12, None),
    ];
    let answer = HistoryMessage { approvals, ..message(1, Role::Assistant, "beforebetween", None) };
    let messages = vec![message(1, Role::User, "go", None), answer];
    let mut log = Log::default();
    log.load(history(messages.clone(), vec![approval(3)]));
    let expected = [
        "User (Agent): go",
        "Message (m): before",
        "Create a.txt Some(Denied)",
        "Create a.txt Some(Approved)",
        "Message (m): betwee",
        "Create a.txt None",
        "Message (m) [receiving...]: n",
    ];
    assert_eq!((shown(&log), log.waiting()), (expected.map(str::to_owned).to_vec(), 1));
    // The same again changes nothing, and what follows goes below.
    log.load(history(messages, vec![approval(3)]));
    assert_eq!(shown(&log), expected);
    hear(&mut log, [fragment(1, "ow"), done(1, RunEnd::Done, None)]);
    assert_eq!(shown(&log)[6], "Message (m): now");
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

#[test]
fn drafts_wait_once_each_until_they_are_taken() {
    let mut log = Log::default();
    assert_eq!(log.drafts(), None);
    let draft = |number| Draft {
        id: run(number),
        text: "t".to_owned(),
        source: "editor".to_owned(),
        session_id: "s".to_owned(),
        mode: None,
        at: String::new(),
    };
    log.load(SessionHistory { drafts: vec![draft(1)], ..history(Vec::new(), Vec::new()) });
    let heard = log.hear(Event::Draft(draft(2)));
    assert_eq!(heard.notice, Some(Notice::Draft("editor".to_owned())));
    assert_eq!(log.hear(Event::Draft(draft(1))).notice, None);
    assert_eq!(log.drafts(), Some(&[draft(1), draft(2)][..]));
    let taken = DraftTaken { id: run(1), session_id: "s".to_owned() };
    log.hear(Event::DraftTaken(taken));
    assert_eq!(log.drafts(), Some(&[draft(2)][..]));
}
