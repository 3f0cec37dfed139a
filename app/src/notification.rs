//! Notifications of the browser, for those who look elsewhere. Nobody is asked to allow them but by
//! a click.

use leptos::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::js_sys::Reflect;
use web_sys::{Notification, NotificationPermission};

/// Whether there are any here, and nobody has decided about them yet. In the browser only.
pub(crate) fn can_be_asked_for() -> bool {
    is_known() && Notification::permission() == NotificationPermission::Default
}

/// Asks the user to allow them.
pub(crate) async fn ask() {
    if let Ok(asked) = Notification::request_permission() {
        // A refusal is an answer, too.
        let _ = JsFuture::from(asked).await;
    }
}

/// Tells something if the page is not looked at, and that is allowed.
pub(crate) fn tell_if_hidden(text: &str) {
    if document().hidden()
        && is_known()
        && Notification::permission() == NotificationPermission::Granted
    {
        // Where the browser refuses nevertheless, the title of the page says it.
        let _ = Notification::new(text);
    }
}

/// Pages over plain HTTP from another machine have none.
fn is_known() -> bool {
    Reflect::has(&window(), &"Notification".into()).unwrap_or_default()
}
