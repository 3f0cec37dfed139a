//! `/inbox`: everything that waits for a person, and what was answered last.

mod focus;

use wire::{AnsweredItem, InboxDecision, InboxItem, InboxKind, LiveId, PermissionId};

use crate::api;
use crate::clock;
use crate::components::page_header::plain_header;
use crate::components::permission_card::{Asked, PermissionCard};
use crate::html::{Html, each, html};
use crate::links::{session_url, tracking_url};
use crate::load::{Load, Loader};
use crate::local_time::{local_clock, local_time, millis_of};
use crate::poll::{Connection, explain_loss};
use crate::reactive::prelude::*;
use crate::state::alive::Alive;
use crate::state::duration::age;
use crate::state::inbox::InboxFeed;
use crate::title::window_title;
use focus::Focus;

/// What a card is drawn for: an item, by its id and its kind, which a restart changes. A text that is
/// being typed stays while others come and go.
type Key = (PermissionId, InboxKind);

/// The page.
#[component]
pub(crate) fn InboxPage() -> Html {
    let inbox = InboxFeed::new();
    let answered = Loader::new(api::answered);
    Effect::new(move |_| {
        if inbox.resolved.get() > 0 {
            answered.reload();
        }
    });
    let count = Memo::new(move |_| inbox.items.with(Vec::len));
    let keys = Memo::new(move |_| {
        inbox.items.with(|items| items.iter().map(|item| (item.id, item.kind)).collect::<Vec<_>>())
    });
    let alive = expect_context::<Alive>();
    let draw = move |(id, _): Key| {
        let find = |items: &Vec<InboxItem>| items.iter().find(|item| item.id == id).cloned();
        inbox.items.with_untracked(find).map(|item| draw_item(item, alive))
    };
    let focus = Focus::follow(keys);
    html! {
        {window_title(move || title(count.get()))}
        {plain_header("Inbox")}
        <section id="inbox-ui">
            <div role="status" class="connection">
                {move || match inbox.connection.get() {
                    Connection::Lost(error) => {
                        let text = explain_loss(&error);
                        Some(html! { <p class="banner">{text}</p> })
                    }
                    _ => None,
                }}
            </div>
            <p class="inbox-count" role="status" tabindex="-1">
                {move || summary(count.get(), &inbox.connection.get())}
            </p>
            <ul
                id="inbox-items"
                on:focusin=move |event| focus.came(&event_target(&event))
                on:focusout=move |event| focus.left(event.related_target().is_some())
                on:keydown=move |event| focus.pressed(&event)
            >
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

fn draw_item(item: InboxItem, alive: Alive) -> Html {
    let asked = millis_of(&item.asked_at);
    let waits = move || format!("waits {}", age(clock::now() - asked));
    let until = item.expires_at.as_deref().map(|at| {
        let micros = u64::try_from(millis_of(at)).unwrap_or_default() * 1000;
        html! { <span title=local_time(at)>"until "{local_clock(micros)}</span> }
    });
    let folder = item.folder.clone();
    let (session, job) = (item.session_id, item.job_id);
    // The side bar knows what they are called.
    let title_of = move |id: LiveId| {
        alive.entries.track();
        alive.item(id).map(|item| item.with(|item| item.title.clone()))
    };
    let job_link = move || {
        let id = job?;
        let name = title_of(id.into())?;
        let text = format!("Open job {name}");
        Some(html! { <a href=tracking_url(&name, Some(id))>{text}</a> })
    };
    let session_link = session.map(|id| {
        let title = move || title_of(id.into()).map(|title| format!(" “{title}”"));
        html! { <a class="inbox-session" href=session_url(id)>"Open session"{title}</a> }
    });
    html! {
        <li class="inbox-item">
            <p class="inbox-origin">
                <span>{kind_text(&item)}</span>
                <time datetime=item.asked_at.clone() title=local_time(&item.asked_at)>{waits}</time>
                {until}
                <span class="path">{folder}</span>
                {job_link}
                {session_link}
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
            html! { <p class="empty">"Nothing was answered yet."</p> }
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
