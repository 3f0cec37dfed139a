//! `/jobs?wb=DIR`: choose a job for the folder DIR.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;

use crate::components::split::Split;
use crate::components::to_index::ToIndex;

/// The address of this page for a folder.
pub(crate) fn jobs_url(folder: &str) -> String {
    let mut query = ParamsMap::new();
    query.insert("wb", folder.to_owned());
    format!("/jobs.html{}", query.to_query_string())
}

/// The page. Without a folder there is nothing to choose a job for: back to the start.
#[component]
pub(crate) fn JobsPage() -> impl IntoView {
    let query = use_query_map();
    let folder = move || query.read().get("wb").filter(|folder| !folder.is_empty());

    view! {
        <Title text="Jobs" />
        {move || match folder() {
            Some(folder) => view! { <JobChoice folder=folder /> }.into_any(),
            None => view! { <ToIndex /> }.into_any(),
        }}
    }
}

#[component]
fn JobChoice(folder: String) -> impl IntoView {
    let left = view! {
        <section id="matrix-part" class="part">
            <h1>"Available Jobs"</h1>
            <p class="empty">"No jobs are installed on this server."</p>
        </section>
    };
    let right = view! {
        <section id="user-input-part" class="part">
            <h2>"Working directory"</h2>
            <p class="path">{folder}</p>
        </section>
    };
    view! { <Split left=left.into_any() right=right.into_any() /> }
}
