//! `#job-summary`: the state of the job, why, the node at fault, what can be done about it, and what
//! was judged.

use leptos::prelude::*;
use wire::EntityState;

use super::Page;
use super::aftermath::draw_aftermath;
use crate::components::verdicts::Verdicts;
use crate::html::{Html, html};
use crate::state::job::JobState;
use crate::state::tracking::Tracking;
use crate::wording::job_word;

/// The summary of a followed job. Empty until its state is known.
#[component]
pub(super) fn Summary(page: Page, tracking: Tracking) -> Html {
    let state = Memo::new(move |_| tracking.job.with(JobState::state));
    let reason = Memo::new(move |_| tracking.job.with(JobState::reason));
    let judged = Memo::new(move |_| {
        tracking.job.with(|job| {
            let verdicts = job.verdicts().iter();
            let named = verdicts.map(|one| (Some(page.label(one.work)), one.verdict.clone()));
            named.collect::<Vec<_>>()
        })
    });
    html! {
        <section id="job-summary" aria-label="Summary">
            <p class="job-state" role="status">
                {move || {
                    state
                        .get()
                        .map(|state| {
                            html! {
                                <span class="state-badge" data-state=state.as_str()>
                                    {job_word(state)}
                                </span>
                            }
                        })
                }}
                {move || {
                    shown_reason(state.get(), reason.get())
                        .map(|(reason, work)| {
                            html! {
                                <span class="job-reason">{reason}</span>
                                {work
                                    .map(|work| {
                                        html! {
                                            <button
                                                type="button"
                                                class="button show-fault"
                                                on:click=move |_| page.selected.set(Some(work))
                                            >
                                                {move || format!("Show {}", page.label(work))}
                                            </button>
                                        }
                                    })}
                            }
                        })
                }}
            </p>
            {draw_aftermath(page, tracking)}
            <Verdicts judged=judged.into() />
        </section>
    }
}

/// Why the job did not succeed. What it waits for is said by the status bar, as it happens.
fn shown_reason(
    state: Option<EntityState>,
    reason: Option<(String, Option<u32>)>,
) -> Option<(String, Option<u32>)> {
    use EntityState::{Canceled, Failed, Interrupted};
    reason.filter(|_| matches!(state, Some(Canceled | Failed | Interrupted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_did_not_succeed_has_a_reason() {
        let reason = Some(("r".to_owned(), Some(1)));
        for (state, is_shown) in [
            (Some(EntityState::Failed), true),
            (Some(EntityState::Canceled), true),
            (Some(EntityState::Interrupted), true),
            (Some(EntityState::Waiting), false),
            (Some(EntityState::Running), false),
            (None, false),
        ] {
            assert_eq!(shown_reason(state, reason.clone()).is_some(), is_shown);
        }
    }
}
