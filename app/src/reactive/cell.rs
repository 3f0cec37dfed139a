//! Values that are changed from outside.

use std::any::Any;
use std::marker::PhantomData;

use leptos::prelude as leptos;
use leptos::{IsDisposed, Notify, Set, UpdateUntracked, With, WithUntracked};

use super::{Readable, Slot, Writable, copy};

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
    ($($cell:ident: $see:ident $change:ident;)*) => {$(
        impl<T: Send + Sync + 'static> $cell<T> {
            pub(crate) fn new(value: T) -> Self {
                Self { inner: leptos::$cell::new(Box::new(value)), value: PhantomData }
            }
        }

        impl<T: 'static> Readable for $cell<T> {
            type Value = T;

            fn look(&self, tracked: bool, see: &mut dyn FnMut(&T)) {
                $see(&self.inner, tracked, &mut |slot| {
                    slot.downcast_ref().into_iter().for_each(&mut *see);
                });
            }
        }

        impl<T: Send + Sync + 'static> Writable for $cell<T> {
            fn change(&self, tells: bool, change: &mut dyn FnMut(&mut T)) {
                $change(&self.inner, tells, &mut |slot| {
                    slot.downcast_mut().into_iter().for_each(&mut *change);
                });
            }

            #[inline(never)]
            fn try_set(&self, value: T) -> Option<T> {
                let refused = self.inner.try_set(Box::new(value))?;
                refused.downcast().ok().map(|value| *value)
            }
        }

        pub(super) fn $see(
            cell: &leptos::$cell<Slot>,
            tracked: bool,
            see: &mut dyn FnMut(&dyn Any),
        ) {
            let see = |slot: &Slot| see(&**slot);
            if tracked { cell.try_with(see) } else { cell.try_with_untracked(see) };
        }

        fn $change(
            cell: &leptos::$cell<Slot>,
            tells: bool,
            change: &mut dyn FnMut(&mut dyn Any),
        ) {
            let changed = cell.try_update_untracked(|slot| change(&mut **slot));
            if tells && changed.is_some() {
                cell.notify();
            }
        }
    )*};
}

cells! {
    RwSignal: see_owned change_owned;
    ArcRwSignal: see_shared change_shared;
}
