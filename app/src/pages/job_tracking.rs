//! `/jobTracking?jobName=NAME[&jobId=ID]`: follow a job, or preview it without an id.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::components::split::Split;
use crate::components::to_index::ToIndex;
use crate::erase::Erase;

/// The page. Without a job's name there is nothing to follow: back to the start.
#[component]
pub(crate) fn JobTrackingPage() -> impl IntoView {
    let query = use_query_map();
    let job_name = move || query.read().get("jobName").filter(|name| !name.is_empty());

    view! {
        {move || match job_name() {
            Some(name) => view! { <Tracking job_name=name /> }.erase(),
            None => view! { <ToIndex /> }.erase(),
        }}
    }
}

#[component]
fn Tracking(job_name: String) -> impl IntoView {
    let left = view! {
        <section id="job-part" class="part">
            <h1>{job_name.clone()}</h1>
            <p class="empty">"No job of this name is installed on this server."</p>
        </section>
    };
    let right = view! {
        <section id="session-response-part" class="part">
            <p class="empty">"Nothing to show."</p>
        </section>
    };
    view! {
        <Title text=job_name />
        <Split left=left.erase() right=right.erase() />
    }
}
