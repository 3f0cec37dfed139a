//! `#setup-ui`: what this is, the form that starts a session, examples to try, and what is alive.

mod examples;
mod hint;
mod lists;
mod models;

use leptos::ev::SubmitEvent;
use wire::{ErrorName, Models, PermissionMode, SessionId};

use crate::api::{self, ApiError};
use crate::components::folder_field::{folder_field, remember_folder};
use crate::components::page_header::plain_header;
use crate::components::permission_select::PermissionSelect;
use crate::config;
use crate::explain::Known;
use crate::html::{Html, html};
use crate::links::{jobs_url, session_url};
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;
use crate::router::{address, navigator};
use crate::state::folders::tidy;
use crate::title::window_title;
use examples::draw_examples;
use hint::draw_hint;
use lists::Lists;
use models::{default_model, model_help, model_options, provider_problems};

/// What is about to be started.
#[derive(Clone, Copy)]
struct Draft {
    models: Loader<Models>,
    model: RwSignal<String>,
    folder: RwSignal<String>,
    permissions: RwSignal<PermissionMode>,
    usual_permissions: PermissionMode,
    /// Why the last start was refused, and which field is at fault.
    failure: RwSignal<Option<(Field, String)>>,
    is_starting: RwSignal<bool>,
}

/// What a session is started with.
struct Start {
    model: String,
    permissions: PermissionMode,
    /// Sent at once.
    prompt: Option<String>,
}

/// The field next to which an error is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Model,
    Folder,
    Form,
}

impl Draft {
    fn new() -> Self {
        let (config, project) = (config(), untrack(|| address().argument("project")));
        Self {
            models: Loader::new(api::models),
            model: RwSignal::new(String::new()),
            folder: RwSignal::new(default_folder(&config.repo_root, project.as_deref())),
            permissions: RwSignal::new(config.permissions),
            usual_permissions: config.permissions,
            failure: RwSignal::new(None),
            is_starting: RwSignal::new(false),
        }
    }

    fn is_ready(self) -> bool {
        self.models
            .state
            .with(|models| matches!(models, Load::Ready(list) if !list.models.is_empty()))
    }

    /// The reason beside the field at fault.
    fn reason(self, field: Field) -> Option<Html> {
        self.failure.get().filter(|(at_fault, _)| *at_fault == field).map(|(_, reason)| {
            html! { <span class="failure" role="alert">{reason}</span> }
        })
    }

    /// Starts a session in the chosen folder and goes to it.
    fn start(self, start: Start, navigate: impl Fn(&str) + 'static) {
        if self.is_starting.get_untracked() {
            return;
        }
        self.is_starting.set(true);
        self.failure.set(None);
        spawn_local(async move {
            let folder = tidy(&self.folder.get_untracked()).to_owned();
            match start_session(&start, &folder, self.usual_permissions).await {
                Ok(id) => {
                    remember_folder(&folder);
                    navigate(&session_url(id));
                }
                Err(error) => {
                    let known = Known::of_start(Some(&start.model), &folder);
                    let reason = error.explain(known);
                    self.failure.try_set(Some((field_at_fault(&error), reason)));
                    self.is_starting.try_set(false);
                }
            }
        });
    }
}

/// Starts a session; its permission mode is set unless it is the default.
async fn start_session(
    start: &Start,
    folder: &str,
    usual: PermissionMode,
) -> Result<SessionId, ApiError> {
    let id = api::start_session(&start.model, folder).await?;
    if start.permissions != usual {
        api::set_permissions(id, start.permissions).await?;
    }
    if let Some(prompt) = &start.prompt {
        api::query(id, prompt).await?;
    }
    Ok(id)
}

/// The page without a session.
#[component]
pub(crate) fn Setup() -> Html {
    let draft = Draft::new();
    let lists = Lists::new();
    // Clears a selection that no longer exists after a refresh.
    Effect::new(move |_| match draft.models.state.get() {
        Load::Ready(list) => {
            let chosen = draft.model.get_untracked();
            if !list.models.iter().any(|model| model.id == chosen) {
                draft.model.set(default_model(&list.models).unwrap_or_default().to_owned());
            }
        }
        Load::Failed(error) => draft.failure.set(Some((Field::Model, error.to_string()))),
        Load::Pending => {}
    });
    html! {
        {window_title(String::new)}
        {plain_header("New session")}
        <div class="hero">
            <p>
                "Coding agents work in your folders: give one a task, follow every step here, and \
                 decide what it may change."
            </p>
        </div>
        <SetupForm draft=draft lists=lists />
        {move || draft.models.state.with(|models| draw_examples(draft, models))}
        {move || draft.models.state.with(draw_hint)}
        {lists.draw()}
    }
}

/// The form.
#[component]
fn SetupForm(draft: Draft, lists: Lists) -> Html {
    let Draft { models, model, folder, permissions, .. } = draft;
    let refresh = move |_| {
        draft.failure.set(None);
        models.reload();
        lists.reload();
    };
    let navigate = navigator();
    let start = move |event: SubmitEvent| {
        event.prevent_default();
        let model = model.get_untracked();
        if !model.is_empty() {
            let permissions = permissions.get_untracked();
            draft.start(Start { model, permissions, prompt: None }, navigate.clone());
        }
    };
    let is_busy = move || draft.is_starting.get();
    html! {
        <form id="setup-ui" class="card" on:submit=start>
            <div class="setup-fields">
                <label class="field" for="model-select">
                    <span class="field-label">"Model"</span>
                    <select
                        id="model-select"
                        disabled=move || !draft.is_ready()
                        prop:value=model
                        on:change=move |event| model.set(event_target_value(&event))
                    >
                        {move || models.state.with(|models| model_options(models, &model.get()))}
                    </select>
                    {move || draft.reason(Field::Model)}
                    {move || {
                        let help = models.state.with(|models| model_help(models, &model.get()));
                        help.map(|help| html! { <span class="field-help">{help}</span> })
                    }}
                </label>
                {folder_field("working-dir", folder, move || draft.reason(Field::Folder), None)}
                <label class="field" for="permission-select">
                    <span class="field-label">"Permissions"</span>
                    <PermissionSelect
                        mode=Signal::derive(move || Some(permissions.get()))
                        on_choice=Callback::new(move |mode| permissions.set(mode))
                    />
                    <span class="field-help">"What the agent may do without asking"</span>
                </label>
            </div>
            {move || models.state.with(provider_problems)}
            {move || draft.reason(Field::Form)}
            <div class="button-row">
                <div id="setup-buttons-left">
                    <a href=move || jobs_url(&folder.get()) id="jobs-button" class="button">
                        "New Job"
                    </a>
                    <button type="button" id="refresh-button" class="button" on:click=refresh>
                        "Refresh"
                    </button>
                </div>
                <button
                    type="submit"
                    id="start-button"
                    class="button primary"
                    disabled=move || !draft.is_ready() || is_busy()
                >
                    {move || if is_busy() { "Starting …" } else { "Start" }}
                </button>
            </div>
        </form>
    }
}

fn field_at_fault(error: &ApiError) -> Field {
    match error {
        ApiError::Domain { name, .. } => match name {
            ErrorName::ModelIdNotFound | ErrorName::ModelNotAvailable => Field::Model,
            ErrorName::WorkingDirectoryNotAbsolutePath | ErrorName::WorkingDirectoryNotExists => {
                Field::Folder
            }
            _ => Field::Form,
        },
        _ => Field::Form,
    }
}

/// The repository itself, or with `?project=NAME` the folder of that name next to it.
fn default_folder(repo_root: &str, project: Option<&str>) -> String {
    let Some(project) = project.filter(|name| !name.is_empty()) else {
        return repo_root.to_owned();
    };
    let separator = if repo_root.contains('\\') { '\\' } else { '/' };
    let parent = repo_root.rsplit_once(separator).map_or("", |(parent, _)| parent);
    format!("{parent}{separator}{project}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_lies_beside_the_repository() {
        for (root, project, folder) in [
            ("/src/portal", None, "/src/portal"),
            ("/src/portal", Some(""), "/src/portal"),
            ("/src/portal", Some("other"), "/src/other"),
            ("/portal", Some("other"), "/other"),
            (r"C:\Code\Portal", Some("Vlpp"), r"C:\Code\Vlpp"),
        ] {
            assert_eq!(default_folder(root, project), folder);
        }
    }

    #[test]
    fn a_refusal_is_shown_at_the_field_at_fault() {
        let refused = |name| ApiError::from(name);
        assert_eq!(field_at_fault(&refused(ErrorName::ModelIdNotFound)), Field::Model);
        assert_eq!(field_at_fault(&refused(ErrorName::WorkingDirectoryNotExists)), Field::Folder);
        assert_eq!(field_at_fault(&refused(ErrorName::TooManySessions)), Field::Form);
        assert_eq!(field_at_fault(&ApiError::Unreachable), Field::Form);
    }
}
