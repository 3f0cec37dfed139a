//! What all of the page's state has to do with signals.

use crate::reactive::prelude::*;

/// Sets a signal unless it has that value: nothing is drawn again for nothing.
pub(super) fn set_if_new<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|known| *known != value) {
        signal.set(value);
    }
}
