//! `/`: where a newcomer starts. Choose a folder, go on to its jobs.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::A;
use leptos_router::hooks::use_query_map;

use super::jobs::jobs_url;
use crate::config;

/// The page.
#[component]
pub(crate) fn IndexPage() -> impl IntoView {
    let repo_root = config().repo_root;
    let project = use_query_map().read_untracked().get("project");
    let folder = RwSignal::new(default_folder(&repo_root, project.as_deref()));

    view! {
        <Title text="" />
        <section id="setup-ui" class="card">
            <h1>"Work on a folder"</h1>
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
                    on:input:target=move |event| folder.set(event.target().value())
                />
                <span class="field-help">"An absolute path on the machine that runs the server."</span>
            </label>
            <div class="button-row">
                <div id="setup-buttons-left">
                    <A href=move || jobs_url(&folder.get()) attr:id="jobs-button" attr:class="button">
                        "New Job"
                    </A>
                </div>
            </div>
        </section>
    }
}

/// The repository itself, or with `?project=NAME` the folder of that name beside it.
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
}
