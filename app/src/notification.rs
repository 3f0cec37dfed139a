//! Browser notifications, for people who look elsewhere. Permission is requested only after a
//! click. Only hidden pages notify, and only of what has happened since they were hidden.

use std::collections::HashSet;

use wasm_bindgen_futures::JsFuture;
use web_sys::js_sys::{Array, Function, Object, Reflect};
use web_sys::wasm_bindgen::closure::Closure;
use web_sys::wasm_bindgen::{JsCast, JsValue};
use web_sys::{Notification, NotificationPermission};

use crate::presence;
use crate::reactive::prelude::*;

/// Whether pages may notify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// They can't: the browser has no notifications, or none for pages that come over plain HTTP from
    /// another machine.
    Unsupported,
    /// Nobody was asked yet.
    Default,
    Granted,
    Denied,
}

/// Whether this page may notify. In the browser only.
pub(crate) fn state() -> Permission {
    let is_known = Reflect::has(&window(), &"Notification".into()).unwrap_or_default();
    if !is_known || !window().is_secure_context() {
        return Permission::Unsupported;
    }
    match Notification::permission() {
        NotificationPermission::Granted => Permission::Granted,
        NotificationPermission::Denied => Permission::Denied,
        _ => Permission::Default,
    }
}

/// Whether notifications are supported and not yet decided about. In the browser only.
pub(crate) fn can_be_asked_for() -> bool {
    state() == Permission::Default
}

/// Asks the user for permission. Browsers do that only in answer to a click.
pub(crate) async fn ask() -> Permission {
    if let Ok(asked) = Notification::request_permission() {
        // A refusal is an answer, too.
        let _ = JsFuture::from(asked).await;
    }
    state()
}

/// Something that people are notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// Names what it is about: it replaces an older notification of the same name.
    pub(crate) tag: String,
    pub(crate) title: String,
    pub(crate) body: String,
    /// The page that a click opens.
    pub(crate) link: String,
}

/// Tells what is new from what was there before.
#[derive(Debug, Default)]
pub(crate) struct Seen(Option<HashSet<String>>);

impl Seen {
    /// Remembers what there is, and returns whether each of it is new. The first time nothing is.
    pub(crate) fn sift(&mut self, names: Vec<String>) -> Vec<bool> {
        let is_first = self.0.is_none();
        let seen = self.0.get_or_insert_default();
        names.into_iter().map(|name| seen.insert(name) && !is_first).collect()
    }

    /// Forgets everything: somebody looks again.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

/// Shows a notification, if the page is hidden and may notify.
pub(crate) fn tell(news: News) {
    if presence::is_hidden() && state() == Permission::Granted {
        // If the browser refuses after all, the page still shows it.
        let _ = show(news);
    }
}

/// Shows a notification if the page is hidden and notifications are allowed.
pub(crate) fn tell_if_hidden(text: &str) {
    let link = window().location().href().unwrap_or_default();
    let (title, body) = (text.to_owned(), String::new());
    tell(News { tag: text.to_owned(), title, body, link });
}

fn show(news: News) -> Result<(), JsValue> {
    let options = Object::new();
    for (name, value) in [("tag", news.tag), ("body", news.body)] {
        Reflect::set(&options, &name.into(), &value.into())?;
    }
    let class: Function = Reflect::get(&window(), &"Notification".into())?.dyn_into()?;
    let shown = Reflect::construct(&class, &Array::of2(&news.title.into(), &options))?;
    let open = Closure::once_into_js(move || open(&news.link));
    Reflect::set(&shown, &"onclick".into(), &open)?;
    Ok(())
}

/// Opens a page: this one, or else a new one, because something may be half typed here.
fn open(link: &str) {
    let here = window().location().href().unwrap_or_default();
    // Neither can fail but by the browser's refusal.
    let _ = window().focus();
    if !here.ends_with(link) {
        let _ = window().open_with_url(link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_is_not_new() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut seen = Seen::default();
        assert_eq!(seen.sift(names(&["a", "b"])), [false, false]);
        assert_eq!(seen.sift(names(&["a", "b", "c"])), [false, false, true]);
        assert_eq!(seen.sift(names(&["c"])), [false], "each is told once");
        // It went and came again.
        assert_eq!(seen.sift(names(&["a"])), [false]);
        seen.forget();
        assert_eq!(seen.sift(names(&["d"])), [false], "people have looked");
        assert_eq!(seen.sift(names(&["d", "e"])), [false, true]);
    }

    #[test]
    fn nothing_at_first_is_also_a_beginning() {
        let mut seen = Seen::default();
        assert_eq!(seen.sift(Vec::new()), [false; 0]);
        assert_eq!(seen.sift(vec!["a".to_owned()]), [true]);
    }
}
