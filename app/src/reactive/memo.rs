//! Values that follow from others.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude as leptos;
use leptos::{With, WithUntracked};

use super::{Readable, copy};

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
pub(super) struct Computed(Arc<dyn Same>);

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

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(other.0.value())
    }
}

impl<T: PartialEq + Send + Sync + 'static> Memo<T> {
    /// Computes it when it is looked at for the first time.
    pub(crate) fn new(compute: impl Fn(Option<&T>) -> T + Send + Sync + 'static) -> Self {
        let inner = new(Box::new(move |before| {
            let before = before.and_then(|before| before.0.value().downcast_ref());
            Computed(Arc::new(compute(before)))
        }));
        Self { inner, value: PhantomData }
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

    fn look(&self, tracked: bool, see: &mut dyn FnMut(&T)) {
        see_computed(self.inner, tracked, &mut |value| {
            value.downcast_ref().into_iter().for_each(&mut *see);
        });
    }
}

type Compute = Box<dyn Fn(Option<&Computed>) -> Computed + Send + Sync>;

fn new(compute: Compute) -> Inner {
    leptos::Memo::new(compute)
}

pub(super) fn see_computed(memo: Inner, tracked: bool, see: &mut dyn FnMut(&dyn Any)) {
    let see = |computed: &Computed| see(computed.0.value());
    if tracked {
        memo.try_with(see)
    } else {
        memo.try_with_untracked(see)
    };
}
