//! `.permission-card`: what a tool wants to do, an agent asks, or how an interrupted work goes on, and
//! the buttons that answer it. Everything in it may come from a model, so it is shown as plain text.

use leptos::html::P;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{
    InboxChoice, InboxItem, InboxOption, PermissionId, PermissionOutcome, PermissionRequest,
};

use super::diff::draw_diff;
use crate::api;
use crate::html::{Html, html};

/// A question as a card shows it.
pub(crate) struct Asked {
    id: PermissionId,
    kind: &'static str,
    title: String,
    path: Option<String>,
    detail: Option<String>,
    diff: Option<String>,
    options: Vec<InboxOption>,
}

impl Asked {
    /// What a tool or an agent asks in a session.
    pub(crate) fn in_session(id: PermissionId, request: PermissionRequest) -> Self {
        let options = InboxOption::of_request(&request);
        let PermissionRequest { kind, title, path, detail, diff, each_time: _ } = request;
        Self { id, kind: kind.as_str(), title, path, detail, diff, options }
    }

    /// An item of the inbox.
    pub(crate) fn in_inbox(item: InboxItem) -> Self {
        let InboxItem { id, kind, title, path, detail, diff, options, .. } = item;
        Self { id, kind: kind.as_str(), title, path, detail, diff, options }
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
    let Asked { id, kind, title, path, detail, diff, options } = asked;
    let name = card_name(&options);
    let form = AnswerForm {
        id,
        is_question: options.iter().any(|option| option.id == InboxChoice::Answer),
        options: StoredValue::new(options),
        is_sent: RwSignal::new(false),
        problem: RwSignal::new(None),
        text: RwSignal::new(String::new()),
        says_why: RwSignal::new(false),
    };
    let settled = NodeRef::<P>::new();
    Effect::new(move |_| {
        // The button that had the focus is gone.
        if let Some(element) = settled.get().filter(|_| form.is_sent.get_untracked())
            && document().active_element().is_none_or(|active| active.tag_name() == "BODY")
        {
            let _ = element.focus();
        }
    });
    let path = path.filter(|path| !path.is_empty());
    html! {
        <section
            class="permission-card"
            class:pending=move || outcome.get().is_none()
            data-request-id=id.to_string()
            data-kind=kind
            aria-label=name
        >
            <h3 class="permission-title">{title}</h3>
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

/// The part of a card that answers.
#[derive(Clone, Copy)]
struct AnswerForm {
    id: PermissionId,
    /// Whether it is answered with a text.
    is_question: bool,
    options: StoredValue<Vec<InboxOption>>,
    is_sent: RwSignal<bool>,
    problem: RwSignal<Option<String>>,
    /// The text of the answer, or why it is refused. It stays if the answer is not accepted.
    text: RwSignal<String>,
    /// Whether the reason of a refusal can be typed.
    says_why: RwSignal<bool>,
}

impl AnswerForm {
    fn send(self, choice: InboxChoice) {
        self.is_sent.set(true);
        self.problem.set(None);
        let text = self.text.get_untracked();
        spawn_local(async move {
            // The outcome arrives with the stream, which every viewer reads.
            if let Err(error) = api::answer(self.id, choice, &text).await {
                self.is_sent.try_set(false);
                self.problem.try_set(Some(error.to_string()));
            }
        });
    }

    fn draw(self) -> Html {
        let is_incomplete = move |choice: InboxChoice| {
            choice == InboxChoice::Answer && self.text.with(|text| text.trim().is_empty())
        };
        let button = move |option: InboxOption| {
            html! {
                <button
                    type="button"
                    class=button_class(option.id)
                    title=help(option.id)
                    disabled=move || self.is_sent.get() || is_incomplete(option.id)
                    on:click=move |_| self.send(option.id)
                >
                    {option.label}
                </button>
            }
        };
        let buttons = self.options.get_value().into_iter().map(button).collect::<Html>();
        let can_say_why = self
            .options
            .with_value(|options| options.iter().any(|option| option.id == InboxChoice::Deny));
        html! {
            {move || {
                (self.is_question || self.says_why.get()).then(|| self.draw_text())
            }}
            <div class="permission-buttons">
                {buttons}
                {move || {
                    (can_say_why && !self.says_why.get())
                        .then(|| {
                            html! {
                                <button
                                    type="button"
                                    class="button quiet permission-why"
                                    disabled=self.is_sent
                                    on:click=move |_| self.says_why.set(true)
                                >
                                    "Say why …"
                                </button>
                            }
                        })
                }}
            </div>
            <div role="status">
                {move || {
                    self.problem.get().map(|text| html! { <p class="permission-problem">{text}</p> })
                }}
            </div>
        }
    }

    fn draw_text(self) -> Html {
        let label = if self.is_question { "Your answer" } else { "Why it is denied (optional)" };
        html! {
            <label class="permission-text">
                <span class="field-label">{label}</span>
                <textarea
                    rows="2"
                    prop:value=self.text
                    disabled=self.is_sent
                    on:input=move |event| self.text.set(event_target_value(&event))
                ></textarea>
            </label>
        }
    }
}

fn button_class(choice: InboxChoice) -> &'static str {
    match choice {
        InboxChoice::Approve => "button primary permission-approve",
        InboxChoice::Answer => "button primary permission-answer",
        InboxChoice::Raise => "button primary permission-raise",
        InboxChoice::ApproveAlways => "button permission-always",
        InboxChoice::Deny => "button danger permission-deny",
        InboxChoice::Decline => "button permission-decline",
        InboxChoice::Leave => "button permission-leave",
        InboxChoice::Continue => "button primary permission-continue",
        InboxChoice::Redo => "button permission-redo",
        InboxChoice::Done => "button permission-done",
        InboxChoice::Fail => "button danger permission-fail",
    }
}

/// What a button does, where its label may not say it.
fn help(choice: InboxChoice) -> Option<&'static str> {
    match choice {
        InboxChoice::Continue => {
            Some("The agent goes on where it was cut off, and looks first at what is done.")
        }
        InboxChoice::Redo => Some("A new session gets the same prompt again."),
        InboxChoice::Done => Some("The job goes on as if the task had succeeded."),
        InboxChoice::Fail => Some("The job goes on as if the task had failed."),
        _ => None,
    }
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

/// The text shown while requests are pending; `None` if there are none.
pub(crate) fn waiting_text(waiting: usize) -> Option<String> {
    match waiting {
        0 => None,
        1 => Some("The agent is waiting for your answer".to_owned()),
        many => Some(format!("The agent is waiting for {many} answers")),
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
    fn questions_are_counted() {
        assert_eq!(waiting_text(0), None);
        assert_eq!(waiting_text(1).as_deref(), Some("The agent is waiting for your answer"));
        assert_eq!(waiting_text(2).as_deref(), Some("The agent is waiting for 2 answers"));
    }

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
