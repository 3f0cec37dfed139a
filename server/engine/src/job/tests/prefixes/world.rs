//! Agents that change a world in which every change can be seen, and when it was made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use agents::permission::Asker;
use agents::{
    AgentBackend, AgentError, AgentEvent, AgentSession, AgentSettings, Capabilities, Fact,
    PastConversation, ResumeError, TextKind,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wire::{ModelInfo, PermissionKind, PermissionRequest, ToolResult};

use crate::job::tests::journal::TestJournal;

/// The model of the agents.
pub(super) const MODEL: &str = "worker";
/// The model of those that judge.
pub(super) const JUDGE: &str = "judge";

/// What was changed, each with the number of batches that were stored by then.
#[derive(Clone, Default)]
pub(super) struct World(Arc<Mutex<Vec<(usize, String)>>>);

impl World {
    /// The world of a server that was killed when so much was stored.
    pub(super) fn cut(&self, stored: usize) -> Self {
        let mut changes = self.0.lock().clone();
        changes.retain(|(at, _)| *at <= stored);
        Self(Arc::new(Mutex::new(changes)))
    }

    pub(super) fn count(&self, what: &str) -> usize {
        self.0.lock().iter().filter(|(_, change)| change == what).count()
    }

    /// Every change, in order.
    pub(super) fn changes(&self) -> Vec<String> {
        self.0.lock().iter().map(|(_, change)| change.clone()).collect()
    }

    fn change(&self, at: usize, what: &str) {
        self.0.lock().push((at, what.to_owned()));
    }
}

/// What agents are able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ability {
    pub(super) resume: bool,
    pub(super) own_tools: bool,
}

/// Agents that obey the words of a prompt:
///
/// - `look` reads, `change:X` changes the world;
/// - `document:X`, `true:X` and `false:X` call the job tools;
/// - `until:X:N` says whether X was changed N times;
/// - `fail` fails the turn, `crash` ends the session.
///
/// They are careful: told to go on, they do not change again what was changed in the turn.
pub(super) struct Workers {
    pub(super) ability: Ability,
    pub(super) world: World,
    pub(super) journal: Arc<TestJournal>,
}

struct Worker {
    ability: Ability,
    world: World,
    journal: Arc<TestJournal>,
    settings: AgentSettings,
    facts: Vec<Fact>,
    turns: AtomicU32,
}

const RESUMES: &str = "The server stopped while you were working on your last prompt";

impl Workers {
    fn worker(&self, settings: AgentSettings, facts: Vec<Fact>) -> Box<dyn AgentSession> {
        Box::new(Worker {
            ability: self.ability,
            world: self.world.clone(),
            journal: self.journal.clone(),
            settings,
            turns: AtomicU32::new(Fact::count_rounds(&facts)),
            facts,
        })
    }
}

#[async_trait]
impl AgentBackend for Workers {
    fn provider(&self) -> &'static str {
        "workers"
    }

    fn capabilities(&self) -> Capabilities {
        let Ability { resume, own_tools } = self.ability;
        Capabilities { resume, own_tools, ..Capabilities::default() }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let model = |id: &str| ModelInfo {
            name: id.to_owned(),
            id: id.to_owned(),
            multiplier: 0.0,
            provider: None,
        };
        Ok(vec![model(MODEL), model(JUDGE)])
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        Ok(self.worker(settings, Vec::new()))
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        if self.ability.resume {
            return Ok(self.worker(settings, past.facts));
        }
        Err(ResumeError::Refused("on purpose".to_owned()))
    }

    async fn close(&self) {}
}

#[async_trait]
impl AgentSession for Worker {
    async fn run_turn(&self, prompt: &str, _: &CancellationToken) -> Result<(), AgentError> {
        let number = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        self.settings.events.emit(AgentEvent::TurnStart { turn_id: number.to_string() });
        // Before the prompt may stand what was said in an earlier conversation.
        let asked = prompt.split_once("\n\n\n").map_or(prompt, |(_, asked)| asked);
        let work = if asked.starts_with(RESUMES) { self.left(prompt) } else { asked.to_owned() };
        for (call, word) in work.split_whitespace().enumerate() {
            self.obey(&format!("{number}-{call}"), word).await?;
        }
        let id = format!("m{number}");
        let content = Some("done with it".to_owned());
        let kind = TextKind::Message;
        self.settings.events.emit(AgentEvent::TextEnd { kind, id, content });
        self.settings.events.emit(AgentEvent::TurnEnd { turn_id: number.to_string() });
        Ok(())
    }

    async fn stop(&self) {}
}

impl Worker {
    /// What is left to do of the turn that was cut off: everything but the changes that the agent
    /// had begun and finds in the world.
    fn left(&self, prompt: &str) -> String {
        let is_first = |fact: &Fact| match fact {
            Fact::Prompt(prompt) => !prompt.starts_with(RESUMES),
            _ => false,
        };
        // One who was not there is told what was said.
        let told = prompt.split_once("\n\n\n").map_or("", |(told, _)| told);
        let told = told.split("User: ").skip(1).filter(|told| !told.starts_with(RESUMES)).last();
        let told = told.map(|told| told.split_once("\nAssistant").map_or(told, |(told, _)| told));
        let facts = self.facts.iter().rposition(is_first).map_or(&[][..], |at| &self.facts[at..]);
        let known = facts.iter().find_map(|fact| match fact {
            Fact::Prompt(prompt) => Some(prompt.as_str()),
            _ => None,
        });
        let work = told.or(known).expect("a turn that was cut off");
        let begun = |change: &str| {
            match told {
            Some(_) => prompt.contains(&json!({ "what": change }).to_string()),
            None => facts.iter().any(|fact| {
                matches!(fact, Fact::ToolCall { arguments, .. } if arguments["what"] == change)
            }),
        }
        };
        let is_left = |word: &&str| {
            let change = word.strip_prefix("change:");
            !change.is_some_and(|change| begun(change) && self.world.count(change) > 0)
        };
        work.split_whitespace().filter(is_left).collect::<Vec<_>>().join(" ")
    }

    async fn obey(&self, call_id: &str, word: &str) -> Result<(), AgentError> {
        let (verb, rest) = word.split_once(':').unwrap_or((word, ""));
        let reason = |is_true: bool| if is_true { "job_boolean_true" } else { "job_boolean_false" };
        let argument = || json!({ "argument": rest });
        match verb {
            "look" => {
                let name = if self.ability.own_tools { "view" } else { "readFiles" };
                self.start(call_id, name, Value::Null);
                self.end(call_id);
            }
            "change" => {
                let name = if self.ability.own_tools { "shell" } else { "createFile" };
                self.start(call_id, name, json!({ "what": rest }));
                let request = PermissionRequest {
                    kind: PermissionKind::Create,
                    title: format!("Create {rest}"),
                    path: None,
                    detail: None,
                    diff: None,
                    each_time: false,
                };
                let asked = self.settings.permissions.request(&Asker::tool(name), request).await;
                if asked.is_ok() {
                    self.world.change(self.journal.len(), rest);
                }
                self.end(call_id);
            }
            "document" => self.report(call_id, "job_prepare_document", argument()),
            "true" | "false" => self.report(call_id, reason(verb == "true"), argument()),
            "until" => {
                let (what, wanted) = rest.split_once(':').expect("what, and how often");
                let is_enough = self.world.count(what) >= wanted.parse().expect("a number");
                self.report(call_id, reason(is_enough), argument());
            }
            "fail" => return Err(AgentError::Failed("on purpose".to_owned())),
            "crash" => return Err(AgentError::Crashed("on purpose".to_owned())),
            _ => {}
        }
        Ok(())
    }

    fn report(&self, call_id: &str, name: &str, arguments: Value) {
        self.start(call_id, name, arguments);
        self.end(call_id);
    }

    fn start(&self, call_id: &str, name: &str, arguments: Value) {
        self.settings.events.emit(AgentEvent::ToolStart {
            call_id: call_id.to_owned(),
            parent_call_id: None,
            name: name.to_owned(),
            arguments,
        });
    }

    fn end(&self, call_id: &str) {
        let (call_id, outcome) = (call_id.to_owned(), Ok(ToolResult::default()));
        self.settings.events.emit(AgentEvent::ToolEnd { call_id, outcome });
    }
}
