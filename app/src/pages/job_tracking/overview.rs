//! What stands below the summary: a strip with a cell for each task, and the job as an outline, as a
//! chart, or as it is defined.

use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use wire::chart::Chart;

use super::outline::{Filters, draw_chips, draw_outline};
use super::works::Works;
use super::{Page, json, node_status};
use crate::components::flow_chart::FlowChart;
use crate::components::icon::draw_icon;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::preference::{self, Preference};
use crate::reactive::prelude::*;
use crate::state::job::JobState;
use crate::state::outline::Cell;

/// From more tasks on, a job is shown as an outline at first.
const MOST_IN_CHART: usize = 24;

/// The job, in one of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Outline,
    Chart,
    Definition,
}

impl View {
    const ALL: [Self; 3] = [Self::Outline, Self::Chart, Self::Definition];

    /// The form for a job with so many tasks.
    fn of(tasks: usize) -> Self {
        if tasks > MOST_IN_CHART { Self::Outline } else { Self::Chart }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Outline => "Outline",
            Self::Chart => "Chart",
            Self::Definition => "Definition",
        }
    }

    fn icon(self) -> Icon {
        match self {
            Self::Outline => Icon::Outline,
            Self::Chart => Icon::Chart,
            Self::Definition => Icon::Code,
        }
    }

    /// What a key leads to.
    fn next(self, key: &str) -> Option<Self> {
        let step = match key {
            "ArrowRight" => 1,
            "ArrowLeft" => 2,
            _ => return None,
        };
        let at = Self::ALL.iter().position(|view| *view == self)?;
        Self::ALL.get((at + step) % Self::ALL.len()).copied()
    }
}

/// The strip and the views of a job.
pub(super) fn draw_overview(page: Page, chart: Chart) -> Html {
    let works = Works::new(page, &chart);
    let count = chart.nodes.iter().filter(|node| node.hint.work_id().is_some()).count();
    let chosen = RwSignal::new(None::<View>);
    Effect::new(move |_| {
        let word = preference::read(Preference::JobView);
        chosen.set(View::ALL.into_iter().find(|view| word.as_deref() == Some(view.name())));
    });
    let view = Memo::new(move |_| chosen.get().unwrap_or(View::of(count)));
    let choose = move |view: View| {
        chosen.set(Some(view));
        preference::write(Preference::JobView, Some(view.name()));
    };
    let filters = Filters::new(works);
    let outline = move || (view.get() == View::Outline).then(|| draw_outline(works, filters));
    let definition = move || {
        (view.get() == View::Definition).then(|| {
            let label = "Definition of the job";
            html! {
                <pre class="job-json" tabindex="0" aria-label=label role="region">
                    {move || json(page)}
                </pre>
            }
        })
    };
    let chips = move || (view.get() == View::Outline).then(|| draw_chips(works, filters));
    html! {
        {draw_strip(works, count)}
        <div class="job-tabs">
            {draw_tabs(view, choose)}
            {chips}
            {draw_follow(page)}
        </div>
        <div id="job-view" role="tabpanel" aria-label=move || view.get().name()>
            {outline}
            <div class="job-chart" hidden=move || view.get() != View::Chart>
                {draw_chart(works, chart, Signal::derive(move || view.get() == View::Chart))}
            </div>
            {definition}
        </div>
        {draw_waiting(page)}
    }
}

fn draw_chart(works: Works, chart: Chart, is_shown: Signal<bool>) -> Html {
    let page = works.page;
    let status = move |work| page.tracking.and_then(|it| node_status(it, work));
    let elapsed = move |work| page.tracking?.work_elapsed(work);
    let followed = Memo::new(move |_| {
        let newest = works.look(|outline| outline.newest_running());
        newest.filter(|_| page.follow.get())
    });
    html! {
        <FlowChart
            chart=chart
            status=Callback::new(status)
            elapsed=Callback::new(elapsed)
            selected=page.selection.work
            on_select=Callback::new(move |work| page.toggle(work))
            followed=followed
            on_move=Callback::new(move |()| page.follow.set(false))
            is_shown=is_shown
            interactive=page.tracking.is_some()
        />
    }
}

/// The views as tabs. `choose` shows another one.
fn draw_tabs(view: Memo<View>, choose: impl Fn(View) + Copy + Send + 'static) -> Html {
    let press = move |event: KeyboardEvent| {
        if let Some(next) = view.get_untracked().next(&event.key()) {
            event.prevent_default();
            choose(next);
            focus(&format!("#job-tab-{}", next.name()));
        }
    };
    let tabs = View::ALL.into_iter().map(|tab| {
        let is_chosen = move || view.get() == tab;
        html! {
            <button
                type="button"
                id=format!("job-tab-{}", tab.name())
                role="tab"
                aria-controls="job-view"
                aria-selected=move || is_chosen().to_string()
                tabindex=move || if is_chosen() { "0" } else { "-1" }
                on:click=move |_| choose(tab)
            >
                {draw_icon(tab.icon())}
                {tab.name()}
            </button>
        }
    });
    let tabs = tabs.collect::<Html>();
    html! {
        <div class="segmented" role="tablist" aria-label="Views of the job" on:keydown=press>
            {tabs}
        </div>
    }
}

/// `.follow`, while the job runs: scrolls to what was started last.
fn draw_follow(page: Page) -> Option<Html> {
    let tracking = page.tracking?;
    let runs = Memo::new(move |_| tracking.is_running());
    Some(html! {
        {move || {
            runs.get().then(|| html! {
                <button
                    type="button"
                    class="chip follow"
                    title="Scroll to the task that was started last"
                    aria-pressed=move || page.follow.get().to_string()
                    on:click=move |_| page.follow.update(|follow| *follow = !*follow)
                >
                    {move || page.follow.get().then(|| draw_icon(Icon::Check))}
                    "Follow"
                </button>
            })
        }}
    })
}

/// `.outline-waiting` of phones: how many wait, in reach of a thumb.
fn draw_waiting(page: Page) -> Option<Html> {
    let tracking = page.tracking?;
    let asking = Memo::new(move |_| tracking.job.with(JobState::all_asking));
    Some(html! {
        {move || {
            let works = asking.get();
            let first = *works.first()?;
            let text = match works.len() {
                1 => "1 waits for you".to_owned(),
                count => format!("{count} wait for you"),
            };
            Some(html! {
                <button type="button" class="outline-waiting" on:click=move |_| page.select(first)>
                    {draw_icon(Icon::Waiting)}
                    {text}
                </button>
            })
        }}
    })
}

/// `.strip`: a cell for each task. One of them can be reached by Tab, the others by arrow keys.
fn draw_strip(works: Works, count: usize) -> Html {
    let page = works.page;
    let strip = NodeRef::<Div>::new();
    let cells = Memo::new(move |_| works.look(|outline| outline.cells()));
    let first = cells.with_untracked(|cells| cells.first().map(|cell| cell.work));
    let click = move |event: leptos::ev::MouseEvent| {
        if let Some(work) = cell_at(&event_target(&event)).filter(|_| page.tracking.is_some()) {
            page.toggle(work);
        }
    };
    let press = move |event: KeyboardEvent| {
        let here = event_target::<Element>(&event);
        let next = match event.key().as_str() {
            "ArrowRight" | "ArrowDown" => here.next_element_sibling(),
            "ArrowLeft" | "ArrowUp" => here.previous_element_sibling(),
            "Home" => strip.get_untracked().and_then(|strip| strip.first_element_child()),
            "End" => strip.get_untracked().and_then(|strip| strip.last_element_child()),
            _ => return,
        };
        event.prevent_default();
        if let Some(next) = next {
            // If it cannot take the focus, nothing changes.
            let _ = next.unchecked_into::<HtmlElement>().focus();
        }
    };
    html! {
        <div
            class="strip"
            class:few=count <= MOST_IN_CHART
            role="group"
            aria-label="Tasks"
            node_ref=strip
            on:click=click
            on:keydown=press
        >
            {each(
                move || cells.with(|cells| cells.iter().map(|cell| cell.work).collect()),
                |work| *work,
                move |work| draw_cell(page, cells, work, first == Some(work)),
            )}
        </div>
    }
}

fn draw_cell(page: Page, cells: Memo<Vec<Cell>>, work: u32, is_first: bool) -> Html {
    let cell = Memo::new(move |_| {
        cells.with(|cells| cells.iter().find(|cell| cell.work == work).cloned())
    });
    let state = move || cell.with(|cell| cell.as_ref().map(|cell| cell.state.as_str()));
    let title = move || cell.with(|cell| cell.as_ref().map(|cell| cell.title.clone()));
    let is_selected = move || page.selection.work.get() == Some(work);
    let is_entry = move || is_selected() || is_first && page.selection.work.get().is_none();
    html! {
        <button
            type="button"
            class="strip-cell"
            data-cell=work
            data-state=state
            title=title
            aria-label=title
            aria-pressed=move || is_selected().to_string()
            tabindex=move || if is_entry() { "0" } else { "-1" }
        ></button>
    }
}

fn cell_at(element: &Element) -> Option<u32> {
    element.get_attribute("data-cell")?.parse().ok()
}

fn focus(selector: &str) {
    if let Ok(Some(element)) = document().query_selector(selector) {
        // If it cannot take the focus, nothing changes.
        let _ = element.unchecked_into::<HtmlElement>().focus();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_job_is_an_outline_at_first() {
        assert_eq!([0, 24, 25].map(View::of), [View::Chart, View::Chart, View::Outline]);
    }

    #[test]
    fn keys_go_round_the_views() {
        for (view, key, next) in [
            (View::Outline, "ArrowRight", Some(View::Chart)),
            (View::Definition, "ArrowRight", Some(View::Outline)),
            (View::Outline, "ArrowLeft", Some(View::Definition)),
            (View::Chart, "Enter", None),
        ] {
            assert_eq!(view.next(key), next);
        }
    }
}
