//! The API of the inbox. Handlers parse, call the inbox, and serialise.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use engine::inbox::{AnswerError, Reply};
use serde::Deserialize;
use wire::{Done, Inbox, LiveToken};

use super::live::{After, Connection, poll_source, refuse_token};
use super::text::Prompt;
use super::{AppState, error};
use crate::security::access::Caller;

/// Items of one answer, unless the caller wants fewer.
const MAX_ITEMS: usize = 200;
const DEFAULT_ITEMS: usize = 50;

/// Name of the caller, for the record of who answered.
pub(super) struct Answerer(pub(super) Arc<str>);

impl FromRequestParts<AppState> for Answerer {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, state: &AppState) -> Result<Self, Response> {
        // The guard knows who calls.
        let caller = head.extensions.get().copied().unwrap_or(Caller::Anyone);
        Ok(Self(state.policy.access.name(caller).into()))
    }
}

/// `copilot/inbox`: lists what waits.
pub(super) async fn list(State(state): State<AppState>) -> Json<Inbox> {
    Json(state.sessions.inbox().list())
}

/// `copilot/inbox/live/{token}`: what waits, then what changes.
pub(super) async fn follow(
    State(state): State<AppState>,
    Path(token): Path<String>,
    After(after): After,
    connection: Connection,
) -> Response {
    match token.parse::<LiveToken>() {
        Ok(token) => {
            let source = state.sessions.inbox().source().after(after);
            poll_source::<Inbox>(source, token.into(), connection).await
        }
        Err(error) => refuse_token(error),
    }
}

/// `copilot/inbox/{id}`: answers an item. The first line of the body is an option's id, the rest a
/// text.
pub(super) async fn answer(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Answerer(by): Answerer,
    Prompt(body): Prompt,
) -> Response {
    // A text that cannot be an id names nothing.
    let Ok(id) = id.parse() else { return refuse(&AnswerError::NotPending) };
    let (choice, text) = body.split_once('\n').unwrap_or((&body, ""));
    let Ok(choice) = choice.trim().parse() else {
        let problem = "the first line must be the id of an option".to_owned();
        return refuse(&AnswerError::Invalid(problem));
    };
    let text = Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    match state.sessions.inbox().answer(id, Reply { choice, text, by }).await {
        Ok(()) => Json(Done {}).into_response(),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &AnswerError) -> Response {
    match error {
        AnswerError::Store(error) => error::unavailable(error),
        AnswerError::Invalid(_) => error::said_no(error.name(), Some(&error.to_string())),
        AnswerError::NotPending | AnswerError::Owner(_) => error::said_no(error.name(), None),
    }
}

/// Which page of the answered items.
#[derive(Deserialize)]
pub(super) struct PageQuery {
    before: Option<u64>,
    limit: Option<usize>,
}

/// `copilot/inbox/answered`: lists what was asked before, who answered it and when.
pub(super) async fn answered(
    State(state): State<AppState>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Response {
    let Query(PageQuery { before, limit }) = match query {
        Ok(query) => query,
        Err(problem) => return error::unreadable(StatusCode::BAD_REQUEST, &problem.body_text()),
    };
    let limit = limit.unwrap_or(DEFAULT_ITEMS).clamp(1, MAX_ITEMS);
    match state.sessions.inbox().answered(before, limit).await {
        Ok(page) => Json(page).into_response(),
        Err(error) => error::unavailable(&error),
    }
}
