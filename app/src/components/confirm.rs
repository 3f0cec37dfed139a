//! A modal question with two answers.

use leptos::html::Dialog;

use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// Shows `question` while there is one. Escape means no.
#[component]
pub(crate) fn Confirm(
    /// The question; `None` while the dialog is closed.
    question: RwSignal<Option<String>>,
    /// The label of the button that means yes.
    yes: &'static str,
    /// Called when the answer is yes.
    on_yes: Callback<()>,
) -> Html {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(element) = dialog.get() else { return };
        if question.get().is_none() {
            element.close();
        } else if !element.open() {
            // Fails only for a dialog outside the document.
            let _ = element.show_modal();
        }
    });
    let close = move || question.set(None);
    html! {
        <dialog class="confirm" node_ref=dialog on:close=move |_| close()>
            <p>{move || question.get()}</p>
            <div class="button-row">
                <button type="button" class="button" on:click=move |_| close()>
                    "Cancel"
                </button>
                <button
                    type="button"
                    class="button danger"
                    on:click=move |_| {
                        close();
                        on_yes.run(());
                    }
                >
                    {yes}
                </button>
            </div>
        </dialog>
    }
}
