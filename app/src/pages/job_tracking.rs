//! `/jobTracking?jobName=NAME[&jobId=ID]`: follows a run of a job, or previews the job without an
//! id.

mod aftermath;
mod outline;
mod overview;
mod retry;
mod run_again;
mod selection;
mod status_bar;
mod summary;
mod tabs;
mod works;

use wire::JobId;
use wire::chart::ChartNode;

use crate::api::{self, JobDefinition};
use crate::components::flow_chart::NodeStatus;
use crate::components::page_header::plain_header;
use crate::components::permission_card::mark_title;
use crate::components::split::Split;
use crate::config;
use crate::html::{Html, html};
use crate::links::{jobs_url, tracking_url};
use crate::load::{Load, Loader};
use crate::poll::{Connection, explain_loss};
use crate::reactive::prelude::*;
use crate::router::address;
use crate::state::tracking::Tracking;
use crate::title::window_title;
use overview::draw_overview;
use selection::Selection;
use status_bar::StatusBar;
use summary::Summary;
use tabs::TaskTabs;

/// The arguments in the URL.
#[derive(Clone, PartialEq, Eq)]
struct Wanted {
    job_name: String,
    run: Run,
}

/// The run to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// No run: the job is only previewed.
    Preview,
    /// The run to follow.
    Followed(JobId),
    /// The argument is not a valid id.
    Nonsense,
}

impl Run {
    fn parse(id: Option<&str>) -> Self {
        match id {
            None | Some("") => Self::Preview,
            Some(id) => id.parse().map_or(Self::Nonsense, Self::Followed),
        }
    }
}

/// The page. Without a job's name it says what is missing.
#[component]
pub(crate) fn JobTrackingPage() -> Html {
    let address = address();
    let wanted = Memo::new(move |_| {
        let job_name = address.argument("jobName").filter(|name| !name.is_empty())?;
        Some(Wanted { job_name, run: Run::parse(address.argument("jobId").as_deref()) })
    });

    html! {
        {move || match wanted.get() {
            Some(wanted) => html! { <JobTracking wanted=wanted /> },
            None => draw_nameless(),
        }}
    }
}

/// What is shown without a job's name.
fn draw_nameless() -> Html {
    html! {
        {window_title(|| "Job".to_owned())}
        {plain_header("Job")}
        <section id="job-part">
            <Lost text="The address names no job: jobName is missing. Choose a job, or open one of the side bar." />
        </section>
    }
}

/// What the parts of the page share.
#[derive(Clone, Copy)]
struct Page {
    job_name: StoredValue<String>,
    run: Run,
    /// `None` in a preview.
    tracking: Option<Tracking>,
    definition: Loader<Option<JobDefinition>>,
    selection: Selection,
    /// Whether what was started last is kept in view.
    follow: RwSignal<bool>,
    /// Why the job could not be stopped or retried.
    failure: RwSignal<Option<String>>,
}

impl Page {
    /// The number of tasks in the job; 0 until it is known.
    fn task_count(self) -> usize {
        self.works().len()
    }

    /// The works of the job and the names of their tasks; none until it is known.
    fn works(self) -> Vec<(u32, String)> {
        self.definition.state.with(|definition| {
            let Load::Ready(Some(definition)) = definition else { return Vec::new() };
            let named = |node: &ChartNode| {
                Some((node.hint.work_id()?, node.label.clone().unwrap_or_default()))
            };
            definition.chart.nodes.iter().filter_map(named).collect()
        })
    }

    /// Whether the job uses what the user typed.
    fn takes_input(self) -> bool {
        self.definition.state.with(|definition| match definition {
            Load::Ready(Some(definition)) => definition.takes_input,
            _ => false,
        })
    }

    /// Whether the run is one of this job, so that its works are those of the chart.
    fn shows_its_run(self) -> bool {
        let named = self.tracking.and_then(|it| it.job.with(|job| job.name.clone()));
        named.is_some_and(|name| self.job_name.with_value(|wanted| *wanted == name))
    }

    /// The address of this page, with nothing selected.
    fn url(self) -> String {
        let id = match self.run {
            Run::Followed(id) => Some(id),
            Run::Preview | Run::Nonsense => None,
        };
        self.job_name.with_value(|name| tracking_url(name, id))
    }

    /// The address of another run of the job.
    fn run_url(self, id: JobId) -> String {
        self.job_name.with_value(|name| tracking_url(name, Some(id)))
    }

    /// Opens another run, unless the page was left in the meantime.
    fn open_run(self, id: JobId, navigate: &dyn Fn(&str)) {
        if !self.job_name.is_disposed() {
            navigate(&self.run_url(id));
        }
    }

    /// The label of a work's node.
    fn label(self, work: u32) -> String {
        let named = self.works().into_iter().find(|(id, _)| *id == work);
        named.map(|(_, label)| label).unwrap_or_default()
    }
}

#[component]
fn JobTracking(wanted: Wanted) -> Html {
    let Wanted { job_name, run } = wanted;
    let name = job_name.clone();
    let page = Page {
        job_name: StoredValue::new(job_name.clone()),
        run,
        tracking: match run {
            Run::Followed(id) => Some(Tracking::new(id)),
            Run::Preview | Run::Nonsense => None,
        },
        definition: Loader::new(move || {
            let name = name.clone();
            async move { api::job_definition(&name).await }
        }),
        selection: Selection::new(matches!(run, Run::Followed(_))),
        follow: RwSignal::new(true),
        failure: RwSignal::new(None),
    };
    let asks = Memo::new(move |_| page.tracking.is_some_and(|it| it.asking().is_some()));
    let left = html! { <section id="job-part">{move || draw_job(page)}</section> };
    let right = html! {
        <section id="session-response-part">
            {move || match page.selection.work.get() {
                Some(work) => html! { <TaskTabs page=page work=work /> },
                None => draw_json(page),
            }}
        </section>
    };
    html! {
        {window_title(move || mark_title(&job_name, asks.get()))}
        <StatusBar page=page />
        <Notices page=page />
        {page.tracking.map(|tracking| html! { <Summary page=page tracking=tracking /> })}
        <Split left=left right=right />
    }
}

fn json(page: Page) -> String {
    page.definition.state.with(|definition| match definition {
        Load::Ready(Some(definition)) => definition.json.clone(),
        _ => String::new(),
    })
}

/// The job and its chart as JSON, a few lines of it at first.
fn draw_json(page: Page) -> Html {
    let is_whole = RwSignal::new(false);
    let is_known = Memo::new(move |_| {
        page.definition.state.with(|definition| matches!(definition, Load::Ready(Some(_))))
    });
    html! {
        <pre class="job-json" class:folded=move || !is_whole.get() tabindex="0">
            {move || json(page)}
        </pre>
        {move || {
            is_known.get().then(|| html! {
                <button
                    type="button"
                    class="button plain job-json-all"
                    aria-expanded=move || is_whole.get().to_string()
                    on:click=move |_| is_whole.update(|is_whole| *is_whole = !*is_whole)
                >
                    {move || if is_whole.get() { "Show less" } else { "Show all" }}
                </button>
            })
        }}
    }
}

/// The job in its views, or why it can't be shown.
fn draw_job(page: Page) -> Html {
    let chart = page.definition.state.with(|definition| match definition {
        Load::Pending => Err(html! { <p class="waiting">"Loading the job …"</p> }),
        Load::Failed(error) => {
            Err(html! { <p class="failure" role="alert">{error.to_string()}</p> })
        }
        Load::Ready(None) => {
            let text = "No job of this name is installed on this server.";
            Err(html! { <Lost text=text /> })
        }
        Load::Ready(Some(definition)) => Ok(definition.chart.clone()),
    });
    match chart {
        Err(instead) => instead,
        // It draws once, and follows what changes by itself.
        Ok(chart) => untrack(|| draw_overview(page, chart)),
    }
}

/// How a work stands, once the job is known.
fn node_status(tracking: Tracking, work: u32) -> Option<NodeStatus> {
    tracking.job.with(|job| job.status)?;
    let standing = tracking.standing(work);
    let reason = standing.explain();
    Some(NodeStatus { state: standing.state, reason, past: standing.past })
}

/// An error message, and a link back.
#[component]
fn Lost(text: &'static str) -> Html {
    html! {
        <div class="lost">
            <p>{text}</p>
            <a class="button" href=jobs_url(&config().repo_root)>
                "Available jobs"
            </a>
            <a class="button" href="/index.html">
                "Start page"
            </a>
        </div>
    }
}

/// The problems of the run, if there are any.
#[component]
fn Notices(page: Page) -> Html {
    let notice = move || {
        let Some(tracking) = page.tracking else {
            let text = "The address names no run of a job.";
            return (page.run == Run::Nonsense).then(|| html! { <Lost text=text /> });
        };
        match tracking.connection.get() {
            Connection::Lost(error) => {
                let text = explain_loss(&error);
                Some(html! { <p class="banner">{text}</p> })
            }
            Connection::NotFound if tracking.job.with(|job| job.status.is_none()) => {
                let text = "There is no such run of a job, or it no longer exists.";
                Some(html! { <Lost text=text /> })
            }
            Connection::NotFound => {
                let text = "The server no longer knows this run. This is its last known state.";
                Some(html! { <p class="banner">{text}</p> })
            }
            _ => other_job(page, tracking),
        }
    };
    let errors =
        move || page.tracking.map(|tracking| tracking.job.with(|job| job.errors.join("\n")));
    html! {
        <div role="status" class="connection">
            {notice}
        </div>
        <div role="alert">
            {move || {
                let errors = errors().filter(|errors| !errors.is_empty());
                errors.map(|errors| html! { <p class="failure job-errors">{errors}</p> })
            }}
        </div>
    }
}

/// Shown if the run belongs to another job: its statuses mean nothing in this chart.
fn other_job(page: Page, tracking: Tracking) -> Option<Html> {
    let Run::Followed(id) = page.run else { return None };
    let name = tracking.job.with(|job| job.name.clone()).filter(|_| !page.shows_its_run())?;
    let address = tracking_url(&name, Some(id));
    Some(html! {
        <p class="banner">"This is a run of another job: " <a href=address>{name}</a></p>
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_an_id_is_a_preview() {
        let id = "job-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";
        assert_eq!(Run::parse(None), Run::Preview);
        assert_eq!(Run::parse(Some("")), Run::Preview);
        assert_eq!(Run::parse(Some(id)), Run::Followed(id.parse().expect("id")));
        for nonsense in ["nonsense", "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11"] {
            assert_eq!(Run::parse(Some(nonsense)), Run::Nonsense);
        }
    }
}
