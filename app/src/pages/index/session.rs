//! `#session-ui`: what the session is, its conversation, and the composer below.
//!
//! `?task=ID` is the task started last, so that a reload returns to it, too.

mod about;
mod budget;
mod composer;
mod continuation;
mod extensions;
mod header;
mod keyboard;
mod leaving;
mod popup;

use std::cell::Cell;

use leptos::html::Div;
use wire::{SessionId, TaskId};

use super::{Note, session_query};
use crate::api::ApiError;
use crate::components::permission_card::mark_title;
use crate::components::resize_bar::{Axis, ResizeBar};
use crate::components::session_responses::SessionResponses;
use crate::html::{Html, html};
use crate::poll::{Connection, explain_loss};
use crate::reactive::prelude::*;
use crate::router::{address, replacer};
use crate::state::feed::Feed;
use crate::title::window_title;
use about::About;
use composer::Request;
use continuation::Continue;
use header::draw_header;
use keyboard::follow_keyboard;
use leaving::{Left, close_session};

/// The view of a running session.
#[component]
pub(super) fn SessionView(id: SessionId) -> Html {
    let task = RwSignal::new(task_in_address());
    let feed = Feed::new(task.get_untracked().is_some());
    // Effects run in the browser only.
    Effect::new(move |_| feed.follow(id));
    // A session that ended long ago has no readers any more, but it may be stored.
    Effect::new(move |_| {
        if feed.connection.get() == Connection::NotFound {
            spawn_local(feed.read_stored(id));
        }
    });
    let keep_in_address = keep_in_address(id, task.get_untracked());
    Effect::new(move |_| {
        if let Some(task) = task.get() {
            feed.follow_task(task);
            keep_in_address(task);
        }
    });
    let about = About::new(id, feed);
    follow_keyboard();
    let left = RwSignal::new(None::<Left>);
    let failure = RwSignal::new(None::<String>);
    let close = close_session(id, left, failure);
    let request_part = NodeRef::<Div>::new();

    html! {
        {move || match left.get() {
            Some(Left::Closed) => {
                html! {
                    <div id="session-ui" hidden></div>
                    <Note
                        title="Session closed"
                        text="The session has ended. You can close this window."
                    />
                }
            }
            Some(Left::ServerStopped) => {
                html! {
                    <div id="session-ui" hidden></div>
                    <Note
                        title="Server stopped"
                        text="The server has been stopped. Start it again to continue."
                    />
                }
            }
            None => {
                let responses = html! { <SessionResponses feed=feed id="session-part" /> };
                let request = html! {
                    <Request about=about task=task left=left close=close failure=failure />
                };
                html! {
                    {window_title(move || mark_title(&about.title(), feed.waiting.get() > 0))}
                    <div id="session-ui">
                        {draw_header(about, close)}
                        <ConnectionBanner id=id feed=feed />
                        {responses}
                        <ResizeBar
                            axis=Axis::Vertical
                            target=request_part
                            label="Height of the request part"
                        />
                        <div id="request-part" node_ref=request_part>
                            {request}
                        </div>
                    </div>
                }
            }
        }}
    }
}

/// The task named in the URL, if any.
fn task_in_address() -> Option<TaskId> {
    untrack(|| address().argument("task")).and_then(|id| id.parse().ok())
}

/// Keeps the URL up to date, so that a reload finds the task again. `named` is the task that it
/// already names.
fn keep_in_address(id: SessionId, named: Option<TaskId>) -> impl Fn(TaskId) {
    let replace = replacer();
    let path = address().path;
    let named = Cell::new(named);
    move |task| {
        if named.replace(Some(task)) != Some(task) {
            let address = format!("{}{}", path.get_untracked(), session_query(id, Some(task)));
            replace(&address);
        }
    }
}

/// Explains why nothing arrives, if that is so. That the server can't be reached is said on every page.
#[component]
fn ConnectionBanner(id: SessionId, feed: Feed) -> Html {
    let text = move || match feed.connection.get() {
        Connection::Connecting | Connection::Live | Connection::Lost(ApiError::Unreachable) => None,
        Connection::Lost(error) => Some(html! { {explain_loss(&error)} }),
        Connection::Ended => Some(html! { "This session has ended." }),
        Connection::NotFound => Some(html! {
            "This session has gone. Look in "
            <a href="/history.html">"History"</a>
            "."
        }),
    };
    html! {
        <div role="status" class="connection">
            {move || text().map(|text| html! { <p class="banner">{text}</p> })}
        </div>
        {move || {
            (feed.connection.get() == Connection::Ended).then(|| html! { <Continue id=id /> })
        }}
    }
}
