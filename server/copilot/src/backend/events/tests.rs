use serde_json::json;

use super::*;

/// Reads events of the main agent, and returns a short form of the result.
fn read(reader: &mut Reader, events: &[(&str, Value)]) -> Vec<String> {
    let mut told = Vec::new();
    for (name, data) in events {
        let progress = reader.read(&event(name, data, None), &mut |event| told.push(short(&event)));
        told.extend(progress.map(|progress| format!("{progress:?}")));
    }
    told
}

fn event(name: &str, data: &Value, agent: Option<&str>) -> SessionEvent {
    serde_json::from_value(json!({
        "id": "1", "timestamp": "", "parentId": null, "type": name, "agentId": agent, "data": data,
    }))
    .expect("an event")
}

fn short(event: &AgentEvent) -> String {
    match event {
        AgentEvent::TurnStart { turn_id } => format!("+{turn_id}"),
        AgentEvent::TurnEnd { turn_id } => format!("-{turn_id}"),
        AgentEvent::TextStart { id, .. } => format!("+{id}"),
        AgentEvent::TextDelta { id, delta, .. } => format!("{id}:{delta}"),
        AgentEvent::TextEnd { id, content, .. } => {
            format!("-{id}:{}", content.as_deref().unwrap_or("…"))
        }
        AgentEvent::ToolStart { call_id, parent_call_id, name, .. } => {
            format!("+{call_id}:{name}<{}", parent_call_id.as_deref().unwrap_or_default())
        }
        AgentEvent::ToolOutput { call_id, delta } => format!("{call_id}:{delta}"),
        AgentEvent::ToolEnd { call_id, outcome: Ok(result) } => {
            format!("-{call_id}:{}", result.content)
        }
        AgentEvent::ToolEnd { call_id, outcome: Err(error) } => {
            format!("!{call_id}:{}", error.message)
        }
        AgentEvent::Usage { model, usage } => format!("{model}:{}", usage.input_tokens),
        AgentEvent::Extensions(extensions) => {
            let states = extensions.iter().map(|one| format!("{}={}", one.name, one.state));
            states.collect::<Vec<_>>().join(",")
        }
        AgentEvent::Error { message } => format!("error:{message}"),
        AgentEvent::Crashed { message } => format!("crashed:{message}"),
    }
}

fn delta(id: &str, name: &str, text: &str) -> Value {
    json!({ id: name, "deltaContent": text })
}

#[test]
fn reasoning_ends_where_the_answer_begins() {
    let told = read(
        &mut Reader::default(),
        &[
            ("assistant.turn_start", json!({ "turnId": "0" })),
            ("assistant.reasoning_delta", delta("reasoningId", "r", "hm")),
            ("assistant.message_delta", delta("messageId", "m", "a")),
            ("assistant.reasoning_delta", delta("reasoningId", "r", "oh")),
            ("assistant.message_delta", delta("messageId", "m", "b")),
            ("assistant.message", json!({ "messageId": "m", "content": "ab" })),
            ("assistant.reasoning", json!({ "reasoningId": "r", "content": "hmoh" })),
            ("assistant.turn_end", json!({ "turnId": "0" })),
            ("session.idle", json!({})),
        ],
    );
    let expected =
        ["+turn-1", "r:hm", "-r:…", "m:a", "r+1:oh", "-r+1:…", "m:b", "-m:ab", "-turn-1", "Idle"];
    assert_eq!(told, expected);
}

#[test]
fn turns_are_counted_through_the_whole_conversation() {
    let mut reader = Reader::default();
    let turn = [
        ("user.message", json!({ "messageId": "x" })),
        ("assistant.turn_start", json!({ "turnId": "0" })),
        ("assistant.turn_end", json!({ "turnId": "0" })),
    ];
    let begun = "Begun { message_id: Some(\"x\") }";
    assert_eq!(read(&mut reader, &turn), [begun, "+turn-1", "-turn-1"]);
    assert_eq!(read(&mut reader, &turn), [begun, "+turn-2", "-turn-2"]);
}

#[test]
fn what_was_not_streamed_is_told_at_its_end() {
    let told = read(
        &mut Reader::default(),
        &[
            ("assistant.message", json!({ "messageId": "a", "content": "whole" })),
            ("assistant.reasoning", json!({ "reasoningId": "r", "content": "why" })),
            ("assistant.message", json!({ "messageId": "b", "content": "", "toolRequests": [1] })),
        ],
    );
    assert_eq!(told, ["-a:whole", "-r:why"], "a message that only calls tools is none");
}

#[test]
fn output_is_told_once_however_it_comes() {
    let snapshot = |text: &str| {
        ("tool.execution_partial_result", json!({ "toolCallId": "c", "partialOutput": text }))
    };
    let piece = |text: &str| ("tool.shell_output", json!({ "toolCallId": "d", "text": text }));
    let start = |id: &str| {
        ("tool.execution_start", json!({ "toolCallId": id, "toolName": "bash", "arguments": {} }))
    };
    let told = read(
        &mut Reader::default(),
        &[
            start("c"),
            snapshot("one\n"),
            snapshot("one\n"),
            snapshot("one\n10 %"),
            snapshot("one\n20 %"),
            start("d"),
            piece("x"),
            ("tool.execution_partial_result", json!({ "toolCallId": "d", "partialOutput": "xy" })),
            piece("y"),
            (
                "tool.execution_complete",
                json!({ "toolCallId": "c", "success": true, "result": { "content": "ok" } }),
            ),
            (
                "tool.execution_complete",
                json!({ "toolCallId": "d", "success": false, "error": { "message": "no" } }),
            ),
        ],
    );
    let expected =
        ["+c:bash<", "c:one\n", "c:10 %", "c:\n20 %", "+d:bash<", "d:x", "d:y", "-c:ok", "!d:no"];
    assert_eq!(told, expected);
}

#[test]
fn of_other_agents_their_tools_are_told_below_the_call_that_started_them() {
    let mut reader = Reader::default();
    let mut told = Vec::new();
    for (name, data) in [
        ("subagent.started", json!({ "toolCallId": "task", "agentName": "explore" })),
        ("assistant.turn_start", json!({ "turnId": "0" })),
        ("assistant.message_delta", delta("messageId", "m", "I am another")),
        ("tool.execution_start", json!({ "toolCallId": "c", "toolName": "view" })),
        ("assistant.usage", json!({ "model": "small", "inputTokens": 7 })),
        ("session.idle", json!({})),
    ] {
        let event = event(name, &data, Some("agent-1"));
        let progress = reader.read(&event, &mut |event| told.push(short(&event)));
        assert_eq!(progress, None, "{name}");
    }
    assert_eq!(told, ["+c:view<task", "small:7"]);
}

#[test]
fn errors_are_told_unless_asking_again_helped() {
    let error = |kind: &str, message: &str| {
        let status = if kind == "model_call" { json!(500) } else { Value::Null };
        ("session.error", json!({ "errorType": kind, "message": message, "statusCode": status }))
    };
    let answer = ("assistant.message", json!({ "messageId": "m", "content": "a" }));
    let idle = || ("session.idle", json!({}));
    for (events, expected) in [
        (vec![error("query", "bad"), idle()], vec!["error:bad", "Idle"]),
        (vec![error("model_call", "busy"), idle()], vec!["error:busy (500)", "Idle"]),
        (vec![error("model_call", "busy"), answer, idle()], vec!["-m:a", "Idle"]),
        (
            vec![("session.error", json!({}))],
            vec!["error:the Copilot CLI failed without saying why"],
        ),
    ] {
        assert_eq!(read(&mut Reader::default(), &events), expected);
    }
}

#[test]
fn what_is_unknown_or_broken_is_passed_over() {
    let told = read(
        &mut Reader::default(),
        &[
            ("session.telepathy", json!({ "to": "you" })),
            ("assistant.message_delta", json!("no object")),
            ("assistant.message", json!({ "content": 7 })),
            ("tool.execution_start", json!({ "toolCallId": "c" })),
            ("tool.execution_complete", json!(null)),
            ("assistant.turn_end", json!({})),
            ("assistant.usage", json!({ "model": "m" })),
        ],
    );
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn the_cost_is_what_github_says() {
    let usage = |is_own: bool| {
        let data = json!({ "model": "m", "inputTokens": 2, "cost": 1.5, "isByok": is_own });
        let mut cost = None;
        Reader::default().read(&event("assistant.usage", &data, None), &mut |event| match event {
            AgentEvent::Usage { usage, .. } => cost = usage.cost,
            other => panic!("{other:?}"),
        });
        cost
    };
    assert_eq!((usage(false), usage(true)), (Some(1.5), None));
}

#[test]
fn extensions_that_the_cli_runs_are_told() {
    let extensions = json!({ "extensions": [
        { "id": "project:a", "name": "a", "source": "project", "status": "running" },
        { "id": "user:b", "name": "b", "source": "user", "status": "failed" },
        { "id": "user:c", "name": "c", "source": "user", "status": "disabled" },
    ] });
    let told = read(&mut Reader::default(), &[("session.extensions_loaded", extensions)]);
    assert_eq!(told, ["a=running,b=failed,c=stopped"]);
}
