//! Models that fail on demand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use agents::{
    AgentBackend, AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings, Capabilities,
    PastConversation, ResumeError,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wire::ModelInfo;

use super::super::*;

/// What a model does with a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Works,
    Fails,
    FailsWhenAborted,
    /// Carries out the prompt, and fails in the end.
    BreaksOff,
    /// Reports an error, and ends the turn as usual.
    Reports,
    ReportsAndGoesOn,
    ReachesLimit,
    Crashes,
    /// Reports that it has crashed, and never ends the turn.
    ReportsCrash,
    DoesNotStart,
}

/// A provider of simulated models that fail as they are told.
pub(super) struct Provider {
    pub(super) name: &'static str,
    pub(super) resumes: bool,
    pub(super) own_tools: bool,
    pub(super) models: &'static [&'static str],
    pub(super) simulated: Simulated,
    pub(super) shared: Arc<Shared>,
}

#[derive(Default)]
pub(super) struct Shared {
    behaviours: Mutex<HashMap<String, Behaviour>>,
    /// The prompts so far, with the models that got them.
    sent: Mutex<Vec<(String, String)>>,
    asked: Notify,
    running: AtomicUsize,
    /// Where the agents of each model report.
    events: Mutex<Vec<(String, AgentEvents)>>,
    /// The tools of the agent that was asked last.
    tools: Mutex<Vec<String>>,
}

impl Provider {
    pub(super) fn new(models: &'static [&'static str]) -> Self {
        Self {
            name: "fragile",
            resumes: true,
            own_tools: false,
            models,
            simulated: Simulated::new(SimulatedSettings::for_tests()),
            shared: Arc::default(),
        }
    }

    pub(super) fn set(&self, model: &str, behaviour: Behaviour) {
        self.shared.behaviours.lock().insert(model.to_owned(), behaviour);
    }

    pub(super) fn sent(&self) -> Vec<(String, String)> {
        self.shared.sent.lock().clone()
    }

    /// How many agents were started and not stopped.
    pub(super) fn running(&self) -> usize {
        self.shared.running.load(Ordering::Relaxed)
    }

    /// Returns when a model is asked.
    pub(super) async fn asked(&self) {
        self.shared.asked.notified().await;
    }

    /// Whether the agent that was asked or started last has a tool.
    pub(super) fn had_tool(&self, name: &str) -> bool {
        self.shared.tools.lock().iter().any(|tool| tool == name)
    }

    /// Lets all agents of a model report that they have crashed, even those that were stopped.
    pub(super) fn crash_all(&self, model: &str) {
        for (of, events) in &*self.shared.events.lock() {
            if of == model {
                events.emit(AgentEvent::Crashed { message: "late".to_owned() });
            }
        }
    }

    fn check(&self, model: &str) -> Result<(), AgentError> {
        match self.shared.behaviour(model) {
            Behaviour::DoesNotStart => Err(AgentError::Unavailable("no login".to_owned())),
            _ => Ok(()),
        }
    }

    fn started(&self, agent: Box<dyn AgentSession>, settings: AgentSettings) -> Fragile {
        self.shared.running.fetch_add(1, Ordering::Relaxed);
        self.shared.events.lock().push((settings.model.clone(), settings.events.clone()));
        self.shared.look_at_tools(&settings);
        Fragile { agent, settings, shared: self.shared.clone() }
    }
}

impl Shared {
    fn behaviour(&self, model: &str) -> Behaviour {
        self.behaviours.lock().get(model).copied().unwrap_or(Behaviour::Works)
    }

    fn look_at_tools(&self, settings: &AgentSettings) {
        *self.tools.lock() = settings.tools.iter().map(|tool| tool.name.clone()).collect();
    }
}

fn simulated(settings: &AgentSettings) -> AgentSettings {
    AgentSettings { model: MODEL.to_owned(), ..settings.clone() }
}

#[async_trait]
impl AgentBackend for Provider {
    fn provider(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        let (resume, own_tools) = (self.resumes, self.own_tools);
        Capabilities { resume, own_tools, ..Capabilities::default() }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let models = self.models.iter().map(|id| ModelInfo {
            name: (*id).to_owned(),
            id: (*id).to_owned(),
            multiplier: 0.0,
            provider: None,
        });
        Ok(models.collect())
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        self.check(&settings.model)?;
        let agent = self.simulated.start_session(simulated(&settings)).await?;
        Ok(Box::new(self.started(agent, settings)))
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        if !self.resumes {
            return Err(ResumeError::Refused("on purpose".to_owned()));
        }
        self.check(&settings.model)?;
        let agent = self.simulated.resume_session(past, simulated(&settings)).await?;
        Ok(Box::new(self.started(agent, settings)))
    }

    async fn close(&self) {}
}

struct Fragile {
    agent: Box<dyn AgentSession>,
    settings: AgentSettings,
    shared: Arc<Shared>,
}

#[async_trait]
impl AgentSession for Fragile {
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        let model = &self.settings.model;
        self.shared.sent.lock().push((model.clone(), prompt.to_owned()));
        self.shared.look_at_tools(&self.settings);
        self.shared.asked.notify_one();
        let events = &self.settings.events;
        let down = || "down".to_owned();
        match self.shared.behaviour(model) {
            Behaviour::Works | Behaviour::DoesNotStart => self.agent.run_turn(prompt, abort).await,
            Behaviour::Fails => Err(AgentError::Failed(down())),
            Behaviour::FailsWhenAborted => {
                abort.cancelled().await;
                Err(AgentError::Failed(down()))
            }
            Behaviour::BreaksOff => {
                self.agent.run_turn(prompt, abort).await?;
                Err(AgentError::Failed(down()))
            }
            Behaviour::Reports => {
                events.emit(AgentEvent::Error { message: down() });
                Ok(())
            }
            Behaviour::ReportsAndGoesOn => {
                events.emit(AgentEvent::Error { message: down() });
                self.agent.run_turn(prompt, abort).await
            }
            Behaviour::ReachesLimit => Err(AgentError::LimitReached(down())),
            Behaviour::Crashes => Err(AgentError::Crashed(down())),
            Behaviour::ReportsCrash => {
                events.emit(AgentEvent::Crashed { message: down() });
                std::future::pending().await
            }
        }
    }

    async fn stop(&self) {
        self.shared.running.fetch_sub(1, Ordering::Relaxed);
        self.agent.stop().await;
    }
}
