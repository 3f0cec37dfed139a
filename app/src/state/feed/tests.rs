use serde_json::{Value, json};
use wire::JobId;

use super::*;
use crate::api::ApiError;
use crate::state::job::JobState;

const UUID: &str = "0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

fn id(kind: &str) -> String {
    format!("{kind}-{UUID}")
}

/// Signals need an owner, which lives as long as the test.
fn owner() -> Owner {
    let owner = Owner::new();
    owner.set();
    owner
}

/// A session with a task, both followed.
fn follower() -> Follower {
    let feed = Feed::new(false);
    feed.open(id("session").parse().expect("an id"));
    feed.open_task(id("task").parse().expect("an id"));
    Follower(feed)
}

/// Responses of one entity with their times.
fn item(id: &str, said: &[(u64, Value)]) -> Value {
    let (at, responses): (Vec<u64>, Vec<Value>) = said.iter().cloned().unzip();
    json!({ "id": id, "responses": responses, "at": at })
}

fn answer(items: &[Value]) -> String {
    json!({ "live": items }).to_string()
}

fn take(follower: &Follower, answer: &str) -> Next {
    follower.take(live::read_batch(answer).expect("a batch"))
}

/// What the next call asks for.
fn asked(follower: &Follower) -> Vec<String> {
    follower.ids().iter().map(ToString::to_string).collect()
}

fn texts(feed: Feed) -> Vec<String> {
    let blocks = feed.blocks.get_untracked();
    blocks.iter().map(|(_, block)| block.get_untracked().body).collect()
}

fn prompt(text: &str) -> Value {
    json!({ "callback": "onGeneratedUserPrompt", "prompt": text })
}

fn message(text: &str) -> Value {
    json!({ "callback": "onEndMessage", "messageId": text, "completeContent": text })
}

fn decided(decision: wire::Decision) -> Value {
    serde_json::to_value(TaskResponse::from(decision)).expect("json")
}

const SUCCEEDED: &str = "[TASK SUCCEEDED] the task succeeded";

#[test]
fn the_end_of_a_task_is_said_after_its_last_turn_whatever_comes_first() {
    let _owner = owner();
    let idle = json!({ "callback": "onIdle" });
    let turn = item(&id("session"), &[(2, message("done")), (3, idle)]);
    let end = json!({ "callback": "taskSucceeded" });
    let end = item(&id("task"), &[(4, decided(wire::Decision::Succeeded)), (5, end)]);
    let apart = |first: &Value, second: &Value| {
        [answer(std::slice::from_ref(first)), answer(std::slice::from_ref(second))].to_vec()
    };
    for answers in [
        apart(&turn, &end),
        apart(&end, &turn),
        vec![answer(&[turn.clone(), end.clone()])],
        vec![answer(&[end.clone(), turn.clone()])],
    ] {
        let follower = follower();
        let feed = follower.0;
        let begin = answer(&[item(&id("session"), &[(1, prompt("do it"))])]);
        assert_eq!(take(&follower, &begin), Next::Continue);
        assert!(untrack(|| feed.is_working()));
        for answer in &answers {
            assert_eq!(take(&follower, answer), Next::Continue);
        }
        assert_eq!(texts(feed), ["do it", "done", SUCCEEDED]);
        assert!(!untrack(|| feed.is_working()));
    }
}

#[test]
fn one_task_after_the_other_is_shown_in_order() {
    let _owner = owner();
    let follower = follower();
    let feed = follower.0;
    let first = item(&id("task"), &[(2, decided(wire::Decision::Succeeded))]);
    assert_eq!(take(&follower, &answer(&[first])), Next::Continue);
    let closed = json!({ "id": id("task"), "error": "TaskClosed" });
    assert_eq!(take(&follower, &answer(&[closed])), Next::Continue);
    assert!(!feed.task_runs.get_untracked());
    let other = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c22";
    feed.open_task(other.parse().expect("an id"));
    assert_eq!(asked(&follower), [id("session"), other.to_owned()]);
    let second = answer(&[
        item(&id("session"), &[(1, prompt("one")), (3, prompt("two"))]),
        item(other, &[(4, decided(wire::Decision::Succeeded))]),
    ]);
    assert_eq!(take(&follower, &second), Next::Continue);
    assert_eq!(texts(feed), ["one", SUCCEEDED, "two", SUCCEEDED]);
}

#[test]
fn a_session_that_has_ended_stays_so_while_its_task_is_read() {
    let _owner = owner();
    for (error, ended) in
        [("SessionClosed", Connection::Ended), ("SessionNotFound", Connection::NotFound)]
    {
        let follower = follower();
        let feed = follower.0;
        let gone = json!({ "id": id("session"), "error": error });
        assert_eq!(take(&follower, &answer(&[gone])), Next::Continue);
        follower.tell(Connection::Live);
        assert_eq!(feed.connection.get_untracked(), ended);
        assert_eq!(asked(&follower), [id("task")]);
        let gone = json!({ "id": id("task"), "error": "TaskNotFound" });
        assert_eq!(take(&follower, &answer(&[gone])), Next::End(ended));
        assert!(!feed.task_runs.get_untracked());
    }
}

#[test]
fn an_error_that_is_no_end_is_a_lost_connection() {
    let _owner = owner();
    let follower = follower();
    let refused = json!({ "id": id("session"), "error": "TooManyReaders" });
    let next = take(&follower, &answer(&[refused]));
    assert!(matches!(next, Next::Retry(ApiError::Domain { .. })), "{next:?}");
}

#[test]
fn a_driving_tab_shows_sessions_and_decisions_in_their_order() {
    let _owner = owner();
    let job: JobId = id("job").parse().expect("an id");
    let session = |number: u32| format!("session-00000000-0000-4000-8000-{number:012}");
    let started = |number| {
        let opened = json!({
            "callback": "taskSessionStarted", "sessionId": session(number), "isDriving": true,
        });
        let decision = wire::Decision::SessionStarted {
            role: wire::SessionRole::Driving,
            model: format!("m{number}"),
            session_id: session(number).parse().expect("an id"),
        };
        (opened, decided(decision))
    };
    let ((opened_1, started_1), (opened_2, started_2)) = (started(1), started(2));
    let met = decided(wire::Decision::Criteria { attempt: 1, unmet: None });
    let task = item(
        &id("task"),
        &[(2, opened_1), (3, started_1), (5, met.clone()), (6, opened_2), (7, started_2), (9, met)],
    );
    let work = json!({ "callback": "workStarted", "workId": 0, "taskId": id("task") });
    let answers = [
        answer(&[item(&id("job"), &[(1, work)]), task]),
        answer(&[item(&session(2), &[(8, prompt("again?"))])]),
        answer(&[item(&session(1), &[(4, prompt("is it?"))])]),
    ];
    let mut state: JobState<Feed> = JobState::new(job);
    for answer in &answers {
        let batch = live::read_batch(answer).expect("a batch");
        assert!(state.take(batch, 1).is_ok());
    }
    let tab = state.work(0).and_then(|work| work.tab(0)).expect("a tab");
    assert_eq!(
        texts(*tab),
        [
            "[SESSION STARTED] driving session started with model m1",
            "is it?",
            "[CRITERIA] all criteria are met",
            "[SESSION STARTED] driving session started with model m2",
            "again?",
            "[CRITERIA] all criteria are met",
        ]
    );
}
