//! `#job-run-again-button`: starts the job anew, with the folder and the input of this run to change.

use leptos::ev::SubmitEvent;
use leptos::html::Dialog;

use super::Page;
use crate::api;
use crate::config;
use crate::explain::Known;
use crate::html::{Html, html};
use crate::pages::jobs::{Field, field_at_fault};
use crate::reactive::prelude::*;
use crate::router::navigator;
use crate::state::job::Lineage;

/// What is typed in the form; `None` as long as it is what this run was started with. It stays when
/// the form is closed, and when the start fails.
#[derive(Clone, Copy)]
struct Draft {
    page: Page,
    given: Memo<Lineage>,
    /// For a run whose folder is not known.
    usual_folder: StoredValue<String>,
    folder: RwSignal<Option<String>>,
    input: RwSignal<Option<String>>,
    is_busy: RwSignal<bool>,
    failure: RwSignal<Option<(Field, String)>>,
}

impl Draft {
    fn folder(self) -> String {
        let given = self.given.with(|given| given.folder.clone());
        let known = Some(given).filter(|folder| !folder.is_empty());
        let folder = self.folder.get().or(known);
        folder.unwrap_or_else(|| self.usual_folder.get_value())
    }

    fn input(self) -> String {
        self.input.get().unwrap_or_else(|| self.given.with(|given| given.user_input.clone()))
    }

    /// Starts the job, and opens the page of the new run.
    fn start(self, navigate: impl Fn(&str) + 'static) {
        if self.is_busy.get_untracked() {
            return;
        }
        self.is_busy.set(true);
        self.failure.set(None);
        let name = self.page.job_name.get_value();
        let (folder, input) = untrack(|| {
            let input = if self.page.takes_input() { self.input() } else { String::new() };
            (self.folder(), input)
        });
        spawn_local(async move {
            match api::start_job(&name, &folder, &input).await {
                Ok(new) => self.page.open_run(new, &navigate),
                Err(error) => {
                    // The page may have been left in the meantime.
                    let reason = error.explain(Known::of_start(None, &folder));
                    self.failure.try_set(Some((field_at_fault(&error), reason)));
                    self.is_busy.try_set(false);
                }
            }
        });
    }
}

/// The button, and the form that it opens.
pub(super) fn draw_run_again(page: Page, given: Memo<Lineage>) -> Html {
    let panel = NodeRef::<Dialog>::new();
    let draft = Draft {
        page,
        given,
        usual_folder: StoredValue::new(config().repo_root),
        folder: RwSignal::new(None),
        input: RwSignal::new(None),
        is_busy: RwSignal::new(false),
        failure: RwSignal::new(None),
    };
    let open = move |_| {
        if let Some(panel) = panel.get_untracked() {
            // Fails only for a dialog outside the document.
            let _ = panel.show_modal();
        }
    };
    let close = move |_| {
        if let Some(panel) = panel.get_untracked() {
            panel.close();
        }
    };
    let navigate = navigator();
    let start = move |event: SubmitEvent| {
        event.prevent_default();
        draft.start(navigate.clone());
    };
    html! {
        <button
            type="button"
            id="job-run-again-button"
            class="button"
            title="Starts the job from its beginning, as a new run."
            on:click=open
        >
            "Run again"
        </button>
        <dialog id="run-again-panel" class="panel" node_ref=panel aria-labelledby="run-again-title">
            <h2 id="run-again-title">"Run "{page.job_name.get_value()}" again"</h2>
            <p class="field-help">"A new run from the beginning. This one stays as it is."</p>
            <form class="run-again-form" novalidate on:submit=start>
                {draw_fields(&draft)}
                <div class="button-row">
                    <button type="button" class="button" on:click=close>
                        "Cancel"
                    </button>
                    <button
                        type="submit"
                        id="run-again-start"
                        class="button primary"
                        disabled=draft.is_busy
                    >
                        "Start"
                    </button>
                </div>
            </form>
        </dialog>
    }
}

/// The folder and the input, each above what is wrong with it.
fn draw_fields(draft: &Draft) -> Html {
    let draft = *draft;
    let takes_input = Memo::new(move |_| draft.page.takes_input());
    let reason = move |field| {
        draft.failure.get().filter(|(at_fault, _)| *at_fault == field).map(|(_, reason)| {
            html! { <p class="failure" role="alert">{reason}</p> }
        })
    };
    let input = move || {
        takes_input.get().then(|| {
            html! {
                <label class="field" for="run-again-input">
                    <span class="field-label">"User input"</span>
                    <textarea
                        id="run-again-input"
                        rows="5"
                        prop:value=move || draft.input()
                        on:input=move |event| draft.input.set(Some(event_target_value(&event)))
                    ></textarea>
                </label>
            }
        })
    };
    html! {
        <label class="field" for="run-again-folder">
            <span class="field-label">"Folder"</span>
            <input
                id="run-again-folder"
                class="path"
                type="text"
                autocomplete="off"
                spellcheck="false"
                placeholder="/absolute/path"
                prop:value=move || draft.folder()
                on:input=move |event| draft.folder.set(Some(event_target_value(&event)))
            />
        </label>
        {move || reason(Field::Folder)}
        {input}
        {move || reason(Field::Input)}
        {move || reason(Field::Form)}
    }
}
