//! `/inbox`: everything that waits for a person, and what was answered last.

use leptos::prelude::*;
use wire::{AnsweredItem, InboxDecision, InboxItem, InboxKind, JobId, PermissionId};

use crate::api;
use crate::components::permission_card::{Asked, PermissionCard};
use crate::html::{Html, each, html};
use crate::links::tracking_url;
use crate::load::{Load, Loader};
use crate::local_time::local_time;
use crate::pages::index::session_url;
use crate::poll::{Connection, explain_loss};
use crate::state::inbox::InboxFeed;
use crate::title::window_title;

/// The page.
#[component]
pub(crate) fn InboxPage() -> Html {
    let inbox = InboxFeed::new();
    let answered = Loader::new(api::answered);
    // A job's page is found by its name, too.
    let jobs = Loader::new(api::running_jobs);
    Effect::new(move |_| {
        if inbox.resolved.get() > 0 {
            answered.reload();
        }
    });
    Effect::new(move |_| {
        if inbox.items.with(|items| items.iter().any(|item| item.job_id.is_some())) {
            jobs.reload();
        }
    });
    let job_name = move |id: JobId| {
        jobs.state.with(|jobs| match jobs {
            Load::Ready(running) => {
                let job = running.jobs.iter().find(|job| job.job_id == id)?;
                Some(job.job_name.clone())
            }
            Load::Pending | Load::Failed(_) => None,
        })
    };
    let count = Memo::new(move |_| inbox.items.with(Vec::len));
    // By id and kind, which a restart changes: a text that is being typed stays while others come
    // and go.
    let keys = Memo::new(move |_| {
        inbox.items.with(|items| items.iter().map(|item| (item.id, item.kind)).collect::<Vec<_>>())
    });
    let draw = move |(id, _): (PermissionId, InboxKind)| {
        let find = |items: &Vec<InboxItem>| items.iter().find(|item| item.id == id).cloned();
        inbox.items.with_untracked(find).map(|item| draw_item(item, job_name))
    };
    html! {
        {window_title(move || title(count.get()))}
        <section id="inbox-ui">
            <h1>"Inbox"</h1>
            <div role="status" class="connection">
                {move || match inbox.connection.get() {
                    Connection::Lost(error) => {
                        let text = explain_loss(&error);
                        Some(html! { <p class="banner">{text}</p> })
                    }
                    _ => None,
                }}
            </div>
            <p class="inbox-count" role="status">
                {move || summary(count.get(), &inbox.connection.get())}
            </p>
            <ul id="inbox-items">
                {each(move || keys.get(), |key| *key, draw)}
            </ul>
            <h2>"Answered"</h2>
            {move || answered.state.with(draw_answered)}
        </section>
    }
}

fn title(count: usize) -> String {
    match count {
        0 => "Inbox".to_owned(),
        count => format!("({count}) Inbox"),
    }
}

fn summary(count: usize, connection: &Connection) -> String {
    match (count, connection) {
        (0, Connection::Connecting) => "Loading …".to_owned(),
        (0, _) => "Nothing waits for you.".to_owned(),
        (1, _) => "1 question waits for you.".to_owned(),
        (count, _) => format!("{count} questions wait for you."),
    }
}

fn draw_item(
    item: InboxItem,
    job_name: impl Fn(JobId) -> Option<String> + Send + Sync + Copy + 'static,
) -> Html {
    let asked = format!("{} · {}", kind_text(&item), local_time(&item.asked_at));
    let until = item.expires_at.as_deref().map(|at| format!(" · until {}", local_time(at)));
    let folder = item.folder.clone();
    let (session, job) = (item.session_id, item.job_id);
    let job_link = move || {
        let (id, name) = job.and_then(|id| Some((id, job_name(id)?)))?;
        let text = format!("Open job {name}");
        Some(html! { <a href=tracking_url(&name, Some(id))>{text}</a> })
    };
    html! {
        <li class="inbox-item">
            <p class="inbox-origin">
                <span>{asked}{until}</span>
                <span class="path">{folder}</span>
                {job_link}
                {session.map(|id| html! { <a href=session_url(id)>"Open session"</a> })}
            </p>
            <PermissionCard asked=Asked::in_inbox(item) outcome=Signal::stored(None) />
        </li>
    }
}

fn kind_text(item: &InboxItem) -> &'static str {
    match item.kind {
        InboxKind::Permission => "Permission",
        InboxKind::Interrupted if item.is_about_work() => "Task interrupted by a restart",
        InboxKind::Interrupted => "Interrupted by a restart: approving resumes the turn",
        InboxKind::Budget => "Budget used up",
        InboxKind::Conflict => "Merge conflict",
        InboxKind::Question => "Question",
    }
}

fn draw_answered(answered: &Load<wire::AnsweredInbox>) -> Html {
    match answered {
        Load::Pending => html! { <p class="waiting">"Loading …"</p> },
        Load::Failed(error) => {
            html! { <p class="failure" role="alert">{error.to_string()}</p> }
        }
        Load::Ready(answered) if answered.items.is_empty() => {
            html! { <p class="empty">"Nothing was asked yet."</p> }
        }
        Load::Ready(answered) => {
            let rows = answered.items.iter().map(draw_answer).collect::<Html>();
            html! { <ul id="inbox-answered">{rows}</ul> }
        }
    }
}

fn draw_answer(item: &AnsweredItem) -> Html {
    let decided = format!(
        "{} by {}, {}",
        decision_text(item.decision),
        item.by,
        local_time(&item.answered_at)
    );
    let text = item.text.clone().map(|text| html! { <q class="answered-text">{text}</q> });
    html! {
        <li>
            <span class="answered-title">{item.title.clone()}</span>
            <span class="answered-decision">{decided}</span>
            {text}
        </li>
    }
}

fn decision_text(decision: InboxDecision) -> &'static str {
    match decision {
        InboxDecision::Approve => "Approved once",
        InboxDecision::ApproveAlways => "Approved always",
        InboxDecision::Deny => "Denied",
        InboxDecision::Answer => "Answered",
        InboxDecision::Decline => "Declined",
        InboxDecision::Raise => "Raised",
        InboxDecision::Leave => "Left as it is",
        InboxDecision::Continue => "Continued",
        InboxDecision::Redo => "Sent again",
        InboxDecision::Done => "Counted as done",
        InboxDecision::Fail => "Counted as failed",
        InboxDecision::TimedOut => "Timed out, ended",
        InboxDecision::Withdrawn => "Withdrawn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_stands_in_title_and_text() {
        assert_eq!([title(0), title(2)], ["Inbox", "(2) Inbox"]);
        let live = Connection::Live;
        assert_eq!(summary(0, &Connection::Connecting), "Loading …");
        assert_eq!(summary(0, &live), "Nothing waits for you.");
        assert_eq!(summary(1, &live), "1 question waits for you.");
        assert_eq!(summary(3, &live), "3 questions wait for you.");
    }
}
