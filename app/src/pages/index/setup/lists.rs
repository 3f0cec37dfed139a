//! The open sessions and the jobs, as in the side bar, with room for more about each.

use wire::{AliveItem, AliveState, LiveId, RunningJobs};

use crate::api;
use crate::clock;
use crate::components::icon::alive_badge;
use crate::html::{Html, each, html};
use crate::links::{session_url, tracking_url};
use crate::load::{Load, Loader};
use crate::local_time::local_time;
use crate::reactive::prelude::*;
use crate::state::alive::{Alive, Entry};
use crate::state::duration::age;
use crate::state::title::short_folder;
use crate::wording::job_word;

/// What both lists show.
#[derive(Clone, Copy)]
pub(super) struct Lists {
    alive: Alive,
    jobs: Loader<RunningJobs>,
}

impl Lists {
    pub(super) fn new() -> Self {
        let this = Self { alive: expect_context(), jobs: Loader::new(api::running_jobs) };
        // The jobs are those of the side bar, so they change when it does.
        let states = Memo::new(move |_| this.job_states());
        Effect::new(move |before: Option<Vec<_>>| {
            let now = states.get();
            if before.is_some_and(|before| before != now) {
                this.jobs.reload();
            }
            now
        });
        this
    }

    pub(super) fn reload(self) {
        self.jobs.reload();
    }

    /// Both lists.
    pub(super) fn draw(self) -> Html {
        let alive = self.alive;
        let is_empty = move || alive.is_known.get() && self.sessions().is_empty();
        html! {
            <section id="running-jobs-list" class="card running-list">
                <h2>"Jobs"</h2>
                {move || self.jobs.state.with(draw_jobs)}
            </section>
            <section id="running-sessions-list" class="card running-list">
                <h2>"Open sessions"</h2>
                <ul>
                    {each(move || self.sessions(), |id| *id, move |id| draw_session(id, alive))}
                </ul>
                {move || {
                    is_empty().then(|| html! {
                        <p class="empty">"No sessions yet. Start one, or try an example."</p>
                    })
                }}
            </section>
        }
    }

    /// The open sessions in the order of the side bar, without those of jobs.
    fn sessions(self) -> Vec<LiveId> {
        let rows = self.rows().into_iter();
        let sessions = rows.filter(|id| matches!(id, LiveId::Session(_)));
        let is_free = |id: &LiveId| {
            let item = self.alive.item(*id);
            item.is_some_and(|item| item.with_untracked(|item| item.parent.is_none()))
        };
        sessions.filter(is_free).collect()
    }

    fn job_states(self) -> Vec<(LiveId, AliveState)> {
        let jobs = self.rows().into_iter().filter(|id| matches!(id, LiveId::Job(_)));
        let states = jobs.filter_map(|id| Some((id, self.alive.item(id)?.with(|item| item.state))));
        states.collect()
    }

    fn rows(self) -> Vec<LiveId> {
        let ids = |entry: &Entry| match entry {
            Entry::Row(id, _) => Some(*id),
            Entry::Waits | Entry::Folder(_) => None,
        };
        self.alive.entries.with(|entries| entries.iter().filter_map(ids).collect())
    }
}

fn draw_session(id: LiveId, alive: Alive) -> Html {
    let (Some(item), LiveId::Session(session)) = (alive.item(id), id) else {
        return Html::fragment();
    };
    let item = RwSignal::from(item);
    let read = move |read: fn(&AliveItem) -> String| move || item.with(read);
    let state = Memo::new(move |_| item.with(|item| item.state));
    html! {
        <li>
            <a href=session_url(session) class="button">
                "View"
            </a>
            <span class="running-name">{read(|item| item.title.clone())}</span>
            <span class="running-detail">
                <span>{read(|item| item.model.clone().unwrap_or_default())}</span>
                <span class="path" title=read(|item| item.folder.clone())>
                    {read(|item| short_folder(&item.folder, None))}
                </span>
            </span>
            {move || alive_badge(state.get())}
            <span class="running-time">{read(since)}</span>
        </li>
    }
}

/// For how long it has been as it is.
fn since(item: &AliveItem) -> String {
    let since = i64::try_from(item.since).unwrap_or(i64::MAX);
    format!("for {}", age((clock::now() - since).max(0)))
}

fn draw_jobs(jobs: &Load<RunningJobs>) -> Html {
    let list = match jobs {
        Load::Pending => return html! { <p class="waiting">"Loading …"</p> },
        Load::Failed(error) => return html! { <p class="failure">{error.to_string()}</p> },
        Load::Ready(list) => list,
    };
    if list.jobs.is_empty() {
        return html! { <p class="empty">"No job runs, or ran within the last hour."</p> };
    }
    let rows = list.jobs.iter().map(|job| {
        let reason = job.reason.clone().map(|reason| {
            html! { <span class="running-reason">{reason}</span> }
        });
        let (url, state) = (tracking_url(&job.job_name, Some(job.job_id)), job.state);
        html! {
            <li>
                <a href=url class="button">
                    "View"
                </a>
                <span class="running-name">{job.job_name.clone()}</span>
                <span class="running-detail">{reason}</span>
                <span class="running-status state-badge" data-state=state.as_str()>
                    {job_word(state)}
                </span>
                <time class="running-time" datetime=job.start_time.clone()>
                    {local_time(&job.start_time)}
                </time>
            </li>
        }
    });
    let rows = rows.collect::<Html>();
    html! { <ul>{rows}</ul> }
}
