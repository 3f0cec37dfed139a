//! Three examples on a simulated model, each one click.

use wire::{Models, PermissionMode};

use super::models::example_model;
use super::{Draft, Start};
use crate::clock;
use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::load::Load;
use crate::reactive::prelude::*;
use crate::router::navigator;

/// Something to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Example {
    Answer,
    Change,
    Thought,
}

impl Example {
    const ALL: [Self; 3] = [Self::Answer, Self::Change, Self::Thought];

    /// Its icon, its name, and what will be seen.
    fn look(self) -> (Icon, &'static str, &'static str) {
        match self {
            Self::Answer => {
                (Icon::File, "A formatted answer", "Headings, a list, a table and code.")
            }
            Self::Change => {
                (Icon::Pencil, "A change that asks first", "A new file, which you approve or deny.")
            }
            Self::Thought => (
                Icon::Search,
                "Thinking and looking around",
                "Reasoning, then a list of the files in the folder.",
            ),
        }
    }

    /// What the simulated model is told. Files get names of their own, by the second, so that the
    /// example can be tried again.
    fn prompt(self, second: i64) -> String {
        match self {
            Self::Answer => "Answer in Markdown.".to_owned(),
            Self::Change => {
                let path = format!("hello-{}.txt", second % 1_000_000);
                format!(
                    "Create a small file: use the createFile tool with the arguments \
                     {{\"path\": \"{path}\", \"content\": \"Hello from the portal.\\n\"}}, then say \
                     \"Nothing was changed before you had answered. This is how every change \
                     looks.\""
                )
            }
            Self::Thought => "Look around: think about the files in this folder, then use the \
                              listFiles tool with the arguments {\"max\": 20}, then say \"Open the \
                              blocks above to see what I thought, and what I found.\""
                .to_owned(),
        }
    }
}

/// The examples, if there is a model for them.
pub(super) fn draw_examples(draft: Draft, models: &Load<Models>) -> Option<Html> {
    let Load::Ready(list) = models else { return None };
    let model = example_model(&list.models)?.to_owned();
    let cards = Example::ALL.map(|example| draw_example(draft, example, model.clone()));
    Some(html! {
        <section class="examples" aria-labelledby="examples-title">
            <h2 id="examples-title">"Try it without AI, in the folder above"</h2>
            <ul>{cards}</ul>
        </section>
    })
}

fn draw_example(draft: Draft, example: Example, model: String) -> Html {
    let (icon, name, promise) = example.look();
    let navigate = navigator();
    let start = move |_| {
        let second = untrack(clock::now) / 1000;
        let start = Start {
            model: model.clone(),
            // The one that asks has to ask.
            permissions: PermissionMode::Ask,
            prompt: Some(example.prompt(second)),
        };
        draft.start(start, navigate.clone());
    };
    html! {
        <li>
            <button
                type="button"
                class="example-card"
                disabled=move || draft.is_starting.get()
                on:click=start
            >
                {draw_icon(icon)}
                <strong>{name}</strong>
                <span>{promise}</span>
            </button>
        </li>
    }
}
