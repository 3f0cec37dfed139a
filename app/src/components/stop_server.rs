//! `#stop-server-button`: stops the server, and always asks first.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{JobStatus, SessionId};

use super::confirm::Confirm;
use crate::api;
use crate::html::{Html, html};
use crate::live;

/// The button, and its confirmation.
#[component]
pub(crate) fn StopServer(
    /// The session shown on this page.
    own: Option<SessionId>,
    /// Called after the server has stopped.
    on_stopped: Callback<()>,
    /// Set if stopping failed.
    failure: RwSignal<Option<String>>,
) -> Html {
    let question = RwSignal::new(None::<String>);
    let stop = move || {
        spawn_local(async move {
            live::rest(true);
            match api::stop_server().await {
                Ok(()) => on_stopped.run(()),
                Err(error) => {
                    live::rest(false);
                    failure.set(Some(error.to_string()));
                }
            }
        });
    };
    let ask = move |_| {
        spawn_local(async move { question.set(Some(stop_question(own).await)) });
    };
    html! {
        <button type="button" id="stop-server-button" class="button danger" on:click=ask>
            "Stop Server"
        </button>
        <Confirm question=question yes="Stop Server" on_yes=Callback::new(move |()| stop()) />
    }
}

/// The question before the server is stopped. Asked even if it is unknown what that would end.
async fn stop_question(own: Option<SessionId>) -> String {
    let sessions = api::sessions().await.map(|list| list.sessions).unwrap_or_default();
    let others = sessions.iter().filter(|one| Some(one.session_id) != own).count();
    let jobs = api::running_jobs().await.map(|list| list.jobs).unwrap_or_default();
    let running = jobs.iter().filter(|one| one.status == JobStatus::Running);
    question_for(own.is_some(), others, &running.map(|job| &*job.job_name).collect::<Vec<_>>())
}

fn question_for(has_session: bool, others: usize, jobs: &[&str]) -> String {
    let own = has_session.then(|| "this session".to_owned());
    // Sessions of jobs are open, too, and cannot be distinguished from the others.
    let others = match (others, jobs) {
        (0, _) | (_, [_, ..]) => None,
        (1, _) if has_session => Some("another session".to_owned()),
        (1, _) => Some("a session".to_owned()),
        _ if has_session => Some(format!("{others} other sessions")),
        _ => Some(format!("{others} sessions")),
    };
    let jobs = match jobs {
        [] => None,
        [job] => Some(format!("the job {job}")),
        jobs => Some(format!("{} jobs ({})", jobs.len(), jobs.join(", "))),
    };
    let ends: Vec<_> = [own, others, jobs].into_iter().flatten().collect();
    match &*ends {
        [] => "Stop the server? Nothing is running.".to_owned(),
        [ends] => format!("Stop the server? This interrupts {ends}."),
        [ends @ .., last] => {
            format!("Stop the server? This interrupts {} and {last}.", ends.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_always_asks_and_names_what_it_ends() {
        for (has_session, others, jobs, question) in [
            (false, 0, &[][..], "Stop the server? Nothing is running."),
            (true, 0, &[], "Stop the server? This interrupts this session."),
            (false, 1, &[], "Stop the server? This interrupts a session."),
            (false, 3, &[], "Stop the server? This interrupts 3 sessions."),
            (true, 1, &[], "Stop the server? This interrupts this session and another session."),
            (true, 3, &[], "Stop the server? This interrupts this session and 3 other sessions."),
            (false, 2, &["ship"], "Stop the server? This interrupts the job ship."),
            (
                true,
                4,
                &["ship", "test"],
                "Stop the server? This interrupts this session and 2 jobs (ship, test).",
            ),
        ] {
            assert_eq!(question_for(has_session, others, jobs), question);
        }
    }
}
