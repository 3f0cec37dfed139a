//! What to do where there is no real model: the exact lines.

use wire::Models;

use super::models::has_real_model;
use crate::components::session_responses::copy_code;
use crate::html::{Html, html};
use crate::load::Load;

/// Lines to copy: what they bring, where they go, and what they are.
const WAYS: [(&str, &str, &str); 3] = [
    ("GitHub Copilot", "Terminal", "npm install -g @github/copilot\ncopilot login"),
    (
        "Copilot's agent with your own model",
        "portal.toml",
        "[copilot.provider]\nbaseUrl = \"http://localhost:11434/v1\"\nmodels = [{ id = \"qwen3-coder\" }]",
    ),
    (
        "Any endpoint like OpenAI's",
        "portal.toml",
        "[[providers]]\nname = \"local\"\nbaseUrl = \"http://localhost:11434/v1\"",
    ),
];

/// The card, as long as there is no real model.
pub(super) fn draw_hint(models: &Load<Models>) -> Option<Html> {
    let Load::Ready(list) = models else { return None };
    if has_real_model(&list.models) {
        return None;
    }
    let ways = WAYS.map(|(title, place, lines)| {
        html! {
            <div>
                <h3>{title}</h3>
                <div class="code-block">
                    <div class="code-block-head">
                        <span class="code-block-language">{place}</span>
                        <button type="button" class="copy-button">
                            "Copy"
                        </button>
                    </div>
                    <pre tabindex="0"><code>{lines}</code></pre>
                </div>
            </div>
        }
    });
    Some(html! {
        <section class="card setup-hint" on:click=|event| copy_code(&event)>
            <h2>"Add a real model"</h2>
            <p>
                "Only simulated models are there so far. Any of these adds real ones; start the \
                 portal again afterwards. portal.toml is "
                <code>"~/.config/copilot-portal/portal.toml"</code>
                ", or the file named by "
                <code>"--config"</code>
                "."
            </p>
            <div class="setup-ways">{ways}</div>
        </section>
    })
}
