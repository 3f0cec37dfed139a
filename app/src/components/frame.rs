//! The frame of every page: the bar at the top with its links, and the page below.

use leptos::prelude::*;
use leptos_router::components::A;

use crate::config;
use crate::pages::jobs::jobs_url;

/// The frame; `children` is the page.
#[component]
pub(crate) fn Frame(children: Children) -> impl IntoView {
    let jobs = jobs_url(&config().repo_root);
    view! {
        <a class="skip-link" href="#main">
            "Skip to content"
        </a>
        <header class="site-header">
            <A href="/" attr:class="brand">
                <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
                    <rect x="2" y="2" width="28" height="28" rx="8" />
                    <path d="M10 11l5 5-5 5M17 21h6" />
                </svg>
                "Copilot Portal"
            </A>
            <nav class="site-nav" aria-label="Pages">
                <A href="/index.html">"Sessions"</A>
                <A href=jobs>"Jobs"</A>
                <A href="/test.html">"Test"</A>
            </nav>
        </header>
        <main id="main" class="site-main">
            {children()}
        </main>
    }
}
