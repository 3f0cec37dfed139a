//! One message block: a header that folds it, and its content.

use leptos::html::Div;
use leptos::prelude::*;
use web_sys::Text;

use crate::html::{Html, html};
use crate::markdown;
use crate::state::blocks::{Block, BlockKind};

/// A block. While it receives text, it is shown raw with limited height; once complete, it folds
/// and may be rendered as Markdown.
#[component]
pub(crate) fn MessageBlock(kind: BlockKind, block: ArcRwSignal<Block>) -> Html {
    let cell = StoredValue::new(block);
    let look = move |read: fn(&Block) -> bool| cell.with_value(|block| block.with(read));
    let completed = Memo::new(move |_| look(|block| block.completed));
    let failed = Memo::new(move |_| look(|block| block.failed));
    let denied = Memo::new(move |_| look(|block| block.denied));
    let verdict = Memo::new(move |_| cell.with_value(|block| block.with(Block::verdict)));
    let header = Memo::new(move |_| cell.with_value(|block| block.with(|b| b.header(kind))));
    // A tool's output is never Markdown, and incomplete text is not checked.
    let is_markdown = Memo::new(move |_| {
        kind != BlockKind::Tool
            && completed.get()
            && look(|block| markdown::looks_like_markdown(&block.body))
    });

    // The reader's choice; until there is one, the kind decides.
    let folded = RwSignal::new(None::<bool>);
    let collapsed =
        Memo::new(move |_| completed.get() && folded.get().unwrap_or_else(|| kind.folds()));
    let raw = RwSignal::new(false);
    let toggle = move || {
        if completed.get_untracked() {
            folded.set(Some(!collapsed.get_untracked()));
        }
    };
    let body = move || {
        if !completed.get() {
            html! { <ReceivingBody cell=cell /> }
        } else if is_markdown.get() && !raw.get() {
            let html = cell.with_value(|block| block.with(|b| markdown::to_html(&b.body)));
            html! { <div class="message-block-body markdown" inner_html=html></div> }
        } else {
            let text = cell.with_value(|block| block.with(|b| b.body.clone()));
            html! { <div class="message-block-body raw">{text}</div> }
        }
    };

    html! {
        <article
            class=format!("message-block {}", kind.label().to_lowercase())
            class:receiving=move || !completed.get()
            class:completed=completed
            class:collapsed=collapsed
            class:failed=failed
            class:denied=denied
        >
            <div class="message-block-row">
                // The whole header folds the block; its button is for the keyboard.
                <div class="message-block-header" on:click=move |_| toggle()>
                    <button
                        type="button"
                        class="message-block-toggle"
                        disabled=move || !completed.get()
                        aria-expanded=move || (!collapsed.get()).to_string()
                    >
                        {header}
                    </button>
                    {move || {
                        (is_markdown.get() && !collapsed.get())
                            .then(|| {
                                html! {
                                    <button
                                        type="button"
                                        class="message-block-raw"
                                        on:click=move |event| {
                                            event.stop_propagation();
                                            raw.update(|raw| *raw = !*raw);
                                        }
                                    >
                                        {move || if raw.get() { "View Markdown" } else { "View Raw Data" }}
                                    </button>
                                }
                            })
                    }}
                </div>
                // Next to the header, whose text is a contract.
                {move || {
                    verdict
                        .get()
                        .map(|word| html! { <span class="message-block-summary">{word}</span> })
                }}
            </div>
            {body}
        </article>
    }
}

/// Raw text that grows. Only the new part is added to the document, so that a long message costs no
/// more per word than a short one.
#[component]
fn ReceivingBody(cell: StoredValue<ArcRwSignal<Block>>) -> Html {
    let element = NodeRef::<Div>::new();
    let shown = StoredValue::new_local(None::<Text>);
    Effect::new(move |length: Option<usize>| {
        let Some(body) = element.get() else { return 0 };
        let mut length = length.unwrap_or(0);
        let text = shown.with_value(Clone::clone).unwrap_or_else(|| {
            let text = document().create_text_node("");
            // Cannot fail for an element in the document.
            let _ = body.append_child(&text);
            shown.set_value(Some(text.clone()));
            text
        });
        cell.with_value(|block| {
            block.with(|block| {
                if let Some(new) = block.body.get(length..) {
                    let _ = text.append_data(new);
                } else {
                    // Shorter than before: the block was restarted.
                    text.set_data(&block.body);
                }
                length = block.body.len();
            });
        });
        body.set_scroll_top(body.scroll_height());
        length
    });
    html! { <div class="message-block-body raw" node_ref=element></div> }
}
