//! Real extensions in real sessions: Node runs what is in `tests/extensions`.

#[path = "extensions/hooks.rs"]
mod hooks;
#[path = "extensions/life.rs"]
mod life;
#[path = "extensions/talk.rs"]
mod talk;
#[path = "extensions/tools.rs"]
mod tools;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agents::simulated::{Simulated, SimulatedSettings};
use agents::{AgentBackend, Catalog};
use engine::session::{SessionManager, SessionSettings};
use extensions::ExtensionSettings;
use parking_lot::Mutex;
use platform::lifecycle::Lifecycle;
use store::live::{LiveSettings, LiveShared, PollError, ReaderKey};
use tempfile::TempDir;
use wire::{
    ExtensionInfo, ExtensionState, Extensions, LiveToken, PermissionMode, SessionId,
    SessionResponse, ToolError,
};

const MODEL: &str = "simulated-quick";
/// Only a safety net: tests wait for conditions.
const PATIENCE: Duration = Duration::from_mins(1);

/// A project with extensions, and the sessions in it.
struct Project {
    folder: TempDir,
    user_folder: TempDir,
    sessions: Arc<SessionManager>,
    lifecycle: Lifecycle,
    asked: Mutex<HashMap<SessionId, usize>>,
}

impl Project {
    /// A project that is trusted, with copies of some of our extensions.
    fn with(extensions: &[&str]) -> Self {
        Self::new(extensions, simulated(), |_| {})
    }

    fn new(
        extensions: &[&str],
        backend: Arc<dyn AgentBackend>,
        change: impl FnOnce(&mut ExtensionSettings),
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let user_folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".git")).expect("a repository");
        let mut settings = SessionSettings::new(folder.path());
        settings.permissions = PermissionMode::ApproveAll;
        settings.extensions = ExtensionSettings {
            user_folder: Some(user_folder.path().to_owned()),
            allowed: vec![folder.path().to_owned()],
            sdk_path: Some(sdk()),
            // Node is slow to start on a busy machine.
            join_time_out: PATIENCE,
            ..ExtensionSettings::default()
        };
        change(&mut settings.extensions);
        let lifecycle = Lifecycle::new();
        let live = LiveShared::new(LiveSettings::for_tests());
        let catalog = Catalog::new([backend]);
        let sessions = SessionManager::new(catalog, settings, live, lifecycle.clone());
        let project = Self { folder, user_folder, sessions, lifecycle, asked: Mutex::default() };
        for name in extensions {
            project.add(name);
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&self, name: &str) {
        let text = std::fs::read_to_string(ours().join(name).join("extension.mjs"));
        self.write(name, &text.expect("one of our extensions"));
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.path(".github/extensions"), name, text);
    }

    async fn start(&self) -> SessionId {
        self.start_with(MODEL).await
    }

    async fn start_with(&self, model: &str) -> SessionId {
        self.sessions.start(model, "").await.expect("a session")
    }

    /// Sends a prompt; returns how many there were before it.
    async fn query(&self, id: SessionId, prompt: &str) -> usize {
        let session = self.sessions.get(id).expect("an open session");
        session.query(prompt.to_owned()).await.expect("it takes prompts");
        let mut asked = self.asked.lock();
        let asked = asked.entry(id).or_default();
        *asked += 1;
        *asked - 1
    }

    /// Sends a prompt and returns what happened until its turn was over.
    async fn ask(&self, id: SessionId, prompt: &str) -> Vec<SessionResponse> {
        let number = self.query(id, prompt).await;
        self.read_turn(id, number).await
    }

    async fn read_turn(&self, id: SessionId, number: usize) -> Vec<SessionResponse> {
        let turn = |seen: &[SessionResponse]| {
            let is_prompt = |r: &SessionResponse| matches!(r, SessionResponse::UserPrompt { .. });
            let places = seen.iter().enumerate();
            let mut prompts = places.filter(|(_, response)| is_prompt(response));
            let start = prompts.nth(number)?.0;
            let end = seen[start..].iter().position(|r| *r == SessionResponse::Idle)?;
            Some(start..=start + end)
        };
        let seen = self.read_until(id, |seen| turn(seen).is_some()).await;
        let turn = turn(&seen).expect("it was dealt with");
        seen[turn].to_vec()
    }

    /// Reads from the beginning until that is seen.
    async fn read_until(
        &self,
        id: SessionId,
        is_enough: impl Fn(&[SessionResponse]) -> bool,
    ) -> Vec<SessionResponse> {
        let token = LiveToken::generate();
        let mut seen: Vec<SessionResponse> = Vec::new();
        let reading = async {
            while !is_enough(&seen) {
                let source = self.sessions.source(id).await.expect("a session");
                match source.poll(ReaderKey::Token(token.clone())).await {
                    Ok(delivery) => {
                        assert!(!delivery.is_closed(), "still open: {seen:?}");
                        let new = delivery.entries().into_iter();
                        seen.extend(new.map(|json| -> SessionResponse {
                            serde_json::from_str(&json).expect("a response")
                        }));
                        delivery.commit();
                    }
                    Err(PollError::Timeout) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        assert!(read.is_ok(), "never seen; but: {seen:#?}");
        seen
    }

    async fn list(&self, id: SessionId) -> Extensions {
        self.sessions.get(id).expect("an open session").extensions().await
    }

    /// The extensions, once all have joined or failed.
    async fn settled(&self, id: SessionId) -> Vec<ExtensionInfo> {
        // Prompts wait until all extensions have started.
        self.ask(id, "do nothing").await;
        self.list(id).await.extensions
    }

    async fn end(self) {
        self.sessions.stop_all().await;
        assert_eq!(self.lifecycle.running(), 1, "only the sweeper");
        assert_eq!(self.lifecycle.shutdown(Duration::from_secs(1)).await, 0);
    }
}

fn simulated() -> Arc<dyn AgentBackend> {
    Arc::new(Simulated::new(SimulatedSettings::for_tests()))
}

fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/extensions")
}

fn sdk() -> PathBuf {
    let package = ours().join("node_modules/@github/copilot-sdk");
    assert!(
        package.is_dir(),
        "the package for extensions is missing: run `npm ci` in tests/extensions"
    );
    package
}

fn write(folder: &Path, name: &str, text: &str) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("extension.mjs"), text).expect("an extension");
}

/// An extension with one tool that returns a text.
fn one_tool(tool: &str, text: &str) -> String {
    format!(
        "import {{ joinSession }} from '@github/copilot-sdk/extension';\n\
         await joinSession({{ tools: [{{ name: '{tool}', description: '', skipPermission: true, \
         handler: () => '{text}' }}] }});\n"
    )
}

fn state(extensions: &[ExtensionInfo], name: &str) -> (ExtensionState, String) {
    let found = extensions.iter().find(|info| info.name == name).expect("it is listed");
    (found.state, found.reason.clone().unwrap_or_default())
}

/// What the tools answered, in order.
fn results(responses: &[SessionResponse]) -> Vec<Result<String, ToolError>> {
    let results = responses.iter().filter_map(|response| match response {
        SessionResponse::EndToolExecution { result: Some(result), .. } => {
            Some(Ok(result.content.clone()))
        }
        SessionResponse::EndToolExecution { error: Some(error), .. } => Some(Err(error.clone())),
        _ => None,
    });
    results.collect()
}

fn said(responses: &[SessionResponse]) -> Vec<String> {
    let messages = responses.iter().filter_map(|response| match response {
        SessionResponse::EndMessage { complete_content, .. } => Some(complete_content.clone()),
        _ => None,
    });
    messages.collect()
}

fn logs(responses: &[SessionResponse]) -> Vec<String> {
    let logs = responses.iter().filter_map(|response| match response {
        SessionResponse::ExtensionLog { extension, level, message, ephemeral } => {
            let kept = if *ephemeral { " for now" } else { "" };
            Some(format!("{extension} {level:?}{kept}: {message}"))
        }
        _ => None,
    });
    logs.collect()
}

fn failure(message: &str, code: &str) -> Result<String, ToolError> {
    Err(ToolError { message: message.to_owned(), code: Some(code.to_owned()) })
}

async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "it never came to that");
}
