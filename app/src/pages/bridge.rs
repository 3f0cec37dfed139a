//! `/bridge`: the projects on the left, the selected one next to them, and below it a form for
//! prompts. `?project=ID` selects a project.

mod request;

use wire::bridge::SessionSummary;

use crate::api;
use crate::components::page_header::plain_header;
use crate::components::permission_card::mark_title;
use crate::components::session_responses::{Said, Stream};
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::poll::{Connection, explain_loss};
use crate::reactive::prelude::*;
use crate::router::{address, with_argument};
use crate::state::project::Project;
use crate::title::window_title;
use request::Request;

/// The page of the bridge.
#[component]
pub(crate) fn BridgePage() -> Html {
    let address = address();
    let projects = Loader::new(api::bridge::projects);
    let chosen = Memo::new(move |_| {
        let wanted = address.argument("project");
        projects.state.with(|projects| choose(projects, wanted.as_deref()))
    });
    let id = move || chosen.with(|chosen| chosen.as_ref().map(|(id, _)| id.clone()));
    html! {
        {window_title(|| "Bridge".to_owned())}
        {plain_header("Bridge")}
        <div id="bridge-ui">
            <nav id="bridge-projects" aria-label="Projects">
                <h2>"Projects"</h2>
                {move || projects.state.with(|projects| draw_list(projects, id().as_deref()))}
            </nav>
            {move || {
                chosen
                    .get()
                    .map(|(id, name)| html! { <ProjectView id=id name=name /> })
            }}
        </div>
    }
}

/// Id and name of the wanted project; of the first one if it does not exist.
fn choose(projects: &Load<Vec<SessionSummary>>, wanted: Option<&str>) -> Option<(String, String)> {
    let Load::Ready(projects) = projects else { return None };
    let wanted = projects.iter().find(|project| Some(project.id.as_str()) == wanted);
    wanted.or(projects.first()).map(|project| (project.id.clone(), project.name.clone()))
}

fn draw_list(projects: &Load<Vec<SessionSummary>>, chosen: Option<&str>) -> Html {
    match projects {
        Load::Pending => html! { <p class="waiting">"Loading …"</p> },
        Load::Failed(error) => {
            html! { <p class="failure" role="alert">{error.to_string()}</p> }
        }
        Load::Ready(projects) => {
            let rows = projects.iter().map(|project| {
                let (id, name) = (project.id.clone(), project.name.clone());
                let current = (chosen == Some(project.id.as_str())).then_some("page");
                html! {
                    <li>
                        <a
                            href=project_url(&project.id)
                            class="bridge-project"
                            aria-current=current
                            data-session-id=id
                        >
                            {name}
                        </a>
                    </li>
                }
            });
            html! { <ul>{rows.collect::<Html>()}</ul> }
        }
    }
}

fn project_url(id: &str) -> String {
    with_argument("/bridge.html", "project", id)
}

/// The conversation of a project.
#[component]
fn ProjectView(id: String, name: String) -> Html {
    let project = Project::new(id.clone());
    let said = Said {
        blocks: project.blocks,
        groups: RwSignal::new(Vec::new()),
        works: Signal::derive(move || project.running.with(|runs| !runs.is_empty())),
        waiting: project.waiting,
        folder: Signal::stored(String::new()),
        session: StoredValue::new(None),
        to_end: RwSignal::new(0),
    };
    let is_empty = Memo::new(move |_| {
        project.connection.get() == Connection::Live && project.blocks.with(Vec::is_empty)
    });
    let (title, label) = (name.clone(), name.clone());
    html! {
        {window_title(move || mark_title(&title, project.waiting.get() > 0))}
        <section id="bridge-project" aria-label=label>
            <div role="status" class="connection">
                {move || {
                    project
                        .connection
                        .with(connection_text)
                        .map(|text| html! { <p class="banner">{text}</p> })
                }}
            </div>
            <div id="bridge-log">
                <Stream said=said label="Project">
                    {move || is_empty.get().then(|| html! { <p class="empty">{EMPTY}</p> })}
                </Stream>
            </div>
            <Request id=id name=name project=project />
        </section>
    }
}

const EMPTY: &str = "Nothing here yet. Give the agent a goal, or ask the model.";

fn connection_text(connection: &Connection) -> Option<String> {
    match connection {
        Connection::Connecting | Connection::Live | Connection::Ended => None,
        Connection::Lost(error) => Some(explain_loss(error)),
        Connection::NotFound => {
            Some("There is no such project, or it no longer exists.".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_project_is_chosen_else_the_first() {
        let project = |id: &str| SessionSummary {
            id: id.to_owned(),
            name: id.to_uppercase(),
            created: String::new(),
            count: 0,
        };
        let projects = Load::Ready(vec![project("a"), project("b")]);
        for (wanted, name) in [(None, "A"), (Some("b"), "B"), (Some("c"), "A")] {
            let chosen = choose(&projects, wanted).map(|(_, name)| name);
            assert_eq!(chosen.as_deref(), Some(name), "{wanted:?}");
        }
        assert_eq!(choose(&Load::Ready(Vec::new()), None), None);
    }
}
