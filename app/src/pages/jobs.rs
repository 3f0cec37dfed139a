//! `/jobs?wb=DIR&job=NAME`: choose a job for the folder DIR, which can be changed. Without a folder it
//! is the repository; with a name, that job is chosen at first.

mod matrix;

use wire::{ErrorName, JobId, JobList};

use super::index::Note;
use crate::api::{self, ApiError};
use crate::components::folder_field::{folder_field, remember_folder};
use crate::components::page_header::plain_header;
use crate::components::split::Split;
use crate::config;
use crate::explain::Known;
use crate::html::{Html, html};
use crate::links::{jobs_url, tracking_url};
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;
use crate::router::{address, replacer};
use crate::state::folders::tidy;
use crate::title::window_title;
use matrix::Matrix;

/// The page.
#[component]
pub(crate) fn JobsPage() -> Html {
    let address = address();
    let repo_root = config().repo_root;
    let wanted = Memo::new(move |_| {
        let folder = address.argument("wb").filter(|folder| !folder.is_empty());
        folder.unwrap_or_else(|| repo_root.clone())
    });
    let named = Memo::new(move |_| address.argument("job"));
    let draft = Draft {
        folder: RwSignal::new(wanted.get_untracked()),
        list: Loader::new(api::jobs),
        selected: RwSignal::new(named.get_untracked()),
        input: RwSignal::new(String::new()),
        starting: RwSignal::new(false),
        failure: RwSignal::new(None),
        started: RwSignal::new(None),
    };
    // A link to this page while it is shown: what was typed stays.
    Effect::new(move |before: Option<()>| {
        let (folder, name) = (wanted.get(), named.get());
        if before.is_some() {
            draft.folder.set(folder);
            if name.is_some() {
                draft.selected.set(name);
            }
        }
    });
    // A name that no job has chooses none.
    Effect::new(move |_| {
        if let Load::Ready(list) = draft.list.state.get() {
            let is_unknown = |name: &String| !list.jobs.contains_key(name);
            if draft.selected.with(|name| name.as_ref().is_some_and(is_unknown)) {
                draft.selected.set(None);
            }
        }
    });
    let stopped = RwSignal::new(false);
    html! {
        {window_title(|| "Jobs".to_owned())}
        {move || {
            if stopped.get() {
                let text = "The server has been stopped. Start it again to continue.";
                return html! { <Note title="Server stopped" text=text /> };
            }
            let left = html! { <Matrix draft=draft stopped=stopped /> };
            let right = html! { <StartPart draft=draft /> };
            html! {
                {plain_header("New job")}
                <Split left=left right=right />
            }
        }}
    }
}

/// The job that is about to be started.
#[derive(Clone, Copy)]
struct Draft {
    folder: RwSignal<String>,
    list: Loader<JobList>,
    selected: RwSignal<Option<String>>,
    input: RwSignal<String>,
    starting: RwSignal<bool>,
    failure: RwSignal<Option<(Field, String)>>,
    /// The run that was started last, for browsers that open no window.
    started: RwSignal<Option<(String, JobId)>>,
}

/// The field next to which an error is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Folder,
    Input,
    Form,
}

/// Where a start that was refused went wrong.
pub(super) fn field_at_fault(error: &ApiError) -> Field {
    match error {
        ApiError::Domain { name: ErrorName::UserInputRequired, .. } => Field::Input,
        ApiError::Domain {
            name: ErrorName::WorkingDirectoryNotAbsolutePath | ErrorName::WorkingDirectoryNotExists,
            ..
        } => Field::Folder,
        _ => Field::Form,
    }
}

impl Draft {
    /// Whether the selected job uses the input.
    fn takes_input(self) -> bool {
        let Load::Ready(list) = self.list.state.get() else { return false };
        self.selected.with(|name| {
            let facts = name.as_ref().and_then(|name| list.jobs.get(name));
            facts.is_some_and(|facts| facts.require_user_input)
        })
    }

    /// Starts the selected job and opens a window that follows it.
    fn start(self) {
        let Some(name) = self.selected.get_untracked() else { return };
        if self.starting.get_untracked() {
            return;
        }
        self.starting.set(true);
        self.failure.set(None);
        spawn_local(async move {
            let takes_input = untrack(move || self.takes_input());
            let input = if takes_input { self.input.get_untracked() } else { String::new() };
            let folder = tidy(&self.folder.get_untracked()).to_owned();
            match api::start_job(&name, &folder, &input).await {
                Ok(id) => {
                    open_window(&tracking_url(&name, Some(id)));
                    remember_folder(&folder);
                    self.started.try_set(Some((name, id)));
                }
                Err(error) => {
                    let known = Known::of_start(None, &folder);
                    self.failure.try_set(Some((field_at_fault(&error), error.explain(known))));
                }
            }
            self.starting.try_set(false);
        });
    }

    fn preview(self) {
        if let Some(name) = self.selected.get_untracked() {
            open_window(&tracking_url(&name, None));
        }
    }
}

fn open_window(url: &str) {
    // If the browser blocks windows, the page still shows a link.
    let _ = window().open_with_url_and_target(url, "_blank");
}

/// `#user-input-part`: the folder, the input, and the buttons.
#[component]
fn StartPart(draft: Draft) -> Html {
    let Draft { selected, input, starting, failure, started, .. } = draft;
    let reason = move |field| {
        failure.get().filter(|(at_fault, _)| *at_fault == field).map(|(_, reason)| {
            html! { <p class="failure" role="alert">{reason}</p> }
        })
    };
    let replace = replacer();
    // A reload finds the folder again.
    let settled = Callback::new(move |()| replace(&jobs_url(&draft.folder.get_untracked())));
    let is_selected = move || selected.with(Option::is_some);
    let takes_input = Memo::new(move |_| draft.takes_input());
    let placeholder = move || match (is_selected(), takes_input.get()) {
        (false, _) => "Choose a job on the left.",
        (true, true) => "Say what the job is about.",
        (true, false) => "This job needs no input.",
    };
    let start_label = move || match selected.get() {
        Some(name) => format!("Start Job: {name}"),
        None => "Job Not Selected".to_owned(),
    };
    html! {
        <section id="user-input-part" class="part">
            {folder_field("working-dir", draft.folder, move || reason(Field::Folder), Some(settled))}
            <label class="field" for="user-input-textarea">
                <span class="field-label">"User input"</span>
                <textarea
                    id="user-input-textarea"
                    disabled=move || !takes_input.get()
                    placeholder=placeholder
                    prop:value=input
                    on:input=move |event| input.set(event_target_value(&event))
                ></textarea>
            </label>
            {move || reason(Field::Input)}
            {move || reason(Field::Form)}
            <div class="button-row">
                <button
                    type="button"
                    id="preview-button"
                    class="button"
                    disabled=move || !is_selected()
                    on:click=move |_| draft.preview()
                >
                    "Preview"
                </button>
                <button
                    type="button"
                    id="start-job-button"
                    class="button primary"
                    disabled=move || !is_selected() || starting.get()
                    on:click=move |_| draft.start()
                >
                    {start_label}
                </button>
            </div>
            <div role="status">
                {move || {
                    started
                        .get()
                        .map(|(name, id)| {
                            let url = tracking_url(&name, Some(id));
                            html! {
                                <p>
                                    {format!("{name} was started. ")}
                                    <a href=url target="_blank">
                                        "Follow it"
                                    </a>
                                </p>
                            }
                        })
                }}
            </div>
        </section>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_shown_at_the_field_at_fault() {
        let refused = |name| ApiError::from(name);
        assert_eq!(field_at_fault(&refused(ErrorName::UserInputRequired)), Field::Input);
        assert_eq!(field_at_fault(&refused(ErrorName::WorkingDirectoryNotExists)), Field::Folder);
        assert_eq!(field_at_fault(&refused(ErrorName::JobNotFound)), Field::Form);
        assert_eq!(field_at_fault(&ApiError::Unreachable), Field::Form);
    }
}
