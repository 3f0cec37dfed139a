//! `#permission-select`: whether the agent has to ask before it changes something.

use wire::PermissionMode;

use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// The most careful mode first.
const MODES: [PermissionMode; 3] =
    [PermissionMode::Ask, PermissionMode::ApproveAll, PermissionMode::Deny];

/// The selection; disabled until the current mode is known.
#[component]
pub(crate) fn PermissionSelect(
    #[prop(into)] mode: Signal<Option<PermissionMode>>,
    /// Called with the new mode.
    on_choice: Callback<PermissionMode>,
) -> Html {
    let word = move || mode.get().map(PermissionMode::as_str);
    let options = MODES.map(|one| {
        html! {
            <option value=one.as_str() selected=move || mode.get() == Some(one)>
                {mode_text(one)}
            </option>
        }
    });
    html! {
        <select
            id="permission-select"
            autocomplete="off"
            disabled=move || mode.get().is_none()
            prop:value=word
            on:change=move |event| {
                if let Ok(mode) = event_target_value(&event).parse() {
                    on_choice.run(mode);
                }
            }
        >
            {options}
        </select>
    }
}

fn mode_text(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Ask => "Ask before changes",
        PermissionMode::ApproveAll => "Approve everything",
        PermissionMode::Deny => "Refuse everything",
    }
}
