//! Values that nobody follows.

use std::marker::PhantomData;

use leptos::prelude as leptos;
use leptos::{IsDisposed, ReadValue, WriteValue};

use super::{DISPOSED, Held, Slot, copy, value_mut};

/// A value that lives as long as the owner in which it was made. Its changes tell nobody.
pub(crate) struct StoredValue<T> {
    inner: leptos::StoredValue<Slot>,
    value: PhantomData<fn(T) -> T>,
}

copy!(StoredValue);

impl<T: Send + Sync + 'static> StoredValue<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { inner: leptos::StoredValue::new(Box::new(value)), value: PhantomData }
    }

    /// Looks at the value; `None` if it was disposed.
    pub(crate) fn try_with_value<R>(self, see: impl FnOnce(&T) -> R) -> Option<R> {
        Some(see(self.inner.try_read_value().map(Held::Slot)?.value()))
    }

    /// Looks at the value.
    pub(crate) fn with_value<R>(self, see: impl FnOnce(&T) -> R) -> R {
        self.try_with_value(see).expect(DISPOSED)
    }

    /// A copy of the value; `None` if it was disposed.
    pub(crate) fn try_get_value(self) -> Option<T>
    where
        T: Clone,
    {
        self.try_with_value(Clone::clone)
    }

    /// A copy of the value.
    pub(crate) fn get_value(self) -> T
    where
        T: Clone,
    {
        self.with_value(Clone::clone)
    }

    /// Changes the value; `None` if it was disposed.
    pub(crate) fn try_update_value<R>(self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        Some(change(value_mut(&mut *self.inner.try_write_value()?)))
    }

    /// Changes the value.
    pub(crate) fn update_value(self, change: impl FnOnce(&mut T)) {
        self.try_update_value(change);
    }

    /// Replaces the value; gives it back if it was disposed.
    pub(crate) fn try_set_value(self, value: T) -> Option<T> {
        let mut value = Some(value);
        self.try_update_value(|old| value.take().into_iter().for_each(|value| *old = value));
        value
    }

    /// Replaces the value.
    pub(crate) fn set_value(self, value: T) {
        self.try_set_value(value);
    }
}

impl<T> StoredValue<T> {
    /// Whether its owner is gone.
    pub(crate) fn is_disposed(self) -> bool {
        self.inner.is_disposed()
    }
}
