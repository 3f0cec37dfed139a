//! The form for a project: a prompt or a goal, the model, and the number of steps. What is in it
//! survives a reload, and drafts of others come into it.

mod drafts;

use leptos::ev::KeyboardEvent;
use wire::bridge::{Draft, MessageRequest, Mode};

use crate::api;
use crate::components::confirm::Confirm;
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::notification;
use crate::reactive::prelude::*;
use crate::state::drafts::DraftBox;
use crate::state::project::Project;
use drafts::draw_drafts;

/// What the user is about to send.
#[derive(Clone, Copy)]
struct Form {
    id: StoredValue<String>,
    content: RwSignal<DraftBox>,
    /// The drafts that wait, as they were last.
    drafts: RwSignal<Vec<Draft>>,
    mode: RwSignal<Mode>,
    model: RwSignal<String>,
    steps: RwSignal<String>,
    failure: RwSignal<Option<String>>,
    is_sending: RwSignal<bool>,
}

impl Form {
    fn send(self) {
        let DraftBox { text, from } = self.content.get_untracked();
        if text.trim().is_empty() || self.is_sending.get_untracked() {
            return;
        }
        let mode = self.mode.get_untracked();
        let mut request = match compose(
            self.id.get_value(),
            text.clone(),
            mode,
            &self.model.get_untracked(),
            &self.steps.get_untracked(),
        ) {
            Ok(request) => request,
            Err(problem) => return self.failure.set(Some(problem.to_owned())),
        };
        request.draft_id = from.first().map(ToString::to_string);
        self.is_sending.set(true);
        self.failure.set(None);
        spawn_local(async move {
            let sent = api::bridge::send(&request).await;
            self.is_sending.try_set(false);
            match sent {
                Ok(()) => {
                    self.content.try_update(|content| content.sent(&text));
                    self.keep();
                    self.follow_drafts();
                    for id in from.into_iter().skip(1) {
                        // One that stays comes again, and can be discarded by hand.
                        let _ = api::bridge::discard(id).await;
                    }
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
        reviewed: true,
        ..MessageRequest::default()
    })
}

/// `#bridge-request`: the form and its buttons.
#[component]
pub(super) fn Request(id: String, name: String, project: Project) -> Html {
    let form = Form {
        id: StoredValue::new(id),
        content: RwSignal::new(DraftBox::default()),
        drafts: RwSignal::new(Vec::new()),
        mode: RwSignal::new(Mode::Agent),
        model: RwSignal::new(String::new()),
        steps: RwSignal::new(String::new()),
        failure: RwSignal::new(None),
        is_sending: RwSignal::new(false),
    };
    // Effects run in the browser only.
    Effect::new(move |_| form.restore());
    Effect::new(move |_| {
        if let Some(drafts) = project.drafts.get() {
            form.take_drafts(drafts);
        }
    });
    let press = move |event: KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            form.send();
        }
    };
    let placeholder = move || match form.mode.get() {
        Mode::Agent => "Say what is to be done. Ctrl+Enter sends.",
        Mode::Prompt => "Ask the model. Ctrl+Enter sends.",
    };
    html! {
        <div id="bridge-request">
            <Choices form=form />
            {draw_drafts(form)}
            <textarea
                id="bridge-text"
                aria-label="Message"
                placeholder=placeholder
                prop:value=move || form.content.with(|content| content.text.clone())
                on:input=move |event| form.write(event_target_value(&event))
                on:keydown=press
            ></textarea>
            {move || {
                form.failure.get().map(|text| html! { <p class="failure" role="alert">{text}</p> })
            }}
            <div class="button-row">
                <div class="button-group">
                    <ClearButton form=form name=name />
                    <NotifyButton />
                </div>
                <div class="button-group">
                    <CancelButton form=form project=project />
                    <button
                        type="button"
                        id="bridge-send"
                        class="button primary"
                        disabled=move || form.is_sending.get()
                        on:click=move |_| form.send()
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
fn Choices(form: Form) -> Html {
    let models = Loader::new(api::models);
    let options = move || match models.state.get() {
        Load::Ready(list) => list
            .models
            .into_iter()
            .map(|model| html! { <option value=model.id>{model.name}</option> })
            .collect(),
        _ => Vec::new(),
    };
    let Form { mode, model, steps, .. } = form;
    html! {
        <div class="choices">
            <div class="choice">
                <label for="bridge-mode">"Mode:"</label>
                <select
                    id="bridge-mode"
                    autocomplete="off"
                    prop:value=move || mode.get().as_str()
                    on:change=move |event| {
                        if let Ok(chosen) = event_target_value(&event).parse() {
                            mode.set(chosen);
                        }
                    }
                >
                    <option value=Mode::Agent.as_str() selected=move || mode.get() == Mode::Agent>
                        "Agent"
                    </option>
                    <option value=Mode::Prompt.as_str() selected=move || mode.get() == Mode::Prompt>
                        "Plain prompt"
                    </option>
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
fn CancelButton(form: Form, project: Project) -> Html {
    let first = move || project.running.with(|runs| runs.first().copied());
    let cancel = move |_| {
        let Some(run) = untrack(first) else { return };
        spawn_local(async move {
            if let Err(error) = api::bridge::cancel(run).await {
                form.failure.try_set(Some(error.to_string()));
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
fn ClearButton(form: Form, name: String) -> Html {
    let question = RwSignal::new(None::<String>);
    let ask = move |_| question.set(Some(format!("Clear the history of {name}?")));
    let clear = move |()| {
        let id = form.id.get_value();
        spawn_local(async move {
            if let Err(error) = api::bridge::clear(id).await {
                form.failure.try_set(Some(error.to_string()));
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
        assert!(agent.reviewed, "a person sends it");
        assert_eq!(compose(Mode::Agent, "", "").expect("no steps").max_steps, None);
        for wrong in ["0", "-1", "many", "1.5"] {
            assert!(compose(Mode::Agent, "", wrong).is_err(), "{wrong}");
        }
    }
}
