//! Values that are changed from outside.

use std::marker::PhantomData;

use ::leptos::reactive::signal::guards::UntrackedWriteGuard;
use leptos::prelude as leptos;
use leptos::{IsDisposed, Notify, Read, ReadUntracked, Set, Write};

use super::{Held, Readable, Slot, Writable, copy};

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
    pub(crate) fn is_disposed(self) -> bool {
        self.inner.is_disposed()
    }

    /// What it is for Leptos.
    pub(super) fn inner(self) -> leptos::RwSignal<Slot> {
        self.inner
    }
}

/// What is the same for both. The functions about slots exist once for each.
macro_rules! cells {
    ($($cell:ident: $hold:ident;)*) => {$(
        impl<T: Send + Sync + 'static> $cell<T> {
            pub(crate) fn new(value: T) -> Self {
                Self { inner: leptos::$cell::new(Box::new(value)), value: PhantomData }
            }
        }

        impl<T: 'static> Readable for $cell<T> {
            type Value = T;

            fn hold(&self, tracked: bool) -> Option<Held> {
                $hold(&self.inner, tracked)
            }
        }

        impl<T: Send + Sync + 'static> Writable for $cell<T> {
            fn hold_mut(&self) -> Option<UntrackedWriteGuard<Slot>> {
                self.inner.try_write_untracked()
            }

            #[inline(never)]
            fn try_set(&self, value: T) -> Option<T> {
                let refused = self.inner.try_set(Box::new(value))?;
                refused.downcast().ok().map(|value| *value)
            }

            fn notify(&self) {
                self.inner.notify();
            }
        }

        pub(super) fn $hold(cell: &leptos::$cell<Slot>, tracked: bool) -> Option<Held> {
            let slot = if tracked { cell.try_read() } else { cell.try_read_untracked() };
            slot.map(Held::Slot)
        }
    )*};
}

cells! {
    RwSignal: hold_owned;
    ArcRwSignal: hold_shared;
}
