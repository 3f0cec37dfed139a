//! `#job-summary`: the state of the job, why, the node at fault, what it was started with, what it has
//! used, what was judged, and all works with their attempts.

use wire::EntityState;

use super::Page;
use super::aftermath::draw_other_runs;
use super::retry::draw_failure;
use crate::components::budget_meters::BudgetMeters;
use crate::components::verdicts::Verdicts;
use crate::components::work_mark::work_dot;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::state::duration::took;
use crate::state::job::{JobState, Millis};
use crate::state::outline::WorkFacts;
use crate::state::spending;
use crate::state::tracking::{Tracking, facts};
use crate::wording::{job_word, work_word};

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
    let badge = move || {
        state.get().map(|state| {
            html! {
                <span class="state-badge" data-state=state.as_str()>{job_word(state)}</span>
            }
        })
    };
    html! {
        <section id="job-summary" aria-label="Summary">
            <p class="job-state" role="status">
                {badge}
                {move || {
                    let reason = shown_reason(state.get(), reason.get());
                    reason.map(|(reason, work)| draw_reason(page, reason, work))
                }}
            </p>
            {draw_asking(page, tracking)}
            {draw_failure(page.failure)}
            {draw_facts(tracking)}
            {draw_other_runs(page, tracking)}
            <Verdicts judged=judged.into() />
            {draw_works(page, tracking)}
        </section>
    }
}

/// The sentence, in which the name of the task at fault leads to its node.
fn draw_reason(page: Page, reason: String, work: Option<u32>) -> Html {
    let Some(work) = work else { return html! { <span class="job-reason">{reason}</span> } };
    let label = page.label(work);
    let (name, rest) = split_name(&reason, &label);
    let select = move |event: leptos::ev::MouseEvent| {
        event.prevent_default();
        page.select(work);
    };
    let name = name.map(|name| {
        html! {
            <a class="job-fault" href=format!("{}&node={work}", page.url()) on:click=select>
                {name.to_owned()}
            </a>
        }
    });
    html! {
        <span class="job-reason">{name}{rest.to_owned()}</span>
        <button type="button" class="button show-fault" on:click=move |_| page.select(work)>
            {format!("Show {label}")}
        </button>
    }
}

/// The name with which a reason begins, and what follows.
fn split_name<'r>(reason: &'r str, label: &str) -> (Option<&'r str>, &'r str) {
    let rest = reason.strip_prefix('`').and_then(|rest| rest.strip_prefix(label));
    match rest.and_then(|rest| rest.strip_prefix('`')) {
        Some(rest) => (reason.get(..reason.len() - rest.len()), rest),
        None => (None, reason),
    }
}

/// `.job-asking`: which tasks wait for a person.
fn draw_asking(page: Page, tracking: Tracking) -> Html {
    let asking = Memo::new(move |_| tracking.job.with(JobState::all_asking));
    let draw = move |work: u32| {
        html! {
            <button type="button" class="waiting-hint" on:click=move |_| page.select(work)>
                {move || format!("{} waits for you", page.label(work))}
            </button>
        }
    };
    html! {
        <div class="job-asking" role="status">
            {move || asking.get().into_iter().map(draw).collect::<Html>()}
        </div>
    }
}

/// What the job was started with, and what it has used.
fn draw_facts(tracking: Tracking) -> Html {
    let given = Memo::new(move |_| tracking.job.with(|job| job.lineage.clone()));
    let usage = Memo::new(move |_| tracking.job.with(|job| spending::describe(&job.usage())));
    let budget = Signal::derive(move || Some(tracking.budget()));
    let folder = move || {
        let folder = given.with(|given| given.folder.clone());
        (!folder.is_empty()).then(|| html! {
            <div><dt>"Folder"</dt><dd class="job-folder" title=folder.clone()>{folder}</dd></div>
        })
    };
    let input = move || {
        let input = given.with(|given| given.user_input.clone());
        (!input.is_empty()).then(|| html! {
            <div><dt>"Input"</dt><dd class="job-input" tabindex="0" title=input.clone()>{input}</dd></div>
        })
    };
    let usage = move || {
        usage.get().map(|text| {
            html! {
                <div><dt>"Used"</dt><dd class="job-usage">{text}</dd></div>
            }
        })
    };
    html! {
        <dl class="job-facts">{input}{folder}{usage}</dl>
        <BudgetMeters known=budget />
    }
}

/// `.job-works`: all works with their attempts, below a line that unfolds them.
fn draw_works(page: Page, tracking: Tracking) -> Html {
    let is_open = RwSignal::new(false);
    let works = Memo::new(move |_| {
        if !page.shows_its_run() {
            return Vec::new();
        }
        let now = tracking.now();
        let describe = |(id, label)| {
            let facts = tracking.job.with(|job| facts(job, id));
            (id, facts, format!("{label}: {}", describe_run(&facts, now)))
        };
        page.works().into_iter().map(describe).collect::<Vec<_>>()
    });
    let summary = move || {
        works.with(|works| describe_works(works.iter().map(|(_, facts, _)| facts.attempts)))
    };
    let list = move || {
        is_open.get().then(|| {
            let rows = works.get().into_iter().map(|(id, facts, text)| {
                html! {
                    <li>
                        <button type="button" class="button plain" on:click=move |_| page.select(id)>
                            {work_dot(facts.state)}
                            {text}
                        </button>
                    </li>
                }
            });
            let rows = rows.collect::<Html>();
            html! { <ul>{rows}</ul> }
        })
    };
    let toggle = move |event: leptos::ev::Event| {
        is_open.set(event_target::<web_sys::Element>(&event).has_attribute("open"));
    };
    html! {
        {move || {
            let is_known = !works.with(Vec::is_empty);
            is_known.then(|| html! {
                <details class="job-works" on:toggle=toggle>
                    <summary>{summary}</summary>
                    {list}
                </details>
            })
        }}
    }
}

/// How many works there are, and how often all of them were tried, if that is known.
fn describe_works(attempts: impl ExactSizeIterator<Item = Option<u32>>) -> String {
    let tasks = count(attempts.len(), "task");
    match attempts.sum::<Option<u32>>() {
        Some(sum) => format!("{tasks}, {}", count(sum as usize, "attempt")),
        None => tasks,
    }
}

fn count(number: usize, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

/// How a work stands, how long its last run took, and how often it was tried.
fn describe_run(facts: &WorkFacts, now: Millis) -> String {
    let mut text = work_word(facts.state).to_owned();
    let time = facts.span.start.and_then(|start| took(facts.span.end.unwrap_or(now) - start));
    let attempts = facts.attempts.filter(|attempts| *attempts > 0);
    let attempts = attempts.map(|attempts| count(attempts as usize, "attempt"));
    let rounds = (facts.rounds > 1).then(|| count(facts.rounds as usize, "iteration"));
    for part in [time, attempts, rounds].into_iter().flatten() {
        text.push_str(", ");
        text.push_str(&part);
    }
    text
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
    use wire::WorkState;

    use super::*;
    use crate::state::job::Span;

    #[test]
    fn a_reason_that_begins_with_the_name_of_its_task_leads_there() {
        for (reason, label, parts) in [
            ("`a` failed: no", "a", (Some("`a`"), " failed: no")),
            ("`ab` failed", "a", (None, "`ab` failed")),
            ("stopped by a user", "a", (None, "stopped by a user")),
            ("`a`", "a", (Some("`a`"), "")),
        ] {
            assert_eq!(split_name(reason, label), parts);
        }
    }

    #[test]
    fn a_work_is_told_in_one_line() {
        let span = Span { start: Some(0), end: Some(64_000) };
        let facts = WorkFacts { state: WorkState::Failed, span, rounds: 1, attempts: Some(2) };
        assert_eq!(describe_run(&facts, 0), "failed, 1:04, 2 attempts");
        let facts = WorkFacts { rounds: 3, attempts: Some(1), ..facts };
        assert_eq!(describe_run(&facts, 0), "failed, 1:04, 1 attempt, 3 iterations");
        let facts = WorkFacts { attempts: None, ..facts };
        assert_eq!(describe_run(&facts, 0), "failed, 1:04, 3 iterations");
        assert_eq!(describe_run(&WorkFacts::default(), 0), "not reached");
    }

    #[test]
    fn no_number_of_attempts_is_told_that_is_not_known() {
        for (attempts, text) in [
            (&[Some(1), Some(2), Some(0)][..], "3 tasks, 3 attempts"),
            (&[Some(1)], "1 task, 1 attempt"),
            (&[Some(1), None], "2 tasks"),
        ] {
            assert_eq!(describe_works(attempts.iter().copied()), text);
        }
    }

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
