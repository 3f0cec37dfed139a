//! `#session-ui`: what the session says above, what the user asks below.

use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use wire::SessionId;

use super::Note;
use crate::api::{self, ApiError};
use crate::components::confirm::Confirm;
use crate::components::resize_bar::{Axis, ResizeBar};
use crate::components::session_responses::SessionResponses;
use crate::poll::Connection;
use crate::state::feed::Feed;

/// Why the page no longer shows the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Closed,
    ServerStopped,
}

/// A running session.
#[component]
pub(super) fn SessionView(id: SessionId) -> impl IntoView {
    let feed = Feed::new();
    // Effects run in the browser only.
    Effect::new(move |_| feed.follow(id));
    let left = RwSignal::new(None::<Left>);
    let request_part = NodeRef::<Div>::new();

    view! {
        {move || match left.get() {
            Some(Left::Closed) => {
                view! { <Note title="Session closed" text="The session has ended. You can close this window." /> }
                    .into_any()
            }
            Some(Left::ServerStopped) => {
                view! {
                    <Note
                        title="Server stopped"
                        text="The server has been stopped. Start it again to go on."
                    />
                }
                    .into_any()
            }
            None => {
                let responses = view! { <SessionResponses feed=feed /> }.into_any();
                let request = view! { <Request id=id feed=feed left=left /> }.into_any();
                view! {
                    <Title text="Session" />
                    <div id="session-ui">
                        <div id="session-part">
                            <ConnectionBanner connection=feed.connection />
                            {responses}
                        </div>
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
                    .into_any()
            }
        }}
    }
}

/// Says why nothing arrives, if nothing does.
#[component]
fn ConnectionBanner(connection: RwSignal<Connection>) -> impl IntoView {
    let text = move || match connection.get() {
        Connection::Connecting | Connection::Live => None,
        Connection::Lost(error) => Some(format!("Connection lost, trying again … {error}")),
        Connection::Ended => Some("This session has ended.".to_owned()),
        Connection::NotFound => Some("There is no such session, or not any more.".to_owned()),
    };
    view! {
        <div role="status" class="connection">
            {move || text().map(|text| view! { <p class="banner">{text}</p> })}
        </div>
    }
}

/// The prompt and the buttons.
#[component]
fn Request(id: SessionId, feed: Feed, left: RwSignal<Option<Left>>) -> impl IntoView {
    let prompt = RwSignal::new(String::new());
    let failure = RwSignal::new(None::<String>);
    let question = RwSignal::new(None::<String>);
    let can_send = move || feed.connection.get() == Connection::Live && !feed.working.get();

    let send = move || {
        let text = prompt.get_untracked();
        if !untrack(can_send) || text.trim().is_empty() {
            return;
        }
        // Set before the request: its turn may be over before the answer is here.
        feed.working.set(true);
        failure.set(None);
        prompt.set(String::new());
        spawn_local(async move {
            if let Err(error) = api::query(id, &text).await {
                feed.working.set(false);
                failure.set(Some(error.to_string()));
                // Nothing typed is lost, neither then nor since.
                prompt.update(|since| *since = join_prompts(&text, since));
            }
        });
    };
    let press = move |event: KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            send();
        }
    };
    let abort = move |_| {
        spawn_local(async move {
            if let Err(error) = api::abort(id).await {
                failure.set(Some(error.to_string()));
            }
        });
    };
    let close = move |_| {
        spawn_local(async move { leave(left, Left::Closed, end_session(id).await, failure) });
    };
    let stop = move || {
        spawn_local(async move {
            // A session that has ended already is no reason to keep the server.
            let _ = end_session(id).await;
            leave(left, Left::ServerStopped, api::stop_server().await, failure);
        });
    };
    let ask_stop = move |_| {
        spawn_local(async move {
            let others = match api::sessions().await {
                Ok(list) => list.sessions.iter().filter(|one| one.session_id != id).count(),
                Err(error) => return failure.set(Some(error.to_string())),
            };
            match stop_question(others) {
                Some(text) => question.set(Some(text)),
                None => stop(),
            }
        });
    };

    view! {
        <textarea
            id="request-textarea"
            aria-label="Request"
            placeholder="Ask the agent. Ctrl+Enter sends."
            prop:value=prompt
            on:input:target=move |event| prompt.set(event.target().value())
            on:keydown=press
        ></textarea>
        {move || failure.get().map(|reason| view! { <p class="failure" role="alert">{reason}</p> })}
        <div class="button-row">
            <div class="button-group">
                <button type="button" id="stop-server-button" class="button danger" on:click=ask_stop>
                    "Stop Server"
                </button>
                <button type="button" id="close-session-button" class="button" on:click=close>
                    "Close Session"
                </button>
            </div>
            <div class="button-group">
                <button
                    type="button"
                    id="abort-button"
                    class="button"
                    disabled=move || !feed.working.get()
                    on:click=abort
                >
                    "Abort"
                </button>
                <button
                    type="button"
                    id="send-button"
                    class="button primary"
                    disabled=move || !can_send()
                    on:click=move |_| send()
                >
                    "Send"
                </button>
            </div>
        </div>
        <Confirm question=question yes="Stop Server" on_yes=Callback::new(move |()| stop()) />
    }
}

/// Ends the session; one that is gone already is as good.
async fn end_session(id: SessionId) -> Result<(), ApiError> {
    match api::stop_session(id).await {
        Err(ApiError::Domain { name: wire::ErrorName::SessionNotFound, .. }) => Ok(()),
        result => result,
    }
}

/// Closes the window, or says that it may be closed where the browser refuses.
fn leave(
    left: RwSignal<Option<Left>>,
    why: Left,
    result: Result<(), ApiError>,
    failure: RwSignal<Option<String>>,
) {
    match result {
        Ok(()) => {
            left.set(Some(why));
            if can_close_window() {
                // The note stays where the browser refuses nevertheless.
                let _ = window().close();
            }
        }
        Err(error) => failure.set(Some(error.to_string())),
    }
}

/// Browsers close only what a script opened, or what has never shown anything else. Asking for
/// more makes them complain.
fn can_close_window() -> bool {
    let was_opened = window().opener().is_ok_and(|opener| !opener.is_null());
    let has_no_past = window().history().and_then(|history| history.length());
    was_opened || has_no_past.is_ok_and(|length| length <= 1)
}

/// What to ask before the server is stopped; nothing if nobody else is concerned.
fn stop_question(others: usize) -> Option<String> {
    match others {
        0 => None,
        1 => Some("Another session is open. Stop the server and end it, too?".to_owned()),
        n => Some(format!("{n} other sessions are open. Stop the server and end them, too?")),
    }
}

/// A prompt that was not sent goes back in front of what was typed meanwhile.
fn join_prompts(unsent: &str, since: &str) -> String {
    if since.is_empty() { unsent.to_owned() } else { format!("{unsent}\n{since}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_asks_only_if_others_are_concerned() {
        assert_eq!(stop_question(0), None);
        assert!(stop_question(1).is_some_and(|text| text.contains("Another session")));
        assert!(stop_question(3).is_some_and(|text| text.contains("3 other sessions")));
    }

    #[test]
    fn nothing_typed_is_lost() {
        assert_eq!(join_prompts("a", ""), "a");
        assert_eq!(join_prompts("a", "b"), "a\nb");
    }
}
