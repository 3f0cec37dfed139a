#![doc = include_str!("simulated.md")]

mod agenda;
mod instructions;
mod memory;
mod resumption;
mod script;
mod texts;
mod turn;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use wire::ModelInfo;

use crate::contract::{
    AgentBackend, AgentError, AgentEvent, AgentSession, AgentSettings, Capabilities,
    PastConversation, ReportedUsage, ResumeError,
};
use crate::facts::{Fact, FactFold};
use agenda::{Agenda, Next};
use instructions::Step;
use memory::{Memory, remember};
use resumption::{is_resumption, steps_left};
use script::{Script, without_context};
use turn::Turn;

/// How fast the simulated models are, and which of them exist.
#[derive(Clone, Debug)]
pub struct SimulatedSettings {
    /// Delay before the first delta of each block.
    pub first: Duration,
    /// Delay between two deltas.
    pub delta: Duration,
    /// Whether the model ids used by tests exist, too.
    pub test_models: bool,
}

impl Default for SimulatedSettings {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(300),
            delta: Duration::from_millis(20),
            test_models: false,
        }
    }
}

impl SimulatedSettings {
    /// Without delays, and with the model ids used by tests.
    pub fn for_tests() -> Self {
        Self { first: Duration::ZERO, delta: Duration::ZERO, test_models: true }
    }
}

/// The backend of the simulated models. There is no client to share.
#[derive(Debug)]
pub struct Simulated {
    settings: SimulatedSettings,
}

struct SimulatedModel {
    id: &'static str,
    name: &'static str,
    multiplier: f64,
    reasons: bool,
    only_in_tests: bool,
}

const fn model(id: &'static str, name: &'static str, multiplier: f64) -> SimulatedModel {
    SimulatedModel { id, name, multiplier, reasons: true, only_in_tests: false }
}

const MODELS: [SimulatedModel; 5] = [
    model("simulated-standard", "Simulated Standard", 0.0),
    SimulatedModel { reasons: false, ..model("simulated-quick", "Simulated Quick", 0.0) },
    model("simulated-premium", "Simulated Premium", 1.0),
    SimulatedModel { only_in_tests: true, ..model("gpt-5-mini", "GPT-5 mini (simulated)", 0.0) },
    SimulatedModel { only_in_tests: true, ..model("gpt-5.2", "GPT-5.2 (simulated)", 1.0) },
];

const PROVIDER: &str = "simulated";

impl Simulated {
    /// The simulated models at a given pace.
    pub fn new(settings: SimulatedSettings) -> Self {
        Self { settings }
    }

    fn open(
        &self,
        mut settings: AgentSettings,
        facts: Vec<Fact>,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        let model = self.models().find(|model| model.id == settings.model);
        let model = model.ok_or_else(|| {
            AgentError::Unavailable(format!("unknown model: `{}`", settings.model))
        })?;
        let turns = AtomicU32::new(Fact::count_rounds(&facts));
        let prompts = facts.iter().filter_map(|fact| match fact {
            Fact::Prompt(prompt) => Some(prompt.clone()),
            _ => None,
        });
        let prompts: Vec<String> = prompts.collect();
        let memory: Memory = Arc::new(Mutex::new(FactFold::after(facts)));
        settings.events = remember(settings.events, memory.clone());
        let session = SimulatedSession {
            reasons: model.reasons,
            pace: self.settings.clone(),
            settings,
            turns,
            memory,
            script: Mutex::default(),
            followed: Mutex::default(),
            agenda: Mutex::default(),
        };
        for prompt in &prompts {
            session.replay(prompt);
        }
        Ok(Box::new(session))
    }

    fn models(&self) -> impl Iterator<Item = &'static SimulatedModel> {
        let in_tests = self.settings.test_models;
        MODELS.iter().filter(move |model| in_tests || !model.only_in_tests)
    }
}

#[async_trait]
impl AgentBackend for Simulated {
    fn provider(&self) -> &'static str {
        PROVIDER
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            steer: true,
            images: true,
            reports: ReportedUsage::TokensAndCost,
            ..Capabilities::default()
        }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        Ok(self
            .models()
            .map(|model| ModelInfo {
                name: model.name.to_owned(),
                id: model.id.to_owned(),
                multiplier: model.multiplier,
                provider: Some(PROVIDER.to_owned()),
            })
            .collect())
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        self.open(settings, Vec::new())
    }

    async fn resume_session(
        &self,
        past: PastConversation,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, ResumeError> {
        Ok(self.open(settings, past.facts)?)
    }

    async fn close(&self) {}
}

/// One conversation with a simulated model.
struct SimulatedSession {
    settings: AgentSettings,
    pace: SimulatedSettings,
    reasons: bool,
    turns: AtomicU32,
    memory: Memory,
    /// Instructions for later turns.
    script: Mutex<Script>,
    /// The instructions of the latest turn, to be resumed if it is cut off.
    followed: Mutex<String>,
    /// The steps left to do as the bridge's agent.
    agenda: Mutex<Option<Agenda>>,
}

#[async_trait]
impl AgentSession for SimulatedSession {
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        self.run_round(prompt, abort).await?;
        let steering = &self.settings.steering;
        while let Some(prompt) = abort.run_until_cancelled(steering.next()).await.flatten() {
            self.run_round(&prompt, abort).await?;
        }
        Ok(())
    }

    async fn stop(&self) {}
}

impl SimulatedSession {
    async fn run_round(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        self.memory.lock().prompt(prompt);
        let number = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        let turn_id = format!("turn-{number}");
        let events = &self.settings.events;
        events.emit(AgentEvent::TurnStart { turn_id: turn_id.clone() });
        let turn = Turn::new(&self.settings, &self.pace, &self.memory, number);
        // Aborting drops the turn wherever it is: it holds nothing that must be released.
        let ended = if self.has_agenda(prompt) {
            abort.run_until_cancelled(turn.pursue(&self.agenda, self.reasons)).await
        } else {
            let steps = self.steps(prompt);
            abort.run_until_cancelled(turn.run(prompt, &steps, self.reasons)).await
        };
        match ended {
            Some(Err(crash @ AgentError::Crashed(_))) => return Err(crash),
            Some(outcome) => {
                events.emit(AgentEvent::TurnEnd { turn_id });
                outcome?;
            }
            None => {}
        }
        Ok(())
    }

    /// Whether a prompt asks for the next step of an agenda. A prompt that states a goal begins a new
    /// agenda.
    fn has_agenda(&self, prompt: &str) -> bool {
        let mut agenda = self.agenda.lock();
        if let Some(new) = Agenda::for_goal(prompt) {
            *agenda = Some(new);
        } else if !Agenda::is_asked_for(prompt) {
            *agenda = None;
        }
        agenda.is_some()
    }

    /// The steps of a turn with this prompt.
    fn steps(&self, prompt: &str) -> Vec<Step> {
        if !is_resumption(prompt) {
            return self.parse(&self.follow_script(prompt));
        }
        let interrupted = self.parse(&self.followed.lock());
        let mut steps = self.parse(&without_context(prompt));
        let repeats = steps.contains(&Step::RepeatCall);
        steps.extend(steps_left(&interrupted, self.memory.lock().facts(), repeats));
        if steps.is_empty() { vec![Step::Say(texts::RESUMED.to_owned())] } else { steps }
    }

    fn follow_script(&self, prompt: &str) -> String {
        let followed = self.script.lock().follow(prompt, |prompt| self.has_instructions(prompt));
        self.followed.lock().clone_from(&followed);
        followed
    }

    /// Replays a prompt of the resumed conversation, so that scripts and agendas continue.
    fn replay(&self, prompt: &str) {
        if self.has_agenda(prompt) {
            let next = || self.agenda.lock().as_mut().map(Agenda::next);
            while matches!(next(), Some(Next::Do(_))) {}
        } else if !is_resumption(prompt) {
            self.follow_script(prompt);
        }
    }

    fn has_instructions(&self, prompt: &str) -> bool {
        !self.parse(prompt).is_empty()
    }

    fn parse(&self, prompt: &str) -> Vec<Step> {
        instructions::parse(prompt, |name| self.settings.tools.get(name).is_some())
    }
}
