//! The part of a card that answers: its buttons, and the field for a text.

use leptos::ev::KeyboardEvent;
use leptos::html::Textarea;
use wire::{InboxChoice, InboxOption, PermissionId};

use crate::api;
use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::state::question::{choice_of_key, key_of_choice};

/// What is being answered.
#[derive(Clone, Copy)]
pub(super) struct AnswerForm {
    id: PermissionId,
    /// Whether it is answered with a text.
    pub(super) is_question: bool,
    options: StoredValue<Vec<InboxOption>>,
    is_sent: RwSignal<bool>,
    problem: RwSignal<Option<String>>,
    /// The text of the answer, or why it is refused. It stays if the answer is not accepted.
    text: RwSignal<String>,
    /// Whether the reason of a refusal can be typed.
    says_why: RwSignal<bool>,
}

impl AnswerForm {
    pub(super) fn new(id: PermissionId, options: Vec<InboxOption>) -> Self {
        Self {
            id,
            is_question: options.iter().any(|option| option.id == InboxChoice::Answer),
            options: StoredValue::new(options),
            is_sent: RwSignal::new(false),
            problem: RwSignal::new(None),
            text: RwSignal::new(String::new()),
            says_why: RwSignal::new(false),
        }
    }

    /// Whether an answer was sent from here; not tracked.
    pub(super) fn is_sent(self) -> bool {
        self.is_sent.get_untracked()
    }

    /// The answer that a key stands for.
    pub(super) fn choice_of_key(self, key: &str) -> Option<InboxChoice> {
        self.options.with_value(|options| choice_of_key(key, options))
    }

    /// Sends an answer, unless one is under way.
    pub(super) fn send(self, choice: InboxChoice) {
        if self.is_sent() {
            return;
        }
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

    /// Whether an answer lacks its text; tracked.
    fn is_incomplete(self, choice: InboxChoice) -> bool {
        choice == InboxChoice::Answer && self.text.with(|text| text.trim().is_empty())
    }

    pub(super) fn draw(self) -> Html {
        let button = move |option: InboxOption| {
            let key = key_of_choice(option.id);
            html! {
                <button
                    type="button"
                    class=button_class(option.id)
                    title=help(option.id)
                    aria-keyshortcuts=key
                    disabled=move || self.is_sent.get() || self.is_incomplete(option.id)
                    on:click=move |_| self.send(option.id)
                >
                    {option.label}
                    {key.map(|key| html! { <span class="kbd" aria-hidden="true">{key}</span> })}
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
                                    class="button permission-why"
                                    disabled=self.is_sent
                                    on:click=move |_| self.says_why.set(true)
                                >
                                    "Deny, say why …"
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
        let field = NodeRef::<Textarea>::new();
        Effect::new(move |_| {
            // Somebody has just asked for it.
            if let Some(field) = field.get().filter(|_| !self.is_question) {
                // Fails only for what is not in the document.
                let _ = field.focus();
            }
        });
        let press = move |event: KeyboardEvent| {
            let choice = if self.is_question { InboxChoice::Answer } else { InboxChoice::Deny };
            let is_sending = event.key() == "Enter" && (event.ctrl_key() || event.meta_key());
            if is_sending && !untrack(|| self.is_incomplete(choice)) {
                event.prevent_default();
                self.send(choice);
            }
        };
        html! {
            <label class="permission-text">
                <span class="field-label">{label}</span>
                <textarea
                    node_ref=field
                    rows="2"
                    on:keydown=press
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
