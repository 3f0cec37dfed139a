//! `#stop-server-button`: ends everything, and asks first if that concerns others.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{JobStatus, SessionId};

use super::confirm::Confirm;
use crate::api::{self, ApiError};

/// The button, and its question.
#[component]
pub(crate) fn StopServer(
    /// The session of this page, which nobody is asked about.
    own: Option<SessionId>,
    /// Called when the server has stopped.
    on_stopped: Callback<()>,
    /// Why it has not.
    failure: RwSignal<Option<String>>,
) -> impl IntoView {
    let question = RwSignal::new(None::<String>);
    let stop = move || {
        spawn_local(async move {
            match api::stop_server().await {
                Ok(()) => on_stopped.run(()),
                Err(error) => failure.set(Some(error.to_string())),
            }
        });
    };
    let ask = move |_| {
        spawn_local(async move {
            match stop_question(own).await {
                Ok(Some(text)) => question.set(Some(text)),
                Ok(None) => stop(),
                Err(error) => failure.set(Some(error.to_string())),
            }
        });
    };
    view! {
        <button type="button" id="stop-server-button" class="button danger" on:click=ask>
            "Stop Server"
        </button>
        <Confirm question=question yes="Stop Server" on_yes=Callback::new(move |()| stop()) />
    }
}

/// What to ask before the server is stopped; nothing if nobody else is concerned.
async fn stop_question(own: Option<SessionId>) -> Result<Option<String>, ApiError> {
    let sessions = api::sessions().await?.sessions;
    let sessions = sessions.iter().filter(|one| Some(one.session_id) != own).count();
    let jobs = api::running_jobs().await?.jobs;
    let jobs = jobs.iter().filter(|one| one.status == JobStatus::Running).count();
    Ok(question_for(sessions, jobs))
}

fn question_for(sessions: usize, jobs: usize) -> Option<String> {
    // A job's sessions are open, too, and end with it.
    let (what, them) = match (sessions, jobs) {
        (0, 0) => return None,
        (1, 0) => ("Another session is open".to_owned(), "it"),
        (_, 0) => (format!("{sessions} other sessions are open"), "them"),
        (_, 1) => ("A job is running".to_owned(), "it"),
        _ => (format!("{jobs} jobs are running"), "them"),
    };
    Some(format!("{what}. Stop the server and end {them}, too?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_asks_only_if_others_are_concerned() {
        for (sessions, jobs, question) in [
            (0, 0, None),
            (1, 0, Some("Another session is open. Stop the server and end it, too?")),
            (3, 0, Some("3 other sessions are open. Stop the server and end them, too?")),
            (1, 1, Some("A job is running. Stop the server and end it, too?")),
            (4, 2, Some("2 jobs are running. Stop the server and end them, too?")),
        ] {
            assert_eq!(question_for(sessions, jobs).as_deref(), question);
        }
    }
}
