//! The permission mode of the session.

use wire::PermissionMode;

use super::super::about::About;
use crate::api;
use crate::components::permission_select::PermissionSelect;
use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// Shows the session's permission mode, and changes it.
#[component]
pub(super) fn PermissionChoice(about: About, failure: RwSignal<Option<String>>) -> Html {
    let chosen = RwSignal::new(None::<PermissionMode>);
    let mode = Signal::derive(move || {
        let known = about.of_head(|head| head.permissions);
        chosen.get().or(known)
    });
    let choose = move |mode: PermissionMode| {
        let before = chosen.get_untracked();
        chosen.set(Some(mode));
        failure.set(None);
        spawn_local(async move {
            if let Err(error) = api::set_permissions(about.id(), mode).await {
                chosen.try_set(before);
                failure.try_set(Some(error.to_string()));
            }
        });
    };
    html! {
        <div class="choice">
            <label for="permission-select">"Permissions:"</label>
            <PermissionSelect mode=mode on_choice=Callback::new(choose) />
        </div>
    }
}
