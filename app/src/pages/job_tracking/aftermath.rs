//! What can be done with a run that has ended, and the runs before and after it.

use super::Page;
use super::retry::{RetryFrom, draw_retry};
use super::run_again::draw_run_again;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::state::job::{JobState, Lineage};
use crate::state::tracking::Tracking;

/// `.job-actions`, once the run has ended.
pub(super) fn draw_actions(page: Page, tracking: Tracking) -> Html {
    let lineage = Memo::new(move |_| tracking.job.with(|job| job.lineage.clone()));
    let can_retry =
        Memo::new(move |_| page.shows_its_run() && tracking.job.with(JobState::can_retry));
    // What is not installed can't be started.
    let can_run_again = Memo::new(move |_| {
        page.shows_its_run() && tracking.job.with(JobState::has_ended) && page.task_count() > 0
    });
    let retry = move || draw_retry(page, tracking, RetryFrom::Failure, page.failure);
    html! {
        <div class="job-actions">
            {move || can_retry.get().then(retry)}
            {move || can_run_again.get().then(|| draw_run_again(page, lineage))}
        </div>
    }
}

/// `.job-lineage`, if there is another run to link to.
pub(super) fn draw_other_runs(page: Page, tracking: Tracking) -> Html {
    let lineage = Memo::new(move |_| tracking.job.with(|job| job.lineage.clone()));
    html! { {move || lineage.with(|lineage| draw_lineage(page, lineage))} }
}

/// The runs that this one retries and is retried by.
fn draw_lineage(page: Page, lineage: &Lineage) -> Option<Html> {
    let Lineage { retried_from, retries, .. } = lineage;
    if retried_from.is_none() && retries.is_empty() {
        return None;
    }
    let from = retried_from.map(|id| {
        html! {
            <span>
                "Retry of "
                <a id="job-retried-from" href=page.run_url(id)>
                    "an earlier run"
                </a>
            </span>
        }
    });
    let links = retries.iter().enumerate().map(|(index, id)| {
        html! {
            <a class="job-retry-link" href=page.run_url(*id)>
                {retry_name(index, retries.len())}
            </a>
        }
    });
    let links = links.collect::<Html>();
    let retried = (!retries.is_empty()).then(|| html! { <span>"Retried as " {links}</span> });
    Some(html! { <p class="job-lineage">{from} {retried}</p> })
}

/// What a retry is called, of so many, the oldest first.
fn retry_name(index: usize, count: usize) -> String {
    match count {
        1 => "a new run".to_owned(),
        _ => format!("run {}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_numbered_if_there_are_several() {
        assert_eq!(retry_name(0, 1), "a new run");
        assert_eq!([retry_name(0, 2), retry_name(1, 2)], ["run 1", "run 2"]);
    }
}
