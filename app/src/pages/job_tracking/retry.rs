//! The buttons that retry a run that has ended: all that failed, or from a work on.

use super::Page;
use crate::api;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::router::navigator;
use crate::state::job::JobState;
use crate::state::tracking::Tracking;

/// Which part of a run is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryFrom {
    /// Whatever did not succeed.
    Failure,
    /// A work, and all that followed from it.
    Work(u32),
}

impl RetryFrom {
    fn label(self) -> &'static str {
        match self {
            Self::Failure => "Retry",
            Self::Work(_) => "Retry from here",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Failure => {
                "Runs again what did not succeed, as a new run. What succeeded is carried over."
            }
            Self::Work(_) => {
                "Runs this task and all that followed from it again, as a new run. \
                 Other results are carried over."
            }
        }
    }

    fn work(self) -> Option<u32> {
        match self {
            Self::Failure => None,
            Self::Work(work) => Some(work),
        }
    }
}

/// `#job-retry-button` or `.work-retry-button`: retries the run, and opens the page of the new one. If
/// that fails, it says why.
pub(super) fn draw_retry(
    page: Page,
    tracking: Tracking,
    from: RetryFrom,
    failure: RwSignal<Option<String>>,
) -> Html {
    let is_busy = RwSignal::new(false);
    let id = tracking.job.with_untracked(JobState::id);
    let navigate = navigator();
    let retry = move |_| {
        is_busy.set(true);
        failure.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            match api::retry_job(id, from.work()).await {
                Ok(new) => page.open_run(new, &navigate),
                Err(error) => {
                    // The page may have been left in the meantime.
                    is_busy.try_set(false);
                    failure.try_set(Some(error.to_string()));
                }
            }
        });
    };
    let is_whole = from == RetryFrom::Failure;
    html! {
        <button
            type="button"
            id=is_whole.then_some("job-retry-button")
            class=if is_whole { "button" } else { "button work-retry-button" }
            title=from.help()
            disabled=is_busy
            on:click=retry
        >
            {from.label()}
        </button>
    }
}

/// Why something could not be done.
pub(super) fn draw_failure(failure: RwSignal<Option<String>>) -> Html {
    let text =
        move || failure.get().map(|text| html! { <p class="failure" role="alert">{text}</p> });
    html! { {text} }
}
