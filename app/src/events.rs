//! Server-sent events of the bridge, starting where the history ends.
//!
//! ```text
//!   history ─► /events from its last event ─► events ─► sink
//!      ▲                │ ▲   a lost connection the browser mends by itself
//!      │                │ └── shown ◄── hidden: closed, with its place kept
//!      └── back-off ◄───┘  closed for good, or events were missed
//! ```

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use send_wrapper::SendWrapper;
use web_sys::wasm_bindgen::JsCast;
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};
use wire::bridge::{Event, SessionHistory};

use crate::api::{self, ApiError};
use crate::poll::{Connection, back_off, sleep};
use crate::presence::{self, Change};
use crate::reachability;
use crate::reactive::prelude::*;

/// News about a project.
pub(crate) enum Told {
    /// The whole history so far.
    History(SessionHistory),
    /// Something that happened after that.
    Event(Event),
    /// The state of the connection has changed.
    Connection(Connection),
}

/// An open stream of events, and the task that waits for its end.
struct Line {
    source: RefCell<Option<EventSource>>,
    broken: RefCell<Option<oneshot::Sender<()>>>,
    is_left: Cell<bool>,
    failures: Cell<u32>,
    /// The last event that was heard, after which it goes on; `None` if the history is to be read.
    place: RefCell<Option<String>>,
    sink: Box<dyn Fn(Told)>,
}

impl Line {
    /// Closes the stream; the waiting task starts over, unless the page was left.
    fn hang_up(&self) {
        if let Some(source) = self.source.take() {
            source.close();
        }
        if let Some(broken) = self.broken.take() {
            // Fails if nobody waits any more, which is fine.
            let _ = broken.send(());
        }
    }

    fn tell(&self, told: Told) {
        if !self.is_left.get() {
            (self.sink)(told);
        }
    }

    fn hear(&self, name: &str, event: &MessageEvent) {
        let data = event.data().as_string().unwrap_or_default();
        self.place.replace(Some(event.last_event_id()));
        match Event::read(name, &data) {
            Some(Event::Missed(_)) => self.start_over(),
            Some(heard) => self.tell(Told::Event(heard)),
            None => {}
        }
    }

    /// Closes the stream, and reads the history again.
    fn start_over(&self) {
        self.place.take();
        self.hang_up();
    }

    /// The page is hidden or shown.
    fn see(&self, change: Change) {
        self.failures.set(0);
        // When the page is hidden, the waiting task finds that it has to wait; else it tries again.
        if change == Change::Away || self.source.borrow().is_none() {
            self.hang_up();
        }
    }

    fn opened(&self) {
        self.failures.set(0);
        reachability::answered();
        self.tell(Told::Connection(Connection::Live));
    }

    fn failed(&self) {
        self.lose(ApiError::Unreachable);
        let source = self.source.borrow();
        let is_closed =
            source.as_ref().is_some_and(|source| source.ready_state() == EventSource::CLOSED);
        drop(source);
        if is_closed {
            self.failures.set(self.failures.get() + 1);
            self.start_over();
        }
    }

    fn lose(&self, error: ApiError) {
        reachability::failed(&error);
        self.tell(Told::Connection(Connection::Lost(error)));
    }

    /// Waits until the page is left or changes.
    async fn wait(&self) {
        let (broken, wait) = oneshot::channel();
        self.broken.replace(Some(broken));
        let _ = wait.await;
    }

    /// Waits before the next try, which comes at once if the page is shown or left meanwhile.
    async fn back_off(self: &Rc<Self>) {
        let line = self.clone();
        let failures = self.failures.get();
        spawn_local(async move {
            sleep(back_off(failures)).await;
            // Nothing is open during the wait, and later it must not be closed.
            if line.failures.get() == failures && line.source.borrow().is_none() {
                line.hang_up();
            }
        });
        self.wait().await;
    }
}

/// Follows a project until the caller's reactive owner is disposed.
pub(crate) fn follow(id: String, sink: impl Fn(Told) + 'static) {
    let line = Rc::new(Line {
        source: RefCell::new(None),
        broken: RefCell::new(None),
        is_left: Cell::new(false),
        failures: Cell::new(0),
        place: RefCell::new(None),
        sink: Box::new(sink),
    });
    let seeing = line.clone();
    let number = presence::listen(Rc::new(move |change| seeing.see(change)));
    let left = SendWrapper::new(line.clone());
    on_cleanup(move || {
        presence::forget(number);
        left.is_left.set(true);
        left.hang_up();
    });
    spawn_local(async move {
        loop {
            if line.failures.get() > 0 {
                line.back_off().await;
            }
            if line.is_left.get() {
                return;
            }
            if presence::is_away() {
                line.wait().await;
                continue;
            }
            let place = line.place.borrow().clone();
            if let Some(place) = place {
                listen(&line, &api::bridge::events_path(&id, &place)).await;
                continue;
            }
            match api::bridge::history(&id).await {
                _ if line.is_left.get() => return,
                Ok(history) => {
                    line.place.replace(Some(history.last_event_id.clone()));
                    line.tell(Told::History(history));
                }
                Err(ApiError::Refused { status: 404, .. }) => {
                    return line.tell(Told::Connection(Connection::NotFound));
                }
                Err(error) => {
                    line.failures.set(line.failures.get() + 1);
                    line.lose(error);
                }
            }
        }
    });
}

/// Listens until the stream is closed.
async fn listen(line: &Rc<Line>, path: &str) {
    let Ok(source) = EventSource::new(path) else { return line.wait().await };
    let heard = Event::NAMES.map(|name| {
        let line = line.clone();
        let hear = Closure::<dyn Fn(MessageEvent)>::new(move |event| line.hear(name, &event));
        // Adding a listener cannot fail.
        let _ = source.add_event_listener_with_callback(name, hear.as_ref().unchecked_ref());
        hear
    });
    let (opening, failing) = (line.clone(), line.clone());
    let opened = Closure::<dyn Fn()>::new(move || opening.opened());
    let failed = Closure::<dyn Fn()>::new(move || failing.failed());
    source.set_onopen(Some(opened.as_ref().unchecked_ref()));
    source.set_onerror(Some(failed.as_ref().unchecked_ref()));
    line.source.replace(Some(source));
    line.wait().await;
    // The browser may call these closures up to this point.
    drop((heard, opened, failed));
}
