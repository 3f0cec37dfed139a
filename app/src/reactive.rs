//! Signals whose machinery is compiled once, for all pages and components.
//!
//! ```text
//!  RwSignal<T> ─┐  with, get: casts       ┌─ Leptos' signal of a Slot
//!  Memo<T> ─────┼─► Readable, in each type ─►─┼─ Leptos' memo of a Computed ──► Leptos' graph
//!  Signal<T> ───┘                         └─ a closure
//! ```
//!
//! Leptos' types are used as they are, but with one type of value each, behind the types of this
//! module. Used directly, each type of value and each closure that reads one is another copy of the
//! whole machinery in the download: those were a third of it. The names and what they do are those of
//! Leptos, so `use crate::reactive::prelude::*` stands where others write `use leptos::prelude::*`.

mod callback;
mod cell;
mod effect;
mod memo;
mod node_ref;
pub(crate) mod prelude;
mod signal;
mod stored;
#[cfg(test)]
mod tests;

use std::any::Any;

use leptos::reactive::signal::guards::{Plain, ReadGuard, UntrackedWriteGuard};

use cell::RwSignal;
use effect::untrack;
use memo::{Computed, Memo};
use stored::StoredValue;

/// A value of any type.
type Slot = Box<dyn Any + Send + Sync>;

/// What a disposed signal says to who reads it all the same.
const DISPOSED: &str = "nobody reads a signal of a page that was left";

/// What is looked at, while it is looked at.
pub(crate) enum Held {
    Slot(ReadGuard<Slot, Plain<Slot>>),
    Computed(Computed),
    Derived(Slot),
}

impl Held {
    /// The value, which is known to be of this type.
    #[inline(never)]
    fn value<T: 'static>(&self) -> &T {
        self.any().downcast_ref().expect(OTHER_TYPE)
    }

    fn any(&self) -> &dyn Any {
        match self {
            Self::Slot(slot) => &***slot,
            Self::Computed(computed) => computed.value(),
            Self::Derived(slot) => &**slot,
        }
    }
}

/// What can't be wrong: the types are those with which a signal was made.
const OTHER_TYPE: &str = "a signal holds what it was made for";

/// The value of a slot, which is known to be of this type.
#[inline(never)]
fn value_mut<T: 'static>(slot: &mut Slot) -> &mut T {
    slot.downcast_mut().expect(OTHER_TYPE)
}

fn present(held: Option<Held>) -> Held {
    held.expect(DISPOSED)
}

/// Reading of something that changes.
pub(crate) trait Readable {
    /// What it holds.
    type Value: 'static;

    /// Holds the value as it is; `None` if it was disposed. If it is tracked, who looks is told of
    /// changes.
    fn hold(&self, tracked: bool) -> Option<Held>;

    /// Looks at the value; `None` if it was disposed.
    fn try_with<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> Option<R> {
        Some(see(self.hold(true)?.value()))
    }

    /// Looks at the value without following it; `None` if it was disposed.
    fn try_with_untracked<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> Option<R> {
        Some(see(self.hold(false)?.value()))
    }

    /// Looks at the value.
    fn with<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> R {
        see(present(self.hold(true)).value())
    }

    /// Looks at the value without following it.
    fn with_untracked<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> R {
        see(present(self.hold(false)).value())
    }

    /// A copy of the value.
    #[inline(never)]
    fn get(&self) -> Self::Value
    where
        Self::Value: Clone,
    {
        self.with(Clone::clone)
    }

    /// A copy of the value, which is not followed.
    #[inline(never)]
    fn get_untracked(&self) -> Self::Value
    where
        Self::Value: Clone,
    {
        self.with_untracked(Clone::clone)
    }

    /// A copy of the value, which is not followed; `None` if it was disposed.
    #[inline(never)]
    fn try_get_untracked(&self) -> Option<Self::Value>
    where
        Self::Value: Clone,
    {
        self.try_with_untracked(Clone::clone)
    }

    /// Follows the value.
    fn track(&self) {
        self.hold(true);
    }
}

/// Changing of something that can be looked at.
pub(crate) trait Writable: Readable {
    /// Holds the value to change it; `None` if it was disposed.
    fn hold_mut(&self) -> Option<UntrackedWriteGuard<Slot>>;

    /// Replaces the value; gives it back if it was disposed.
    fn try_set(&self, value: Self::Value) -> Option<Self::Value>;

    /// Tells who follows it that it has changed.
    fn notify(&self);

    /// Replaces the value.
    fn set(&self, value: Self::Value) {
        self.try_set(value);
    }

    /// Changes the value; `None` if it was disposed.
    fn try_update<R>(&self, change: impl FnOnce(&mut Self::Value) -> R) -> Option<R> {
        let result = self.try_update_untracked(change)?;
        self.notify();
        Some(result)
    }

    /// Changes the value, and tells nobody; `None` if it was disposed.
    fn try_update_untracked<R>(&self, change: impl FnOnce(&mut Self::Value) -> R) -> Option<R> {
        Some(change(value_mut(&mut *self.hold_mut()?)))
    }

    /// Changes the value.
    fn update(&self, change: impl FnOnce(&mut Self::Value)) {
        self.try_update(change);
    }
}

/// By hand, because deriving would require the same traits of `T`.
macro_rules! copy {
    ($($type:ident)*) => {$(
        impl<T> Clone for $type<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $type<T> {}
    )*};
}
use copy;
