//! What happens when values change.

use std::future::Future;
use std::pin::Pin;

use leptos::prelude as leptos;

/// Something that is done again when what it has read changes, until its owner is gone. In the browser
/// only.
pub(crate) struct Effect;

impl Effect {
    /// Does it once the page is there. It is given what it returned last.
    #[expect(clippy::new_ret_no_self, reason = "nobody holds an effect: its owner does")]
    pub(crate) fn new<T: 'static>(act: impl FnMut(Option<T>) -> T + 'static) {
        run(Box::new(Acting { act, last: None }));
    }
}

/// What an effect does. A trait of its own, as a closure's has more in its table than is needed.
trait Act {
    fn act(&mut self);
}

struct Acting<T, F> {
    act: F,
    last: Option<T>,
}

impl<T, F: FnMut(Option<T>) -> T> Act for Acting<T, F> {
    fn act(&mut self) {
        self.last = Some((self.act)(self.last.take()));
    }
}

fn run(mut act: Box<dyn Act>) {
    leptos::Effect::new(move |_| act.act());
}

/// Reads without following.
pub(crate) fn untrack<R>(read: impl FnOnce() -> R) -> R {
    let (mut read, mut result) = (Some(read), None);
    untrack_all(&mut || result = read.take().map(|read| read()));
    result.expect("a closure that is called returns")
}

fn untrack_all(read: &mut dyn FnMut()) {
    leptos::untrack(read);
}

/// Runs a future on this thread. In the browser only.
pub(crate) fn spawn_local(future: impl Future<Output = ()> + 'static) {
    spawn(Box::pin(future));
}

fn spawn(future: Pin<Box<dyn Future<Output = ()>>>) {
    ::leptos::task::spawn_local(future);
}
