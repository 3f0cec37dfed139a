//! Whether the server can't store anything, as its answers say.

use crate::reactive::prelude::*;

thread_local! {
    // One page has one thread. On the server nobody asks, so it is always false there.
    static TROUBLE: ArcRwSignal<bool> = ArcRwSignal::new(false);
}

/// What the last answer said.
pub(crate) fn signal() -> ArcRwSignal<bool> {
    TROUBLE.with(Clone::clone)
}

/// Processes what an answer says.
pub(crate) fn tell(has_trouble: bool) {
    let trouble = signal();
    if trouble.get_untracked() != has_trouble {
        trouble.set(has_trouble);
    }
}
