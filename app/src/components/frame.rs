//! The frame of every page: the bar at the top with its links, and the page below.

use leptos::prelude::*;

use crate::config;
use crate::html::{Html, html};
use crate::links::jobs_url;
use crate::router::address;
use crate::store_trouble;

/// The target of a link in the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Sessions,
    Jobs,
    Inbox,
    Bridge,
    Test,
}

/// The section that a page belongs to, in any of its spellings.
fn section_of(path: &str) -> Option<Section> {
    match path.strip_suffix(".html").unwrap_or(path) {
        "/" | "/index" => Some(Section::Sessions),
        "/jobs" | "/jobTracking" => Some(Section::Jobs),
        "/inbox" => Some(Section::Inbox),
        "/bridge" => Some(Section::Bridge),
        "/test" => Some(Section::Test),
        _ => None,
    }
}

/// The frame around a page. The test page has none: its text is the greeting alone.
#[component]
pub(crate) fn Frame(children: Html) -> Html {
    let path = address().path;
    let section = Memo::new(move |_| path.with(|path| section_of(path)));
    // The bar persists across pages, with the focus on its link.
    let is_bare = Memo::new(move |_| section.get() == Some(Section::Test));
    html! {
        {move || (!is_bare.get()).then(|| html! { <Bar section=section /> })}
        <StoreTrouble />
        <main id="main" class="site-main">
            {children}
        </main>
    }
}

/// Says that nothing can be stored, as long as it is so.
#[component]
fn StoreTrouble() -> Html {
    let trouble = store_trouble::signal();
    html! {
        <div class="store-trouble">
            {move || {
                trouble
                    .get()
                    .then(|| {
                        html! {
                            <p class="banner" role="alert">
                                "The server can't store anything at the moment: its disk may be \
                                 full. What runs goes on, and is shown once it is stored; new \
                                 work is refused until then."
                            </p>
                        }
                    })
            }}
        </div>
    }
}

/// The bar at the top, preceded by the link that skips it.
#[component]
fn Bar(section: Memo<Option<Section>>) -> Html {
    let config = config();
    let jobs = jobs_url(&config.repo_root);
    let current = move |wanted| (section.get() == Some(wanted)).then_some("page");
    html! {
        <a class="skip-link" href="#main">
            "Skip to content"
        </a>
        <header class="site-header">
            <a href="/" class="brand">
                <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
                    <rect x="2" y="2" width="28" height="28" rx="8" />
                    <path d="M10 11l5 5-5 5M17 21h6" />
                </svg>
                "Copilot Portal"
            </a>
            <nav class="site-nav" aria-label="Pages">
                <a href="/index.html" aria-current=move || current(Section::Sessions)>
                    "Sessions"
                </a>
                <a href=jobs aria-current=move || current(Section::Jobs)>
                    "Jobs"
                </a>
                <a href="/inbox.html" aria-current=move || current(Section::Inbox)>
                    "Inbox"
                </a>
                <a href="/bridge.html" aria-current=move || current(Section::Bridge)>
                    "Bridge"
                </a>
                // Not a page of the app: the browser has to load it.
                {config.locked.then(|| html! { <a href="/logins" rel="external">"Logins"</a> })}
            </nav>
        </header>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_belong_to_the_same_section() {
        for (path, section) in [
            ("/", Some(Section::Sessions)),
            ("/index.html", Some(Section::Sessions)),
            ("/jobs", Some(Section::Jobs)),
            ("/jobTracking.html", Some(Section::Jobs)),
            ("/inbox.html", Some(Section::Inbox)),
            ("/bridge.html", Some(Section::Bridge)),
            ("/test", Some(Section::Test)),
            ("/nothing", None),
        ] {
            assert_eq!(section_of(path), section, "{path}");
        }
    }
}
