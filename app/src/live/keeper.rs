//! Which hidden page of the browser notifies for all of them: the one that holds a lock, or, where
//! the browser has no locks, the one that is elected on a channel.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use leptos::leptos_dom::helpers::{IntervalHandle, set_interval_with_handle, set_timeout};
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortController;
use web_sys::js_sys::{Array, Function, Math, Object, Promise, Reflect};
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::wasm_bindgen::{JsCast, JsValue};

use super::election::{Election, GONE, Reply};
use crate::notification::{self, Permission};
use crate::reactive::prelude::*;

/// The name of the lock and of the channel.
const NAME: &str = "copilot-portal-notifications";

/// How long the others have to answer in a round.
const ROUND: Duration = Duration::from_secs(1);

/// How often there is a round, in case the elected page went without a word. Browsers wake hidden
/// pages once a minute at most.
const ROUNDS_EVERY: Duration = Duration::from_mins(1);

/// A page's candidacy.
#[derive(Default)]
pub(super) struct Keeper(RefCell<Option<Candidate>>);

enum Candidate {
    Lock(Rc<Lock>),
    Channel(Rc<Channel>),
}

impl Keeper {
    /// Whether this page notifies.
    pub(super) fn is_elected(&self) -> bool {
        match &*self.0.borrow() {
            None => false,
            Some(Candidate::Lock(lock)) => lock.release.borrow().is_some(),
            Some(Candidate::Channel(channel)) => channel.election.borrow().is_elected(),
        }
    }

    /// Stands for election, if people want notifications; `changed` is called when it is decided.
    pub(super) fn stand(&self, changed: Rc<dyn Fn()>) {
        if notification::state() != Permission::Granted || self.0.borrow().is_some() {
            return;
        }
        let lock = Lock::request(changed.clone()).map(Candidate::Lock);
        let candidate = lock.or_else(|| Channel::open(changed).map(Candidate::Channel));
        self.0.replace(candidate);
    }

    /// Leaves it to other pages.
    pub(super) fn resign(&self) {
        match self.0.take() {
            None => {}
            Some(Candidate::Lock(lock)) => lock.release(),
            Some(Candidate::Channel(channel)) => channel.close(),
        }
    }
}

/// A lock that is held or waited for.
struct Lock {
    /// Ends the wait.
    wait: AbortController,
    /// Ends the possession.
    release: RefCell<Option<Function>>,
}

impl Lock {
    /// `None` if the browser has no locks.
    fn request(changed: Rc<dyn Fn()>) -> Option<Rc<Self>> {
        let locks = get(&window().navigator(), "locks")?;
        let request: Function = get(&locks, "request")?.dyn_into().ok()?;
        let wait = AbortController::new().ok()?;
        let options = Object::new();
        Reflect::set(&options, &"signal".into(), &wait.signal()).ok()?;
        let lock = Rc::new(Self { wait, release: RefCell::new(None) });
        let held = lock.clone();
        // The lock is held until this promise is kept.
        let promise = Closure::once_into_js(move || {
            // The page may have been shown at the same moment.
            if held.wait.signal().aborted() {
                return JsValue::UNDEFINED;
            }
            let held_until = Promise::new(&mut |resolve, _| {
                held.release.replace(Some(resolve));
            });
            changed();
            held_until.into()
        });
        let asked: Promise =
            request.call3(&locks, &NAME.into(), &options, &promise).ok()?.dyn_into().ok()?;
        spawn_local(async move {
            // Fails when the wait is ended, which is intended.
            let _ = JsFuture::from(asked).await;
        });
        Some(lock)
    }

    fn release(&self) {
        self.wait.abort();
        if let Some(release) = self.release.take() {
            // Keeping a promise cannot fail.
            let _ = release.call0(&JsValue::NULL);
        }
    }
}

/// A channel on which pages elect one of them.
struct Channel {
    handle: JsValue,
    election: RefCell<Election>,
    changed: Rc<dyn Fn()>,
    rounds: RefCell<Option<IntervalHandle>>,
}

impl Channel {
    /// `None` if the browser has no channels.
    fn open(changed: Rc<dyn Fn()>) -> Option<Rc<Self>> {
        let class: Function = get(&window(), "BroadcastChannel")?.dyn_into().ok()?;
        let handle = Reflect::construct(&class, &Array::of1(&NAME.into())).ok()?;
        let election = RefCell::new(Election::new(rank()));
        let rounds = RefCell::new(None);
        let opened = Rc::new(Self { handle, election, changed, rounds });
        let hearing = opened.clone();
        let hear = Closure::<dyn Fn(JsValue)>::new(move |event: JsValue| {
            if let Some(said) = get(&event, "data").and_then(|data| data.as_string()) {
                hearing.hear(&said);
            }
        });
        Reflect::set(&opened.handle, &"onmessage".into(), &hear.into_js_value()).ok()?;
        let page = opened.clone();
        let again = set_interval_with_handle(move || page.clone().round(), ROUNDS_EVERY);
        opened.rounds.replace(again.ok());
        opened.clone().round();
        Some(opened)
    }

    fn round(self: Rc<Self>) {
        let here = self.election.borrow_mut().begin();
        self.say(&here);
        let conclude = move || {
            self.election.borrow_mut().conclude();
            (self.changed)();
        };
        set_timeout(conclude, ROUND);
    }

    fn hear(self: &Rc<Self>, said: &str) {
        let was_elected = self.election.borrow().is_elected();
        let reply = self.election.borrow_mut().hear(said);
        match reply {
            Reply::Silence => {}
            Reply::Here => {
                let here = self.election.borrow().here();
                self.say(&here);
            }
            Reply::Round => self.clone().round(),
        }
        if was_elected && !self.election.borrow().is_elected() {
            (self.changed)();
        }
    }

    fn say(&self, text: &str) {
        if let Some(Ok(post)) = get(&self.handle, "postMessage").map(JsCast::dyn_into::<Function>) {
            // Fails once the channel is closed, when nothing needs to be said.
            let _ = post.call1(&self.handle, &text.into());
        }
    }

    fn close(&self) {
        if let Some(rounds) = self.rounds.take() {
            rounds.clear();
        }
        self.say(GONE);
        if let Some(Ok(close)) = get(&self.handle, "close").map(JsCast::dyn_into::<Function>) {
            let _ = close.call0(&self.handle);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any number will do")]
fn rank() -> u32 {
    (Math::random() * f64::from(u32::MAX)) as u32
}

/// A property that is there.
fn get(target: &JsValue, name: &str) -> Option<JsValue> {
    let value = Reflect::get(target, &name.into()).ok()?;
    (!value.is_undefined()).then_some(value)
}
