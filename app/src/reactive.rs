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

use cell::RwSignal;
use effect::untrack;
use memo::Memo;
use stored::StoredValue;

/// A value of any type.
type Slot = Box<dyn Any + Send + Sync>;

/// What a disposed signal says to who reads it all the same.
const DISPOSED: &str = "nobody reads a signal of a page that was left";

/// Reading of something that changes.
pub(crate) trait Readable {
    /// What it holds.
    type Value: 'static;

    /// Shows the value, unless it was disposed. If it is tracked, who looks is told of changes.
    fn look(&self, tracked: bool, see: &mut dyn FnMut(&Self::Value));

    /// Looks at the value; `None` if it was disposed.
    fn try_with<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> Option<R> {
        once(see, |see| self.look(true, see))
    }

    /// Looks at the value without following it; `None` if it was disposed.
    fn try_with_untracked<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> Option<R> {
        once(see, |see| self.look(false, see))
    }

    /// Looks at the value.
    fn with<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> R {
        self.try_with(see).expect(DISPOSED)
    }

    /// Looks at the value without following it.
    fn with_untracked<R>(&self, see: impl FnOnce(&Self::Value) -> R) -> R {
        self.try_with_untracked(see).expect(DISPOSED)
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
        self.look(true, &mut |_| ());
    }
}

/// Changing of something that can be looked at.
pub(crate) trait Writable: Readable {
    /// Lets the value be changed, unless it was disposed; then tells who follows it if wished.
    fn change(&self, tells: bool, change: &mut dyn FnMut(&mut Self::Value));

    /// Replaces the value; gives it back if it was disposed.
    fn try_set(&self, value: Self::Value) -> Option<Self::Value>;

    /// Replaces the value.
    fn set(&self, value: Self::Value) {
        self.try_set(value);
    }

    /// Changes the value; `None` if it was disposed.
    fn try_update<R>(&self, change: impl FnOnce(&mut Self::Value) -> R) -> Option<R> {
        once_mut(change, |change| self.change(true, change))
    }

    /// Changes the value, and tells nobody; `None` if it was disposed.
    fn try_update_untracked<R>(&self, change: impl FnOnce(&mut Self::Value) -> R) -> Option<R> {
        once_mut(change, |change| self.change(false, change))
    }

    /// Changes the value.
    fn update(&self, change: impl FnOnce(&mut Self::Value)) {
        self.try_update(change);
    }

    /// Tells who follows it that it has changed.
    fn notify(&self) {
        self.change(true, &mut |_| ());
    }
}

/// Passes a closure that is called at most once as one that may be called more often, which needs no
/// type of its own for each closure.
fn once<T, R>(see: impl FnOnce(&T) -> R, call: impl FnOnce(&mut dyn FnMut(&T))) -> Option<R> {
    let (mut see, mut result) = (Some(see), None);
    call(&mut |value| result = see.take().map(|see| see(value)));
    result
}

/// As [`once`], for what changes.
fn once_mut<T, R>(
    change: impl FnOnce(&mut T) -> R,
    call: impl FnOnce(&mut dyn FnMut(&mut T)),
) -> Option<R> {
    let (mut change, mut result) = (Some(change), None);
    call(&mut |value| result = change.take().map(|change| change(value)));
    result
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
