//! A response as a signal, fetched once the page is hydrated and again on request.

use std::future::Future;

use crate::api::ApiError;
use crate::reactive::prelude::*;

/// The state of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load<T> {
    /// Under way; also what the server renders.
    Pending,
    Ready(T),
    Failed(ApiError),
}

/// A request that can be repeated.
pub(crate) struct Loader<T: 'static> {
    /// The state of the request. While it is repeated, the old response stays.
    pub(crate) state: RwSignal<Load<T>>,
    again: RwSignal<u32>,
}

// By hand, because deriving would require the same traits of `T`.
impl<T> Clone for Loader<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Loader<T> {}

impl<T: Clone + Send + Sync + 'static> Loader<T> {
    /// Sends the request once the page is hydrated. If the page is left before the response
    /// arrives, the response is dropped.
    pub(crate) fn new<F>(request: impl Fn() -> F + 'static) -> Self
    where
        F: Future<Output = Result<T, ApiError>> + 'static,
    {
        let state = RwSignal::new(Load::Pending);
        let again = RwSignal::new(0);
        Effect::new(move |_| {
            again.track();
            send(request(), state);
        });
        Self { state, again }
    }

    /// Like [`Self::new`], but only once a flag is set.
    pub(crate) fn when<F>(flag: RwSignal<bool>, request: impl Fn() -> F + 'static) -> Self
    where
        F: Future<Output = Result<T, ApiError>> + 'static,
    {
        let state = RwSignal::new(Load::Pending);
        let again = RwSignal::new(0);
        Effect::new(move |_| {
            again.track();
            if flag.get() {
                send(request(), state);
            }
        });
        Self { state, again }
    }

    /// Sends the request again.
    pub(crate) fn reload(&self) {
        self.again.update(|times| *times += 1);
    }
}

fn send<T: Send + Sync + 'static>(
    answer: impl Future<Output = Result<T, ApiError>> + 'static,
    state: RwSignal<Load<T>>,
) {
    spawn_local(async move {
        let _ = state.try_set(match answer.await {
            Ok(value) => Load::Ready(value),
            Err(error) => Load::Failed(error),
        });
    });
}
