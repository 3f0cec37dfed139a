//! The agent over a scripted model.

use std::collections::{HashSet, VecDeque};

use agents::permission::{ApproveAll, PermissionHandler};
use agents::{AgentEvent, AgentEvents, TextKind, ToolSet};
use serde_json::json;

use super::*;

/// A model that gives these answers, one per turn, or crashes. Records what it was started with.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<String>>,
    prompts: Mutex<Vec<String>>,
    tools: Mutex<Vec<usize>>,
}

/// The beginning of an answer that is a crash.
const CRASH: &str = "crash: ";

struct ScriptedSession(Arc<Scripted>, AgentEvents);

/// The backend of the scripted model, whose conversations share its script.
struct Backend(Arc<Scripted>);

#[async_trait]
impl AgentBackend for Backend {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        Ok(Vec::new())
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        self.0.tools.lock().push(settings.tools.iter().count() + usize::from(settings.own_tools));
        Ok(Box::new(ScriptedSession(self.0.clone(), settings.events)))
    }

    async fn close(&self) {}
}

#[async_trait]
impl AgentSession for ScriptedSession {
    async fn run_turn(&self, prompt: &str, _: &CancellationToken) -> Result<(), AgentError> {
        self.0.prompts.lock().push(prompt.to_owned());
        let answer = self.0.answers.lock().pop_front().expect("another answer");
        if let Some(reason) = answer.strip_prefix(CRASH) {
            return Err(AgentError::Crashed(reason.to_owned()));
        }
        let kind = TextKind::Message;
        // The ids of each conversation are the same.
        self.1.emit(AgentEvent::TextDelta { kind, id: "1".to_owned(), delta: answer });
        self.1.emit(AgentEvent::TextEnd { kind, id: "1".to_owned(), content: None });
        Ok(())
    }

    async fn stop(&self) {}
}

/// A project in a folder, in which something was said before.
struct Place(Arc<Scripted>);

#[async_trait]
impl Surroundings for Place {
    async fn find_model(&self, model: Option<&str>) -> Result<Found, String> {
        let model_id = model.ok_or("no model")?.to_owned();
        Ok(Found { backend: Arc::new(Backend(self.0.clone())), model_id })
    }

    async fn context(&self, _: &str) -> Result<Vec<(Role, String)>, String> {
        Ok(vec![(Role::User, "before".to_owned()), (Role::Assistant, "yes".to_owned())])
    }

    fn rules(&self) -> AgentRules {
        AgentRules::default()
    }

    fn open_folder(&self, folder: &Path) -> Result<Workspace, String> {
        let roots = AgentRules::default().allowed_roots.into();
        Workspace::open(folder, &roots).map_err(|error| error.to_string())
    }

    fn commands(&self, _: &AgentRules) -> CommandSettings {
        CommandSettings::default()
    }
}

struct Harness {
    model: Arc<Scripted>,
    agent: Box<dyn AgentSession>,
    events: Arc<Mutex<Vec<AgentEvent>>>,
    folder: tempfile::TempDir,
    _surroundings: Arc<dyn Surroundings>,
}

impl Harness {
    async fn new(answers: impl IntoIterator<Item = String>) -> Self {
        let model = Arc::new(Scripted::default());
        *model.answers.lock() = answers.into_iter().collect();
        let surroundings: Arc<dyn Surroundings> = Arc::new(Place(model.clone()));
        let backend = ActionBackend {
            project: "p".to_owned(),
            surroundings: Arc::downgrade(&surroundings),
            lifecycle: Lifecycle::new(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let listener = AgentEvents::new(move |event| heard.lock().push(event));
        let permissions: Arc<dyn PermissionHandler> = Arc::new(ApproveAll);
        let settings = AgentSettings {
            tools: Arc::new(ToolSet::default()),
            permissions,
            ..AgentSettings::new("m", folder.path(), listener)
        };
        let agent = backend.start_session(settings).await.expect("an agent");
        Self { model, agent, events, folder, _surroundings: surroundings }
    }

    async fn run(&self, prompt: &str, max_steps: Option<u32>) -> Result<TurnStop, AgentError> {
        let options = TurnOptions { model: Some("m".to_owned()), max_steps };
        self.agent.run_turn_with(prompt, &options, &CancellationToken::new()).await
    }

    /// What was reported: text, and the names of tools.
    fn reported(&self) -> Vec<String> {
        let events = self.events.lock();
        let reported = events.iter().filter_map(|event| match event {
            AgentEvent::TextDelta { delta, .. } => Some(delta.clone()),
            AgentEvent::TextEnd { .. } => Some("<end>".to_owned()),
            AgentEvent::ToolStart { name, .. } => Some(format!("<{name}>")),
            AgentEvent::ToolEnd { outcome, .. } => Some(format!("<ok: {}>", outcome.is_ok())),
            _ => None,
        });
        reported.collect()
    }
}

fn step(tool: &str, path: &str) -> String {
    let action = json!({ "tool": tool, "path": path, "content": "x" });
    json!({ "actions": [action], "commentary": "Now" }).to_string()
}

fn finish() -> String {
    json!({ "finalSummary": "Done.", "done": true }).to_string()
}

#[tokio::test]
async fn a_plain_prompt_goes_to_a_model_without_tools_and_with_the_context() {
    let harness = Harness::new(["Hello".to_owned()]).await;
    assert_eq!(harness.run("hi", None).await, Ok(TurnStop::Answered));
    assert_eq!(*harness.model.tools.lock(), [0]);
    assert_eq!(
        *harness.model.prompts.lock(),
        ["<context>\nWhat was said before, the oldest first:\n\nUser: before\n\nYou: yes\n\
          </context>\n\nhi"]
    );
    assert_eq!(harness.reported(), ["Hello", "<end>"]);
}

#[tokio::test]
async fn a_goal_is_pursued_by_calls_of_the_sessions_tools() {
    let harness = Harness::new([step("createFile", "a.txt"), finish()]).await;
    assert_eq!(harness.run("make a file", Some(3)).await, Ok(TurnStop::Answered));
    assert!(harness.folder.path().join("a.txt").exists());
    assert_eq!(*harness.model.tools.lock(), [0], "the model has none of its own");
    let reported = harness.reported().join("");
    assert_eq!(
        reported,
        "### Step 1/3\n\nNow\n\n- **`createFile`** `a.txt`\n\n<end><createFile><ok: true>\
         ```\ncreated a.txt: 1 bytes\n```\n\n### Step 2/3\n\nDone.\n<end>"
    );
    assert!(!harness.model.prompts.lock()[0].contains("User: before"), "a goal says everything");
}

#[tokio::test]
async fn steps_run_out_and_failures_leave_the_session_alive() {
    let crash = format!("{CRASH}gone");
    let harness = Harness::new([step("createFile", "a"), crash, "Still here".to_owned()]).await;
    assert_eq!(harness.run("goal", Some(1)).await, Ok(TurnStop::OutOfSteps));
    let failed = Err(AgentError::Failed("gone".to_owned()));
    assert_eq!(harness.run("hi", None).await, failed);
    assert_eq!(harness.run("hi", None).await, Ok(TurnStop::Answered));
    let options = TurnOptions::default();
    let answer = harness.agent.run_turn_with("hi", &options, &CancellationToken::new()).await;
    assert_eq!(answer, Err(AgentError::Failed("no model".to_owned())));
}

#[tokio::test]
async fn ids_are_unique_although_each_conversation_counts_from_one() {
    let answers = ["a".to_owned(), step("createFile", "a"), finish(), "b".to_owned()];
    let harness = Harness::new(answers).await;
    harness.run("hi", None).await.expect("answered");
    harness.run("goal", Some(5)).await.expect("answered");
    harness.run("hi", None).await.expect("answered");
    let events = harness.events.lock();
    let ends = events.iter().filter_map(|event| match event {
        AgentEvent::TextEnd { id, .. } => Some(id.clone()),
        AgentEvent::ToolEnd { call_id, .. } => Some(call_id.clone()),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends.iter().collect::<HashSet<_>>().len(), 5, "{ends:?}");
}

#[tokio::test]
async fn an_aborted_turn_is_over_at_once() {
    let harness = Harness::new([]).await;
    let abort = CancellationToken::new();
    abort.cancel();
    let options = TurnOptions { model: Some("m".to_owned()), max_steps: Some(1) };
    let ended = harness.agent.run_turn_with("goal", &options, &abort).await;
    assert_eq!(ended, Ok(TurnStop::Answered));
}
