//! What a component tells who uses it.

use std::sync::Arc;

use super::StoredValue;

/// A closure that lives as long as the owner in which it was made.
pub(crate) struct Callback<A, R = ()>(StoredValue<Arc<dyn Fn(A) -> R + Send + Sync>>);

impl<A, R> Clone for Callback<A, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, R> Copy for Callback<A, R> {}

impl<A: 'static, R: 'static> Callback<A, R> {
    pub(crate) fn new(call: impl Fn(A) -> R + Send + Sync + 'static) -> Self {
        Self(StoredValue::new(Arc::new(call)))
    }

    /// Calls it.
    pub(crate) fn run(&self, argument: A) -> R {
        self.0.get_value()(argument)
    }
}
