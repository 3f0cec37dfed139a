//! What is kept of sessions, tasks and jobs: the list of all of them, and the stored responses of
//! one.

use serde::{Deserialize, Serialize};

use crate::json::{FromJson, Value};
use crate::{EntityKind, EntityState, LiveId, SessionId, Timed, Usage};

/// The answer of `history`: newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, FromJson)]
pub struct History {
    /// The items of this page.
    pub items: Vec<HistoryItem>,
    /// Value of `before=` for the next page, if there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A session, task or job in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    /// Id of the session, task or job.
    pub id: LiveId,
    /// Whether it is a session, a task or a job.
    pub kind: EntityKind,
    /// First line of the first prompt, or the name of the task or job, unless it was renamed.
    pub title: String,
    /// Folder in which its agents work.
    pub folder: String,
    /// The model it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// State at the time of the answer.
    pub state: EntityState,
    /// Why a task or job did not succeed, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it started; ISO 8601, UTC.
    pub started_at: String,
    /// When it ended, if it has; ISO 8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Tokens and cost, as far as its providers report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The task that opened the session, or the job that started the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<LiveId>,
    /// Title of the parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_title: Option<String>,
    /// The user's session that a task without a job runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The closed session that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<SessionId>,
    /// Text around the first hit of a search, with the hit between `«` and `»`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// The answer of `events`: stored responses, in order.
#[derive(Clone, Debug, PartialEq, FromJson)]
pub struct Events<R> {
    /// The events of this page.
    pub events: Vec<Event<R>>,
    /// Value of `after=` for the next page.
    pub next: u64,
    /// Whether there are no more at the moment.
    pub end: bool,
}

/// A stored response. On the wire, its number and its time are in the same object.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<R> {
    /// Counts from 1, without gaps.
    pub seq: u64,
    /// The response and its time.
    pub timed: Timed<R>,
}

impl<R: FromJson> FromJson for Event<R> {
    fn from_json(value: Value<'_>) -> Self {
        let timed = Timed { at: value.field("at"), response: R::from_json(value) };
        Self { seq: value.field("seq"), timed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionResponse;
    use crate::json;

    #[test]
    fn an_event_is_a_response_with_its_number_and_time() {
        let read = json::from_str::<Events<SessionResponse>>;
        let page = read(
            r#"{"events":[{"seq":7,"at":9,"callback":"onUserPrompt","prompt":"p"},
                {"seq":8,"at":10,"sessionError":"e"}],"next":8,"end":true}"#,
        );
        let prompt = SessionResponse::UserPrompt { prompt: "p".to_owned() };
        let error = SessionResponse::Error { message: "e".to_owned() };
        let events = vec![
            Event { seq: 7, timed: Timed { at: 9, response: prompt } },
            Event { seq: 8, timed: Timed { at: 10, response: error } },
        ];
        assert_eq!(page.expect("a page"), Events { events, next: 8, end: true });
        for json in [r#"{"callback":"onIdle"}"#, r#"{"seq":1,"callback":"onIdle"}"#, "{}"] {
            assert!(json::from_str::<Event<SessionResponse>>(json).is_err(), "{json}");
        }
    }
}
