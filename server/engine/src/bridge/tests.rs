//! Whole runs on simulated models, as clients see them.

mod agents;
mod cancelling;
mod chains;
mod drafts;
mod prompts;
mod sessions;

use std::collections::VecDeque;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ::agents::simulated::{Simulated, SimulatedSettings};
use ::agents::{AgentBackend, Catalog};
use serde_json::{Value, json};
use store::journal::{Journal, MemoryJournal};
use store::live::{LiveSettings, LiveShared};
use tempfile::TempDir;
use tokio::time::timeout;
use wire::MessageId;
use wire::bridge::{ApprovalRequest, Done, Event, MessageRequest, RunEnd};

use super::action_agent::Surroundings;
use super::inner::MAX_RUNS;
use super::*;
use crate::recovery::recover;
use crate::session::SessionSettings;

/// Fails a test that hangs. Costs no real time: the clock is paused, and advances only when nothing
/// else can run.
const SAFETY: Duration = Duration::from_mins(5);

/// A bridge over one folder or more, and a client that reads everything.
struct Fixture {
    folders: Vec<TempDir>,
    /// Where earlier versions kept their histories.
    data: TempDir,
    journal: Arc<dyn Journal>,
    bridge: Arc<Bridge>,
    sessions: Arc<SessionManager>,
    lifecycle: Lifecycle,
    events: Subscription,
    /// Events that were received but not yet examined.
    unread: VecDeque<Event>,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut BridgeSettings)) -> Self {
        Self::with_folders(1, change).await
    }

    async fn with_folders(count: usize, change: impl FnOnce(&mut BridgeSettings)) -> Self {
        let folders: Vec<_> =
            (0..count).map(|_| tempfile::tempdir().expect("temporary folder")).collect();
        fs::write(folders[0].path().join("README.md"), "# Hello\n").expect("file");
        let mut settings =
            BridgeSettings::new(folders.iter().map(|folder| WorkspaceFolder::new(folder.path())));
        settings.agent.require_approval = false;
        change(&mut settings);
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let data = tempfile::tempdir().expect("temporary folder");
        let (bridge, sessions, lifecycle) = start(settings, journal.clone(), &data).await;
        let events = bridge.subscribe(None, Start::Now).await.expect("a place");
        let unread = VecDeque::default();
        Self { folders, data, journal, bridge, sessions, lifecycle, events, unread }
    }

    /// A goal for which the model writes these steps, one per turn.
    async fn pursue(&self, steps: &[Value]) -> MessageId {
        self.send(&script(steps), Some("agent")).await
    }

    /// A goal in plain words, for one of the models.
    async fn pursue_with(&self, goal: &str, model: &str) -> MessageId {
        let request = MessageRequest {
            text: Some(goal.to_owned()),
            mode: Some("agent".to_owned()),
            model: Some(model.to_owned()),
            ..MessageRequest::default()
        };
        self.bridge.send(request).await.expect("accepted").id
    }

    async fn send(&self, text: &str, mode: Option<&str>) -> MessageId {
        let request = MessageRequest {
            text: Some(text.to_owned()),
            mode: mode.map(str::to_owned),
            ..MessageRequest::default()
        };
        self.bridge.send(request).await.expect("accepted").id
    }

    async fn event(&mut self) -> Event {
        while self.unread.is_empty() {
            let batch = timeout(SAFETY, self.events.next()).await.expect("in time");
            let batch = batch.expect("not the end");
            assert_eq!(batch.missed, None);
            self.unread.extend(batch.events.iter().map(|event| {
                Event::read(event.name, &event.data).expect("an event as it is spelt")
            }));
        }
        self.unread.pop_front().expect("not empty")
    }

    /// Reads until the next run ends; returns its text, and how it ended.
    async fn end(&mut self) -> (String, Done) {
        let mut text = String::new();
        loop {
            match self.event().await {
                Event::Fragment(fragment) => text += &fragment.fragment,
                Event::Done(done) => return (text, done),
                _ => {}
            }
        }
    }

    async fn approval_request(&mut self) -> ApprovalRequest {
        loop {
            match self.event().await {
                Event::ApprovalRequest(request) => return request,
                Event::Done(done) => panic!("it ended: {done:?}"),
                _ => {}
            }
        }
    }

    /// Reads until a fragment contains a text.
    async fn told(&mut self, part: &str) {
        let mut text = String::new();
        while !text.contains(part) {
            match self.event().await {
                Event::Fragment(fragment) => text += &fragment.fragment,
                Event::Done(done) => panic!("{part} was not told: {done:?}"),
                _ => {}
            }
        }
    }

    async fn id(&self) -> String {
        self.summary().await.id
    }

    async fn summary(&self) -> SessionSummary {
        self.bridge.sessions().await.expect("projects").remove(0)
    }

    /// The history of the first project.
    async fn history(&self) -> SessionHistory {
        self.bridge.history(&self.id().await).await.expect("a history")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folders[0].path().join(name)).expect("file")
    }

    fn exists(&self, name: &str) -> bool {
        self.folders[0].path().join(name).exists()
    }

    /// Ends all runs, as at the end of the server.
    async fn stop(&self) {
        self.bridge.begin_stop();
        self.sessions.stop_all().await;
        self.bridge.end();
    }

    /// Ends the bridge and checks that nothing of it is left.
    async fn finish(self) {
        self.stop().await;
        assert_eq!(self.lifecycle.shutdown(SAFETY).await, 0, "work is left");
    }

    /// Another bridge over the same folders and data, as after a restart.
    async fn restart(self) -> Self {
        self.stop().await;
        assert_eq!(self.lifecycle.shutdown(SAFETY).await, 0, "work is left");
        let settings = BridgeSettings::new(
            self.folders.iter().map(|folder| WorkspaceFolder::new(folder.path())),
        );
        let (bridge, sessions, lifecycle) = start(settings, self.journal.clone(), &self.data).await;
        let events = bridge.subscribe(None, Start::Now).await.expect("a place");
        Self { bridge, sessions, lifecycle, events, unread: VecDeque::default(), ..self }
    }
}

async fn start(
    settings: BridgeSettings,
    journal: Arc<dyn Journal>,
    data: &TempDir,
) -> (Arc<Bridge>, Arc<SessionManager>, Lifecycle) {
    let lifecycle = Lifecycle::new();
    let backends: [Arc<dyn AgentBackend>; 1] =
        [Arc::new(Simulated::new(SimulatedSettings::for_tests()))];
    let live = LiveShared::with_journal(LiveSettings::for_tests(), journal);
    recover(&live).await.expect("recovered");
    let sessions = SessionManager::new(
        Catalog::new(backends),
        SessionSettings::new("/"),
        live,
        lifecycle.clone(),
    );
    let bridge = Bridge::new(settings, sessions.clone(), lifecycle.clone());
    bridge.take_over(&data.path().join("bridge")).await.expect("taken over");
    sessions.take_up_waiting().await;
    (bridge, sessions, lifecycle)
}

/// A prompt that makes a simulated model give one of these answers in each turn.
fn script(steps: &[Value]) -> String {
    let says = steps.iter().map(|step| match step {
        Value::String(instruction) => instruction.clone(),
        step => format!("say {}", Value::String(step.to_string())),
    });
    let lines = says.enumerate().map(|(index, say)| format!("Turn {}: {say}", index + 1));
    lines.collect::<Vec<_>>().join("\n")
}

fn act(action: &Value) -> Value {
    json!({ "actions": [action], "commentary": "Working", "done": false })
}

fn finish(summary: &str) -> Value {
    json!({ "finalSummary": summary, "done": true })
}

fn ended(done: &Done) -> (RunEnd, Option<&str>) {
    (done.reason, done.error.as_deref())
}
