//! The folds of sessions, tasks and jobs.

mod random;

use wire::{
    EntityState, JobId, JobResponse, JobStatus, PermissionMode, SessionResponse, TaskId,
    TaskResponse, Usage, WorkStatus,
};

use super::*;

/// How a session of a test was started.
pub(crate) fn started() -> SessionNote {
    SessionNote::Started {
        model: "m".to_owned(),
        folder: "/src".to_owned(),
        permissions: PermissionMode::Ask,
        task: None,
        continued_from: None,
        replaced: 0,
        project: None,
    }
}

fn queued(prompt: &str) -> SessionNote {
    SessionNote::Queued(QueuedPrompt {
        prompt: prompt.to_owned(),
        author: PromptAuthor::User,
        message: None,
    })
}

fn prompt(text: &str) -> SessionResponse {
    SessionResponse::UserPrompt { prompt: text.to_owned() }
}

#[test]
fn the_title_is_the_first_line_of_the_first_prompt_until_it_is_renamed() {
    let mut fold = SessionFold::default();
    fold.note(1, &started());
    assert_eq!(fold.record().title, "");
    fold.note(2, &queued("\n  Fix it, \nplease"));
    fold.apply(3, &prompt("another"));
    assert_eq!(fold.record().title, "Fix it,");
    fold.note(4, &SessionNote::Renamed { title: "Better".to_owned() });
    fold.apply(5, &prompt("more"));
    assert_eq!(fold.record().title, "Better");
    let long = format!("{}\nrest", "ä".repeat(500));
    assert_eq!(first_line(&long).chars().count(), MAX_TITLE + 1);
}

#[test]
fn a_session_is_idle_running_waiting_and_closed_or_failed() {
    use EntityState::{Closed, Failed, Idle, Running, Waiting};

    let question = r#"{"callback":"onPermissionRequest","requestId":"permission-00000000-0000-4000-8000-000000000001","kind":"write","title":"t"}"#;
    let answer = r#"{"callback":"onPermissionResolved","requestId":"permission-00000000-0000-4000-8000-000000000001","decision":"deny"}"#;
    let question: SessionResponse = serde_json::from_str(question).expect("a question");
    let answer: SessionResponse = serde_json::from_str(answer).expect("an answer");
    let mut fold = SessionFold::default();
    fold.note(1, &started());
    let mut states = vec![fold.record().state];
    for fact in [prompt("a"), question.clone(), answer, SessionResponse::Idle, question] {
        fold.apply(2, &fact);
        states.push(fold.record().state);
    }
    assert_eq!(states, [Idle, Running, Waiting, Running, Idle, Waiting]);
    for (crashed, state) in [(false, Closed), (true, Failed)] {
        let mut fold = fold.clone();
        fold.note(9, &SessionNote::Closed { crashed });
        let record = fold.record();
        assert_eq!((record.state, record.ended_at), (state, Some(9)));
    }
}

#[test]
fn prompts_wait_until_their_turn_begins() {
    let mut fold = SessionFold::default();
    for note in [started(), queued("a"), queued("b")] {
        fold.note(1, &note);
    }
    fold.apply(2, &prompt("a"));
    fold.note(3, &queued("c"));
    fold.apply(4, &prompt("another one, which did not wait"));
    assert_eq!(fold.queue().map(|queued| &*queued.prompt).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(fold.record().detail, r#"{"permissions":"ask","queued":2}"#);
}

#[test]
fn a_stopped_task_is_canceled_and_not_failed() {
    let started = TaskNote::Started {
        name: "build".to_owned(),
        folder: String::new(),
        model: "m".to_owned(),
        job: Some(JobId::generate()),
    };
    for (stopped, fact, state) in [
        (false, TaskResponse::TaskSucceeded, EntityState::Succeeded),
        (false, TaskResponse::TaskFailed, EntityState::Failed),
        (true, TaskResponse::TaskFailed, EntityState::Canceled),
    ] {
        let mut fold = TaskFold::default();
        fold.note(1, &started);
        assert_eq!(fold.record().state, EntityState::Running);
        if stopped {
            fold.note(2, &TaskNote::Stopped);
        }
        fold.apply(3, &fact);
        let record = fold.record();
        assert_eq!((record.state, record.ended_at), (state, Some(3)));
        assert!(record.parent.is_some());
    }
}

#[test]
fn a_job_has_the_last_run_of_each_of_its_works() {
    let usage = Usage { input_tokens: 5, ..Usage::default() };
    let mut fold = JobFold::default();
    let started =
        JobNote::Started { name: "j".to_owned(), folder: "/".to_owned(), input: String::new() };
    fold.note(1, &started);
    for at in [2, 5] {
        fold.apply(at, &JobResponse::WorkStarted { work_id: 0, task_id: TaskId::generate() });
        fold.note(at + 1, &JobNote::Used { work_id: 0, usage });
        fold.apply(at + 2, &JobResponse::WorkStopped { work_id: 0, succeeded: at == 5 });
    }
    let work = &fold.works()[&0];
    assert_eq!((work.started_at, work.ended_at, work.task_id), (5, Some(7), None));
    assert_eq!((work.status, work.usage), (WorkStatus::Succeeded, usage));
    assert_eq!((fold.status(), fold.usage().input_tokens), (JobStatus::Running, 10));
    fold.apply(8, &JobResponse::JobCanceled);
    assert_eq!((fold.status(), fold.ended_at()), (JobStatus::Canceled, Some(8)));
}

#[test]
fn notes_are_read_as_they_were_written() {
    let notes = [
        started(),
        SessionNote::Handle { handle: None },
        queued("a"),
        SessionNote::Permissions { mode: PermissionMode::Deny },
        SessionNote::Renamed { title: "t".to_owned() },
        SessionNote::Closed { crashed: true },
    ];
    for note in notes {
        let json = serde_json::to_string(&note).expect("json");
        assert_eq!(serde_json::from_str::<SessionNote>(&json).expect(&json), note);
    }
}
