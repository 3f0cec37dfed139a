//! The form for a project: a prompt or a goal, the model, and the number of steps.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::bridge::{MessageRequest, Mode};

use crate::api;
use crate::components::confirm::Confirm;
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::notification;
use crate::state::project::Project;

/// What the user is about to send.
#[derive(Clone, Copy)]
struct Draft {
    id: StoredValue<String>,
    text: RwSignal<String>,
    mode: RwSignal<Mode>,
    model: RwSignal<String>,
    steps: RwSignal<String>,
    failure: RwSignal<Option<String>>,
    is_sending: RwSignal<bool>,
}

impl Draft {
    fn send(self) {
        let text = self.text.get_untracked();
        if text.trim().is_empty() || self.is_sending.get_untracked() {
            return;
        }
        let mode = self.mode.get_untracked();
        let request = match compose(
            self.id.get_value(),
            text,
            mode,
            &self.model.get_untracked(),
            &self.steps.get_untracked(),
        ) {
            Ok(request) => request,
            Err(problem) => return self.failure.set(Some(problem.to_owned())),
        };
        self.is_sending.set(true);
        self.failure.set(None);
        spawn_local(async move {
            let sent = api::bridge::send(&request).await;
            self.is_sending.try_set(false);
            match sent {
                Ok(()) => {
                    self.text.try_set(String::new());
                }
                Err(error) => {
                    self.failure.try_set(Some(error.to_string()));
                }
            }
        });
    }
}

/// The message, or what is wrong with it.
fn compose(
    session: String,
    text: String,
    mode: Mode,
    model: &str,
    steps: &str,
) -> Result<MessageRequest, &'static str> {
    let max_steps = match steps.trim() {
        _ if mode != Mode::Agent => None,
        "" => None,
        steps => {
            let steps = steps.parse().ok().filter(|steps| *steps > 0);
            Some(steps.ok_or("The number of steps must be 1 or more.")?)
        }
    };
    Ok(MessageRequest {
        text: Some(text),
        session_id: Some(session),
        mode: Some(mode.as_str().to_owned()),
        max_steps,
        model: (!model.is_empty()).then(|| model.to_owned()),
    })
}

/// `#bridge-request`: the form and its buttons.
#[component]
pub(super) fn Request(id: String, name: String, project: Project) -> Html {
    let draft = Draft {
        id: StoredValue::new(id),
        text: RwSignal::new(String::new()),
        mode: RwSignal::new(Mode::Agent),
        model: RwSignal::new(String::new()),
        steps: RwSignal::new(String::new()),
        failure: RwSignal::new(None),
        is_sending: RwSignal::new(false),
    };
    let press = move |event: KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            draft.send();
        }
    };
    let placeholder = move || match draft.mode.get() {
        Mode::Agent => "Say what is to be done. Ctrl+Enter sends.",
        Mode::Prompt => "Ask the model. Ctrl+Enter sends.",
    };
    html! {
        <div id="bridge-request">
            <Choices draft=draft />
            <textarea
                id="bridge-text"
                aria-label="Message"
                placeholder=placeholder
                prop:value=draft.text
                on:input=move |event| draft.text.set(event_target_value(&event))
                on:keydown=press
            ></textarea>
            {move || {
                draft.failure.get().map(|text| html! { <p class="failure" role="alert">{text}</p> })
            }}
            <div class="button-row">
                <div class="button-group">
                    <ClearButton draft=draft name=name />
                    <NotifyButton />
                </div>
                <div class="button-group">
                    <CancelButton draft=draft project=project />
                    <button
                        type="button"
                        id="bridge-send"
                        class="button primary"
                        disabled=move || draft.is_sending.get()
                        on:click=move |_| draft.send()
                    >
                        "Send"
                    </button>
                </div>
            </div>
        </div>
    }
}

/// The model and the mode.
#[component]
fn Choices(draft: Draft) -> Html {
    let models = Loader::new(api::models);
    let options = move || match models.state.get() {
        Load::Ready(list) => list
            .models
            .into_iter()
            .map(|model| html! { <option value=model.id>{model.name}</option> })
            .collect(),
        _ => Vec::new(),
    };
    let Draft { mode, model, steps, .. } = draft;
    html! {
        <div class="choices">
            <div class="choice">
                <label for="bridge-mode">"Mode:"</label>
                <select
                    id="bridge-mode"
                    autocomplete="off"
                    on:change=move |event| {
                        if let Ok(chosen) = event_target_value(&event).parse() {
                            mode.set(chosen);
                        }
                    }
                >
                    <option value=Mode::Agent.as_str()>"Agent"</option>
                    <option value=Mode::Prompt.as_str()>"Plain prompt"</option>
                </select>
            </div>
            <div class="choice">
                <label for="bridge-model">"Model:"</label>
                <select
                    id="bridge-model"
                    autocomplete="off"
                    on:change=move |event| model.set(event_target_value(&event))
                >
                    <option value="">"(default)"</option>
                    {options}
                </select>
            </div>
            <div class="choice">
                <label for="bridge-steps">"Steps:"</label>
                <input
                    id="bridge-steps"
                    type="number"
                    min="1"
                    step="1"
                    inputmode="numeric"
                    autocomplete="off"
                    placeholder="default"
                    disabled=move || mode.get() != Mode::Agent
                    prop:value=steps
                    on:input=move |event| steps.set(event_target_value(&event))
                />
            </div>
        </div>
    }
}

/// `#bridge-cancel` cancels the oldest run that has not ended.
#[component]
fn CancelButton(draft: Draft, project: Project) -> Html {
    let first = move || project.running.with(|runs| runs.first().copied());
    let cancel = move |_| {
        let Some(run) = untrack(first) else { return };
        spawn_local(async move {
            if let Err(error) = api::bridge::cancel(run).await {
                draft.failure.try_set(Some(error.to_string()));
            }
        });
    };
    html! {
        <button
            type="button"
            id="bridge-cancel"
            class="button"
            disabled=move || first().is_none()
            on:click=cancel
        >
            "Cancel"
        </button>
    }
}

/// `#bridge-clear` clears the history, and asks first.
#[component]
fn ClearButton(draft: Draft, name: String) -> Html {
    let question = RwSignal::new(None::<String>);
    let ask = move |_| question.set(Some(format!("Clear the history of {name}?")));
    let clear = move |()| {
        let id = draft.id.get_value();
        spawn_local(async move {
            if let Err(error) = api::bridge::clear(id).await {
                draft.failure.try_set(Some(error.to_string()));
            }
        });
    };
    html! {
        <button type="button" id="bridge-clear" class="button" on:click=ask>
            "Clear"
        </button>
        <Confirm question=question yes="Clear" on_yes=Callback::new(clear) />
    }
}

/// `#bridge-notify` lets the browser show notifications while the page is hidden. Shown until the
/// user has decided.
#[component]
fn NotifyButton() -> Html {
    let is_offered = RwSignal::new(false);
    // Effects run in the browser only.
    Effect::new(move |_| is_offered.set(notification::can_be_asked_for()));
    let ask = move |_| {
        spawn_local(async move {
            notification::ask().await;
            is_offered.try_set(notification::can_be_asked_for());
        });
    };
    html! {
        {move || {
            is_offered
                .get()
                .then(|| {
                    html! {
                        <button
                            type="button"
                            id="bridge-notify"
                            class="button"
                            title="When a run ends or needs an answer while this page is hidden"
                            on:click=ask
                        >
                            "Notify me"
                        </button>
                    }
                })
        }}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_only_what_was_chosen() {
        let compose = |mode, model, steps| compose("s".into(), "t".into(), mode, model, steps);
        let plain = compose(Mode::Prompt, "", "nonsense").expect("no steps in a prompt");
        assert_eq!(
            (plain.mode.as_deref(), plain.max_steps, plain.model),
            (Some("prompt"), None, None)
        );
        let agent = compose(Mode::Agent, "m", " 7 ").expect("steps");
        assert_eq!((agent.max_steps, agent.model.as_deref()), (Some(7), Some("m")));
        assert_eq!(compose(Mode::Agent, "", "").expect("no steps").max_steps, None);
        for wrong in ["0", "-1", "many", "1.5"] {
            assert!(compose(Mode::Agent, "", wrong).is_err(), "{wrong}");
        }
    }
}
