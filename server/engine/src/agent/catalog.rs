//! All backends of a server, and which of them serves a model.

use std::collections::HashSet;
use std::sync::Arc;

use wire::{Models, ProviderProblem};

use super::AgentBackend;

/// The backends of a server, the preferred ones first.
#[derive(Clone)]
pub struct Catalog {
    backends: Arc<[Arc<dyn AgentBackend>]>,
}

impl Catalog {
    /// Of two models with the same id, that of the earlier backend counts.
    pub fn new(backends: impl IntoIterator<Item = Arc<dyn AgentBackend>>) -> Self {
        Self { backends: backends.into_iter().collect() }
    }

    /// The models of all backends, sorted by name, and the backends that could not list theirs.
    pub async fn models(&self) -> Models {
        let mut known = HashSet::new();
        let mut list = Models::default();
        for backend in &*self.backends {
            match backend.list_models().await {
                Ok(models) => list
                    .models
                    .extend(models.into_iter().filter(|model| known.insert(model.id.clone()))),
                Err(error) => list.problems.push(ProviderProblem {
                    provider: backend.provider().to_owned(),
                    message: error.to_string(),
                }),
            }
        }
        list.models.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        list
    }

    /// The backend that serves a model.
    ///
    /// A backend that cannot list its models is passed over: the others go on.
    pub async fn find(&self, model_id: &str) -> Option<Arc<dyn AgentBackend>> {
        for backend in &*self.backends {
            let models = backend.list_models().await;
            if models.is_ok_and(|models| models.iter().any(|model| model.id == model_id)) {
                return Some(backend.clone());
            }
        }
        None
    }

    /// Closes the backends, whose sessions have been stopped.
    pub async fn close(&self) {
        for backend in &*self.backends {
            backend.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use wire::ModelInfo;

    use super::*;
    use crate::agent::{AgentError, AgentSession, AgentSettings};

    struct Listing(Result<Vec<(&'static str, &'static str)>, AgentError>);

    #[async_trait]
    impl AgentBackend for Listing {
        fn provider(&self) -> &'static str {
            "listing"
        }

        async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
            let models = self.0.clone()?;
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

    #[tokio::test]
    async fn a_backend_that_fails_is_shown_and_the_others_go_on() {
        let catalog = Catalog::new([
            Arc::new(Listing(Ok(vec![("Z", "z"), ("B", "same")]))) as Arc<dyn AgentBackend>,
            Arc::new(Listing(Err(AgentError::Unavailable("no login".to_owned())))),
            Arc::new(Listing(Ok(vec![("A", "a"), ("C", "same")]))),
        ]);
        let list = catalog.models().await;
        let names: Vec<_> = list.models.iter().map(|model| &*model.name).collect();
        assert_eq!(names, ["A", "B", "Z"]);
        assert_eq!(list.problems.len(), 1);
        assert_eq!(list.problems[0].message, "no login");
        assert!(catalog.find("a").await.is_some());
        assert!(catalog.find("unknown").await.is_none());
    }
}
