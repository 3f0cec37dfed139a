//! The buttons that retry a run that has ended: all that failed, or from a work on.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use wire::JobId;

use super::Page;
use crate::api;
use crate::links::tracking_url;

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
/// that fails, the reason stands beside the button.
#[component]
pub(super) fn RetryButton(page: Page, id: JobId, from: RetryFrom) -> impl IntoView {
    let is_busy = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let navigate = use_navigate();
    let retry = move |_| {
        is_busy.set(true);
        failure.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            match api::retry_job(id, from.work()).await {
                Ok(new) => {
                    let address =
                        page.job_name.try_with_value(|name| tracking_url(name, Some(new)));
                    // The page may have been left in the meantime.
                    if let Some(address) = address {
                        navigate(&address, NavigateOptions::default());
                    }
                }
                Err(error) => {
                    is_busy.try_set(false);
                    failure.try_set(Some(error.to_string()));
                }
            }
        });
    };
    let is_whole = from == RetryFrom::Failure;
    view! {
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
        {move || {
            failure
                .get()
                .map(|text| view! { <p class="failure retry-failure" role="alert">{text}</p> })
        }}
    }
}
