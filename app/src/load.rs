//! One answer fetched once, as a signal that a page can draw.

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

/// Sends a request once the page is hydrated. An answer that comes after the page was left
/// finds its signal disposed and is dropped.
pub(crate) fn load<T, F>(request: impl Fn() -> F + 'static) -> ReadSignal<Load<T>>
where
    T: Clone + Send + Sync + 'static,
    F: Future<Output = Result<T, ApiError>> + 'static,
{
    let (state, set_state) = signal(Load::Pending);
    Effect::new(move |_| {
        let answer = request();
        spawn_local(async move {
            let _ = set_state.try_set(match answer.await {
                Ok(value) => Load::Ready(value),
                Err(error) => Load::Failed(error),
            });
        });
    });
    state
}
