//! `.permission-card`: what a tool wants to do, an agent asks, or how an interrupted work goes on, and
//! the buttons that answer it. Everything in it may come from a model, so it is shown as plain text.

mod answer;

use leptos::ev::KeyboardEvent;
use leptos::html::P;
use web_sys::Element;
use wire::{
    InboxChoice, InboxItem, InboxOption, PermissionId, PermissionOutcome, PermissionRequest,
};

use super::diff::draw_diff;
use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::inbox::InboxFeed;
use crate::state::question::{of_item, of_request, place};
use crate::state::title::short_folder;
use answer::AnswerForm;

/// A question as a card shows it.
pub(crate) struct Asked {
    id: PermissionId,
    kind: &'static str,
    title: String,
    path: Option<String>,
    detail: Option<String>,
    diff: Option<String>,
    options: Vec<InboxOption>,
    among: Among,
}

/// The questions among which a card says which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// All that wait. What stands around the card says where it was asked.
    All,
    /// Those of the same session or job.
    Own,
}

impl Asked {
    /// What a tool or an agent asks in a session.
    pub(crate) fn in_session(id: PermissionId, request: PermissionRequest) -> Self {
        let options = InboxOption::of_request(&request);
        let title = of_request(&request);
        let PermissionRequest { kind, path, detail, diff, .. } = request;
        let kind = kind.as_str();
        Self { id, kind, title, path, detail, diff, options, among: Among::Own }
    }

    /// An item of the inbox, on the page of the inbox.
    pub(crate) fn in_inbox(item: InboxItem) -> Self {
        let title = of_item(&item);
        let InboxItem { id, kind, path, detail, diff, options, .. } = item;
        let kind = kind.as_str();
        Self { id, kind, title, path, detail, diff, options, among: Among::All }
    }

    /// An item of the inbox on the page of what it is about.
    pub(crate) fn beside_its_work(item: InboxItem) -> Self {
        Self { among: Among::Own, ..Self::in_inbox(item) }
    }
}

/// The card. The first answer counts; everybody sees the outcome.
#[component]
pub(crate) fn PermissionCard(
    asked: Asked,
    /// `None` while the question is open.
    #[prop(into)]
    outcome: Signal<Option<PermissionOutcome>>,
) -> Html {
    let Asked { id, kind, title, path, detail, diff, options, among } = asked;
    let name = card_name(&options);
    let form = AnswerForm::new(id, options);
    let settled = NodeRef::<P>::new();
    Effect::new(move |_| {
        // The button that had the focus is gone.
        if let Some(element) = settled.get().filter(|_| form.is_sent())
            && document().active_element().is_none_or(|active| active.tag_name() == "BODY")
        {
            let _ = element.focus();
        }
    });
    // The title of a file has its path.
    let path = path.filter(|path| !path.is_empty() && !title.contains(&**path));
    let is_open = move || outcome.get().is_none();
    let press = move |event: KeyboardEvent| {
        if let Some(choice) = key_of(&event).and_then(|key| form.choice_of_key(&key))
            && untrack(is_open)
        {
            event.prevent_default();
            form.send(choice);
        }
    };
    html! {
        <section
            class="permission-card"
            class:pending=is_open
            data-request-id=id.to_string()
            data-kind=kind
            aria-label=name
            tabindex=move || is_open().then_some("0")
            on:keydown=press
        >
            <div class="permission-head">
                {draw_icon(Icon::Waiting)}
                <h3 class="permission-title">{title}</h3>
                {move || is_open().then(|| draw_place(id, among))}
            </div>
            {path.map(|path| html! { <p class="permission-path">{path}</p> })}
            {detail
                .map(|text| {
                    html! {
                        <pre class="permission-detail" tabindex="0" aria-label="Details">
                            {text}
                        </pre>
                    }
                })}
            {diff.as_deref().map(draw_diff)}
            {move || match outcome.get() {
                None => form.draw(),
                Some(outcome) => {
                    html! {
                        <p
                            class="permission-outcome"
                            class:approved=outcome.is_approved()
                            tabindex="-1"
                            node_ref=settled
                        >
                            {outcome_text(outcome, form.is_question)}
                        </p>
                    }
                }
            }}
        </section>
    }
}

/// The folder in which it was asked, and which of how many it is. The inbox of the page knows both.
fn draw_place(id: PermissionId, among: Among) -> Html {
    let inbox = InboxFeed::shared().items;
    let folder = move || {
        let own = |items: &Vec<InboxItem>| {
            items.iter().find(|item| item.id == id).map(|item| item.folder.clone())
        };
        // The card may go before what is drawn in it.
        let folder = inbox.try_with(own)?.filter(|_| among == Among::Own)?;
        let text = format!("in {}", short_folder(&folder, None));
        Some(html! { <span class="permission-folder" title=folder>{text}</span> })
    };
    let count = move || {
        let place = inbox.try_with(|items| {
            let own = items.iter().find(|item| item.id == id)?;
            let belongs = |item: &&InboxItem| {
                among == Among::All
                    || (item.session_id, item.job_id) == (own.session_id, own.job_id)
            };
            place(items.iter().filter(belongs).map(|item| item.id), id)
        });
        place?
    };
    html! {
        {folder}
        {move || count().map(|text| html! { <span class="permission-count">{text}</span> })}
    }
}

/// The key that was pressed, unless it belongs to a text, or to the browser.
fn key_of(event: &KeyboardEvent) -> Option<String> {
    let has_modifier = event.ctrl_key() || event.meta_key() || event.alt_key();
    let is_typing = matches!(&*event_target::<Element>(event).local_name(), "textarea" | "input");
    // A key that is held down answers one question, not all.
    let is_meant = !(has_modifier || is_typing || event.repeat() || event.is_composing());
    is_meant.then(|| event.key())
}

/// What kind of card it is, for those who listen.
fn card_name(options: &[InboxOption]) -> &'static str {
    let offers = |choice| options.iter().any(|option| option.id == choice);
    if offers(InboxChoice::Answer) {
        "Question"
    } else if offers(InboxChoice::Continue) {
        "Interrupted task"
    } else {
        "Permission"
    }
}

fn outcome_text(outcome: PermissionOutcome, is_question: bool) -> &'static str {
    match (outcome, is_question) {
        (PermissionOutcome::Approved | PermissionOutcome::ApprovedAlways, true) => "✓ Answered",
        (PermissionOutcome::Approved, false) => "✓ Approved once",
        (PermissionOutcome::ApprovedAlways, false) => "✓ Approved for the rest of this session",
        (PermissionOutcome::Denied, true) => "✗ Declined",
        (PermissionOutcome::Denied, false) => "✗ Denied",
        (PermissionOutcome::TimedOut, _) => "✗ Refused: nobody answered in time",
        (PermissionOutcome::Withdrawn, _) => "✗ Withdrawn before anyone answered",
    }
}

/// Marks the window's title while requests are pending.
pub(crate) fn mark_title(title: &str, asks: bool) -> String {
    let mark = if asks { "(?) " } else { "" };
    format!("{mark}{title}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_named_by_what_it_offers() {
        let offering = |choices: &[InboxChoice]| {
            let option = |id: &InboxChoice| InboxOption { id: *id, label: String::new() };
            card_name(&choices.iter().map(option).collect::<Vec<_>>())
        };
        assert_eq!(offering(&[InboxChoice::Approve, InboxChoice::Deny]), "Permission");
        assert_eq!(offering(&[InboxChoice::Answer, InboxChoice::Decline]), "Question");
        assert_eq!(offering(&[InboxChoice::Continue, InboxChoice::Fail]), "Interrupted task");
    }

    #[test]
    fn a_title_is_marked_while_somebody_asks() {
        assert_eq!(mark_title("Session", false), "Session");
        assert_eq!(mark_title("Session", true), "(?) Session");
    }
}
