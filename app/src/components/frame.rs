//! The frame of every page: the side bar, what is said on all pages, and the page itself.

mod keys;
mod palette;

use crate::components::icon::draw_icon;
use crate::components::sidebar::{SidebarState, sidebar};
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::notification::{self, Permission};
use crate::reachability::{self, Reachability};
use crate::reactive::prelude::*;
use crate::router;
use crate::state::alive::Alive;
use crate::store_trouble;
use keys::shortcuts;
use palette::palette;

/// The frame around a page. The test page has none: its text is the greeting alone.
#[component]
pub(crate) fn Frame(children: Html) -> Html {
    let path = router::address().path;
    let name =
        Memo::new(move |_| path.with(|path| path.strip_suffix(".html").unwrap_or(path).to_owned()));
    let is_bare = name.get_untracked() == "/test";
    if is_bare {
        return html! { <main id="main" class="site-main">{children}</main> };
    }
    let state = SidebarState::provide();
    let alive = Alive::new();
    provide_context(alive);
    // Effects run in the browser only.
    Effect::new(move |_| alive.follow());
    let palette = palette(alive);
    let shortcuts = shortcuts(palette.open, state);
    let needs_width = move || name.with(|name| matches!(&**name, "/jobs" | "/jobTracking"));
    let actions = html! {
        {notify_button()}
        <button
            type="button"
            id="palette-button"
            class="button quiet icon-button"
            aria-label="Go to … (Ctrl+K)"
            title="Go to … (Ctrl+K)"
            on:click=move |_| palette.open.set(true)
        >
            {draw_icon(Icon::Search)}
        </button>
        <button
            type="button"
            id="shortcuts-button"
            class="button quiet icon-button"
            aria-label="Keyboard shortcuts (?)"
            title="Keyboard shortcuts (?)"
            on:click=move |_| shortcuts.open.set(true)
        >
            {draw_icon(Icon::Question)}
        </button>
    };
    html! {
        <a class="skip-link" href="#main">
            "Skip to content"
        </a>
        <div class="app" data-sidebar=move || state.mode(needs_width())>
            {sidebar(state, alive, actions)}
            <div class="page">
                {server_bar()}
                {store_trouble()}
                <main id="main" class="site-main" tabindex="-1">
                    {children}
                </main>
            </div>
        </div>
        {palette.view}
        {shortcuts.view}
    }
}

/// Says that the server can't be reached, as long as it is so.
fn server_bar() -> Html {
    let server = RwSignal::from(reachability::server());
    html! {
        <div role="status">
            {move || {
                matches!(server.get(), Reachability::Gone { .. }).then(|| html! {
                    <p class="server-bar">
                        {draw_icon(Icon::Interrupted)}
                        "Server unreachable. Retrying; your text is safe."
                    </p>
                })
            }}
        </div>
    }
}

/// Says that nothing can be stored, as long as it is so.
fn store_trouble() -> Html {
    let trouble = store_trouble::signal();
    html! {
        <div class="store-trouble">
            {move || {
                trouble.get().then(|| html! {
                    <p class="banner" role="alert">
                        "The server can't store anything at the moment: its disk may be full. \
                         What runs goes on, and is shown once it is stored; new work is refused \
                         until then."
                    </p>
                })
            }}
        </div>
    }
}

/// `#notify-button`: asks once whether this browser may notify; says why not where it can't.
fn notify_button() -> Html {
    let permission = RwSignal::new(None::<Permission>);
    Effect::new(move |_| permission.set(Some(notification::state())));
    let ask = move |_| {
        spawn_local(async move {
            let state = notification::ask().await;
            permission.try_set(Some(state));
        });
    };
    let text = move || match permission.get() {
        Some(Permission::Granted) => "Notifications are on",
        Some(Permission::Denied) => "Notifications are blocked in the settings of this browser",
        Some(Permission::Unsupported) => {
            "Notifications need HTTPS, or a page that is opened as localhost"
        }
        Some(Permission::Default) | None => "Notify me when something waits for me",
    };
    html! {
        <button
            type="button"
            id="notify-button"
            class="button quiet icon-button"
            title=text
            aria-label=text
            aria-pressed=move || (permission.get() == Some(Permission::Granted)).to_string()
            disabled=move || permission.get() != Some(Permission::Default)
            on:click=ask
        >
            {draw_icon(Icon::Bell)}
        </button>
    }
}
