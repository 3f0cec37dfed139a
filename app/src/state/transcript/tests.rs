use std::cell::RefCell;
use std::rc::Rc;

use wire::{PermissionKind, PermissionRequest, Usage};

use super::*;

/// A response whose time does not matter: it is ordered by arrival.
fn now<R>(response: R) -> Timed<R> {
    Timed { at: 0, response }
}

type Cell = Rc<RefCell<Block>>;

fn text(text: &str) -> String {
    text.to_owned()
}

fn shown(transcript: &Transcript<Cell>) -> Vec<(String, String)> {
    let blocks = transcript.blocks().iter();
    blocks
        .map(|((_, kind, _), block)| (block.borrow().header(*kind), block.borrow().body.clone()))
        .collect()
}

fn history() -> Vec<SessionResponse> {
    use SessionResponse as R;
    vec![
        R::UserPrompt { prompt: text("hello") },
        R::AgentStart { turn_id: text("1") },
        R::StartReasoning { reasoning_id: text("r") },
        R::Reasoning { reasoning_id: text("r"), delta: text("hm") },
        R::StartMessage { message_id: text("m") },
        R::Message { message_id: text("m"), delta: text("Hel") },
        R::EndReasoning { reasoning_id: text("r"), complete_content: text("hm") },
        R::Message { message_id: text("m"), delta: text("lo") },
        R::EndMessage { message_id: text("m"), complete_content: text("Hello") },
        R::AgentEnd { turn_id: text("1") },
        R::Error { message: text("boom") },
        R::Idle,
    ]
}

#[test]
fn blocks_stand_in_the_order_in_which_they_opened() {
    let mut transcript = Transcript::default();
    for response in history() {
        transcript.apply(0, now(response));
    }
    let expected =
        [("User", "hello"), ("Reasoning", "hm"), ("Message", "Hello"), ("Message (Error)", "boom")];
    assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
}

#[test]
fn several_blocks_receive_at_once() {
    let mut transcript = Transcript::default();
    for response in history().into_iter().take(6) {
        transcript.apply(0, now(response));
    }
    let expected =
        [("User", "hello"), ("Reasoning [receiving...]", "hm"), ("Message [receiving...]", "Hel")];
    assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
}

#[test]
fn tools_show_arguments_output_and_what_came_of_them() {
    use SessionResponse as R;
    let start = |id: &str, arguments: &str| R::StartToolExecution {
        tool_call_id: text(id),
        parent_tool_call_id: None,
        tool_name: text("build"),
        tool_arguments: text(arguments),
    };
    let mut transcript = Transcript::default();
    for response in [
        start("1", "{}"),
        R::ToolExecution { tool_call_id: text("1"), delta: text("compiling") },
        R::EndToolExecution {
            tool_call_id: text("1"),
            result: Some(ToolResult {
                content: text("ok"),
                detailed_content: Some(text("3 files")),
            }),
            error: None,
        },
        start("2", ""),
        R::EndToolExecution {
            tool_call_id: text("2"),
            result: None,
            error: Some(ToolError { message: text("denied"), code: None }),
        },
    ] {
        transcript.apply(0, now(response));
    }
    let expected = [
        ("Tool (build)", "{}\ncompiling\nResult: ok\nDetails: 3 files"),
        ("Tool (build)", "Error: denied"),
    ];
    assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
}

#[test]
fn how_a_tool_ended_is_known_by_its_code() {
    for (code, trouble) in [
        (None, Trouble::Failed),
        (Some("notFound"), Trouble::Failed),
        (Some("denied"), Trouble::Denied),
        (Some("rejected"), Trouble::Denied),
        (Some(ToolError::CUT_OFF), Trouble::Aborted),
    ] {
        let mut transcript: Transcript<Cell> = Transcript::default();
        let error = ToolError { message: text("no"), code: code.map(text) };
        let end = SessionResponse::EndToolExecution {
            tool_call_id: text("1"),
            result: None,
            error: Some(error),
        };
        transcript.apply(0, now(end));
        let (_, block) = &transcript.blocks()[0];
        assert_eq!(block.borrow().trouble, Some(trouble), "{code:?}");
    }
}

#[test]
fn a_turn_that_was_not_answered_says_so_with_its_prompt() {
    use SessionResponse as R;
    let ends = |outcome| R::TurnEnd { turn_id: None, outcome };
    let mut transcript: Transcript<Cell> = Transcript::default();
    for response in [
        R::UserPrompt { prompt: text("one") },
        ends(TurnEnding::Completed),
        R::UserPrompt { prompt: text("two") },
        ends(TurnEnding::Aborted),
        R::GeneratedUserPrompt { prompt: text("three") },
        ends(TurnEnding::Failed),
    ] {
        transcript.apply(0, now(response));
    }
    let ends = transcript.blocks().iter().filter(|((_, kind, _), _)| *kind == BlockKind::End);
    let ends: Vec<_> =
        ends.map(|(_, block)| (block.borrow().ending, block.borrow().body.clone())).collect();
    let (aborted, failed) = (Some(TurnEnding::Aborted), Some(TurnEnding::Failed));
    // What a task sent is tried again by the task.
    assert_eq!(ends, [(aborted, text("two")), (failed, String::new())]);
}

#[test]
fn looks_next_to_each_other_are_grouped_once_they_have_ended() {
    use SessionResponse as R;
    let start = |id: &str| R::StartToolExecution {
        tool_call_id: text(id),
        parent_tool_call_id: None,
        tool_name: text("readFiles"),
        tool_arguments: text(r#"{"files":["a"]}"#),
    };
    let end = |id: &str| R::EndToolExecution {
        tool_call_id: text(id),
        result: Some(ToolResult { content: text("ok"), detailed_content: None }),
        error: None,
    };
    let mut transcript: Transcript<Cell> = Transcript::default();
    let responses = [start("1"), start("2"), end("2"), end("1")];
    for (at, response) in (1..).zip(responses) {
        transcript.apply(0, Timed { at: at * 1_000_000, response });
        let groups = transcript.groups();
        assert_eq!(groups.len(), usize::from(at == 4), "after {at}");
    }
    // The first took three seconds, the second one.
    assert_eq!(transcript.groups()[0].millis, 4_000);
    assert_eq!(transcript.groups()[0].text(), "Looked around · 2 files");
}

#[test]
fn readers_know_the_first_lines_of_what_waits() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    let waiting = wire::WaitingPrompt { id: 3, prompt: text("next") };
    let queue = wire::PromptQueue { queue: vec![waiting.clone()] };
    transcript.apply(0, now(SessionResponse::QueueChanged(queue)));
    assert_eq!(transcript.queue(), [waiting]);
    transcript.end(0);
    assert_eq!(transcript.queue(), []);
}

#[test]
fn an_end_without_a_start_still_shows() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    let end = SessionResponse::EndMessage { message_id: text("m"), complete_content: text("x") };
    assert_eq!(transcript.apply(0, now(end)), Changes { opened: true, working: None });
    assert_eq!(shown(&transcript), [(text("Message"), text("x"))]);
}

#[test]
fn the_agent_works_from_the_prompt_until_it_is_idle() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    let working: Vec<_> =
        history().into_iter().filter_map(|one| transcript.apply(0, now(one)).working).collect();
    assert_eq!(working, [true, true, false]);
}

#[test]
fn prompts_of_the_task_engine_are_titled() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    transcript.apply(0, now(SessionResponse::GeneratedUserPrompt { prompt: text("do it") }));
    assert_eq!(shown(&transcript), [(text("User (Task)"), text("do it"))]);
}

/// A decision with arbitrary content.
fn decision(reason: &str) -> TaskResponse {
    TaskResponse::TaskDecision { reason: text(reason), decision: wire::Decision::Succeeded }
}

fn decisions() -> Vec<TaskResponse> {
    vec![
        decision("[CRITERIA] not met"),
        decision("[TASK FAILED] so be it"),
        TaskResponse::Error { message: text("boom") },
        TaskResponse::TaskFailed,
    ]
}

fn task(number: u128) -> TaskId {
    format!("task-00000000-0000-4000-8000-{number:012x}").parse().expect("id")
}

#[test]
fn decisions_stand_among_prompts_and_the_end_of_the_task_is_told() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    let prompt = |prompt: &str| SessionResponse::GeneratedUserPrompt { prompt: text(prompt) };
    let mut decisions = decisions().into_iter();
    let mut decide = |transcript: &mut Transcript<Cell>| {
        let response = decisions.next().expect("decision");
        transcript.apply_task(0, task(1), now(response))
    };
    transcript.apply(0, now(prompt("do it")));
    assert_eq!(decide(&mut transcript), Changes { opened: true, working: None });
    transcript.apply(0, now(prompt("again")));
    assert_eq!(decide(&mut transcript), Changes { opened: true, working: None });
    assert_eq!(decide(&mut transcript), Changes { opened: true, working: None });
    assert_eq!(decide(&mut transcript), Changes { opened: false, working: Some(false) });
    let expected = [
        ("User (Task)", "do it"),
        ("User (TaskDecision)", "[CRITERIA] not met"),
        ("User (Task)", "again"),
        ("User (TaskDecision)", "[TASK FAILED] so be it"),
        ("Message (TaskError)", "boom"),
    ];
    assert_eq!(shown(&transcript), expected.map(|(header, body)| (text(header), text(body))));
    assert!(transcript.blocks().iter().all(|(_, block)| block.borrow().completed));
}

#[test]
fn what_sessions_and_tasks_said_stands_in_the_order_of_its_times() {
    let read = |transcript: &mut Transcript<Cell>, source, from| {
        for (at, response) in (from..).zip(history()) {
            transcript.apply(source, Timed { at, response });
        }
    };
    let decide = |transcript: &mut Transcript<Cell>, at, reason: &str| {
        transcript.apply_task(0, task(1), Timed { at, response: decision(reason) });
    };
    let expected = || {
        let session = ["hello", "hm", "Hello", "boom"];
        let order = [&["begin"][..], &session, &["then"], &session, &["end"]].concat();
        order.into_iter().map(text).collect::<Vec<_>>()
    };
    let bodies = |transcript: &Transcript<Cell>| {
        shown(transcript).into_iter().map(|(_, body)| body).collect::<Vec<_>>()
    };

    // As it happens, and as read by a late reader.
    let mut live = Transcript::default();
    decide(&mut live, 1, "begin");
    read(&mut live, 1, 100);
    decide(&mut live, 200, "then");
    read(&mut live, 2, 300);
    decide(&mut live, 400, "end");
    assert_eq!(bodies(&live), expected());
    let mut late = Transcript::default();
    for (at, reason) in [(1, "begin"), (200, "then"), (400, "end")] {
        decide(&mut late, at, reason);
    }
    read(&mut late, 2, 300);
    read(&mut late, 1, 100);
    assert_eq!(bodies(&late), expected());
}

#[test]
fn the_transcript_works_while_one_of_its_sessions_does() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    assert!(transcript.set_working(1, true));
    assert!(transcript.set_working(3, true));
    assert!(transcript.set_working(1, false));
    assert!(!transcript.set_working(3, false));
}

fn asked(number: u32) -> PermissionId {
    format!("permission-00000000-0000-4000-8000-{number:012}").parse().expect("id")
}

fn ask(number: u32) -> SessionResponse {
    SessionResponse::PermissionRequest(PendingPermission {
        id: asked(number),
        request: PermissionRequest {
            kind: PermissionKind::Create,
            title: text("Create a.txt"),
            path: Some(text("a.txt")),
            detail: Some(text("hi")),
            diff: None,
            each_time: false,
        },
    })
}

fn settle(number: u32, decision: PermissionOutcome) -> SessionResponse {
    SessionResponse::PermissionResolved { request_id: asked(number), decision }
}

fn outcomes(transcript: &Transcript<Cell>) -> Vec<Option<PermissionOutcome>> {
    let questions =
        transcript.blocks().iter().filter_map(|(_, cell)| cell.borrow().question.clone());
    questions.map(|question| question.outcome).collect()
}

#[test]
fn a_question_waits_until_it_is_settled_and_stays_settled() {
    use PermissionOutcome as O;
    let history = || vec![ask(1), settle(1, O::ApprovedAlways), ask(2), settle(2, O::TimedOut)];
    let waiting = [1, 0, 1, 0];
    let mut transcript: Transcript<Cell> = Transcript::default();
    for (response, waiting) in history().into_iter().zip(waiting) {
        transcript.apply(0, now(response));
        assert_eq!(transcript.waiting(), waiting);
    }
    let settled = [Some(O::ApprovedAlways), Some(O::TimedOut)];
    assert_eq!(outcomes(&transcript), settled);
}

#[test]
fn what_is_asked_in_a_session_that_ended_is_withdrawn() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    transcript.apply(1, now(ask(1)));
    transcript.apply(3, now(ask(2)));
    transcript.end(1);
    assert_eq!(transcript.waiting(), 1);
    assert_eq!(outcomes(&transcript), [Some(PermissionOutcome::Withdrawn), None]);
    // The real outcome may be read afterwards.
    transcript.apply(1, now(settle(1, PermissionOutcome::Denied)));
    assert_eq!(outcomes(&transcript)[0], Some(PermissionOutcome::Denied));
}

#[test]
fn an_end_of_a_question_nobody_saw_shows_nothing() {
    let mut transcript: Transcript<Cell> = Transcript::default();
    let changes = transcript.apply(0, now(settle(1, PermissionOutcome::Denied)));
    assert_eq!((changes, transcript.blocks().len()), (Changes::default(), 0));
}

#[test]
fn usage_is_counted_by_turn_and_in_all() {
    let used = |input_tokens| SessionResponse::Usage {
        model: text("m"),
        usage: Usage { input_tokens, ..Usage::default() },
    };
    let history = || {
        let prompt = || SessionResponse::UserPrompt { prompt: text("go") };
        [prompt(), used(10), used(5), SessionResponse::Idle, prompt(), used(7)]
    };
    let mut transcript: Transcript<Cell> = Transcript::default();
    for response in history() {
        transcript.apply(0, now(response));
    }
    let spent = transcript.spent();
    assert_eq!((spent.turn.input_tokens, spent.total.input_tokens), (7, 22));
    transcript.apply(1, now(used(3)));
    let spent = transcript.spent();
    assert_eq!((spent.turn.input_tokens, spent.total.input_tokens), (3, 25));
}

#[test]
fn remarks_of_extensions_are_lines_and_fleeting_ones_go_with_the_turn() {
    let log = |message: &str, ephemeral| SessionResponse::ExtensionLog {
        extension: text("lint"),
        level: LogLevel::Warning,
        message: text(message),
        ephemeral,
    };
    let remark = |transcript: &Transcript<Cell>| transcript.remark().map(|it| it.message.clone());
    let mut transcript: Transcript<Cell> = Transcript::default();
    transcript.apply(0, now(log("loaded", false)));
    transcript.apply(0, now(log("1 of 2", true)));
    transcript.apply(0, now(log("2 of 2", true)));
    assert_eq!(remark(&transcript), Some(text("2 of 2")));
    transcript.apply(0, now(SessionResponse::Idle));
    assert_eq!(remark(&transcript), None);
    assert_eq!(shown(&transcript), [(text("Log (lint)"), text("loaded"))]);
    let (_, line) = &transcript.blocks()[0];
    assert_eq!(line.borrow().level, Some(LogLevel::Warning));
}
