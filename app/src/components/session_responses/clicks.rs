//! Clicks on what models wrote: rendered Markdown has no handlers of its own.

use std::time::Duration;

use leptos::ev::MouseEvent;
use wasm_bindgen_futures::JsFuture;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlAnchorElement};

use crate::reactive::prelude::*;

/// Handles copy buttons.
pub(crate) fn copy_code(event: &MouseEvent) {
    let button = event_target::<Element>(event);
    if !button.class_list().contains("copy-button") {
        return;
    }
    let code = button.closest(".code-block").ok().flatten();
    let Some(code) = code.and_then(|block| block.query_selector("code").ok().flatten()) else {
        return;
    };
    let text = code.text_content().unwrap_or_default();
    spawn_local(async move {
        button.set_text_content(Some(if write_clipboard(&text).await {
            "Copied"
        } else {
            select(&code);
            "Press Ctrl+C"
        }));
        set_timeout(move || button.set_text_content(Some("Copy")), Duration::from_secs(2));
    });
}

/// A model may write a link to this very server; following it would act on the reader's behalf.
pub(super) fn refuse_own_address(event: &MouseEvent) {
    let link = event_target::<Element>(event).closest("a").ok().flatten();
    let Some(link) = link.and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok()) else {
        return;
    };
    if window().location().host().is_ok_and(|own| own == link.host()) {
        event.prevent_default();
    }
}

/// Returns false where the browser denies pages the clipboard, as it does over plain HTTP from
/// another machine.
async fn write_clipboard(text: &str) -> bool {
    if !window().is_secure_context() {
        return false;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.is_ok()
}

fn select(element: &Element) {
    if let Ok(Some(selection)) = window().get_selection() {
        // Fails harmlessly: the reader can select by hand.
        let _ = selection.select_all_children(element);
    }
}
