//! Keys that work on every page, and the list of all keys that `?` shows.

use leptos::ev::{self, KeyboardEvent};
use leptos::html::Dialog;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::components::sidebar::SidebarState;
use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// The keys, and what they do.
const KEYS: [(&str, &str); 12] = [
    ("Ctrl+K", "Go to a session, job or page; start a job; search the history"),
    ("Ctrl+B", "Narrow or wide side bar"),
    ("Alt+1 … 9", "The sessions and jobs of the side bar, from the top"),
    ("Ctrl+L", "Into the field for the prompt"),
    ("Ctrl+Enter", "Send the prompt"),
    ("Ctrl+Shift+Enter", "Queue the prompt while the agent works"),
    ("↑ in an empty field", "Earlier prompts"),
    ("/ and @", "Tasks and commands; files of the folder"),
    ("Esc", "Close what is open, else abort the turn (asks once)"),
    ("Y / N", "Approve or deny, on a question that has the focus"),
    ("+ − 0", "Zoom the chart of a job"),
    ("?", "This list"),
];

/// The list of keys.
pub(super) struct Shortcuts {
    /// Whether it is shown.
    pub(super) open: RwSignal<bool>,
    pub(super) view: Html,
}

/// Listens to the keys of all pages.
pub(super) fn shortcuts(palette: RwSignal<bool>, sidebar: SidebarState) -> Shortcuts {
    let open = RwSignal::new(false);
    Effect::new(move |_| {
        // The frame lives as long as its window.
        window_event_listener(ev::keydown, move |event| {
            if event.default_prevented() || event.is_composing() {
                return;
            }
            let with_control = event.ctrl_key() || event.meta_key();
            match (&*event.key().to_lowercase(), with_control, event.alt_key()) {
                ("k", true, false) => palette.update(|open| *open = !*open),
                ("b", true, false) => sidebar.toggle(),
                ("l", true, false) if focus("#request-textarea") => {}
                ("?", false, false) if !is_typing(&event) => open.set(true),
                (digit, false, true) if open_row(digit) => {}
                _ => return,
            }
            event.prevent_default();
        });
    });
    Shortcuts { open, view: draw(open) }
}

/// Whether the key belongs to a text.
fn is_typing(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|target| {
        matches!(&*target.local_name(), "input" | "textarea" | "select")
            || target.has_attribute("contenteditable")
    })
}

/// Focuses an element, if there is one.
fn focus(selector: &str) -> bool {
    let found = document().query_selector(selector).ok().flatten();
    let found = found.and_then(|found| found.dyn_into::<HtmlElement>().ok());
    found.is_some_and(|found| found.focus().is_ok())
}

/// Opens the nth row of the side bar.
fn open_row(digit: &str) -> bool {
    let Some(number) = digit.parse::<u32>().ok().filter(|number| (1..=9).contains(number)) else {
        return false;
    };
    let rows = document().query_selector_all(".sidebar-row");
    let row = rows.ok().and_then(|rows| rows.get(number - 1));
    let row = row.and_then(|row| row.dyn_into::<HtmlElement>().ok());
    row.inspect(HtmlElement::click).is_some()
}

fn draw(open: RwSignal<bool>) -> Html {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if open.get() && !dialog.open() {
            // Fails only for a dialog outside the document.
            let _ = dialog.show_modal();
        } else if !open.get() {
            dialog.close();
        }
    });
    let keys = KEYS.map(|(key, text)| {
        html! {
            <dt><span class="kbd">{key}</span></dt>
            <dd>{text}</dd>
        }
    });
    html! {
        <dialog
            id="shortcuts"
            class="confirm"
            aria-labelledby="shortcuts-title"
            node_ref=dialog
            on:close=move |_| open.set(false)
        >
            <h2 id="shortcuts-title">"Keyboard shortcuts"</h2>
            <dl class="shortcuts">{keys}</dl>
            <div class="button-row">
                <button type="button" class="button" on:click=move |_| open.set(false)>
                    "Close"
                </button>
            </div>
        </dialog>
    }
}
