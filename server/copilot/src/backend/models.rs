//! The models that the CLI offers, and why it offers none.

use std::sync::Arc;
use std::time::Duration;

use agents::AgentError;
use agents::provider::KeySource;
use github_copilot_sdk::rpc::Model;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use wire::ModelInfo;

use super::PROVIDER;
use super::find::Places;
use super::launcher::{Launcher, NOT_INSTALLED};
use crate::settings::{CopilotSettings, OwnProvider};

/// How long a failure is remembered: every retry starts the CLI again.
const FAILURE_MEMORY: Duration = Duration::from_secs(10);

const NOT_LOGGED_IN: &str = "not logged in to GitHub Copilot: run `copilot login` in a terminal \
    (or start the portal with a token in COPILOT_GITHUB_TOKEN), then refresh";

/// The list of models, cached for a while.
pub(super) struct ModelList {
    settings: Arc<CopilotSettings>,
    /// Held while the CLI is queried, so that concurrent callers share one request.
    known: Mutex<Option<Known>>,
}

struct Known {
    until: Instant,
    models: Result<Vec<ModelInfo>, AgentError>,
}

impl ModelList {
    pub(super) fn new(settings: Arc<CopilotSettings>) -> Self {
        Self { settings, known: Mutex::default() }
    }

    /// The available models; empty if there is no CLI and none was configured. Cancel safe.
    pub(super) async fn get(&self, launcher: &Launcher) -> Result<Vec<ModelInfo>, AgentError> {
        let found =
            Places::new(self.settings.cli.clone()).find().map_err(AgentError::Unavailable)?;
        if let Some(own) = &self.settings.provider {
            found.ok_or_else(|| AgentError::Unavailable(NOT_INSTALLED.to_owned()))?;
            own.key.read().await.map_err(AgentError::Unavailable)?;
            return Ok(own_models(own));
        }
        if found.is_none() {
            return Ok(Vec::new());
        }
        let mut known = self.known.lock().await;
        if let Some(known) = &*known
            && Instant::now() < known.until
        {
            return known.models.clone();
        }
        let limits = &self.settings.limits;
        let asked = timeout(limits.listing, ask(launcher)).await;
        let models = asked.unwrap_or_else(|_| {
            let reason = "the Copilot CLI is not ready yet (the first time it unpacks itself); \
                          refresh in a moment";
            Err(AgentError::Unavailable(reason.to_owned()))
        });
        let memory = if models.is_ok() { limits.model_list } else { FAILURE_MEMORY };
        *known = Some(Known { until: Instant::now() + memory, models: models.clone() });
        models
    }
}

async fn ask(launcher: &Launcher) -> Result<Vec<ModelInfo>, AgentError> {
    let runtime = launcher.get().await?;
    let answer = match runtime.client.get_auth_status().await {
        Ok(status) if !status.is_authenticated => Err(NOT_LOGGED_IN.to_owned()),
        Ok(_) => match runtime.client.rpc().models().list().await {
            Ok(list) => Ok(list.models.iter().filter_map(info).collect()),
            Err(error) if error.to_string().contains("Not authenticated") => {
                Err(NOT_LOGGED_IN.to_owned())
            }
            Err(error) => Err(format!("the Copilot CLI lists no models: {error}")),
        },
        Err(error) => Err(format!("the Copilot CLI does not answer: {error}")),
    };
    if let Err(reason) = &answer {
        tracing::info!(reason, "no models of GitHub Copilot");
        // A CLI that is started after a login knows about it.
        launcher.retire(&runtime).await;
    }
    answer.map_err(AgentError::Unavailable)
}

/// Describes a model, if it may be used.
fn info(model: &Model) -> Option<ModelInfo> {
    let is_off = model.policy.as_ref().is_some_and(|policy| {
        serde_json::to_value(&policy.state).is_ok_and(|state| state == "disabled")
    });
    let multiplier = model.billing.as_ref().and_then(|billing| billing.multiplier);
    (!is_off).then(|| ModelInfo {
        id: model.id.clone(),
        name: if model.name.is_empty() { model.id.clone() } else { model.name.clone() },
        multiplier: multiplier.unwrap_or(1.0),
        provider: Some(PROVIDER.to_owned()),
    })
}

fn own_models(own: &OwnProvider) -> Vec<ModelInfo> {
    let usual = if matches!(own.key, KeySource::None) { 0.0 } else { 1.0 };
    let info = |model: &agents::provider::ProviderModel| ModelInfo {
        id: model.id.clone(),
        name: model.name.clone().unwrap_or_else(|| model.id.clone()),
        multiplier: model.multiplier.unwrap_or(usual),
        provider: Some(PROVIDER.to_owned()),
    };
    own.models.iter().map(info).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_listed_with_what_they_cost() {
        let list = json!([
            { "id": "free", "name": "Free", "billing": { "multiplier": 0.0 }, "capabilities": {} },
            { "id": "dear", "name": "Dear", "billing": { "multiplier": 10.0 }, "capabilities": {},
              "policy": { "state": "enabled" } },
            { "id": "plain", "name": "", "capabilities": {} },
            { "id": "off", "name": "Off", "capabilities": {}, "policy": { "state": "disabled" } },
        ]);
        let models: Vec<Model> = serde_json::from_value(list).expect("models");
        let models: Vec<_> = models.iter().filter_map(info).collect();
        let short: Vec<_> = models.iter().map(|m| (&*m.id, &*m.name, m.multiplier)).collect();
        assert_eq!(short, [("free", "Free", 0.0), ("dear", "Dear", 10.0), ("plain", "plain", 1.0)]);
    }
}
