//! `#job-status-bar`: the header with the status and progress of the job, and what can be done with it.

use wire::{JobId, JobStatus};

use super::aftermath::draw_actions;
use super::{Page, Run};
use crate::api;
use crate::components::page_header::page_header;
use crate::html::{Html, html};
use crate::poll::Connection;
use crate::reactive::prelude::*;
use crate::state::job::{JobState, describe_progress};
use crate::state::tracking::Tracking;

/// The header of a job.
#[component]
pub(super) fn StatusBar(page: Page) -> Html {
    let state = move || match page.tracking {
        Some(tracking) => {
            let is_unknown = tracking.connection.with(|it| *it == Connection::NotFound);
            tracking.job.with(|job| state_name(job.status, is_unknown))
        }
        None if page.run == Run::Preview => "PREVIEW",
        None => state_name(None, true),
    };
    let title = html! {
        <h1 class="page-title">{page.job_name.get_value()}</h1>
        <span
            id="job-status-label"
            class=move || format!("state-badge {}", state().to_lowercase())
            data-state=move || state().to_lowercase()
            role="status"
        >
            "JOB: "
            {state}
        </span>
    };
    let meta = page.tracking.map(|tracking| draw_progress(page, tracking));
    let actions = match page.run {
        Run::Followed(id) => page.tracking.map(|tracking| {
            html! {
                {draw_actions(page, tracking)}
                {draw_stop(page, id, tracking)}
            }
        }),
        Run::Preview | Run::Nonsense => None,
    };
    html! { <div id="job-status-bar">{page_header(title, meta, actions)}</div> }
}

/// The status as the label spells it.
fn state_name(status: Option<JobStatus>, is_unknown: bool) -> &'static str {
    match status {
        Some(JobStatus::Running) => "RUNNING",
        Some(JobStatus::Succeeded) => "SUCCEEDED",
        Some(JobStatus::Failed) => "FAILED",
        Some(JobStatus::Canceled) => "CANCELED",
        None if is_unknown => "UNKNOWN",
        None => "…",
    }
}

/// How far the job is, and how long it has been running.
fn draw_progress(page: Page, tracking: Tracking) -> Html {
    let states = Memo::new(move |_| tracking.job.with(|job| job.status.map(|_| job.states())));
    let has_ended = Memo::new(move |_| tracking.job.with(JobState::has_ended));
    let progress = move || {
        let total = page.task_count();
        states.get().map(|states| describe_progress(&states, total, has_ended.get()))
    };
    html! {
        <span class="job-progress">{progress}</span>
        <span class="job-elapsed" aria-label="Elapsed time" role="timer">
            {move || tracking.job_elapsed()}
        </span>
    }
}

/// `#stop-job-button`: stops the job.
fn draw_stop(page: Page, id: JobId, tracking: Tracking) -> Html {
    let is_stopping = RwSignal::new(false);
    let failure = page.failure;
    let stop = move |_| {
        is_stopping.set(true);
        failure.set(None);
        spawn_local(async move {
            // The page may have been left in the meantime.
            let result = api::stop_job(id).await;
            is_stopping.try_set(false);
            failure.try_set(result.err().map(|error| error.to_string()));
        });
    };
    html! {
        <button
            type="button"
            id="stop-job-button"
            class="button danger"
            disabled=move || is_stopping.get() || !tracking.is_running()
            on:click=stop
        >
            "Stop Job"
        </button>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_is_known_stays_known() {
        assert_eq!(state_name(None, false), "…");
        assert_eq!(state_name(None, true), "UNKNOWN");
        assert_eq!(state_name(Some(JobStatus::Canceled), true), "CANCELED");
    }
}
