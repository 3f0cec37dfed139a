//! A question with two answers, in front of the page.

use leptos::html::Dialog;
use leptos::prelude::*;

/// Shows `question` while it is there. Escape is a no.
#[component]
pub(crate) fn Confirm(
    /// What is asked; nothing while there is nothing to ask.
    question: RwSignal<Option<String>>,
    /// What the button says that means yes.
    yes: &'static str,
    /// Called with yes.
    on_yes: Callback<()>,
) -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(element) = dialog.get() else { return };
        if question.get().is_none() {
            element.close();
        } else if !element.open() {
            // Fails only for a dialog that is not in the page.
            let _ = element.show_modal();
        }
    });
    let close = move || question.set(None);
    view! {
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
