//! `/`: select a model and a folder, then work with the agent. `?session=ID` is a running session,
//! so that a reload or a bookmark returns to it. Both `#setup-ui` and `#session-ui` are always in
//! the document, for scripts that check which of them is shown; the one not in use is empty.

mod session;
mod setup;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use wire::{SessionId, TaskId};

use session::SessionView;
use setup::Setup;

use crate::config;
use crate::erase::Erase;

/// The URL of a running session.
pub(crate) fn session_url(id: SessionId) -> String {
    format!("/index.html{}", session_query(id, None))
}

/// The query of the URL, which names the session and the task in it.
fn session_query(id: SessionId, task: Option<TaskId>) -> String {
    let mut query = ParamsMap::new();
    query.insert("session", id.to_string());
    if let Some(task) = task {
        query.insert("task", task.to_string());
    }
    query.to_query_string()
}

#[component]
pub(crate) fn IndexPage() -> impl IntoView {
    let query = use_query_map();
    let session = Memo::new(move |_| query.read().get("session"));
    let notices = config().notices.into_iter();
    let notices = notices.map(|text| view! { <p class="server-notice" role="note">{text}</p> });
    view! {
        {notices.collect_view()}
        {move || match session.get().map(|id| id.parse::<SessionId>()) {
            None => {
                view! {
                    <Setup />
                    <div id="session-ui" hidden></div>
                }
                    .erase()
            }
            Some(Ok(id)) => {
                view! {
                    <div id="setup-ui" hidden></div>
                    <SessionView id=id />
                }
                    .erase()
            }
            Some(Err(_)) => {
                view! {
                    <div id="setup-ui" hidden></div>
                    <div id="session-ui" hidden></div>
                    <Note title="No such session" text="The address names no session." />
                }
                    .erase()
            }
        }}
    }
}

/// What is left when a session is over.
#[component]
pub(crate) fn Note(title: &'static str, text: &'static str) -> impl IntoView {
    view! {
        <Title text=title />
        <section class="card" id="session-note">
            <h1>{title}</h1>
            <p>{text}</p>
            <p>
                <a class="button" href="/index.html">
                    "Start another session"
                </a>
            </p>
        </section>
    }
}
