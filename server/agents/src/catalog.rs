//! All backends of a server, and which of them serves a model.
//!
//! Two providers can have a model with the same id. The earlier provider keeps the id; the later
//! one's model is listed as `provider/id`. Every model is also found by that longer id, listed or
//! not, so that a caller can pin the provider.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use wire::{ModelInfo, Models, ProviderProblem};

use crate::contract::{AgentBackend, AgentError};

/// The backends of a server, the preferred ones first.
#[derive(Clone)]
pub struct Catalog {
    backends: Arc<[Arc<dyn AgentBackend>]>,
}

/// The backend that serves a model, and the model's id there.
pub struct Found {
    /// The backend that serves the model.
    pub backend: Arc<dyn AgentBackend>,
    /// The model's id within the backend.
    pub model_id: String,
}

impl Catalog {
    /// If two backends have a model with the same id, the earlier backend keeps it.
    pub fn new(backends: impl IntoIterator<Item = Arc<dyn AgentBackend>>) -> Self {
        Self { backends: backends.into_iter().collect() }
    }

    /// The models of all backends, sorted by name, and the backends that could not list theirs.
    pub async fn models(&self) -> Models {
        let mut ids = HashSet::new();
        let mut list = Models::default();
        // Concurrently: a backend that is unreachable takes its time to fail.
        let answers = join_all(self.backends.iter().map(|backend| backend.list_models())).await;
        for (backend, answer) in self.backends.iter().zip(answers) {
            match answer {
                Ok(models) => list.models.extend(models.into_iter().filter_map(|model| {
                    let id = listed_id(&**backend, &model, &mut ids)?;
                    Some(ModelInfo { id, ..model })
                })),
                Err(error) => list.problems.push(problem(&**backend, &error)),
            }
        }
        list.models.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        list
    }

    /// Finds the backend that serves a model.
    ///
    /// A backend that cannot list its models is skipped, so that the others stay usable.
    pub async fn find(&self, model_id: &str) -> Option<Found> {
        let mut ids = HashSet::new();
        let mut by_longer_id = None;
        for backend in &*self.backends {
            let Ok(models) = backend.list_models().await else {
                continue;
            };
            for model in models {
                let listed = listed_id(&**backend, &model, &mut ids);
                let found = || Found { backend: backend.clone(), model_id: model.id.clone() };
                if listed.as_deref() == Some(model_id) {
                    return Some(found());
                }
                if by_longer_id.is_none() && longer_id(&**backend, &model) == model_id {
                    by_longer_id = Some(found());
                }
            }
        }
        by_longer_id
    }

    /// Closes all backends. Their sessions must have been stopped before.
    pub async fn close(&self) {
        for backend in &*self.backends {
            backend.close().await;
        }
    }
}

/// The id under which a model is listed, given the ids listed before it.
fn listed_id(
    backend: &dyn AgentBackend,
    model: &ModelInfo,
    ids: &mut HashSet<String>,
) -> Option<String> {
    let free = [model.id.clone(), longer_id(backend, model)];
    free.into_iter().find(|id| ids.insert(id.clone()))
}

fn longer_id(backend: &dyn AgentBackend, model: &ModelInfo) -> String {
    format!("{}/{}", backend.provider(), model.id)
}

fn problem(backend: &dyn AgentBackend, error: &AgentError) -> ProviderProblem {
    ProviderProblem { provider: backend.provider().to_owned(), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::contract::{AgentSession, AgentSettings};

    struct Listing(&'static str, Result<Vec<(&'static str, &'static str)>, AgentError>);

    #[async_trait]
    impl AgentBackend for Listing {
        fn provider(&self) -> &'static str {
            self.0
        }

        async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
            let models = self.1.clone()?;
            Ok(models
                .into_iter()
                .map(|(name, id)| ModelInfo {
                    name: name.to_owned(),
                    id: id.to_owned(),
                    multiplier: 0.0,
                    provider: None,
                })
                .collect())
        }

        async fn start_session(
            &self,
            _settings: AgentSettings,
        ) -> Result<Box<dyn AgentSession>, AgentError> {
            Err(AgentError::Unavailable("only lists".to_owned()))
        }

        async fn close(&self) {}
    }

    fn listing(
        provider: &'static str,
        models: Result<Vec<(&'static str, &'static str)>, AgentError>,
    ) -> Arc<dyn AgentBackend> {
        Arc::new(Listing(provider, models))
    }

    #[tokio::test]
    async fn a_backend_that_fails_is_shown_and_the_others_go_on() {
        let catalog = Catalog::new([
            listing("one", Ok(vec![("Z", "z"), ("B", "same")])),
            listing("two", Err(AgentError::Unavailable("no login".to_owned()))),
            listing("three", Ok(vec![("A", "a")])),
        ]);
        let list = catalog.models().await;
        let names: Vec<_> = list.models.iter().map(|model| &*model.name).collect();
        assert_eq!(names, ["A", "B", "Z"]);
        assert_eq!(list.problems.len(), 1);
        assert_eq!(list.problems[0].provider, "two");
        assert_eq!(list.problems[0].message, "no login");
        assert!(catalog.find("a").await.is_some());
        assert!(catalog.find("unknown").await.is_none());
    }

    #[tokio::test]
    async fn of_two_models_with_one_id_the_later_one_has_a_longer_id() {
        let catalog = Catalog::new([
            listing("one", Ok(vec![("A", "same"), ("B", "b")])),
            listing("two", Ok(vec![("C", "same"), ("D", "one/b"), ("E", "e")])),
            listing("three", Ok(vec![("F", "same")])),
        ]);
        let list = catalog.models().await;
        let ids: Vec<_> = list.models.iter().map(|model| &*model.id).collect();
        assert_eq!(ids, ["same", "b", "two/same", "one/b", "e", "three/same"]);
        for (id, provider, own) in [
            ("same", "one", "same"),
            ("two/same", "two", "same"),
            ("three/same", "three", "same"),
            ("one/same", "one", "same"),
            ("two/e", "two", "e"),
            ("one/b", "two", "one/b"),
        ] {
            let found = catalog.find(id).await.expect(id);
            assert_eq!((found.backend.provider(), &*found.model_id), (provider, own), "{id}");
        }
    }
}
