//! The permission mode of the running session.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{PermissionMode, SessionId};

use crate::api;
use crate::components::permission_select::PermissionSelect;
use crate::html::{Html, html};
use crate::load::{Load, Loader};

/// Shows the session's permission mode, and changes it.
#[component]
pub(super) fn PermissionChoice(id: SessionId, failure: RwSignal<Option<String>>) -> Html {
    let sessions = Loader::new(api::sessions);
    let chosen = RwSignal::new(None::<PermissionMode>);
    let mode = Signal::derive(move || {
        let known = sessions.state.with(|state| match state {
            Load::Ready(list) => {
                let own = list.sessions.iter().find(|one| one.session_id == id);
                own.map(|own| own.permissions)
            }
            _ => None,
        });
        chosen.get().or(known)
    });
    let choose = move |mode: PermissionMode| {
        let before = chosen.get_untracked();
        chosen.set(Some(mode));
        failure.set(None);
        spawn_local(async move {
            if let Err(error) = api::set_permissions(id, mode).await {
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
