//! Browser notifications, for people who look elsewhere. Permission is requested only after a
//! click.

use leptos::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::js_sys::Reflect;
use web_sys::{Notification, NotificationPermission};

/// Whether notifications are supported and not yet decided about. In the browser only.
pub(crate) fn can_be_asked_for() -> bool {
    is_known() && Notification::permission() == NotificationPermission::Default
}

/// Asks the user for permission.
pub(crate) async fn ask() {
    if let Ok(asked) = Notification::request_permission() {
        // A refusal is an answer, too.
        let _ = JsFuture::from(asked).await;
    }
}

/// Shows a notification if the page is hidden and notifications are allowed.
pub(crate) fn tell_if_hidden(text: &str) {
    if document().hidden()
        && is_known()
        && Notification::permission() == NotificationPermission::Granted
    {
        // If the browser refuses after all, the page's title still shows it.
        let _ = Notification::new(text);
    }
}

/// Pages over plain HTTP from another machine have no notifications.
fn is_known() -> bool {
    Reflect::has(&window(), &"Notification".into()).unwrap_or_default()
}
