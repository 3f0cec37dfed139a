//! Values of which it does not matter where they come from.

use std::marker::PhantomData;
use std::sync::Arc;

use leptos::WithValue;
use leptos::prelude as leptos;

use super::cell::see_owned;
use super::memo::{Inner, see_computed};
use super::{Memo, Readable, RwSignal, Slot, copy, untrack};

/// A value that somebody else changes or computes.
pub(crate) struct Signal<T> {
    source: Source,
    value: PhantomData<fn() -> T>,
}

copy!(Signal);

#[derive(Clone, Copy)]
enum Source {
    Cell(leptos::RwSignal<Slot>),
    Memo(Inner),
    /// Computed for each who looks.
    Derived(leptos::StoredValue<Derive>),
}

type Derive = Arc<dyn Fn() -> Slot + Send + Sync>;

impl<T: Send + Sync + 'static> Signal<T> {
    /// A value that is computed whenever somebody looks at it.
    pub(crate) fn derive(derive: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let derive: Derive = Arc::new(move || Box::new(derive()));
        Source::Derived(leptos::StoredValue::new(derive)).into()
    }

    /// A value that stays.
    pub(crate) fn stored(value: T) -> Self {
        RwSignal::new(value).into()
    }
}

impl<T> From<Source> for Signal<T> {
    fn from(source: Source) -> Self {
        Self { source, value: PhantomData }
    }
}

impl<T> From<RwSignal<T>> for Signal<T> {
    fn from(signal: RwSignal<T>) -> Self {
        Source::Cell(signal.inner()).into()
    }
}

impl<T> From<Memo<T>> for Signal<T> {
    fn from(memo: Memo<T>) -> Self {
        Source::Memo(memo.inner()).into()
    }
}

impl<T: 'static> Readable for Signal<T> {
    type Value = T;

    fn look(&self, tracked: bool, see: &mut dyn FnMut(&T)) {
        let see = &mut |value: &dyn std::any::Any| {
            value.downcast_ref().into_iter().for_each(&mut *see);
        };
        match self.source {
            Source::Cell(cell) => see_owned(&cell, tracked, see),
            Source::Memo(memo) => see_computed(memo, tracked, see),
            Source::Derived(derive) => {
                let Some(derive) = derive.try_with_value(Clone::clone) else { return };
                let value = if tracked { derive() } else { untrack(|| derive()) };
                see(&*value);
            }
        }
    }
}
