//! Values that are changed from outside.

use std::any::Any;
use std::marker::PhantomData;

use leptos::prelude as leptos;
use leptos::{Notify, Set, UpdateUntracked, With, WithUntracked};

use super::{Change, Look, Slot, copy};

/// A value that lives as long as the owner in which it was made.
pub(crate) struct RwSignal<T> {
    inner: leptos::RwSignal<Slot>,
    value: PhantomData<fn(T) -> T>,
}

/// A value that lives as long as somebody holds it.
pub(crate) struct ArcRwSignal<T> {
    inner: leptos::ArcRwSignal<Slot>,
    value: PhantomData<fn(T) -> T>,
}

copy!(RwSignal);

impl<T> Clone for ArcRwSignal<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), value: PhantomData }
    }
}

impl<T> From<ArcRwSignal<T>> for RwSignal<T> {
    fn from(signal: ArcRwSignal<T>) -> Self {
        Self { inner: signal.inner.into(), value: PhantomData }
    }
}

impl<T> RwSignal<T> {
    /// Whether its owner is gone.
    pub(crate) fn is_disposed(&self) -> bool {
        leptos::IsDisposed::is_disposed(&self.inner)
    }

    /// What it is for Leptos.
    pub(super) fn inner(self) -> leptos::RwSignal<Slot> {
        self.inner
    }
}

impl<T: Default + Send + Sync + 'static> Default for RwSignal<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// What can be done with a signal of slots; compiled once for each of both.
pub(super) trait Cell {
    fn see(&self, tracked: bool, see: &mut dyn FnMut(&dyn Any));
    fn change(&self, tells: bool, change: &mut dyn FnMut(&mut dyn Any));
    fn replace(&self, value: Slot) -> Option<Slot>;
}

macro_rules! cells {
    ($($inner:ident $outer:ident)*) => {$(
        impl Cell for leptos::$inner<Slot> {
            #[inline(never)]
            fn see(&self, tracked: bool, see: &mut dyn FnMut(&dyn Any)) {
                let see = |slot: &Slot| see(&**slot);
                if tracked { self.try_with(see) } else { self.try_with_untracked(see) };
            }

            #[inline(never)]
            fn change(&self, tells: bool, change: &mut dyn FnMut(&mut dyn Any)) {
                let changed = self.try_update_untracked(|slot| change(&mut **slot));
                if tells && changed.is_some() {
                    self.notify();
                }
            }

            #[inline(never)]
            fn replace(&self, value: Slot) -> Option<Slot> {
                self.try_set(value)
            }
        }

        impl<T: Send + Sync + 'static> $outer<T> {
            pub(crate) fn new(value: T) -> Self {
                Self { inner: new(Box::new(value)), value: PhantomData }
            }
        }
    )*};
}

cells!(RwSignal RwSignal ArcRwSignal ArcRwSignal);
