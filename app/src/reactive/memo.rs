//! Values that follow from others.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude as leptos;
use leptos::{Get, GetUntracked};

use super::{Held, Readable, copy};

/// A value that is computed again when what it was computed from changes. Who follows it is told only if
/// it has become another one.
pub(crate) struct Memo<T> {
    inner: Inner,
    value: PhantomData<fn() -> T>,
}

copy!(Memo);

pub(super) type Inner = leptos::Memo<Computed>;

/// A value that can be compared with another one of its type.
#[derive(Clone)]
pub(crate) struct Computed(Arc<dyn Same>);

trait Same: Send + Sync {
    fn value(&self) -> &dyn Any;
    fn is_same(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + Send + Sync + 'static> Same for T {
    fn value(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl Computed {
    pub(super) fn value(&self) -> &dyn Any {
        self.0.value()
    }
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(other.value())
    }
}

impl<T: PartialEq + Send + Sync + 'static> Memo<T> {
    /// Computes it when it is looked at for the first time.
    pub(crate) fn new(compute: impl Fn(Option<&T>) -> T + Send + Sync + 'static) -> Self {
        Self { inner: new(Box::new(Computing(compute, PhantomData))), value: PhantomData }
    }
}

impl<T> Memo<T> {
    /// What it is for Leptos.
    pub(super) fn inner(self) -> Inner {
        self.inner
    }
}

impl<T: 'static> Readable for Memo<T> {
    type Value = T;

    fn hold(&self, tracked: bool) -> Option<Held> {
        hold_computed(self.inner, tracked)
    }
}

/// What computes a memo. A trait of its own, as a closure's has more in its table than is needed.
trait Compute: Send + Sync {
    fn compute(&self, before: Option<&Computed>) -> Computed;
}

struct Computing<T, F>(F, PhantomData<fn() -> T>);

impl<T, F> Compute for Computing<T, F>
where
    T: PartialEq + Send + Sync + 'static,
    F: Fn(Option<&T>) -> T + Send + Sync,
{
    fn compute(&self, before: Option<&Computed>) -> Computed {
        let before = before.and_then(|before| before.value().downcast_ref());
        Computed(Arc::new(self.0(before)))
    }
}

fn new(compute: Box<dyn Compute>) -> Inner {
    leptos::Memo::new(move |before| compute.compute(before))
}

pub(super) fn hold_computed(memo: Inner, tracked: bool) -> Option<Held> {
    let computed = if tracked { memo.try_get() } else { memo.try_get_untracked() };
    computed.map(Held::Computed)
}
