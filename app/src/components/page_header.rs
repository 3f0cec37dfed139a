//! The line above a page: what it is, how it stands, and what can be done with it.

use crate::components::icon::draw_icon;
use crate::components::sidebar::SidebarState;
use crate::html::{Html, IntoHtml, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;

/// The header of a page. `title` is or holds the page's only `h1`.
pub(crate) fn page_header(
    title: impl IntoHtml,
    meta: impl IntoHtml,
    actions: impl IntoHtml,
) -> Html {
    let sidebar = expect_context::<SidebarState>();
    html! {
        <header class="page-header">
            <button
                type="button"
                class="button quiet icon-button sidebar-toggle"
                aria-label="Sessions and pages"
                aria-controls="sidebar"
                on:click=move |_| sidebar.toggle()
            >
                {draw_icon(Icon::Menu)}
            </button>
            {title.into_html()}
            <div class="page-meta">{meta.into_html()}</div>
            <div class="page-actions">{actions.into_html()}</div>
        </header>
    }
}

/// The header of a page that has a fixed name.
pub(crate) fn plain_header(name: &'static str) -> Html {
    page_header(html! { <h1 class="page-title">{name}</h1> }, (), ())
}
