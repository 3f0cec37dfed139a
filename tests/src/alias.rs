//! An additional provider: a simulated model under ids of the test's choice.
//!
//! Unlike the simulated models it can change its mind: of a prompt such as `say one | say two` it
//! carries out the first part the first time, the second the next time, and then always the last.
//! With an id that begins with `slow-` it takes a while to start, and with one that begins with
//! `broken-` it fails to start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agents::simulated::{Simulated, SimulatedSettings};
use agents::{AgentBackend, AgentError, AgentSession, AgentSettings};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use wire::ModelInfo;

use crate::MODEL;

const SLOW_START: Duration = Duration::from_secs(10);

pub(crate) struct Alias {
    ids: &'static [&'static str],
    simulated: Simulated,
    minds: Arc<Minds>,
}

/// How often each prompt was sent.
type Minds = Mutex<HashMap<String, usize>>;

impl Alias {
    pub(crate) fn new(ids: &'static [&'static str]) -> Self {
        let simulated = Simulated::new(SimulatedSettings::for_tests());
        Self { ids, simulated, minds: Arc::default() }
    }
}

#[async_trait]
impl AgentBackend for Alias {
    fn provider(&self) -> &'static str {
        "alias"
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let models = self.ids.iter().map(|id| ModelInfo {
            name: (*id).to_owned(),
            id: (*id).to_owned(),
            multiplier: 0.33,
            provider: None,
        });
        Ok(models.collect())
    }

    async fn start_session(
        &self,
        settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        if settings.model.starts_with("broken-") {
            return Err(AgentError::Unavailable("no login:\nrun “login”".to_owned()));
        }
        if settings.model.starts_with("slow-") {
            tokio::time::sleep(SLOW_START).await;
        }
        let settings = AgentSettings { model: MODEL.to_owned(), ..settings };
        let session = self.simulated.start_session(settings).await?;
        Ok(Box::new(AliasSession { session, minds: self.minds.clone() }))
    }

    async fn close(&self) {}
}

struct AliasSession {
    session: Box<dyn AgentSession>,
    minds: Arc<Minds>,
}

#[async_trait]
impl AgentSession for AliasSession {
    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        let parts: Vec<&str> = prompt.split(" | ").collect();
        let time = {
            let mut minds = self.minds.lock().unwrap_or_else(PoisonError::into_inner);
            let times = minds.entry(prompt.to_owned()).or_default();
            *times += 1;
            *times - 1
        };
        let part = parts[time.min(parts.len() - 1)];
        self.session.run_turn(part, abort).await
    }

    async fn stop(&self) {
        self.session.stop().await;
    }
}
