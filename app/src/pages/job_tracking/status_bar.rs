//! `#job-status-bar`: the status and progress of the job, and the button that stops it.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{JobId, JobStatus, WorkState};

use super::{Page, Run};
use crate::api;
use crate::components::budget_meters::BudgetMeters;
use crate::html::{Html, html};
use crate::poll::Connection;
use crate::state::job::{JobState, describe_progress};
use crate::state::spending;
use crate::state::tracking::Tracking;

/// The status bar of a job.
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
    html! {
        <div id="job-status-bar">
            <h1>{page.job_name.get_value()}</h1>
            <span id="job-status-label" class=move || state().to_lowercase() role="status">
                "JOB: "
                {state}
            </span>
            {page.tracking.map(|tracking| html! { <Progress page=page tracking=tracking /> })}
            {match page.run {
                Run::Followed(id) => page.tracking.map(|it| html! { <StopButton id=id tracking=it /> }),
                Run::Preview | Run::Nonsense => None,
            }}
        </div>
    }
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

/// The progress, and how long the job has been running.
#[component]
fn Progress(page: Page, tracking: Tracking) -> Html {
    let states = Memo::new(move |_| tracking.job.with(|job| job.status.map(|_| job.states())));
    let has_ended = Memo::new(move |_| tracking.job.with(JobState::has_ended));
    let total = move || page.task_count().max(1);
    // Not every task of a job has to run; once the job has ended nothing is left to do.
    let value = move || {
        let ended = states.with(|states| states.as_deref().map_or(0, count_ended));
        if has_ended.get() { total() } else { ended }
    };
    let progress = move || {
        let total = page.task_count();
        states.get().map(|states| describe_progress(&states, total, has_ended.get()))
    };
    html! {
        <span class="job-progress">{progress}</span>
        <span class="job-elapsed" aria-label="Elapsed time">
            {move || tracking.job_elapsed()}
        </span>
        <progress
            class:failed=move || tracking.job.with(|job| job.status == Some(JobStatus::Failed))
            class:canceled=move || tracking.job.with(|job| job.status == Some(JobStatus::Canceled))
            aria-label="Tasks that have ended"
            max=move || total().to_string()
            value=move || value().to_string()
        ></progress>
        <Aside page=page tracking=tracking />
    }
}

/// The usage of its sessions, what is left of the budget, and whether a person is waited for.
#[component]
fn Aside(page: Page, tracking: Tracking) -> Html {
    let usage = Memo::new(move |_| tracking.job.with(|job| spending::describe(&job.usage())));
    let budget = Signal::derive(move || Some(tracking.budget()));
    let asking = Memo::new(move |_| tracking.asking());
    html! {
        {move || usage.get().map(|text| html! { <span class="job-usage">{text}</span> })}
        <BudgetMeters known=budget />
        <div class="job-asking" role="status">
            {move || {
                asking
                    .get()
                    .map(|work| {
                        html! {
                            <button
                                type="button"
                                class="waiting-hint"
                                on:click=move |_| page.selected.set(Some(work))
                            >
                                {move || format!("{} is waiting for your answer", page.label(work))}
                            </button>
                        }
                    })
            }}
        </div>
    }
}

/// How many works need not be waited for.
fn count_ended(states: &[WorkState]) -> usize {
    use WorkState::{NotReached, Queued, Running, Waiting};
    let is_open = |state: &WorkState| matches!(state, NotReached | Queued | Running | Waiting);
    states.iter().filter(|state| !is_open(state)).count()
}

/// `#stop-job-button`: stops the job.
#[component]
fn StopButton(id: JobId, tracking: Tracking) -> Html {
    let is_stopping = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
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
        {move || failure.get().map(|text| html! { <p class="failure" role="alert">{text}</p> })}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_counts_what_has_ended_in_whatever_way() {
        use WorkState as S;
        let open = [S::NotReached, S::Queued, S::Running, S::Waiting];
        assert_eq!(count_ended(&open), 0);
        assert_eq!(count_ended(WorkState::ALL), WorkState::ALL.len() - open.len());
    }

    #[test]
    fn a_status_that_is_known_stays_known() {
        assert_eq!(state_name(None, false), "…");
        assert_eq!(state_name(None, true), "UNKNOWN");
        assert_eq!(state_name(Some(JobStatus::Canceled), true), "CANCELED");
    }
}
