//! Everything is spelt as clients expect it.

use super::*;

const RUN: &str = "message-00000000-0000-4000-8000-000000000001";
const QUESTION: &str = "permission-00000000-0000-4000-8000-000000000002";

fn run() -> MessageId {
    RUN.parse().expect("an id")
}

fn question() -> PermissionId {
    QUESTION.parse().expect("an id")
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("json")
}

fn approval() -> ApprovalRequest {
    ApprovalRequest {
        approval_id: question(),
        id: run(),
        session_id: text("s"),
        model: text("m"),
        action: text("editFile"),
        kind: PermissionKind::Write,
        title: text("Change a.md"),
        path: text("a.md"),
        diff: None,
        content_preview: None,
        each_time: false,
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn events_are_spelt_as_clients_expect_them() {
    let table = [
        (
            Event::Inbound(Inbound {
                id: run(),
                text: text("hi"),
                source: text("http"),
                session_id: text("s"),
                mode: Mode::Agent,
                at: text("t"),
            }),
            "inbound",
            r#"{"id":"RUN","text":"hi","source":"http","sessionId":"s","mode":"agent","at":"t"}"#,
        ),
        (
            Event::Fragment(Fragment {
                id: run(),
                fragment: text("a\nb"),
                model: text("m"),
                session_id: text("s"),
            }),
            "fragment",
            r#"{"id":"RUN","fragment":"a\nb","model":"m","sessionId":"s"}"#,
        ),
        (
            Event::Done(Done {
                id: run(),
                model: Some(text("m")),
                session_id: text("s"),
                reason: RunEnd::MaxSteps,
                error: None,
            }),
            "done",
            r#"{"id":"RUN","model":"m","sessionId":"s","reason":"maxSteps"}"#,
        ),
        (
            Event::Done(Done {
                id: run(),
                model: None,
                session_id: text("s"),
                reason: RunEnd::Failed,
                error: Some(text("e")),
            }),
            "done",
            r#"{"id":"RUN","sessionId":"s","reason":"failed","error":"e"}"#,
        ),
        (
            Event::ApprovalRequest(ApprovalRequest { diff: Some(text("+b")), ..approval() }),
            "approvalRequest",
            r#"{"approvalId":"QUESTION","id":"RUN","sessionId":"s","model":"m","action":"editFile","kind":"write","title":"Change a.md","path":"a.md","diff":"+b"}"#,
        ),
        (
            Event::ApprovalRequest(ApprovalRequest {
                action: text("createFile"),
                kind: PermissionKind::Create,
                title: text("Create a.md"),
                content_preview: Some(text("b")),
                ..approval()
            }),
            "approvalRequest",
            r#"{"approvalId":"QUESTION","id":"RUN","sessionId":"s","model":"m","action":"createFile","kind":"create","title":"Create a.md","path":"a.md","contentPreview":"b"}"#,
        ),
        (
            Event::ApprovalDecision(ApprovalDecision {
                approval_id: question(),
                approved: false,
                outcome: PermissionOutcome::TimedOut,
                id: run(),
                session_id: text("s"),
            }),
            "approvalDecision",
            r#"{"approvalId":"QUESTION","approved":false,"outcome":"timed-out","id":"RUN","sessionId":"s"}"#,
        ),
        (
            Event::HistoryCleared(HistoryCleared { session_id: text("s"), at: text("t") }),
            "historyCleared",
            r#"{"sessionId":"s","at":"t"}"#,
        ),
        (
            Event::Draft(Draft {
                id: run(),
                text: text("t"),
                source: text("editor"),
                session_id: text("s"),
                mode: Some(Mode::Agent),
                at: text("t"),
            }),
            "draft",
            r#"{"id":"RUN","text":"t","source":"editor","sessionId":"s","mode":"agent","at":"t"}"#,
        ),
        (
            Event::DraftTaken(DraftTaken { id: run(), session_id: text("s") }),
            "draftTaken",
            r#"{"id":"RUN","sessionId":"s"}"#,
        ),
        (Event::Missed(Missed { oldest: text("p~~0") }), "missed", r#"{"oldest":"p~~0"}"#),
    ];
    for (event, name, data) in table {
        let data = data.replace("RUN", RUN).replace("QUESTION", QUESTION);
        assert_eq!((event.name(), event.data()), (name, data.clone()));
        assert!(Event::NAMES.contains(&name), "{name}");
        assert_eq!(Event::read(name, &data), Some(event));
    }
    assert_eq!(Event::read("unheard", "{}"), None);
    assert_eq!(Event::read("done", "{}"), None);
}

#[test]
fn requests_need_no_more_than_they_must() {
    let request: MessageRequest = serde_json::from_str("{}").expect("nothing");
    assert_eq!(request, MessageRequest::default());
    let full = r#"{"text":"t","sessionId":"s","mode":"agent","maxSteps":3,"model":"m","source":"e","reviewed":true,"draftId":"d"}"#;
    let request: MessageRequest = serde_json::from_str(full).expect("everything");
    assert_eq!(json(&request), full);
    let nulls = r#"{"text":"t","sessionId":null,"mode":null,"maxSteps":null,"model":null}"#;
    let request: MessageRequest = serde_json::from_str(nulls).expect("nulls");
    assert_eq!(json(&request), r#"{"text":"t"}"#);
    let answer = ApprovalAnswer { approval_id: text("a"), approved: true, always: false };
    assert_eq!(json(&answer), r#"{"approvalId":"a","approved":true}"#);
    let answer = ApprovalAnswer { always: true, ..answer };
    assert_eq!(json(&answer), r#"{"approvalId":"a","approved":true,"always":true}"#);
    assert_eq!(json(&CancelRequest { id: text("r") }), r#"{"id":"r"}"#);
    assert_eq!(json(&ClearRequest { session_id: text("s") }), r#"{"sessionId":"s"}"#);
}

#[test]
fn answers_are_spelt_as_clients_expect_them() {
    let accepted = MessageAccepted { accepted: true, id: run(), session_id: text("s") };
    let expected = format!(r#"{{"accepted":true,"id":"{RUN}","sessionId":"s"}}"#);
    assert_eq!(json(&accepted), expected);
    assert_eq!(json(&Acknowledged::default()), r#"{"ok":true}"#);
    let summary = SessionSummary { id: text("s"), name: text("n"), created: text("t"), count: 2 };
    assert_eq!(json(&[summary]), r#"[{"id":"s","name":"n","created":"t","count":2}]"#);
    let history = SessionHistory {
        id: text("s"),
        name: text("n"),
        messages: vec![HistoryMessage {
            id: run(),
            role: Role::Assistant,
            text: text("x"),
            at: text("t"),
            mode: Mode::Prompt,
            model: Some(text("m")),
            reason: Some(RunEnd::Cancelled),
            error: Some(text("e")),
            approvals: Vec::new(),
        }],
        approvals: Vec::new(),
        drafts: Vec::new(),
        last_event_id: text("s~1f~9"),
    };
    let expected = format!(
        concat!(
            r#"{{"id":"s","name":"n","messages":[{{"id":"{}","role":"assistant","text":"x","at":"t","#,
            r#""mode":"prompt","model":"m","reason":"cancelled","error":"e"}}],"#,
            r#""approvals":[],"lastEventId":"s~1f~9"}}"#
        ),
        RUN
    );
    assert_eq!(json(&history), expected);
    let back: SessionHistory = serde_json::from_str(&expected).expect("history");
    assert_eq!(back, history);
}
