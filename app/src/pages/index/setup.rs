//! `#setup-ui`: select a model and a folder; and the sessions that are already running.

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{ErrorName, ModelInfo, Models, PermissionMode, RunningJobs, SessionId, Sessions};

use super::session_url;
use crate::api::{self, ApiError};
use crate::components::permission_select::PermissionSelect;
use crate::config;
use crate::explain::Known;
use crate::html::{Html, html};
use crate::links::{jobs_url, tracking_url};
use crate::load::{Load, Loader};
use crate::local_time::local_time;
use crate::router::{address, navigator};
use crate::title::window_title;
use crate::wording::job_word;

/// Preselected, if it exists.
const PREFERRED_MODEL: &str = "gpt-5.2";

/// The form, and the running sessions and jobs below it.
#[component]
pub(super) fn Setup() -> Html {
    let project = untrack(|| address().argument("project"));
    let folder = RwSignal::new(default_folder(&config().repo_root, project.as_deref()));
    let model = RwSignal::new(String::new());
    let models = Loader::new(api::models);
    let sessions = Loader::new(api::sessions);
    let jobs = Loader::new(api::running_jobs);
    let failure = RwSignal::new(None::<(Field, String)>);
    let starting = RwSignal::new(false);
    let usual_permissions = config().permissions;
    let permissions = RwSignal::new(usual_permissions);

    // Clears a selection that no longer exists after a refresh.
    Effect::new(move |_| {
        if let Load::Ready(list) = models.state.get()
            && !list.models.iter().any(|one| one.id == model.get_untracked())
        {
            model.set(default_model(&list.models).unwrap_or_default().to_owned());
        }
    });
    Effect::new(move |_| {
        if let Load::Failed(error) = models.state.get() {
            failure.set(Some((Field::Model, error.to_string())));
        }
    });
    let refresh = move |_| {
        failure.set(None);
        models.reload();
        sessions.reload();
        jobs.reload();
    };
    let navigate = navigator();
    let start = move |event: SubmitEvent| {
        event.prevent_default();
        if starting.get_untracked() || model.get_untracked().is_empty() {
            return;
        }
        starting.set(true);
        failure.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            let chosen = model.get_untracked();
            let mode = Some(permissions.get_untracked()).filter(|mode| *mode != usual_permissions);
            let place = folder.get_untracked();
            match start_session(&chosen, &place, mode).await {
                Ok(id) => navigate(&session_url(id)),
                Err(error) => {
                    let known = Known::of_start(Some(&chosen), &place);
                    failure.set(Some((field_at_fault(&error), error.explain(known))));
                    starting.set(false);
                }
            }
        });
    };
    let reason = move |field| {
        failure.get().filter(|(at_fault, _)| *at_fault == field).map(|(_, reason)| {
            html! { <span class="failure" role="alert">{reason}</span> }
        })
    };
    let is_ready =
        move || matches!(models.state.get(), Load::Ready(list) if !list.models.is_empty());

    html! {
        {window_title(|| "".to_owned())}
        <form id="setup-ui" class="card" on:submit=start>
            <h1>"Start a session"</h1>
            <label class="field" for="model-select">
                <span class="field-label">"Model"</span>
                <select
                    id="model-select"
                    disabled=move || !is_ready()
                    prop:value=model
                    on:change=move |event| model.set(event_target_value(&event))
                >
                    {move || model_options(&models.state.get(), &model.get())}
                </select>
                {move || reason(Field::Model)}
            </label>
            {move || provider_problems(&models.state.get())}
            <FolderField folder=folder>{move || reason(Field::Folder)}</FolderField>
            <PermissionField permissions=permissions />
            {move || reason(Field::Form)}
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
                    disabled=move || !is_ready() || starting.get()
                >
                    {move || if starting.get() { "Starting …" } else { "Start" }}
                </button>
            </div>
        </form>
        {move || running_jobs(&jobs.state.get())}
        {move || running_sessions(&sessions.state.get())}
    }
}

/// The permission mode of the new session.
#[component]
fn PermissionField(permissions: RwSignal<PermissionMode>) -> Html {
    html! {
        <label class="field" for="permission-select">
            <span class="field-label">"Permissions"</span>
            <PermissionSelect
                mode=Signal::derive(move || Some(permissions.get()))
                on_choice=Callback::new(move |mode| permissions.set(mode))
            />
            <span class="field-help">
                "Whether the agent may change files and run commands. It can be changed later."
            </span>
        </label>
    }
}

/// Starts a session with the selected permission mode, unless it is the default.
async fn start_session(
    model: &str,
    folder: &str,
    mode: Option<PermissionMode>,
) -> Result<SessionId, ApiError> {
    let id = api::start_session(model, folder).await?;
    if let Some(mode) = mode {
        api::set_permissions(id, mode).await?;
    }
    Ok(id)
}

/// `#working-dir`; `children` is the error message.
#[component]
fn FolderField(folder: RwSignal<String>, children: Html) -> Html {
    html! {
        <label class="field" for="working-dir">
            <span class="field-label">"Working directory"</span>
            <input
                id="working-dir"
                type="text"
                autocomplete="off"
                spellcheck="false"
                placeholder="/absolute/path"
                prop:value=folder
                value=folder.get_untracked()
                on:input=move |event| folder.set(event_target_value(&event))
            />
            {children}
            <span class="field-help">"An absolute path on the machine that runs the server."</span>
        </label>
    }
}

/// The field next to which an error is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Model,
    Folder,
    Form,
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

/// The preferred model if it exists, else the first free one, else the first.
fn default_model(models: &[ModelInfo]) -> Option<&str> {
    let preferred = models.iter().find(|model| model.id == PREFERRED_MODEL);
    let free = || models.iter().find(|model| model.multiplier <= 0.0);
    preferred.or_else(free).or(models.first()).map(|model| model.id.as_str())
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

fn model_options(models: &Load<Models>, chosen: &str) -> Html {
    match models {
        Load::Ready(list) => list
            .models
            .iter()
            .map(|model| {
                let (id, name) = (model.id.clone(), model.name.clone());
                let selected = id == chosen;
                html! { <option value=id selected=selected>{name}</option> }
            })
            .collect::<Html>(),
        Load::Pending => html! { <option value="">"Loading …"</option> },
        Load::Failed(_) => html! { <option value="">"Not loaded"</option> },
    }
}

/// Providers that are configured but cannot be used, with what to do about it.
fn provider_problems(models: &Load<Models>) -> Option<Html> {
    let Load::Ready(list) = models else { return None };
    let problems = list.problems.iter().map(|problem| {
        let (provider, message) = (problem.provider.clone(), problem.message.clone());
        html! { <li><strong>{provider}": "</strong>{message}</li> }
    });
    let problems = problems.collect::<Html>();
    (!list.problems.is_empty()).then(|| {
        html! {
            <ul class="provider-problems" aria-label="Providers that can't be used">
                {problems}
            </ul>
        }
    })
}

fn running_sessions(sessions: &Load<Sessions>) -> Option<Html> {
    let Load::Ready(list) = sessions else { return None };
    let rows = list.sessions.iter().map(|session| {
        let detail = html! { <span class="path">{session.working_directory.clone()}</span> };
        let status = if session.busy { "Working" } else { "Idle" };
        let status = html! { <span class="running-status">{status}</span> };
        let url = session_url(session.session_id);
        running_row(url, session.model_id.clone(), detail, status)
    });
    running_list("running-sessions-list", "Open sessions", rows.collect())
}

fn running_jobs(jobs: &Load<RunningJobs>) -> Option<Html> {
    let Load::Ready(list) = jobs else { return None };
    let rows = list.jobs.iter().map(|job| {
        let time = local_time(&job.start_time);
        let detail = html! { <time datetime=job.start_time.clone()>{time}</time> };
        let url = tracking_url(&job.job_name, Some(job.job_id));
        let reason = job.reason.clone().map(|reason| {
            html! { <span class="running-reason">{reason}</span> }
        });
        let detail = html! { {detail} {reason} };
        let state = job.state;
        let status = html! {
            <span class="running-status state-badge" data-state=state.as_str()>
                {job_word(state)}
            </span>
        };
        running_row(url, job.job_name.clone(), detail, status)
    });
    running_list("running-jobs-list", "Jobs", rows.collect())
}

/// `None` if nothing is running.
fn running_list(id: &'static str, title: &'static str, rows: Vec<Html>) -> Option<Html> {
    if rows.is_empty() {
        return None;
    }
    Some(html! {
        <section id=id class="card running-list">
            <h2>{title}</h2>
            <ul>{rows}</ul>
        </section>
    })
}

fn running_row(url: String, name: String, detail: Html, status: Html) -> Html {
    html! {
        <li>
            <a href=url class="button">
                "View"
            </a>
            <span class="running-name">{name}</span>
            <span class="running-detail">{detail}</span>
            {status}
        </li>
    }
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
    fn the_preferred_model_is_chosen_else_the_first_free_one() {
        let model = |id: &str, multiplier| ModelInfo {
            name: id.to_uppercase(),
            id: id.to_owned(),
            multiplier,
            provider: None,
        };
        let costly = model("a", 1.0);
        let free = model("b", 0.0);
        let preferred = model(PREFERRED_MODEL, 1.0);
        for (models, chosen) in [
            (vec![costly.clone(), free.clone(), preferred], Some(PREFERRED_MODEL)),
            (vec![costly.clone(), free], Some("b")),
            (vec![costly], Some("a")),
            (vec![], None),
        ] {
            assert_eq!(default_model(&models), chosen);
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
