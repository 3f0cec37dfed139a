//! One answer as a signal that a page can draw, fetched when the page is there and again when asked.

use std::future::Future;

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::ApiError;

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load<T> {
    /// Still under way; also what the server renders.
    Pending,
    /// The answer.
    Ready(T),
    /// No answer, and why.
    Failed(ApiError),
}

/// A request that can be repeated.
pub(crate) struct Loader<T: 'static> {
    /// How far it has come. While it is repeated, the old answer stays.
    pub(crate) state: ReadSignal<Load<T>>,
    again: RwSignal<u32>,
}

// By hand: deriving them would ask the same of `T`.
impl<T> Clone for Loader<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Loader<T> {}

impl<T: Clone + Send + Sync + 'static> Loader<T> {
    /// Sends the request once the page is hydrated. An answer that comes after the page was left
    /// finds its signal disposed and is dropped.
    pub(crate) fn new<F>(request: impl Fn() -> F + 'static) -> Self
    where
        F: Future<Output = Result<T, ApiError>> + 'static,
    {
        let (state, set_state) = signal(Load::Pending);
        let again = RwSignal::new(0);
        Effect::new(move |_| {
            again.track();
            let answer = request();
            spawn_local(async move {
                let _ = set_state.try_set(match answer.await {
                    Ok(value) => Load::Ready(value),
                    Err(error) => Load::Failed(error),
                });
            });
        });
        Self { state, again }
    }

    /// Sends the request again.
    pub(crate) fn reload(&self) {
        self.again.update(|times| *times += 1);
    }
}
