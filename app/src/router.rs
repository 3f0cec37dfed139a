//! The address of the page: what it is, and going to another one without loading it anew.
//!
//! The server reads it from the request, the browser from its location. Links to pages of the app
//! are followed here; everything else is left to the browser.

use std::pin::Pin;

use crate::reactive::prelude::*;

/// The address. [`provide`] puts it into the context.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// For example `/jobs.html`.
    pub(crate) path: RwSignal<String>,
    /// For example `wb=%2Fsrc`.
    query: RwSignal<String>,
    #[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "servers have everything"))]
    prepare: Prepare,
}

/// Begins to load what an address needs; `None` if that is there.
pub(crate) type Prepare = fn(&str, &str) -> Option<Loading>;

/// Loads what an address needs.
pub(crate) type Loading = Pin<Box<dyn Future<Output = Result<(), NotLoaded>>>>;

/// What an address needs could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotLoaded;

impl Address {
    /// Tracks both the path and the arguments.
    pub(crate) fn track(self) {
        self.path.track();
        self.query.track();
    }

    /// An argument of the address, if it is there; tracked.
    pub(crate) fn argument(self, name: &str) -> Option<String> {
        self.query.with(|query| find_argument(query, name))
    }

    #[cfg(feature = "hydrate")]
    fn set(self, path: String, query: String) {
        let is_new =
            |signal: RwSignal<String>, value: &str| signal.with_untracked(|it| it != value);
        let (is_new_path, is_new_query) = (is_new(self.path, &path), is_new(self.query, &query));
        // Both change before anything that follows them is drawn, and another page before the
        // arguments of this one: they may be no arguments of it.
        self.path.try_update_untracked(|known| *known = path);
        self.query.try_update_untracked(|known| *known = query);
        if is_new_path {
            self.path.notify();
        }
        if is_new_query {
            self.query.notify();
        }
    }
}

/// The address of this page.
pub(crate) fn address() -> Address {
    expect_context::<Address>()
}

/// Reads the address and, in the browser, follows it. `is_page` tells which paths are pages of the
/// app, `prepare` loads what is not there.
pub(crate) fn provide(is_page: fn(&str) -> bool, prepare: Prepare) {
    let (path, query) = now();
    let address = Address { path: RwSignal::new(path), query: RwSignal::new(query), prepare };
    provide_context(address);
    #[cfg(feature = "hydrate")]
    browser::follow(address, is_page);
    #[cfg(not(feature = "hydrate"))]
    let _ = is_page;
}

/// The address with one argument after a path.
pub(crate) fn with_argument(path: &str, name: &str, value: &str) -> String {
    format!("{path}?{name}={}", encode(value))
}

pub(crate) fn find_argument(query: &str, name: &str) -> Option<String> {
    let mut arguments = query.split('&').filter_map(|one| one.split_once('=').or(Some((one, ""))));
    arguments.find(|(key, _)| decode(key) == name).map(|(_, value)| decode(value))
}

/// Percent-encodes what has a meaning in a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                encoded.push('%');
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(digit.into(), 16).unwrap_or_default();
                    encoded.push(digit.to_ascii_uppercase());
                }
            }
        }
    }
    encoded
}

/// The opposite; what is not encoded well stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |index: usize| {
            let digit = tail.get(index).and_then(|byte| char::from(*byte).to_digit(16));
            digit.and_then(|digit| u8::try_from(digit).ok())
        };
        let (byte, used) = match (first, digit(0), digit(1)) {
            (b'+', ..) => (b' ', 0),
            (b'%', Some(high), Some(low)) => (high << 4 | low, 2),
            _ => (*first, 0),
        };
        bytes.push(byte);
        rest = &tail[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What goes to another address, with an entry in the history of the browser.
pub(crate) fn navigator() -> impl Fn(&str) + Clone + Send + 'static {
    let address = address();
    move |url| {
        #[cfg(feature = "hydrate")]
        browser::go(address, url, browser::Entry::New);
        #[cfg(not(feature = "hydrate"))]
        let _ = (address, url);
    }
}

/// Changes the address of what is shown.
pub(crate) fn replacer() -> impl Fn(&str) + Clone + Send + 'static {
    let address = address();
    move |url| {
        #[cfg(feature = "hydrate")]
        browser::go(address, url, browser::Entry::Same);
        #[cfg(not(feature = "hydrate"))]
        let _ = (address, url);
    }
}

/// The path and the query.
#[cfg(all(feature = "ssr", not(feature = "hydrate")))]
pub(crate) fn now() -> (String, String) {
    let request = use_context::<axum::http::request::Parts>();
    let uri = request.map(|request| request.uri).unwrap_or_default();
    (uri.path().to_owned(), uri.query().unwrap_or_default().to_owned())
}

#[cfg(not(any(feature = "ssr", feature = "hydrate")))]
fn now() -> (String, String) {
    Default::default()
}

#[cfg(feature = "hydrate")]
pub(crate) use browser::now;

#[cfg(feature = "hydrate")]
mod browser {
    use crate::reactive::prelude::*;
    use leptos::ev::{self, MouseEvent};
    use web_sys::wasm_bindgen::{JsCast, JsValue};
    use web_sys::{Element, HtmlAnchorElement};

    use super::{Address, NotLoaded};

    /// What happens in the history of the browser.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Entry {
        New,
        Same,
    }

    pub(crate) fn now() -> (String, String) {
        let location = window().location();
        let query = location.search().unwrap_or_default();
        let query = query.strip_prefix('?').unwrap_or(&query).to_owned();
        (location.pathname().unwrap_or_default(), query)
    }

    pub(super) fn follow(address: Address, is_page: fn(&str) -> bool) {
        // The app lives as long as its window.
        window_event_listener(ev::popstate, move |_| show(address));
        window_event_listener(ev::click, move |event| {
            if let Some(url) = page_of_link(&event, is_page) {
                event.prevent_default();
                go(address, &url, Entry::New);
            }
        });
    }

    /// The page to which a click leads, if it is one of ours and to be shown in this window.
    fn page_of_link(event: &MouseEvent, is_page: fn(&str) -> bool) -> Option<String> {
        let is_plain = event.button() == 0
            && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key());
        if event.default_prevented() || !is_plain {
            return None;
        }
        let target = event.target()?.dyn_into::<Element>().ok()?;
        let link = target.closest("a[href]").ok()??.dyn_into::<HtmlAnchorElement>().ok()?;
        let is_ours = link.origin() == window().location().origin().ok()?
            && link.target().is_empty()
            && !link.has_attribute("download")
            && link.hash().is_empty()
            && is_page(&link.pathname());
        is_ours.then(|| format!("{}{}", link.pathname(), link.search()))
    }

    pub(super) fn go(address: Address, url: &str, entry: Entry) {
        let Ok(history) = window().history() else { return };
        let is_new = entry == Entry::New;
        let url = Some(url);
        // Fails only for addresses of other hosts.
        let _ = if is_new {
            history.push_state_with_url(&JsValue::NULL, "", url)
        } else {
            history.replace_state_with_url(&JsValue::NULL, "", url)
        };
        show(address);
        if is_new {
            window().scroll_to_with_x_and_y(0.0, 0.0);
        }
    }

    /// Shows what is at the address of the window, once what it needs is there. What was shown before
    /// stays until then.
    fn show(address: Address) {
        let (path, query) = now();
        let Some(loading) = (address.prepare)(&path, &query) else {
            return address.set(path, query);
        };
        spawn_local(async move {
            match loading.await {
                // Somebody may have gone on meanwhile.
                Ok(()) => show(address),
                // The server may be another one by now, with other files.
                Err(NotLoaded) => {
                    let _ = window().location().reload();
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_carry_any_text() {
        let text = "a b&c=d/é+100%";
        let url = with_argument("/jobs.html", "wb", text);
        assert_eq!(url, "/jobs.html?wb=a%20b%26c%3Dd%2F%C3%A9%2B100%25");
        let (_, query) = url.split_once('?').expect("a query");
        assert_eq!(find_argument(query, "wb").as_deref(), Some(text));
    }

    #[test]
    fn arguments_are_found_by_name() {
        for (query, found) in [
            ("", None),
            ("a=1", None),
            ("a=1&b=2&b=3", Some("2")),
            ("b", Some("")),
            ("b=x+y%zz%4", Some("x y%zz%4")),
        ] {
            assert_eq!(find_argument(query, "b").as_deref(), found, "{query}");
        }
    }
}
