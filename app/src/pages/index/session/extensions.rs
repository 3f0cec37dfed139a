//! `#extensions-panel`: the extensions of the session, their states, and what can be done about
//! them.

use std::future::Future;
use std::time::Duration;

use leptos::html::Dialog;
use wire::{ExtensionInfo, ExtensionState, ExtensionTrust, Extensions, SessionId};

use crate::api::{self, ApiError};
use crate::components::log_line::LogLine;
use crate::html::{Html, html};
use crate::load::Load;
use crate::reactive::prelude::*;

/// How often to poll while an extension starts.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How many of an extension's last lines are shown.
const LINES: usize = 20;

/// `#extensions-button`, and the panel that it opens.
#[component]
pub(super) fn ExtensionsPanel(id: SessionId) -> Html {
    let panel = NodeRef::<Dialog>::new();
    let is_open = RwSignal::new(false);
    let known = RwSignal::new(Load::<Extensions>::Pending);
    let is_busy = RwSignal::new(false);
    let look = move || take(known, is_busy, api::extensions(id));
    let open = move |_| {
        if let Some(panel) = panel.get_untracked() {
            // Fails only for a dialog outside the document.
            let _ = panel.show_modal();
            is_open.set(true);
            look();
        }
    };
    let close = move |_| {
        if let Some(panel) = panel.get_untracked() {
            panel.close();
        }
    };
    let is_starting = Memo::new(move |_| is_open.get() && known.with(is_any_starting));
    Effect::new(move |_| {
        if is_starting.get()
            && let Ok(interval) = set_interval_with_handle(look, LOOK_AGAIN)
        {
            on_cleanup(move || interval.clear());
        }
    });
    let reload = move |_| take(known, is_busy, api::reload_extensions(id));
    let trust = move |trust| take(known, is_busy, api::trust_extensions(id, trust));
    html! {
        <button type="button" id="extensions-button" class="button" on:click=open>
            "Extensions"
        </button>
        <dialog
            id="extensions-panel"
            class="panel"
            node_ref=panel
            aria-labelledby="extensions-title"
            on:close=move |_| is_open.set(false)
        >
            <h2 id="extensions-title">"Extensions"</h2>
            <div class="panel-content">
                {move || known.with(|known| draw(known, is_busy, Callback::new(trust)))}
            </div>
            <div class="button-row">
                <button
                    type="button"
                    id="extensions-reload"
                    class="button"
                    disabled=is_busy
                    on:click=reload
                >
                    "Reload"
                </button>
                <button type="button" class="button primary" on:click=close>
                    "Close"
                </button>
            </div>
        </dialog>
    }
}

/// Waits for an answer and shows it.
fn take<F>(known: RwSignal<Load<Extensions>>, is_busy: RwSignal<bool>, answer: F)
where
    F: Future<Output = Result<Extensions, ApiError>> + 'static,
{
    is_busy.set(true);
    spawn_local(async move {
        let answer = answer.await;
        is_busy.try_set(false);
        known.try_set(match answer {
            Ok(extensions) => Load::Ready(extensions),
            Err(error) => Load::Failed(error),
        });
    });
}

fn is_any_starting(known: &Load<Extensions>) -> bool {
    let Load::Ready(known) = known else { return false };
    known.extensions.iter().any(|one| one.state == ExtensionState::Starting)
}

fn draw(
    known: &Load<Extensions>,
    is_busy: RwSignal<bool>,
    trust: Callback<ExtensionTrust>,
) -> Html {
    match known {
        Load::Pending => html! { <p class="waiting">"Loading …"</p> },
        Load::Failed(error) => {
            html! { <p class="failure" role="alert">{error.to_string()}</p> }
        }
        Load::Ready(known) => {
            let all = known.extensions.iter().map(draw_extension).collect::<Html>();
            let none = known.extensions.is_empty().then_some(NONE);
            html! {
                {draw_trust(known, is_busy, trust)}
                {none.map(|text| html! { <p class="empty">{text}</p> })}
                <ul class="extension-list">{all}</ul>
            }
        }
    }
}

const NONE: &str = "There are none: neither in .github/extensions of the repository, nor in the \
                    user's folder of extensions.";

/// Whether the folder is trusted, and the button that changes that.
fn draw_trust(
    known: &Extensions,
    is_busy: RwSignal<bool>,
    trust: Callback<ExtensionTrust>,
) -> Html {
    let is_changed = known.extensions.iter().any(|one| one.state == ExtensionState::Untrusted);
    let (text, word, button) = if known.trusted && is_changed {
        (
            "Some extensions are new, or have changed since they were allowed. Look at them, then \
             allow them as they are now, in this folder:",
            ExtensionTrust::Allow,
            "Allow extensions as they are now",
        )
    } else if known.trusted {
        (
            "Extensions may run in this folder:",
            ExtensionTrust::Forbid,
            "Forbid extensions in this folder",
        )
    } else {
        (
            "Extensions are programs: they run with your rights, and see what is said. They are not \
             started in this folder until you allow it, once and for all sessions:",
            ExtensionTrust::Allow,
            "Allow extensions in this folder",
        )
    };
    html! {
        <div class="extension-trust" class:untrusted=!known.trusted>
            <p>{text} " " <span class="path">{known.folder.clone()}</span></p>
            <button
                type="button"
                id="extensions-trust"
                class="button"
                disabled=is_busy
                on:click=move |_| trust.run(word)
            >
                {button}
            </button>
        </div>
    }
}

fn draw_extension(one: &ExtensionInfo) -> Html {
    let first = one.log.len().saturating_sub(LINES);
    let lines = one.log[first..].iter().map(|line| {
        let message = line.message.clone();
        html! { <LogLine extension=None level=line.level message=message fleeting=false /> }
    });
    let lines = lines.collect::<Html>();
    let log = (!one.log.is_empty()).then(|| {
        html! {
            <details class="extension-lines">
                <summary>"Log"</summary>
                {lines}
            </details>
        }
    });
    let reason = one.reason.clone();
    html! {
        <li class="extension" data-name=one.name.clone()>
            <span class="extension-name">{one.name.clone()}</span>
            <span class="extension-source">{one.source.as_str()}</span>
            <span class=format!("extension-state {}", one.state)>{state_text(one.state)}</span>
            {reason.map(|reason| html! { <p class="extension-reason">{reason}</p> })}
            {describe(&one.tools, one.hooks).map(|text| html! { <p class="extension-parts">{text}</p> })}
            {log}
        </li>
    }
}

fn state_text(state: ExtensionState) -> &'static str {
    match state {
        ExtensionState::Starting => "starting",
        ExtensionState::Running => "running",
        ExtensionState::Failed => "failed",
        ExtensionState::Shadowed => "shadowed by the project's",
        ExtensionState::Untrusted => "not allowed",
        ExtensionState::NeedsNode => "needs Node",
        ExtensionState::NeedsSdk => "needs the SDK",
        ExtensionState::Stopped => "stopped",
    }
}

/// What an extension adds to the session.
fn describe(tools: &[String], hooks: bool) -> Option<String> {
    let tools = (!tools.is_empty()).then(|| format!("Tools: {}", tools.join(", ")));
    let hooks = hooks.then(|| "Hooks".to_owned());
    let parts: Vec<String> = tools.into_iter().chain(hooks).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_hooks_are_named() {
        let tools = ["a".to_owned(), "b".to_owned()];
        assert_eq!(describe(&tools, true).as_deref(), Some("Tools: a, b · Hooks"));
        assert_eq!(describe(&tools[..1], false).as_deref(), Some("Tools: a"));
        assert_eq!(describe(&[], true).as_deref(), Some("Hooks"));
        assert_eq!(describe(&[], false), None);
    }
}
