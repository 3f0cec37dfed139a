//! The Copilot backend with the real CLI, which runs on a scripted provider on loopback.
//!
//! Needs the CLI of `tests/copilot-cli` (`npm ci`); without it the tests fail and say so.

mod attachments;
mod extensions;
mod processes;
mod resume;
mod tools;
mod turns;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::provider::{BaseUrl, KeySource, ProviderModel};
use agents::{
    AgentBackend, AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings, TextKind,
};
use copilot::Copilot;
use copilot::settings::{CopilotSettings, OwnProvider, ProviderKind};
use stub_provider::{StubProvider, copilot_cli};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const MODEL: &str = "scripted";
/// Reached only by a failing test.
const PATIENCE: Duration = Duration::from_mins(1);

/// A backend, its provider, and a folder to work in.
struct Bench {
    provider: StubProvider,
    copilot: Copilot,
    home: TempDir,
    folder: TempDir,
}

impl Bench {
    async fn new() -> Self {
        let provider = StubProvider::start().await.expect("loopback");
        let home = tempfile::tempdir().expect("temporary folder");
        let copilot = backend(&provider, home.path());
        let folder = tempfile::tempdir().expect("temporary folder");
        Self { provider, copilot, home, folder }
    }

    /// A conversation without any tools.
    async fn conversation(&self) -> Conversation {
        self.conversation_with(|_| {}).await
    }

    async fn conversation_with(&self, change: impl FnOnce(&mut AgentSettings)) -> Conversation {
        let (mut settings, events) = self.settings();
        change(&mut settings);
        let session = self.copilot.start_session(settings).await.expect("a session");
        Conversation { session: Arc::from(session), events }
    }

    /// Settings for a conversation without tools, and the receiver of its events.
    fn settings(&self) -> (AgentSettings, watch::Receiver<Vec<AgentEvent>>) {
        let (sender, events) = watch::channel(Vec::new());
        let report = AgentEvents::new(move |event| {
            sender.send_modify(|events: &mut Vec<AgentEvent>| events.push(event));
        });
        (AgentSettings::new(MODEL, self.real_folder(), report), events)
    }

    /// Ends everything, and asserts that no process is left.
    async fn finish(self, conversation: Conversation) {
        conversation.session.stop().await;
        self.copilot.close().await;
        let left = processes::of(self.home.path());
        assert!(left.is_empty(), "left running: {left:?}");
    }

    fn real_folder(&self) -> std::path::PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }
}

/// A backend whose CLI runs on a provider's model and keeps its state in a folder.
fn backend(provider: &StubProvider, home: &Path) -> Copilot {
    let base_url = BaseUrl::parse(&provider.base_url()).expect("a URL");
    let model = ProviderModel {
        id: MODEL.to_owned(),
        name: Some("Scripted".to_owned()),
        multiplier: None,
        context_window: None,
    };
    let own = OwnProvider {
        base_url,
        key: KeySource::None,
        kind: ProviderKind::OpenAi,
        wire_api: None,
        models: vec![model],
    };
    Copilot::new(CopilotSettings { provider: Some(own), ..settings(home) })
}

fn settings(home: &Path) -> CopilotSettings {
    CopilotSettings {
        cli: Some(copilot_cli::program()),
        environment: copilot_cli::environment(home),
        ..CopilotSettings::default()
    }
}

/// A conversation and what happened in it.
#[derive(Clone)]
struct Conversation {
    session: Arc<dyn AgentSession>,
    events: watch::Receiver<Vec<AgentEvent>>,
}

impl Conversation {
    async fn ask(&self, prompt: &str) -> Result<(), AgentError> {
        self.ask_until(prompt, &CancellationToken::new()).await
    }

    async fn ask_until(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        let turn = self.session.run_turn(prompt, abort);
        tokio::time::timeout(PATIENCE, turn).await.expect("the turn ends in time")
    }

    fn events(&self) -> Vec<AgentEvent> {
        self.events.borrow().clone()
    }

    async fn wait_for(&self, what: &str, reached: impl Fn(&AgentEvent) -> bool) {
        let mut events = self.events.clone();
        let waiting = events.wait_for(|events| events.iter().any(&reached));
        let in_time = tokio::time::timeout(PATIENCE, waiting).await.is_ok_and(|seen| seen.is_ok());
        assert!(in_time, "no {what} in time: {:#?}", self.events());
    }

    /// All texts of a kind, put together from their deltas.
    fn said(&self, wanted: TextKind) -> String {
        let events = self.events();
        let deltas = events.iter().filter_map(|event| match event {
            AgentEvent::TextDelta { kind, delta, .. } if *kind == wanted => Some(delta.as_str()),
            _ => None,
        });
        deltas.collect()
    }

    fn errors(&self) -> Vec<String> {
        let events = self.events();
        let errors = events.into_iter().filter_map(|event| match event {
            AgentEvent::Error { message } => Some(message),
            _ => None,
        });
        errors.collect()
    }
}

/// The events in short: one word each.
fn words(events: &[AgentEvent]) -> String {
    let mut words: Vec<String> = events.iter().map(word).collect();
    words.dedup();
    words.join(" ")
}

fn word(event: &AgentEvent) -> String {
    let kind = |kind: &TextKind| match kind {
        TextKind::Reasoning => "reasoning",
        TextKind::Message => "message",
    };
    match event {
        AgentEvent::TurnStart { turn_id } => format!("+{turn_id}"),
        AgentEvent::TurnEnd { turn_id } => format!("-{turn_id}"),
        AgentEvent::TextStart { kind: k, .. } => format!("+{}", kind(k)),
        AgentEvent::TextDelta { kind: k, .. } => kind(k).to_owned(),
        AgentEvent::TextEnd { kind: k, .. } => format!("-{}", kind(k)),
        AgentEvent::ToolStart { name, .. } => format!("+{name}"),
        AgentEvent::ToolOutput { .. } => "output".to_owned(),
        AgentEvent::ToolEnd { outcome: Ok(_), .. } => "-tool".to_owned(),
        AgentEvent::ToolEnd { outcome: Err(_), .. } => "!tool".to_owned(),
        AgentEvent::Usage { .. } => "usage".to_owned(),
        AgentEvent::Extensions(_) => "extension".to_owned(),
        AgentEvent::Error { .. } => "error".to_owned(),
        AgentEvent::Crashed { .. } => "crashed".to_owned(),
    }
}
