//! `#session-header`: what the session is, how it is about it, and what can be done with it.
//!
//! On a phone there is room for the title and the state; the rest is behind the button with the dots.

mod model;
mod title;

use leptos::html::Div;

use super::about::About;
use super::extensions::ExtensionsPanel;
use super::popup::close_with;
use crate::api::session::export;
use crate::components::icon::{draw_icon, state_badge};
use crate::components::page_header::page_header;
use crate::download;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::spending::tokens;
use crate::state::title::short_folder;
use model::draw_model;
use title::draw_title;

/// The header. `close` ends the session.
pub(super) fn draw_header(about: About, close: Callback<()>) -> Html {
    let problem = RwSignal::new(None::<String>);
    let state = move || about.standing().map(|it| state_badge(it.name(), it.icon(), it.word()));
    let title = html! {
        {draw_title(about, problem)}
        <span id="session-state">{state}</span>
    };
    html! {
        <div id="session-header">
            {page_header(title, (), draw_tools(about, close, problem))}
            {move || {
                problem
                    .get()
                    .map(|text| html! { <p class="failure" role="alert">{text}</p> })
            }}
        </div>
    }
}

/// What does not fit on a phone.
fn draw_tools(about: About, close: Callback<()>, problem: RwSignal<Option<String>>) -> Html {
    let is_open = RwSignal::new(false);
    let anchor = NodeRef::<Div>::new();
    close_with(is_open, anchor);
    html! {
        <div class="session-tools-anchor" node_ref=anchor>
            <button
                type="button"
                id="session-more"
                class="icon-button framed"
                aria-label="More about this session"
                aria-controls="session-tools"
                aria-expanded=move || is_open.get().to_string()
                on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)
            >
                {draw_icon(Icon::More)}
            </button>
            <div id="session-tools" class="session-tools" class:open=is_open>
                {draw_facts(about, problem)}
                <div class="session-buttons">
                    <ExtensionsPanel id=about.id() />
                    {draw_export(about, problem)}
                    <button
                        type="button"
                        id="session-close"
                        class="button"
                        disabled=move || about.is_over()
                        on:click=move |_| close.run(())
                    >
                        "Close"
                    </button>
                </div>
            </div>
        </div>
    }
}

/// The model, the folder with its branch, and what was used.
fn draw_facts(about: About, problem: RwSignal<Option<String>>) -> Html {
    let folder = move || {
        about.of_head(|head| head.working_directory.clone()).map(|folder| {
            html! { <span class="session-folder" title=folder.clone()>{short_folder(&folder, None)}</span> }
        })
    };
    let branch = move || {
        about.of_head(|head| head.branch.clone()).flatten().map(|branch| {
            html! {
                <span class="session-branch" title="Git branch">
                    {draw_icon(Icon::Branch)}
                    {branch}
                </span>
            }
        })
    };
    let used = move || {
        let used = about.feed().spent.with(|spent| tokens(&spent.total));
        used.map(|used| html! { <span class="usage">{used}</span> })
    };
    html! {
        <div class="page-meta">
            {draw_model(about, problem)}
            {folder}
            {branch}
            {used}
        </div>
    }
}

/// The conversation as a file, of two kinds.
fn draw_export(about: About, problem: RwSignal<Option<String>>) -> Html {
    let is_open = RwSignal::new(false);
    let anchor = NodeRef::<Div>::new();
    close_with(is_open, anchor);
    let save = move |kind: &'static str, media: &'static str| {
        let id = about.id();
        is_open.set(false);
        problem.set(None);
        spawn_local(async move {
            match export(id, kind).await {
                Ok(text) => download::save(&format!("{id}.{kind}"), media, &text),
                Err(error) => {
                    problem.try_set(Some(error.to_string()));
                }
            }
        });
    };
    let item = move |id, name: &'static str, kind, media| {
        html! {
            <button type="button" id=id on:click=move |_| save(kind, media)>
                {draw_icon(Icon::Download)}
                {name}
            </button>
        }
    };
    html! {
        <div class="menu-anchor" node_ref=anchor>
            <button
                type="button"
                id="export-button"
                class="button"
                aria-controls="export-menu"
                aria-expanded=move || is_open.get().to_string()
                on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)
            >
                "Export"
                {draw_icon(Icon::ChevronDown)}
            </button>
            <div id="export-menu" class="menu" class:open=is_open>
                {item("export-markdown", "Export as Markdown", "md", "text/markdown")}
                {item("export-json", "Export as JSON", "json", "application/json")}
            </div>
        </div>
    }
}
