//! The models of a provider: those in the settings, or those that it lists.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::client::Client;
use super::failure::{Failure, shorten};
use crate::provider::ProviderModel;

/// How long a failure is remembered: reloading a page must not wait for it again, but a provider
/// that was just started should be found.
const FAILURE_MEMORY: Duration = Duration::from_secs(3);

/// The list of models, cached for a while.
pub(super) struct ModelList {
    client: Arc<Client>,
    /// Held while the provider is queried, so that concurrent callers share one request.
    known: Mutex<Option<Known>>,
}

struct Known {
    until: Instant,
    models: Result<Arc<[ProviderModel]>, Failure>,
}

impl ModelList {
    pub(super) fn new(client: Arc<Client>) -> Self {
        Self { client, known: Mutex::default() }
    }

    /// The available models. Cancel safe.
    pub(super) async fn get(&self) -> Result<Arc<[ProviderModel]>, Failure> {
        let settings = self.client.settings();
        if !settings.models.is_empty() {
            self.client.check_key().await?;
            return Ok(settings.models.clone().into());
        }
        let mut known = self.known.lock().await;
        if let Some(known) = &*known
            && Instant::now() < known.until
        {
            return known.models.clone();
        }
        let models = self.client.models().await.and_then(|list| read(&list));
        let memory = match &models {
            Ok(_) => settings.limits.model_list,
            Err(failure) => {
                let reason = self.client.describe(failure);
                tracing::warn!(
                    provider = settings.name,
                    reason,
                    "cannot list the models of a provider"
                );
                FAILURE_MEMORY
            }
        };
        *known = Some(Known { until: Instant::now() + memory, models: models.clone() });
        models
    }
}

/// The usual `{"data":[{"id"}]}`, a bare list, or `{"models":[…]}`.
fn read(list: &Value) -> Result<Arc<[ProviderModel]>, Failure> {
    let named = ["data", "models"].into_iter().find_map(|name| list.get(name)?.as_array());
    let entries = named.or(list.as_array());
    let entries = entries.ok_or_else(|| {
        Failure::Garbled(format!("not a list of models: {}", shorten(&list.to_string())))
    })?;
    let mut ids = HashSet::new();
    Ok(entries.iter().filter_map(model).filter(|model| ids.insert(model.id.clone())).collect())
}

fn model(entry: &Value) -> Option<ProviderModel> {
    let text = |name: &str| entry.get(name)?.as_str().filter(|text| !text.is_empty());
    let id = entry.as_str().or_else(|| text("id")).or_else(|| text("name"))?;
    let windows = ["context_length", "context_window", "max_model_len", "max_context_length"];
    Some(ProviderModel {
        id: id.to_owned(),
        name: text("name").or_else(|| text("display_name")).map(str::to_owned),
        multiplier: None,
        context_window: windows.into_iter().find_map(|name| entry.get(name)?.as_u64()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_come_in_several_shapes() {
        for list in [
            json!({ "object": "list", "data": [{ "id": "a" }, { "id": "b" }, { "id": "a" }] }),
            json!({ "models": [{ "name": "a" }, { "id": "b", "object": "model" }] }),
            json!([{ "id": "a" }, "b", { "id": "" }, 7]),
        ] {
            let models = read(&list).expect("a list");
            let ids: Vec<_> = models.iter().map(|model| &*model.id).collect();
            assert_eq!(ids, ["a", "b"], "{list}");
        }
        let entry = json!([{ "id": "a", "name": "A", "context_length": 8192 }]);
        let models = read(&entry).expect("a list");
        assert_eq!(models[0].name.as_deref(), Some("A"));
        assert_eq!(models[0].context_window, Some(8192));
    }

    #[test]
    fn other_answers_are_no_lists() {
        for list in [json!({}), json!({ "data": null }), json!("models"), json!(null)] {
            assert!(matches!(read(&list), Err(Failure::Garbled(_))), "{list}");
        }
    }
}
