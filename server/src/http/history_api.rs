//! The API of what is kept: lists, stored responses, exports.

use std::fmt::Write;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use platform::clock::{iso_8601_of_micros, micros_of_iso_8601};
use serde::Deserialize;
use store::fold::{RunDetail, SessionDetail};
use store::journal::{Entity, Fact, Found, HistoryQuery, Page, Record};
use wire::{
    EntityKind, EntityState, ErrorName, History, HistoryItem, JobId, LiveEntity, LiveId, SessionId,
    SessionResponse, TaskId,
};

use super::error::unavailable;
use super::{AppState, error};

/// Events and items of one answer, unless the caller wants fewer.
const MAX_EVENTS: usize = 1_000;
const MAX_ITEMS: usize = 200;
const DEFAULT_ITEMS: usize = 50;
/// Bytes of events in one answer, more or less.
const MAX_BYTES: usize = 1024 * 1024;

/// Which events.
#[derive(Deserialize)]
pub(super) struct EventsQuery {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
}

/// `copilot/session/{id}/events`
pub(super) async fn session_events(
    State(state): State<AppState>,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Response {
    events::<SessionId>(&state, &id, query).await
}

/// `copilot/task/{id}/events`
pub(super) async fn task_events(
    State(state): State<AppState>,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Response {
    events::<TaskId>(&state, &id, query).await
}

/// `copilot/job/{id}/events`
pub(super) async fn job_events(
    State(state): State<AppState>,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Response {
    events::<JobId>(&state, &id, query).await
}

async fn events<Id: LiveEntity + std::str::FromStr + Into<Entity>>(
    state: &AppState,
    id: &str,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Response {
    let Query(query) = match query {
        Ok(query) => query,
        Err(problem) => return unreadable(&problem),
    };
    let Ok(id) = id.parse::<Id>() else { return error::said_no(Id::NOT_FOUND, None) };
    let limit = query.limit.unwrap_or(MAX_EVENTS).clamp(1, MAX_EVENTS);
    match state.live.journal().read(id.into(), query.after, limit, MAX_BYTES).await {
        Ok(Some(page)) => json_text(events_text(&page, query.after)),
        Ok(None) => error::said_no(Id::NOT_FOUND, None),
        Err(error) => unavailable(&error),
    }
}

/// The stored responses are JSON already; they are put together as text.
fn events_text(page: &Page, after: u64) -> String {
    let next = page.facts.last().map_or(after, |(seq, _)| *seq);
    let mut text = String::from(r#"{"events":["#);
    write_events(&mut text, &page.facts);
    // Writing into a string can't fail.
    let _ = write!(text, r#"],"next":{next},"end":{}}}"#, page.is_end);
    text
}

/// Each event is its response with two more fields.
fn write_events(text: &mut String, facts: &[(u64, Fact)]) {
    for (index, (seq, fact)) in facts.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let fields = fact.json.strip_prefix('{').unwrap_or("}");
        let _ = write!(text, r#"{comma}{{"seq":{seq},"at":{},{fields}"#, fact.at);
    }
}

/// What to list.
#[derive(Deserialize)]
pub(super) struct ListQuery {
    kind: Option<String>,
    state: Option<String>,
    folder: Option<String>,
    q: Option<String>,
    since: Option<String>,
    before: Option<u64>,
    limit: Option<usize>,
    /// Whether what is a part of something else is listed.
    parts: Option<bool>,
}

/// `copilot/history`
pub(super) async fn history(
    State(state): State<AppState>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    let Query(query) = match query {
        Ok(query) => query,
        Err(problem) => return unreadable(&problem),
    };
    let kind = word(query.kind, "kind", EntityKind::ALL, EntityKind::as_str);
    let wanted_state = word(query.state, "state", EntityState::ALL, EntityState::as_str);
    let (kind, wanted_state) = match (kind, wanted_state) {
        (Ok(kind), Ok(state)) => (kind, state),
        (Err(problem), _) | (_, Err(problem)) => {
            return error::unreadable(StatusCode::BAD_REQUEST, &problem);
        }
    };
    let since = query.since.filter(|since| !since.is_empty());
    let since = match since.as_deref().map(|time| micros_of_iso_8601(time).ok_or(time)) {
        None => None,
        Some(Ok(since)) => Some(since),
        Some(Err(time)) => {
            let problem = format!("since must be a time such as 2026-01-02T03:04:05Z: `{time}`");
            return error::unreadable(StatusCode::BAD_REQUEST, &problem);
        }
    };
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let query = HistoryQuery {
        questions: false,
        kind,
        state: wanted_state,
        is_open: false,
        is_whole: query.parts == Some(false),
        folder: given(query.folder),
        words: given(query.q),
        since,
        before: query.before,
        limit: query.limit.unwrap_or(DEFAULT_ITEMS).clamp(1, MAX_ITEMS),
    };
    match state.live.journal().history(query).await {
        Ok(page) => {
            let items = page.items.into_iter().filter_map(item).collect();
            Json(History { items, next: page.next }).into_response()
        }
        Err(error) => unavailable(&error),
    }
}

/// One of the accepted words, or nothing.
fn word<T: Copy>(
    given: Option<String>,
    name: &str,
    all: &[T],
    spelling: impl Fn(T) -> &'static str,
) -> Result<Option<T>, String> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(None) };
    let found = all.iter().copied().find(|word| spelling(*word) == given);
    found.map(Some).ok_or_else(|| {
        let all: Vec<_> = all.iter().map(|word| spelling(*word)).collect();
        format!("{name} must be one of {}: `{given}`", all.join(", "))
    })
}

fn item(found: Found) -> Option<HistoryItem> {
    let Found { entity, record, parent_title, snippet } = found;
    let continued_from = SessionDetail::read(&record).and_then(|detail| detail.continued_from);
    let RunDetail { reason, session, .. } = RunDetail::read(&record);
    Some(HistoryItem {
        id: live_id(entity)?,
        kind: entity.kind()?,
        title: record.title,
        folder: record.folder,
        model: record.model,
        state: record.state,
        reason,
        started_at: iso_8601_of_micros(record.started_at),
        ended_at: record.ended_at.map(iso_8601_of_micros),
        usage: Some(record.usage).filter(|usage| !usage.is_empty()),
        parent: record.parent.and_then(live_id),
        parent_title,
        session_id: session,
        continued_from,
        snippet,
    })
}

fn live_id(entity: Entity) -> Option<LiveId> {
    match entity {
        Entity::Session(id) => Some(LiveId::Session(id)),
        Entity::Task(id) => Some(LiveId::Task(id)),
        Entity::Job(id) => Some(LiveId::Job(id)),
        Entity::Question(_) | Entity::Portal => None,
    }
}

/// `copilot/session/{id}/export.json`
pub(super) async fn export_json(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let (id, record, facts) = match read_session(&state, &id).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let found = Found { entity: id.into(), record, parent_title: None, snippet: None };
    let about = item(found).and_then(|item| serde_json::to_string(&item).ok()).unwrap_or_default();
    let mut text = String::from(about.strip_suffix('}').unwrap_or("{"));
    text.push_str(r#","events":["#);
    write_events(&mut text, &facts);
    text.push_str("]}");
    attachment(json_text(text), &format!("{id}.json"))
}

/// `copilot/session/{id}/export.md`
pub(super) async fn export_markdown(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Response {
    let (id, record, facts) = match read_session(&state, &id).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let text = markdown(&record, &facts);
    let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    attachment((kind, text).into_response(), &format!("{id}.md"))
}

async fn read_session(
    state: &AppState,
    id: &str,
) -> Result<(SessionId, Record, Vec<(u64, Fact)>), Response> {
    let not_found = || error::said_no(ErrorName::SessionNotFound, None);
    let id: SessionId = id.parse().map_err(|_| not_found())?;
    let journal = state.live.journal();
    let record = journal.record(id.into()).await.map_err(|error| unavailable(&error))?;
    let (record, ..) = record.ok_or_else(not_found)?;
    let page = journal.read(id.into(), 0, usize::MAX, usize::MAX).await;
    let page = page.map_err(|error| unavailable(&error))?;
    Ok((id, record, page.unwrap_or_default().facts))
}

/// A conversation for people.
fn markdown(record: &Record, facts: &[(u64, Fact)]) -> String {
    let title = if record.title.is_empty() { "Session" } else { &record.title };
    let model = record.model.as_deref().unwrap_or_default();
    let started = iso_8601_of_micros(record.started_at);
    let mut text = format!("# {title}\n\n{model} · {} · {started}\n", record.folder);
    for (_, fact) in facts {
        let Ok(response) = serde_json::from_str(&fact.json) else { continue };
        let _ = match response {
            SessionResponse::UserPrompt { prompt } => write!(text, "\n## Prompt\n\n{prompt}\n"),
            SessionResponse::GeneratedUserPrompt { prompt } => {
                write!(text, "\n## Prompt (generated)\n\n{prompt}\n")
            }
            SessionResponse::EndReasoning { complete_content, .. } => {
                write!(text, "\n### Reasoning\n\n{complete_content}\n")
            }
            SessionResponse::EndMessage { complete_content, .. } => {
                write!(text, "\n### Message\n\n{complete_content}\n")
            }
            SessionResponse::StartToolExecution { tool_name, tool_arguments, .. } => {
                write!(text, "\n### Tool ({tool_name})\n\n{}", fenced(&tool_arguments))
            }
            SessionResponse::ToolExecution { delta, .. } => write!(text, "\n{}", fenced(&delta)),
            SessionResponse::EndToolExecution { result, error, .. } => {
                let result = result.map(|result| fenced(&result.content)).unwrap_or_default();
                let error = error.map(|error| format!("Failed: {}\n", error.message));
                write!(text, "\n{result}{}", error.unwrap_or_default())
            }
            SessionResponse::Error { message } => write!(text, "\n**Error:** {message}\n"),
            _ => Ok(()),
        };
    }
    text
}

/// A code block that its text can't end.
fn fenced(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn json_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Browsers save it under this name.
fn attachment(mut response: Response, name: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

fn unreadable(problem: &QueryRejection) -> Response {
    error::unreadable(StatusCode::BAD_REQUEST, &problem.body_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fenced("a\n"), "```\na\n```\n");
        assert_eq!(fenced("a ```` b"), "`````\na ```` b\n`````\n");
    }
}
