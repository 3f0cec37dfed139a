//! Whether somebody looks at this page. Hidden pages hold no connections, because a browser has only
//! six for all of its tabs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leptos::leptos_dom::helpers::set_timeout;
use web_sys::js_sys::Reflect;
use web_sys::wasm_bindgen::JsCast;
use web_sys::wasm_bindgen::closure::Closure;

use crate::reactive::prelude::*;

/// How long a page keeps its connections after it was hidden: people switch back and forth.
const GRACE: Duration = Duration::from_secs(2);

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The page has been hidden for a while.
    Away,
    /// The page is shown again.
    Back,
    /// The browser has a network again.
    Online,
}

type Listener = Rc<dyn Fn(Change)>;

#[derive(Default)]
struct Presence {
    is_away: Cell<bool>,
    /// How often the page was hidden or shown: a grace ends only if nothing happened meanwhile.
    changes: Cell<u32>,
    last_listener: Cell<u32>,
    listeners: RefCell<Vec<(u32, Listener)>>,
}

thread_local! {
    static PRESENCE: Rc<Presence> = Presence::begin();
}

/// Whether the page is hidden right now.
pub(crate) fn is_hidden() -> bool {
    let state = Reflect::get(&document(), &"visibilityState".into());
    document().hidden() || state.is_ok_and(|state| state == "hidden")
}

/// Whether the page has been hidden for so long that it holds no connections. In the browser only,
/// as everything below.
pub(crate) fn is_away() -> bool {
    PRESENCE.with(|presence| presence.is_away.get())
}

/// Calls `listener` with every change until [`forget`] is called with the returned number.
pub(crate) fn listen(listener: Listener) -> u32 {
    PRESENCE.with(|presence| {
        let number = presence.last_listener.get() + 1;
        presence.last_listener.set(number);
        presence.listeners.borrow_mut().push((number, listener));
        number
    })
}

/// Stops calling a listener.
pub(crate) fn forget(number: u32) {
    PRESENCE.with(|presence| presence.listeners.borrow_mut().retain(|one| one.0 != number));
}

impl Presence {
    fn begin() -> Rc<Self> {
        let presence = Rc::new(Self::default());
        presence.is_away.set(is_hidden());
        let seen = presence.clone();
        let see = Closure::<dyn Fn()>::new(move || seen.clone().look()).into_js_value();
        // Adding a listener cannot fail.
        let _ =
            document().add_event_listener_with_callback("visibilitychange", see.unchecked_ref());
        let online = presence.clone();
        let hear = Closure::<dyn Fn()>::new(move || online.tell(Change::Online)).into_js_value();
        let _ = window().add_event_listener_with_callback("online", hear.unchecked_ref());
        presence
    }

    /// The page was hidden or shown.
    fn look(self: Rc<Self>) {
        let change = self.changes.get() + 1;
        self.changes.set(change);
        if !is_hidden() {
            if self.is_away.replace(false) {
                self.tell(Change::Back);
            }
            return;
        }
        let leave = move || {
            if self.changes.get() == change && !self.is_away.replace(true) {
                self.tell(Change::Away);
            }
        };
        set_timeout(leave, GRACE);
    }

    fn tell(&self, change: Change) {
        // A listener may listen or forget.
        let listeners = self.listeners.borrow().clone();
        for (_, listener) in listeners {
            listener(change);
        }
    }
}
