//! One live call for many entities.

use crate::json::{FromJson, Value};
use crate::{
    Alive, AliveResponse, ErrorName, ErrorReply, Inbox, InboxResponse, JobId, JobResponse,
    LiveEntity, LiveId, LiveReply, SessionId, SessionResponse, TaskId, TaskResponse,
};

impl LiveId {
    /// The error that each reader gets once, after reading everything.
    pub fn closed(self) -> ErrorName {
        match self {
            Self::Session(_) => SessionId::CLOSED,
            Self::Task(_) => TaskId::CLOSED,
            Self::Job(_) => JobId::CLOSED,
            Self::Inbox => Inbox::CLOSED,
            Self::Alive => Alive::CLOSED,
        }
    }
}

/// The answer of `live`: every entity that has something, in the order in which they were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveBatch {
    /// One item per entity that has something new; never empty.
    pub live: Vec<LiveItem>,
    /// How far the reader has come in each entity that has responses, to go on there with another
    /// token.
    pub positions: Vec<(LiveId, String)>,
}

/// The positions stand in the items.
impl FromJson for LiveBatch {
    fn from_json(value: Value<'_>) -> Self {
        let mut batch = Self::default();
        for item in value.get("live").items() {
            let position: Option<String> = item.field("position");
            let item = LiveItem::from_json(item);
            batch.positions.extend(position.map(|position| (item.id(), position)));
            batch.live.push(item);
        }
        batch
    }
}

/// What there is of one entity: what a call for it alone would answer, and when it happened.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum LiveItem {
    Session(SessionId, LiveReply<Timed<SessionResponse>>),
    Task(TaskId, LiveReply<Timed<TaskResponse>>),
    Job(JobId, LiveReply<Timed<JobResponse>>),
    Inbox(LiveReply<Timed<InboxResponse>>),
    Alive(LiveReply<Timed<AliveResponse>>),
}

/// A response and its time. On the wire the times stand beside the responses, in `at`.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed<R> {
    /// Microseconds since the Unix epoch. No two responses of a server have the same time, except
    /// the parts of one delta; so it orders the responses of all entities.
    pub at: u64,
    /// The response itself.
    pub response: R,
}

impl LiveItem {
    /// Id of the entity that the item is about.
    pub fn id(&self) -> LiveId {
        match self {
            Self::Session(id, _) => LiveId::Session(*id),
            Self::Task(id, _) => LiveId::Task(*id),
            Self::Job(id, _) => LiveId::Job(*id),
            Self::Inbox(_) => LiveId::Inbox,
            Self::Alive(_) => LiveId::Alive,
        }
    }

    fn error(id: LiveId, error: ErrorName) -> Self {
        let error = ErrorReply::from(error);
        match id {
            LiveId::Session(id) => Self::Session(id, LiveReply::Error(error)),
            LiveId::Task(id) => Self::Task(id, LiveReply::Error(error)),
            LiveId::Job(id) => Self::Job(id, LiveReply::Error(error)),
            LiveId::Inbox => Self::Inbox(LiveReply::Error(error)),
            LiveId::Alive => Self::Alive(LiveReply::Error(error)),
        }
    }
}

/// The id tells how to read the responses.
impl FromJson for LiveItem {
    fn from_json(value: Value<'_>) -> Self {
        let id = value.field("id");
        if value.get("responses").is_nothing() {
            return Self::error(id, value.field("error"));
        }
        match id {
            LiveId::Session(id) => Self::Session(id, read_responses(value)),
            LiveId::Task(id) => Self::Task(id, read_responses(value)),
            LiveId::Job(id) => Self::Job(id, read_responses(value)),
            LiveId::Inbox => Self::Inbox(read_responses(value)),
            LiveId::Alive => Self::Alive(read_responses(value)),
        }
    }
}

/// There is one time for each response.
fn read_responses<R: FromJson>(value: Value<'_>) -> LiveReply<Timed<R>> {
    let responses = value.get("responses");
    let times: Vec<u64> = value.field("at");
    if times.len() != responses.items().count() {
        value.fail("one time for each response");
    }
    let responses = responses.items().map(R::from_json);
    let responses = times.into_iter().zip(responses).map(|(at, response)| Timed { at, response });
    LiveReply::Responses { responses: responses.collect() }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::str::FromStr;

    use super::*;
    use crate::json::{self, JsonError};
    use crate::{InboxAnswer, InboxDecision, ParseLiveIdError};

    const UUID: &str = "0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

    fn read(json: &str) -> Result<LiveBatch, JsonError> {
        json::from_str(&json.replace("UUID", UUID))
    }

    fn id<T: FromStr<Err: fmt::Debug>>(prefix: &str) -> T {
        format!("{prefix}-{UUID}").parse().expect("an id")
    }

    #[test]
    fn responses_are_read_by_the_kind_of_their_entity() {
        let batch = read(
            r#"{"live":[
                {"id":"session-UUID","responses":[{"callback":"onIdle"}],"at":[3]},
                {"id":"task-UUID","responses":[{"callback":"taskFailed"},{"taskError":"e"}],
                    "at":[2,1790000000000000]},
                {"id":"job-UUID","at":[4],"responses":[{"callback":"jobCanceled"}]},
                {"id":"session-UUID","error":"SessionClosed"},
                {"id":"inbox","responses":[{"callback":"inboxResolved",
                    "id":"permission-UUID","decision":"deny","by":"local"}],"at":[5]},
                {"id":"alive","responses":[{"callback":"aliveGone","id":"job-UUID"}],"at":[6]},
                {"id":"job-UUID","error":"JobsClosed","more":[1]}
            ]}"#,
        );
        let closed = ErrorReply::from(ErrorName::SessionClosed);
        let job_closed = ErrorReply::from(ErrorName::JobsClosed);
        let task_error = TaskResponse::Error { message: "e".to_owned() };
        let idle = Timed { at: 3, response: SessionResponse::Idle };
        let failed = Timed { at: 2, response: TaskResponse::TaskFailed };
        let task_error = Timed { at: 1_790_000_000_000_000, response: task_error };
        let canceled = Timed { at: 4, response: JobResponse::JobCanceled };
        let resolved = InboxResponse::InboxResolved(InboxAnswer {
            id: id("permission"),
            decision: InboxDecision::Deny,
            by: "local".to_owned(),
        });
        let resolved = Timed { at: 5, response: resolved };
        let gone = AliveResponse::AliveGone { id: LiveId::Job(id("job")) };
        let gone = Timed { at: 6, response: gone };
        let expected = vec![
            LiveItem::Session(id("session"), LiveReply::Responses { responses: vec![idle] }),
            LiveItem::Task(
                id("task"),
                LiveReply::Responses { responses: vec![failed, task_error] },
            ),
            LiveItem::Job(id("job"), LiveReply::Responses { responses: vec![canceled] }),
            LiveItem::Session(id("session"), LiveReply::Error(closed)),
            LiveItem::Inbox(LiveReply::Responses { responses: vec![resolved] }),
            LiveItem::Alive(LiveReply::Responses { responses: vec![gone] }),
            LiveItem::Job(id("job"), LiveReply::Error(job_closed)),
        ];
        assert_eq!(batch.expect("a batch").live, expected);
        assert_eq!(expected[1].id(), LiveId::Task(id("task")));
    }

    #[test]
    fn anything_else_is_refused() {
        for json in [
            r#"{"error":"HttpRequestTimeout"}"#,
            r#"{"live":[{}]}"#,
            r#"{"live":[{"id":"job-UUID"}]}"#,
            r#"{"live":[{"error":"JobsClosed"}]}"#,
            r#"{"live":[{"responses":[],"at":[]}]}"#,
            r#"{"live":[{"id":"UUID","error":"JobsClosed"}]}"#,
            r#"{"live":[{"id":"task-UUID","responses":[{"callback":"jobCanceled"}],"at":[1]}]}"#,
            r#"{"live":[{"id":"job-UUID","responses":[{"callback":"jobCanceled"}]}]}"#,
            r#"{"live":[{"id":"job-UUID","responses":[{"callback":"jobCanceled"}],"at":[1,2]}]}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn ids_of_all_kinds_are_told_apart() {
        for (prefix, closed) in [
            ("session", ErrorName::SessionClosed),
            ("task", ErrorName::TaskClosed),
            ("job", ErrorName::JobsClosed),
        ] {
            let id: LiveId = id(prefix);
            assert_eq!(id.to_string(), format!("{prefix}-{UUID}"));
            assert_eq!(id.closed(), closed);
        }
        assert_eq!("inbox".parse(), Ok(LiveId::Inbox));
        assert_eq!(LiveId::Inbox.to_string(), "inbox");
        assert_eq!("alive".parse(), Ok(LiveId::Alive));
        assert_eq!(LiveId::Alive.to_string(), "alive");
        for text in
            ["", "job-", "Inbox", UUID, "jobs-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11", "task-1"]
        {
            assert_eq!(text.parse::<LiveId>(), Err(ParseLiveIdError), "{text}");
        }
    }
}
