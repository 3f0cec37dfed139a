//! The folds of sessions, tasks and jobs.

mod random;

use wire::entry::Work;
use wire::entry::testing::{alt, number, seq, task};
use wire::{
    Budget, EntityState, FailureCause, InboxResponse, JobId, JobResponse, JobStatus,
    PermissionMode, Reached, SessionResponse, Spent, TaskId, TaskResponse, Usage, WorkStatus,
};

use super::*;
use crate::journal::Entity;

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
        budget: Budget::default(),
    }
}

fn queued(prompt: &str) -> SessionNote {
    SessionNote::Queued(QueuedPrompt {
        prompt: prompt.to_owned(),
        author: PromptAuthor::User,
        message: None,
        task: None,
        steers: false,
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
    assert_eq!(fold.record().detail, r#"{"permissions":"ask","queued":2,"since":2}"#);
}

#[test]
fn a_stopped_task_is_canceled_and_not_failed() {
    let started = TaskNote::Started {
        name: "build".to_owned(),
        folder: String::new(),
        model: "m".to_owned(),
        job: Some(JobId::generate()),
        budget: Budget::default(),
        origin: None,
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

/// Three tasks, of which the first is a condition.
fn tree() -> Work {
    let mut work = seq([alt(task("is it"), Some(task("build")), None), task("review")]);
    number(&mut work, &mut 0);
    work
}

fn job_started(work: Option<Work>) -> JobNote {
    let (name, folder) = ("j".to_owned(), "/".to_owned());
    let (input, budget) = (String::new(), Budget::default());
    JobNote::Started { name, folder, input, work, entry: None, permissions: None, budget }
}

#[test]
fn a_job_names_the_work_that_decided_it() {
    let failed = |argument: &str| WorkEnd::Failed {
        cause: FailureCause::NotAvailable { argument: Some(argument.to_owned()) },
    };
    let crashed = || WorkEnd::Failed { cause: FailureCause::Internal };
    let canceled = |by| WorkEnd::Canceled { by };
    for (ends, reason) in [
        (vec![(2, failed("no"))], Some("`review` failed: not available: no")),
        // A condition does not fail a job, and what failed first decides.
        (
            vec![(0, failed("a")), (2, failed("b")), (1, failed("c"))],
            Some("`review` failed: not available: b"),
        ),
        (
            vec![(1, failed("a")), (0, crashed()), (2, canceled(Canceler::Crash { work_id: 0 }))],
            Some("`is it` failed: internal error"),
        ),
        (vec![(1, canceled(Canceler::User))], Some("`build` canceled: a user stopped it")),
        (vec![(0, failed("a"))], Some("boom")),
        (vec![(0, canceled(Canceler::Job))], Some("boom")),
    ] {
        let mut fold = JobFold::default();
        fold.note(1, &job_started(Some(tree())));
        for ((work_id, end), at) in ends.into_iter().zip((2..).step_by(3)) {
            fold.apply(at, &JobResponse::WorkStarted { work_id, task_id: TaskId::generate() });
            fold.note(at + 1, &JobNote::Unsuccessful { work_id, end });
            fold.apply(at + 2, &JobResponse::WorkStopped { work_id, succeeded: false });
        }
        fold.apply(90, &JobResponse::Error { message: "boom\nmore".to_owned() });
        assert_eq!(fold.reason(), None, "it has not ended");
        fold.apply(91, &JobResponse::JobFailed);
        assert_eq!(fold.reason().as_deref(), reason);
        let record = fold.record();
        assert_eq!(RunDetail::read(&record).reason.as_deref(), reason);
        assert_eq!(record.state, EntityState::Failed);
    }
}

#[test]
fn what_the_end_of_the_server_cut_off_is_interrupted() {
    let mut job = JobFold::default();
    job.note(1, &job_started(None));
    job.note(2, &JobNote::Interrupted);
    assert_eq!(job.record().state, EntityState::Running);
    job.apply(3, &JobResponse::JobFailed);
    let mut task = TaskFold::default();
    task.note(1, &TaskNote::Interrupted);
    task.apply(2, &TaskResponse::TaskFailed);
    for record in [job.record(), task.record()] {
        assert_eq!(record.state, EntityState::Interrupted);
        assert_eq!(RunDetail::read(&record).reason.as_deref(), Some(INTERRUPTED));
    }
}

#[test]
fn a_job_of_an_earlier_version_has_no_tree() {
    let json = r#"{"note":"started","name":"j","folder":"/","input":""}"#;
    let note: JobNote = serde_json::from_str(json).expect("a note");
    assert_eq!(note, job_started(None));
    let with_tree = serde_json::to_string(&job_started(Some(tree()))).expect("json");
    let read: JobNote = serde_json::from_str(&with_tree).expect("a note");
    assert_eq!(read, job_started(Some(tree())));
}

#[test]
fn a_job_has_the_last_run_of_each_of_its_works() {
    let usage = Usage { input_tokens: 5, ..Usage::default() };
    let mut fold = JobFold::default();
    fold.note(1, &job_started(None));
    for at in [2, 5] {
        fold.apply(at, &JobResponse::WorkStarted { work_id: 0, task_id: TaskId::generate() });
        fold.note(at + 1, &JobNote::Used { work_id: 0, usage });
        assert_eq!(fold.works()[&0].attempts, None, "of this run");
        fold.note(at + 1, &JobNote::Attempted { work_id: 0, attempts: 3 });
        fold.apply(at + 2, &JobResponse::WorkStopped { work_id: 0, succeeded: at == 5 });
    }
    let work = &fold.works()[&0];
    assert_eq!((work.started_at, work.ended_at, work.task_id), (5, Some(7), None));
    assert_eq!(work.attempts, Some(3));
    assert_eq!((work.status, work.usage), (WorkStatus::Succeeded, usage));
    assert_eq!((fold.status(), fold.usage().input_tokens), (JobStatus::Running, 10));
    fold.apply(8, &JobResponse::JobCanceled);
    assert_eq!((fold.status(), fold.ended_at()), (JobStatus::Canceled, Some(8)));
}

fn budget(json: &str) -> Budget {
    serde_json::from_str(json).expect("a budget")
}

#[test]
fn a_session_has_used_its_turns_their_time_and_what_models_report() {
    let usage = Usage { input_tokens: 30, output_tokens: 10, cost: Some(0.5), ..Usage::default() };
    let mut fold = SessionFold::default();
    fold.note(1, &started());
    for at in [2, 5] {
        fold.apply(at, &prompt("a"));
        fold.apply(at + 1, &SessionResponse::Usage { model: "m".to_owned(), usage });
        // A prompt that steers the turn is none of its own.
        fold.apply(at + 1, &prompt("b"));
        fold.note(at + 2, &SessionNote::Ran { minutes: 1.5 });
        fold.apply(at + 2, &SessionResponse::Idle);
    }
    assert_eq!(fold.spent(), Spent { minutes: 3.0, turns: 2, tokens: 80, cost: 1.0 });
    let reached =
        |fold: &SessionFold| SessionDetail::read(&fold.record()).expect("a detail").reached;
    assert_eq!(reached(&fold), None);

    let set = budget(r#"{"turns":2,"tokens":100}"#);
    fold.note(8, &SessionNote::Budget { budget: set, is_raise: false });
    let limit = wire::BudgetLimit::Turns;
    assert_eq!(reached(&fold), Some(Reached { limit, allowed: 2.0, used: 2.0 }));
    let raised = budget(r#"{"turns":4,"tokens":100}"#);
    fold.note(9, &SessionNote::Budget { budget: raised, is_raise: true });
    assert_eq!((fold.budget(), fold.first_budget()), (raised, set));
    assert_eq!(reached(&fold), None);
}

#[test]
fn what_tasks_and_jobs_have_used_adds_up() {
    let spent = Spent { minutes: 0.5, turns: 1, tokens: 7, cost: 0.25 };
    let twice = Spent { minutes: 1.0, turns: 2, tokens: 14, cost: 0.5 };
    let (mut task, mut job) = (TaskFold::default(), JobFold::default());
    for at in [1, 2] {
        task.note(at, &TaskNote::Spent(spent));
        job.note(at, &JobNote::Spent(spent));
    }
    assert_eq!((task.spent(), job.spent()), (twice, twice));
}

#[test]
fn notes_without_budgets_are_read_and_written_as_before() {
    let json = r#"{"note":"started","name":"t","folder":"/","model":"m"}"#;
    let note: TaskNote = serde_json::from_str(json).expect("a note");
    assert_eq!(serde_json::to_string(&note).expect("json"), json);
    let json = r#"{"note":"started","name":"j","folder":"/","input":""}"#;
    let note: JobNote = serde_json::from_str(json).expect("a note");
    assert_eq!(serde_json::to_string(&note).expect("json"), json);
    let json = r#"{"note":"spent","minutes":0.5,"turns":1,"tokens":2,"cost":0.0}"#;
    let note: JobNote = serde_json::from_str(json).expect("a note");
    assert_eq!(serde_json::to_string(&note).expect("json"), json);
}

#[test]
fn notes_are_read_as_they_were_written() {
    let notes = [
        started(),
        SessionNote::Handle { handle: None },
        queued("a"),
        SessionNote::Permissions { mode: PermissionMode::Deny },
        SessionNote::Renamed { title: "t".to_owned() },
        SessionNote::Budget { budget: budget(r#"{"turns":3,"cost":0.5}"#), is_raise: true },
        SessionNote::Ran { minutes: 0.25 },
        SessionNote::Closed { crashed: true },
    ];
    for note in notes {
        let json = serde_json::to_string(&note).expect("json");
        assert_eq!(serde_json::from_str::<SessionNote>(&json).expect(&json), note);
    }
}

#[test]
fn a_question_waits_until_it_is_answered_and_belongs_to_its_session() {
    use EntityState::{Canceled, Failed, Succeeded, Waiting};

    let added = r#"{"callback":"inboxAdded","id":"permission-00000000-0000-4000-8000-000000000001",
        "kind":"permission","title":"t","detail":"long","diff":"long","options":[],"askedAt":"a",
        "sessionId":"session-00000000-0000-4000-8000-000000000002","folder":"/src"}"#;
    let added: InboxResponse = serde_json::from_str(added).expect("an item");
    let mut asked = QuestionFold::default();
    asked.apply(3, &added);
    let record = asked.record();
    let session = "session-00000000-0000-4000-8000-000000000002".parse().expect("an id");
    assert_eq!((record.state, record.started_at, record.ended_at), (Waiting, 3, None));
    assert_eq!((&*record.title, &*record.folder), ("t", "/src"));
    assert_eq!(record.parent, Some(Entity::Session(session)));
    assert_eq!(asked.item().and_then(|item| item.detail.as_deref()), Some("long"));
    for (decision, state) in
        [("approve", Succeeded), ("answer", Succeeded), ("deny", Failed), ("timed-out", Canceled)]
    {
        let mut fold = asked.clone();
        let answer = format!(
            r#"{{"callback":"inboxResolved","id":"permission-00000000-0000-4000-8000-000000000001",
                "decision":"{decision}","by":"me"}}"#
        );
        fold.apply(7, &serde_json::from_str(&answer).expect("an answer"));
        fold.note(7, &QuestionNote::Text { text: "because".to_owned() });
        let record = fold.record();
        assert_eq!((record.state, record.ended_at), (state, Some(7)), "{decision}");
        let QuestionDetail { item, answer, text } = QuestionDetail::read(&record).expect("detail");
        assert_eq!((item.detail, item.diff), (None, None), "lists need no long texts");
        let by = answer.map(|answer| (answer.decision.as_str(), answer.by));
        assert_eq!(by, Some((decision, "me".to_owned())));
        assert_eq!(text.as_deref(), Some("because"));
    }
}

#[test]
fn another_model_takes_over_without_the_handle_of_the_one_before() {
    let mut fold = SessionFold::default();
    fold.note(1, &started());
    fold.note(2, &SessionNote::Handle { handle: Some("h".to_owned()) });
    assert_eq!((fold.model(), fold.fallback(), fold.replaced()), ("m", None, 0));
    fold.note(3, &SessionNote::Fallback { models: vec!["n".to_owned()] });
    fold.note(4, &SessionNote::Switched { model: "n".to_owned() });
    assert_eq!((fold.model(), fold.handle(), fold.replaced()), ("n", None, 1));
    assert_eq!(fold.record().model.as_deref(), Some("n"));
    assert_eq!(fold.fallback(), Some(&["n".to_owned()][..]));
    fold.note(5, &SessionNote::Fallback { models: Vec::new() });
    assert_eq!(fold.fallback(), Some(&[][..]), "none, whatever the default");
}
