//! The time, for what says how long something takes. It ticks once a second while somebody looks.

use std::time::Duration;

use leptos::leptos_dom::helpers::set_interval;
use web_sys::js_sys::Date;

use crate::presence;
use crate::reactive::prelude::*;

thread_local! {
    // One page has one thread. The server has no time: it draws nothing that shows one.
    static NOW: ArcRwSignal<i64> = begin();
}

fn begin() -> ArcRwSignal<i64> {
    let now = ArcRwSignal::new(0);
    if cfg!(feature = "hydrate") {
        now.set(read());
        let tick = now.clone();
        set_interval(
            move || {
                if !presence::is_hidden() {
                    tick.set(read());
                }
            },
            Duration::from_secs(1),
        );
    }
    now
}

/// Milliseconds since the Unix epoch; tracked.
pub(crate) fn now() -> i64 {
    NOW.with(Clone::clone).get()
}

#[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
fn read() -> i64 {
    Date::now() as i64
}
