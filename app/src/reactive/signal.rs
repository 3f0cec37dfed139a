//! Values of which it does not matter where they come from.

use std::marker::PhantomData;
use std::sync::Arc;

use leptos::GetValue;
use leptos::prelude as leptos;

use super::cell::hold_owned;
use super::memo::{Inner, hold_computed};
use super::{Held, Memo, Readable, RwSignal, Slot, copy, untrack};

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

    fn hold(&self, tracked: bool) -> Option<Held> {
        hold(self.source, tracked)
    }
}

fn hold(source: Source, tracked: bool) -> Option<Held> {
    match source {
        Source::Cell(cell) => hold_owned(&cell, tracked),
        Source::Memo(memo) => hold_computed(memo, tracked),
        Source::Derived(derive) => {
            let derive = derive.try_get_value()?;
            Some(Held::Derived(if tracked { derive() } else { untrack(|| derive()) }))
        }
    }
}
