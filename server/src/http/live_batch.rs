//! One live call for many entities: a page that follows a job also follows its tasks and their
//! sessions, and a browser has only a handful of connections.

use std::collections::HashSet;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use store::journal::Position;
use store::live::{self as live_log, PollError};
use wire::{Alive, ErrorName, Inbox, JobId, LiveId, LiveToken, SessionId, TaskId};

use super::live::{self, Answer, Connection, deliver, refuse_token};
use super::text::Text;
use super::{AppState, error};

/// More than a page can show, and few enough to keep a call cheap.
const MAX_IDS: usize = 512;

/// `copilot/live/{token}`: polls all entities whose ids are in the body, one per line, each followed
/// by the position after which a new reader begins, if it does not begin at the start.
pub(super) async fn poll_many(
    State(state): State<AppState>,
    Path(token): Path<String>,
    connection: Connection,
    Text(body): Text,
) -> Response {
    let token: LiveToken = match token.parse() {
        Ok(token) => token,
        Err(error) => return refuse_token(error),
    };
    let ids = match read_ids(&body) {
        Ok(ids) => ids,
        Err(problem) => return error::unreadable(StatusCode::BAD_REQUEST, &problem),
    };
    let mut sources = Vec::with_capacity(ids.len());
    for (id, after) in &ids {
        let source = live::find(&state, *id).await;
        sources.push(source.map(|source| source.after(after.clone())));
    }
    let Ok(answers) = live_log::poll_many(&state.live, &token, &sources).await else {
        return error::said_no(ErrorName::HttpRequestTimeout, None);
    };

    let mut answer = Answer::default();
    answer.write("{\"live\":[");
    let mut receipts = Vec::new();
    let found = ids.iter().zip(answers).filter_map(|(id, found)| Some((id, found?)));
    for (index, ((id, _), found)) in found.enumerate() {
        let comma = if index > 0 { "," } else { "" };
        answer.write(&format!("{comma}{{\"id\":\"{id}\","));
        match found {
            Ok(delivery) => {
                let beside = delivery.position().map(|position| (delivery.times(), position));
                let (said, receipt) = delivery.into_parts();
                answer.write_fields(said, id.closed());
                if let Some((times, position)) = beside {
                    write_beside(&mut answer, &times, &position);
                }
                receipts.push(receipt);
            }
            Err(error) => answer.write(&format!("\"error\":\"{}\"", name(error, *id))),
        }
        answer.write("}");
    }
    answer.write("]}");
    deliver(answer, receipts, connection)
}

/// Adds the times, one per response, and the position in fields of their own: clients compare whole
/// responses.
fn write_beside(answer: &mut Answer, times: &[u64], position: &Position) {
    let times: Vec<String> = times.iter().map(u64::to_string).collect();
    answer.write(&format!(",\"at\":[{}],\"position\":\"{position}\"", times.join(",")));
}

/// Removes duplicates: a reader with two calls at a time would block itself.
fn read_ids(body: &str) -> Result<Vec<(LiveId, Option<Position>)>, String> {
    let mut ids = Vec::new();
    let mut seen = HashSet::new();
    for (index, line) in body.lines().enumerate() {
        let number = index + 1;
        if number > MAX_IDS {
            return Err(format!("line {number}: more than {MAX_IDS} ids"));
        }
        let problem = |error: &dyn std::fmt::Display| format!("line {number}: {error}");
        let (id, after) = match line.split_once(' ') {
            Some((id, after)) => (id, Some(after.parse().map_err(|error| problem(&error))?)),
            None => (line, None),
        };
        let id = id.parse().map_err(|error| problem(&error))?;
        if seen.insert(id) {
            ids.push((id, after));
        }
    }
    if ids.is_empty() {
        return Err("no ids: one a line is expected".to_owned());
    }
    Ok(ids)
}

fn name(error: PollError, id: LiveId) -> ErrorName {
    match id {
        LiveId::Session(_) => error.name::<SessionId>(),
        LiveId::Task(_) => error.name::<TaskId>(),
        LiveId::Job(_) => error.name::<JobId>(),
        LiveId::Inbox => error.name::<Inbox>(),
        LiveId::Alive => error.name::<Alive>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

    #[test]
    fn ids_are_read_line_by_line() {
        for (body, count) in [
            (format!("task-{UUID}"), 1),
            (format!("task-{UUID}\n"), 1),
            (format!("task-{UUID}\r\njob-{UUID}\r\n"), 2),
            (format!("task-{UUID}\njob-{UUID}\ntask-{UUID}\nsession-{UUID}"), 3),
            (format!("task-{UUID}\n").repeat(512), 1),
        ] {
            assert_eq!(read_ids(&body).map(|ids| ids.len()), Ok(count), "{body}");
        }
    }

    #[test]
    fn a_line_that_is_no_id_is_named() {
        let id = format!("task-{UUID}");
        for (body, line) in [
            ("nonsense".to_owned(), "line 1:"),
            ("\n".to_owned(), "line 1:"),
            (format!("{id}\n{UUID}\n"), "line 2:"),
            (format!("{id}\n\n{id}"), "line 2:"),
            (format!("{id}\n {id}"), "line 2:"),
            (format!("{id} x"), "line 1: not a position"),
            (format!("{id} 1 2"), "line 1: not a position"),
            (format!("{id} "), "line 1: not a position"),
            (format!("{id}\n").repeat(513), "line 513:"),
            (String::new(), "no ids"),
        ] {
            let problem = read_ids(&body).expect_err(&body);
            assert!(problem.starts_with(line), "{problem}");
        }
    }
}
