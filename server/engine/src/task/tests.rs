//! Tasks on simulated models, in virtual time: what the sessions see, and that none stays open.

mod borrowing;
mod budgets;
mod managed;

use std::sync::Arc;
use std::time::Duration;

use agents::Catalog;
use agents::simulated::{Simulated, SimulatedSettings};
use platform::lifecycle::Lifecycle;
use serde_json::{Value, json};
use store::live::{LiveSettings, LiveShared, LiveSource, PollError};
use wire::entry::{Entry, OnInterrupted};
use wire::{
    Budget, Decision, FailedTurn, FailureCause, LiveToken, PermissionMode, SessionId,
    SessionResponse, TaskId, TaskResponse,
};

use super::*;
use crate::session::{SessionManager, SessionSettings};

const DRIVING_MODEL: &str = "gpt-5-mini";
const TASK_MODEL: &str = "gpt-5.2";
const OTHER_MODEL: &str = "simulated-quick";

/// An entry whose tasks run with `TASK_MODEL`, and whose driving sessions fall back on
/// `OTHER_MODEL`.
fn entry(task: &Value) -> Arc<Entry> {
    let entry = json!({
        "models": { "driving": DRIVING_MODEL, "work": TASK_MODEL },
        "drivingSessionRetries": [
            { "modelId": DRIVING_MODEL, "retries": 1 },
            { "modelId": OTHER_MODEL, "retries": 2 },
        ],
        "promptVariables": {
            "judge": [
                "Say whether it is done, by job_boolean_true or job_boolean_false.",
                "Use the $reported-document tool with the argument \"said the document\".",
            ],
            "yes": ["Use the job_boolean_true tool with the argument \"fine\"."],
            "no": ["Use the job_boolean_false tool with the argument \"bad\"."],
        },
        "tasks": { "t": task },
        "jobs": {},
        "grid": [],
    });
    Arc::new(Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}")))
}

/// A task with a model, a prompt and any other fields.
fn task(prompt: &str, rest: Value) -> Value {
    let mut task = json!({
        "model": { "category": "work" },
        "prompt": [prompt],
        "requireUserInput": prompt.contains("$user-input"),
    });
    let Value::Object(rest) = rest else { panic!("an object") };
    task.as_object_mut().expect("an object").extend(rest);
    task
}

/// A task that opens its own sessions.
fn managed(task: &Value) -> ManagedTask {
    ManagedTask {
        entry: entry(task),
        name: "t".to_owned(),
        model_override: None,
        working_directory: String::new(),
        permissions: PermissionMode::ApproveAll.into(),
        work: None,
        user_input: "the input".to_owned(),
        job_meter: None,
        on_interrupted: OnInterrupted::Resume,
        on_recovery: None,
    }
}

/// A server's worth of tasks. Every test ends with [`Harness::end`], which asserts that nothing is
/// left running.
struct Harness {
    sessions: Arc<SessionManager>,
    tasks: Arc<TaskManager>,
    lifecycle: Lifecycle,
}

impl Harness {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut SessionSettings)) -> Self {
        Self::with_settings(change, Budget::default())
    }

    /// With a budget for tasks that name none.
    fn with_budget(budget: Budget) -> Self {
        Self::with_settings(|_| {}, budget)
    }

    fn with_settings(change: impl FnOnce(&mut SessionSettings), budget: Budget) -> Self {
        let lifecycle = Lifecycle::new();
        let live = LiveShared::new(LiveSettings::for_tests());
        let mut settings = SessionSettings::new("/");
        change(&mut settings);
        let simulated = Arc::new(Simulated::new(SimulatedSettings::for_tests()));
        let catalog = Catalog::new([simulated as Arc<_>]);
        let sessions = SessionManager::new(catalog, settings, live.clone(), lifecycle.clone());
        let settings = TaskSettings { budget, ..TaskSettings::default() };
        let tasks = TaskManager::new(sessions.clone(), settings, live, lifecycle.clone());
        Self { sessions, tasks, lifecycle }
    }

    fn start(&self, task: &Value) -> RunningTask {
        self.tasks.start_managed(managed(task), |_| {}).expect("the task is there")
    }

    /// Runs a task that opens its own sessions to its end.
    async fn run(&self, task: Value) -> Minutes {
        let mut running = self.start(&task);
        let end = running.outcome().await;
        assert!(!self.sessions.has_running(), "a session is left");
        self.minutes(running.id, end).await
    }

    /// What was said in a task that has ended, and in its sessions.
    async fn minutes(&self, id: TaskId, end: TaskEnd) -> Minutes {
        let responses = self.read_task(id).await;
        check_order(&responses, &end);
        let mut prompts = Vec::new();
        for response in &responses {
            if let TaskResponse::TaskSessionStarted { session_id, .. } = response {
                prompts.extend(generated_prompts(&self.read_session(*session_id).await));
            }
        }
        Minutes { end, responses, prompts }
    }

    async fn read_task(&self, id: TaskId) -> Vec<TaskResponse> {
        read_to_the_end(self.tasks.live().source(id).await).await
    }

    async fn read_session(&self, id: SessionId) -> Vec<SessionResponse> {
        read_to_the_end(self.sessions.source(id).await).await
    }

    async fn end(self) {
        self.tasks.stop_all().await;
        self.sessions.stop_all().await;
        assert_eq!(self.lifecycle.running(), 2, "only the sweepers");
        assert_eq!(self.lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    }
}

/// Reads with a new token until the log is closed.
async fn read_to_the_end<R: serde::de::DeserializeOwned>(source: Option<LiveSource>) -> Vec<R> {
    let source = source.expect("something to read");
    let token = LiveToken::generate();
    let mut seen = Vec::new();
    loop {
        let delivery = match source.clone().poll(token.clone().into()).await {
            Ok(delivery) => delivery,
            Err(PollError::Timeout) => continue,
            Err(error) => panic!("{error}"),
        };
        let closed = delivery.is_closed();
        let entries = delivery.entries().into_iter();
        seen.extend(entries.map(|json| serde_json::from_str::<R>(&json).expect("a response")));
        delivery.commit();
        if closed {
            return seen;
        }
    }
}

/// What became of a task.
struct Minutes {
    end: TaskEnd,
    responses: Vec<TaskResponse>,
    /// The prompts of all its sessions.
    prompts: Vec<String>,
}

impl Minutes {
    fn decisions(&self) -> Vec<&str> {
        decisions(&self.responses)
    }

    /// The prefixes of the decisions, one line each.
    fn prefixes(&self) -> String {
        let prefixes = self.decisions().into_iter();
        let prefixes = prefixes.map(|text| text.split_inclusive(']').next().unwrap_or_default());
        prefixes.collect::<Vec<_>>().join("\n")
    }

    /// The roles and models of the sessions, one line each.
    fn sessions(&self) -> String {
        let started = facts(&self.responses).filter_map(|decision| match decision {
            Decision::SessionStarted { role, model, .. } => Some(format!("{role} {model}")),
            _ => None,
        });
        started.collect::<Vec<_>>().join("\n")
    }
}

fn facts(responses: &[TaskResponse]) -> impl Iterator<Item = &Decision> {
    responses.iter().filter_map(|response| match response {
        TaskResponse::TaskDecision { decision, .. } => Some(decision),
        _ => None,
    })
}

fn decisions(responses: &[TaskResponse]) -> Vec<&str> {
    let decisions = responses.iter().filter_map(|response| match response {
        TaskResponse::TaskDecision { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    decisions.collect()
}

fn generated_prompts(responses: &[SessionResponse]) -> Vec<String> {
    let prompts = responses.iter().filter_map(|response| match response {
        SessionResponse::GeneratedUserPrompt { prompt } => Some(prompt.clone()),
        _ => None,
    });
    prompts.collect()
}

/// Sessions start before they stop, one at a time; the end comes once, and last.
fn check_order(responses: &[TaskResponse], end: &TaskEnd) {
    let mut open = None;
    for response in responses {
        match response {
            TaskResponse::TaskSessionStarted { session_id, .. } => {
                assert_eq!(open.replace(*session_id), None, "two at a time: {responses:?}");
            }
            TaskResponse::TaskSessionStopped { session_id, .. } => {
                assert_eq!(open.take(), Some(*session_id), "{responses:?}");
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "not stopped: {responses:?}");
    let is_end =
        |one: &TaskResponse| matches!(one, TaskResponse::TaskSucceeded | TaskResponse::TaskFailed);
    assert_eq!(responses.iter().filter(|one| is_end(one)).count(), 1, "{responses:?}");
    let expected = match end {
        TaskEnd::Succeeded => TaskResponse::TaskSucceeded,
        _ => TaskResponse::TaskFailed,
    };
    assert_eq!(responses.last(), Some(&expected));
    let errors = responses.iter().filter(|one| matches!(one, TaskResponse::Error { .. }));
    assert_eq!(errors.count(), usize::from(matches!(end, TaskEnd::Crashed(_))), "{responses:?}");
}
