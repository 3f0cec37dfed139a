//! `/`: select a model and a folder, then work with the agent. `?session=ID` is a running session,
//! so that a reload or a bookmark returns to it. Both `#setup-ui` and `#session-ui` are always in
//! the document, for scripts that check which of them is shown; the one not in use is empty.

mod session;
mod setup;

use wire::{SessionId, TaskId};

use session::SessionView;
pub(crate) use setup::Setup;

use crate::config;
use crate::html::{Html, IntoHtml, html};
use crate::reactive::prelude::*;
use crate::router::address;
use crate::title::window_title;
use crate::view::View;

/// The URL of a running session.
pub(crate) fn session_url(id: SessionId) -> String {
    format!("/index.html{}", session_query(id, None))
}

/// The query of the URL, which names the session and the task in it.
fn session_query(id: SessionId, task: Option<TaskId>) -> String {
    let query = format!("?session={id}");
    if let Some(task) = task {
        return format!("{query}&task={task}");
    }
    query
}

/// The page. `draw` draws its parts, whose code may be loaded later than the page's own.
#[component]
pub(crate) fn IndexPage(draw: fn(View) -> Html) -> Html {
    let address = address();
    let session = Memo::new(move |_| address.argument("session"));
    let notices = config().notices.into_iter();
    let notices = notices.map(|text| html! { <p class="server-notice" role="note">{text}</p> });
    html! {
        {notices.collect::<Html>()}
        {move || match session.get().map(|id| id.parse::<SessionId>()) {
            None => {
                html! {
                    {draw(View::Start)}
                    <div id="session-ui" hidden></div>
                }
            }
            Some(Ok(_)) => {
                html! {
                    <div id="setup-ui" hidden></div>
                    {draw(View::Session)}
                }
            }
            Some(Err(_)) => {
                html! {
                    <div id="setup-ui" hidden></div>
                    <div id="session-ui" hidden></div>
                    <Note title="No such session" text="The address names no session." />
                }
            }
        }}
    }
}

/// The session that the address names.
#[component]
pub(crate) fn SessionInAddress() -> Html {
    let id = untrack(|| address().argument("session")).and_then(|id| id.parse::<SessionId>().ok());
    id.map(|id| html! { <SessionView id=id /> }).into_html()
}

/// What is left when a session is over.
#[component]
pub(crate) fn Note(title: &'static str, text: &'static str) -> Html {
    html! {
        {window_title(move || title.to_owned())}
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
