//! One more provider: a simulated model under ids of the test's choice.

use async_trait::async_trait;
use engine::agent::simulated::{Simulated, SimulatedSettings};
use engine::agent::{AgentBackend, AgentError, AgentSession, AgentSettings};
use wire::ModelInfo;

use crate::MODEL;

pub(crate) struct Alias {
    ids: &'static [&'static str],
    simulated: Simulated,
}

impl Alias {
    pub(crate) fn new(ids: &'static [&'static str]) -> Self {
        Self { ids, simulated: Simulated::new(SimulatedSettings::for_tests()) }
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
        let settings = AgentSettings { model: MODEL.to_owned(), ..settings };
        self.simulated.start_session(settings).await
    }

    async fn close(&self) {}
}
