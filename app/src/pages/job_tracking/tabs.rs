//! `.tab-container`: the conversations in the task of a work. Only the selected tab is drawn.

use leptos::ev::KeyboardEvent;
use web_sys::HtmlElement;
use web_sys::wasm_bindgen::JsCast;
use wire::{InboxItem, TaskId, Verdict, WorkState};

use super::Page;
use super::retry::{RetryFrom, draw_failure, draw_retry};
use crate::api::ApiError;
use crate::components::permission_card::{Asked, PermissionCard};
use crate::components::session_responses::SessionResponses;
use crate::components::verdicts::Verdicts;
use crate::html::{Html, each, html};
use crate::reactive::prelude::*;
use crate::state::feed::Feed;
use crate::state::job::{JobState, Judged, Past, Standing, Work};
use crate::state::spending;
use crate::state::stored_run::{Reading, StoredRun};
use crate::state::tracking::Tracking;
use crate::wording::{CARRIED_OVER, work_word};

/// What is shown of a work.
#[derive(Clone, Copy)]
struct Shown {
    page: Page,
    work: u32,
    /// A run that is only stored: an earlier iteration, or one that ended before the page came.
    stored: RwSignal<Option<StoredRun>>,
}

impl Shown {
    /// Follows which run is wanted.
    fn new(page: Page, work: u32) -> Self {
        let stored = RwSignal::new(None::<StoredRun>);
        let wanted = Memo::new(move |_| {
            let round = page.selection.round();
            page.tracking?.job.with(|job| {
                let rounds = job.work(work)?.rounds();
                let earlier = round.filter(|round| *round < rounds.len());
                match earlier {
                    Some(round) => rounds.get(round - 1).copied(),
                    None => job.stored_run(work),
                }
            })
        });
        let owner = Owner::current().unwrap_or_default();
        Effect::new(move |_| {
            let task = wanted.get();
            stored.set(task.map(|task| owner.with(|| StoredRun::read(task))));
        });
        Self { page, work, stored }
    }

    /// The run; tracked.
    fn task(self) -> Option<TaskId> {
        match self.stored.get() {
            Some(run) => Some(run.task),
            None => self.page.tracking?.job.with(|job| job.work(self.work)?.task()),
        }
    }

    /// The number of its attempts; tracked.
    fn attempts(self) -> usize {
        match self.stored.get() {
            Some(run) => run.attempts(),
            None => self.live(|work| Some(work.attempts())).unwrap_or_default(),
        }
    }

    /// The conversation in a tab, if it exists.
    fn tab(self, index: usize) -> Option<Feed> {
        match self.stored.get() {
            Some(run) => run.tab(index),
            None => self
                .page
                .tracking?
                .job
                .with_untracked(|job| job.work(self.work)?.tab(index).copied()),
        }
    }

    fn live<T>(self, look: impl FnOnce(&Work<Feed>) -> Option<T>) -> Option<T> {
        self.page.tracking?.job.with(|job| look(job.work(self.work)?))
    }
}

/// The tabs of a work. A new run of it has new tabs.
#[component]
pub(super) fn TaskTabs(page: Page, work: u32) -> Html {
    let shown = Shown::new(page, work);
    let run = Memo::new(move |_| shown.task());
    let attempts = Memo::new(move |_| shown.attempts());
    // A tab that does not exist yet may come.
    let chosen = Memo::new(move |_| {
        page.selection.tab().filter(|tab| *tab <= attempts.get()).unwrap_or_default()
    });
    Effect::new(move |before: Option<Option<TaskId>>| {
        let run = run.get();
        if before.flatten().is_some_and(|before| Some(before) != run) && run.is_some() {
            // The newest of a stored run opens below; what begins anew is driven first.
            if shown.stored.with_untracked(Option::is_none) {
                page.choose_tab(0);
            }
        } else if page.selection.tab().is_none() && attempts.get() > 0 {
            page.choose_tab(attempts.get_untracked());
        }
        run
    });
    let press = move |event: KeyboardEvent| {
        let next = neighbour(&event.key(), chosen.get_untracked(), attempts.get_untracked());
        if let Some(next) = next {
            event.prevent_default();
            page.choose_tab(next);
            focus(&tab_id(next));
        }
    };
    let standing =
        Memo::new(move |_| page.tracking.map(|it| it.standing(work)).unwrap_or_default());
    html! {
        <div class="tab-container">
            <TaskHead page=page work=work standing=standing />
            <div class="tab-headers" role="tablist" aria-label="Sessions of the task" on:keydown=press>
                {each(
                    move || (0..=attempts.get()).collect(),
                    |index| *index,
                    move |index| {
                        let is_chosen = move || chosen.get() == index;
                        let works = move || {
                            run.track();
                            shown.tab(index).is_some_and(Feed::is_working)
                        };
                        let asks = move || {
                            run.track();
                            shown.tab(index).is_some_and(|feed| feed.waiting.get() > 0)
                        };
                        html! {
                            <button
                                type="button"
                                id=tab_id(index)
                                class="tab-header-btn"
                                class:working=works
                                class:asking=asks
                                role="tab"
                                aria-controls="tab-panel"
                                aria-selected=move || is_chosen().to_string()
                                tabindex=move || if is_chosen() { "0" } else { "-1" }
                                on:click=move |_| page.choose_tab(index)
                            >
                                {tab_name(index)}
                            </button>
                        }
                    },
                )}
            </div>
            <button
                type="button"
                class="button phone-back-btn"
                on:click=move |_| {
                    page.deselect();
                    focus_work(work);
                }
            >
                "Back"
            </button>
            <div
                id="tab-panel"
                role="tabpanel"
                aria-labelledby=move || tab_id(chosen.get())
            >
                {move || {
                    run.track();
                    match shown.tab(chosen.get()) {
                        Some(feed) => html! { <Said feed=feed stored=shown.stored.get() /> },
                        None => draw_nothing(page, standing),
                    }
                }}
            </div>
        </div>
    }
}

/// `.iteration-select`, if the work has run several times: which of its runs is shown.
fn draw_rounds(page: Page, work: u32) -> Html {
    let count = Memo::new(move |_| {
        let rounds = |it: Tracking| it.job.with(|job| job.work(work).map(|it| it.rounds().len()));
        page.tracking.and_then(rounds).unwrap_or_default()
    });
    let shown = move || page.selection.round().filter(|round| *round < count.get());
    let choose = move |event: leptos::ev::Event| {
        let round = event_target_value(&event).parse().ok();
        page.choose_round(round.filter(|round| *round < count.get_untracked()));
    };
    let options = move || {
        let options = (1..=count.get()).map(|round| {
            let is_shown = move || shown().unwrap_or(count.get()) == round;
            html! {
                <option value=round.to_string() selected=is_shown>
                    {format!("iteration {round} of {}", count.get())}
                </option>
            }
        });
        options.collect::<Html>()
    };
    html! {
        {move || {
            (count.get() > 1).then(|| html! {
                <select
                    class="iteration-select"
                    aria-label="Iteration"
                    prop:value=move || shown().unwrap_or(count.get()).to_string()
                    on:change=choose
                >
                    {options}
                </select>
            })
        }}
    }
}

/// How the task stands, why, what is asked about it, and what was judged in it.
#[component]
fn TaskHead(page: Page, work: u32, standing: Memo<Standing>) -> Html {
    let usage = Memo::new(move |_| {
        page.tracking.and_then(|it| it.job.with(|job| spending::describe(&job.usage_of(work))))
    });
    let elapsed = move || page.tracking.and_then(|it| it.work_elapsed(work));
    let failure = RwSignal::new(None);
    let judged = Memo::new(move |_| {
        let of_run = |job: &JobState<Feed>| {
            let run = job.work(work).and_then(Work::task);
            of_run(job.verdicts(), work, run)
        };
        page.tracking.map(|it| it.job.with(of_run)).unwrap_or_default()
    });
    let can_retry = Memo::new(move |_| {
        let ended = page.tracking.filter(|_| page.shows_its_run());
        ended.is_some_and(|it| it.job.with(|job| job.can_retry_from(work)))
    });
    // What its sessions ask stands in their tabs.
    let asked = Memo::new(move |_| {
        page.tracking.map(|it| it.job.with(|job| job.questions_about(work))).unwrap_or_default()
    });
    html! {
        <div class="tab-top">
            <h2 class="tab-title">
                {move || page.label(work)}
                <span class="tab-state">{move || describe(&standing.get(), elapsed())}</span>
                {move || usage.get().map(|text| html! { <span class="tab-usage">{text}</span> })}
            </h2>
            {draw_rounds(page, work)}
            {move || {
                let tracking = page.tracking.filter(|_| can_retry.get());
                tracking.map(|it| draw_retry(page, it, RetryFrom::Work(work), failure))
            }}
            {draw_failure(failure)}
        </div>
        <div class="tab-judged">
            {move || standing.get().reason.map(|text| html! { <p class="tab-reason">{text}</p> })}
            {move || recovery(&standing.get()).map(|text| html! { <p class="tab-recovery">{text}</p> })}
            {move || asked.get().into_iter().map(draw_question).collect::<Html>()}
            <Verdicts judged=judged.into() />
        </div>
    }
}

fn draw_question(item: InboxItem) -> Html {
    html! { <PermissionCard asked=Asked::beside_its_work(item) outcome=Signal::stored(None) /> }
}

/// The content of a tab without a conversation: why there is none.
fn draw_nothing(page: Page, standing: Memo<Standing>) -> Html {
    let is_carried = Memo::new(move |_| standing.with(|it| it.past == Some(Past::CarriedOver)));
    let link = move || {
        let tracking = page.tracking.filter(|_| is_carried.get())?;
        // The status that says what was carried over says from where.
        let id = tracking.job.with_untracked(|job| job.lineage.retried_from)?;
        let address = page.run_url(id);
        Some(html! {
            " "
            <a class="carried-from" href=address>
                "Open that run"
            </a>
        })
    };
    html! { <p class="empty">{move || standing.with(why_nothing)} {link}</p> }
}

/// The conversation in a tab.
#[component]
fn Said(feed: Feed, #[prop(optional_no_strip)] stored: Option<StoredRun>) -> Html {
    let reading = Memo::new(move |_| stored.map(|run| run.reading.get()));
    let is_empty = Memo::new(move |_| !feed.is_working() && feed.blocks.with(Vec::is_empty));
    let why = move || match reading.get() {
        Some(Reading::Pending) => Some(html! { <p class="empty">"Loading the conversation …"</p> }),
        Some(Reading::Failed(ApiError::Domain { .. })) | None if is_empty.get() => {
            Some(html! { <p class="empty">{GONE}</p> })
        }
        Some(Reading::Failed(error)) if is_empty.get() => {
            Some(html! { <p class="failure" role="alert">{error.to_string()}</p> })
        }
        Some(Reading::Done) if is_empty.get() => {
            Some(html! { <p class="empty">"Nothing was said here."</p> })
        }
        _ => None,
    };
    html! {
        {why}
        <SessionResponses feed=feed />
    }
}

/// Shown for what ended before the page could read it, and is not stored.
const GONE: &str = "This conversation is no longer kept.";

fn why_nothing(standing: &Standing) -> &'static str {
    if standing.past == Some(Past::CarriedOver) {
        return "This result was carried over. Its output is in the run that it comes from.";
    }
    match standing.state {
        WorkState::NotReached => "This task has not started.",
        WorkState::Queued => "This task waits for others to end.",
        WorkState::Skipped => "This task was not needed.",
        WorkState::Running | WorkState::Waiting => "No messages yet.",
        _ => GONE,
    }
}

/// The verdicts on a work in a run of it; in the last one if the page came too late to know it.
fn of_run(all: &[Judged], work: u32, run: Option<TaskId>) -> Vec<(Option<String>, Verdict)> {
    let of_work = all.iter().filter(|judged| judged.work == work);
    let run = run.or_else(|| of_work.clone().next_back().map(|judged| judged.task));
    let in_run = of_work.filter(|judged| Some(judged.task) == run);
    in_run.map(|judged| (None, judged.verdict.clone())).collect()
}

fn tab_name(index: usize) -> String {
    match index {
        0 => "Driving".to_owned(),
        attempt => format!("Attempt #{attempt}"),
    }
}

fn tab_id(index: usize) -> String {
    format!("tab-{index}")
}

/// What was decided when the server had stopped during the run.
fn recovery(standing: &Standing) -> Option<String> {
    Some(format!("After a restart: {}", standing.recovery()?.sentence()))
}

/// The state, and how long it took; the time of what was carried over is that of another run.
fn describe(standing: &Standing, elapsed: Option<String>) -> String {
    let word = work_word(standing.state);
    if standing.past == Some(Past::CarriedOver) {
        return format!("{word}, {CARRIED_OVER}");
    }
    elapsed.map_or_else(|| word.to_owned(), |elapsed| format!("{word}, {elapsed}"))
}

/// The tab that a key leads to; `last` is the index of the last one.
fn neighbour(key: &str, chosen: usize, last: usize) -> Option<usize> {
    match key {
        "ArrowRight" => Some(if chosen >= last { 0 } else { chosen + 1 }),
        "ArrowLeft" => Some(chosen.checked_sub(1).unwrap_or(last)),
        "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
}

fn focus(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        // If it cannot take the focus, nothing changes.
        let _ = element.unchecked_into::<HtmlElement>().focus();
    }
}

/// Returns the focus to what the tabs were opened from.
fn focus_work(work: u32) {
    let row = format!(
        "#job-view > :not([hidden]) :is([data-work-id=\"{work}\"], [data-row=\"t{work}\"])"
    );
    if let Ok(Some(node)) = document().query_selector(&row) {
        // A node is an SVG element, but it takes the focus like an HTML element.
        let _ = node.unchecked_into::<HtmlElement>().focus();
    }
}

#[cfg(test)]
mod tests {
    use wire::{Met, Recovery, VerdictCriterion};

    use super::*;

    #[test]
    fn keys_go_round() {
        for (key, chosen, last, next) in [
            ("ArrowRight", 0, 2, Some(1)),
            ("ArrowRight", 2, 2, Some(0)),
            ("ArrowLeft", 0, 2, Some(2)),
            ("ArrowLeft", 1, 2, Some(0)),
            ("ArrowLeft", 0, 0, Some(0)),
            ("Home", 2, 2, Some(0)),
            ("End", 0, 2, Some(2)),
            ("Enter", 0, 2, None),
        ] {
            assert_eq!(neighbour(key, chosen, last), next, "{key} {chosen}");
        }
    }

    #[test]
    fn verdicts_are_those_of_the_run_that_is_shown() {
        let id = |number: u32| -> TaskId {
            format!("task-00000000-0000-4000-8000-{number:012}").parse().expect("an id")
        };
        let judged = |work, task, attempt| Judged {
            work,
            task: id(task),
            verdict: Verdict {
                attempt,
                criterion: VerdictCriterion::Condition,
                met: Met::Yes,
                reason: String::new(),
                evidence: None,
                judge: None,
            },
        };
        let all = [judged(0, 1, 1), judged(1, 2, 2), judged(1, 3, 3), judged(1, 3, 4)];
        for (work, run, attempts) in [
            (1, None, &[3, 4][..]),
            (1, Some(2), &[2]),
            (1, Some(9), &[]),
            (0, Some(1), &[1]),
            (2, None, &[]),
        ] {
            let shown = of_run(&all, work, run.map(id));
            let shown: Vec<_> = shown.iter().map(|(_, verdict)| verdict.attempt).collect();
            assert_eq!(shown, attempts);
        }
    }

    #[test]
    fn tabs_are_named_and_the_task_described() {
        assert_eq!([0, 1, 12].map(tab_name), ["Driving", "Attempt #1", "Attempt #12"]);
        let elapsed = || Some("0:07".to_owned());
        assert_eq!(describe(&WorkState::Running.into(), elapsed()), "running, 0:07");
        assert_eq!(describe(&WorkState::NotReached.into(), None), "not reached");
        let carried = Standing { past: Some(Past::CarriedOver), ..WorkState::True.into() };
        assert_eq!(describe(&carried, elapsed()), "true, carried over");
        assert!(why_nothing(&carried).contains("was carried over"));
        assert_eq!(recovery(&carried), None);
        let asked = Some(Past::Interrupted(Recovery::SentAgain));
        let asked = Standing { past: asked, ..WorkState::Running.into() };
        let text = "After a restart: the interrupted prompt is sent again";
        assert_eq!(recovery(&asked).as_deref(), Some(text));
    }
}
