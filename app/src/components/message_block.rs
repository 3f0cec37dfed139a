//! One message block: a header that folds it, one line about what it did, and its content.

mod growing;
pub(crate) mod near;
mod summary;

use std::borrow::Cow;

use leptos::html::{Article, Div};
use send_wrapper::SendWrapper;
use web_sys::wasm_bindgen::JsValue;
use web_sys::{Element, HtmlElement};
use wire::SessionId;

use crate::components::attachment::draw_attachments;
use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::preference::{self, Preference};
use crate::reactive::prelude::*;
use crate::state::blocks::{Block, BlockKind, Trouble};
use crate::state::composer::attachments::without_files;
use crate::state::height::estimate_height;
use growing::{RawBody, RenderedBody, keep_end, set_html};
use near::Near;
use summary::draw_summary;
pub(crate) use summary::draw_time;

/// What a block has in common with all others of its transcript.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    /// The folder that paths are shortened by.
    pub(crate) folder: Signal<String>,
    /// Whether blocks that still receive text are shown in full.
    pub(crate) expanded: RwSignal<bool>,
    /// The session, where it is known: the files of prompts are read from it.
    pub(crate) session: StoredValue<Option<SessionId>>,
}

impl Around {
    pub(crate) fn new(folder: Signal<String>, session: StoredValue<Option<SessionId>>) -> Self {
        let expanded = RwSignal::new(false);
        Effect::new(move |_| {
            expanded.set(preference::read(Preference::Expanded).is_some());
        });
        Self { folder, expanded, session }
    }

    fn toggle(self) {
        let expanded = !self.expanded.get_untracked();
        self.expanded.set(expanded);
        preference::write(Preference::Expanded, expanded.then_some("yes"));
    }
}

/// A block as it is drawn.
#[derive(Clone, Copy)]
struct View {
    kind: BlockKind,
    cell: StoredValue<ArcRwSignal<Block>>,
    completed: Memo<bool>,
    collapsed: Memo<bool>,
    /// The HTML of its Markdown, once it was near the view and turned out to have any.
    rendered: StoredValue<Option<SendWrapper<JsValue>>>,
    is_rendered: RwSignal<bool>,
    /// Whether the reader wants it raw.
    raw: RwSignal<bool>,
    around: Around,
}

impl View {
    fn with<T>(self, read: impl FnOnce(&Block) -> T) -> T {
        self.cell.with_value(|block| block.with(read))
    }

    /// The session, if this is a prompt to it.
    fn prompted(self) -> Option<SessionId> {
        self.around.session.try_get_value().flatten().filter(|_| self.kind == BlockKind::User)
    }

    /// The text of the block, without the files that are drawn below it.
    fn text(self, block: &Block) -> Cow<'_, str> {
        match self.prompted() {
            Some(_) => Cow::Owned(without_files(&block.body, 0).0),
            None => Cow::Borrowed(&block.body),
        }
    }
}

/// A block. While it receives text, it is shown raw with limited height, or rendered as it grows; once
/// complete, it folds and is rendered as Markdown when it comes near the view. `folded_away` says
/// whether it is inside of a row that is folded.
pub(crate) fn message_block(
    kind: BlockKind,
    block: ArcRwSignal<Block>,
    around: Around,
    folded_away: Memo<bool>,
    unfold_row: Callback<()>,
) -> Html {
    let cell = StoredValue::new(block);
    let look = move |read: fn(&Block) -> bool| cell.with_value(|block| block.with(read));
    let completed = Memo::new(move |_| look(|block| block.completed));
    let trouble = Memo::new(move |_| cell.with_value(|block| block.with(|b| b.trouble)));
    let nested = look(|block| block.parent.is_some());
    let header = Memo::new(move |_| cell.with_value(|block| block.with(|b| b.header(kind))));
    // The reader's choice; until there is one, the kind decides.
    let folded = RwSignal::new(None::<bool>);
    let collapsed =
        Memo::new(move |_| completed.get() && folded.get().unwrap_or_else(|| kind.folds()));
    let view = View {
        kind,
        cell,
        completed,
        collapsed,
        rendered: StoredValue::new(None),
        is_rendered: RwSignal::new(false),
        raw: RwSignal::new(false),
        around,
    };
    let toggle = move || {
        if completed.get_untracked() {
            folded.set(Some(!collapsed.get_untracked()));
        }
    };
    let found = move |_: web_sys::Event| {
        folded.set(Some(false));
        unfold_row.run(());
    };
    let article = NodeRef::<Article>::new();
    size_ahead(view, article);
    render_near(view, article);
    html! {
        <article
            class=format!("message-block {}", kind.label().to_lowercase())
            class:receiving=move || !completed.get()
            class:completed=completed
            class:collapsed=collapsed
            class:expanded=move || around.expanded.get() && !completed.get()
            class:failed=move || matches!(trouble.get(), Some(Trouble::Failed | Trouble::Denied))
            class:denied=move || trouble.get() == Some(Trouble::Denied)
            class:nested=nested
            hidden=move || folded_away.get().then_some("until-found")
            node_ref=article
        >
            <div class="message-block-row">
                // Next to the header, whose text is a contract.
                {draw_summary(kind, cell, around.folder)}
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
                    {move || draw_buttons(view)}
                </div>
            </div>
            {move || draw_body(view)}
            {draw_files(view)}
        </article>
    }
    // The browser has found something inside.
    .on("beforematch", found)
}

/// The buttons at the right of the header.
fn draw_buttons(view: View) -> Html {
    let View { raw, around, .. } = view;
    if !view.completed.get() {
        let expanded = around.expanded.get();
        let (icon, name) =
            if expanded { (Icon::Shrink, "Shrink") } else { (Icon::Expand, "Expand") };
        return html! {
            <button
                type="button"
                class="button quiet icon-button message-block-expand"
                aria-label=name
                title=name
                on:click=move |event| {
                    event.stop_propagation();
                    around.toggle();
                }
            >
                {draw_icon(icon)}
            </button>
        };
    }
    if !view.is_rendered.get() || view.collapsed.get() {
        return Html::fragment();
    }
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
}

fn draw_body(view: View) -> Html {
    if view.kind == BlockKind::Tool && view.completed.get() {
        draw_parts(view)
    } else {
        text_body(view)
    }
}

/// The files of a prompt.
fn draw_files(view: View) -> Option<Html> {
    let session = view.prompted()?;
    let (_, files) = untrack(|| view.with(|block| without_files(&block.body, 0)));
    (!files.is_empty()).then(|| {
        html! { <div hidden=view.collapsed>{draw_attachments(session, &files)}</div> }
    })
}

/// The arguments, the output and the result of a tool, each by itself.
fn draw_parts(view: View) -> Html {
    let parts = view.with(|block| {
        let parts = block.parts().map(|(part, text)| {
            let title = part.title().map(|title| html! { <h4>{title}</h4> });
            let text = text.to_owned();
            html! { <div class="message-block-part">{title}<pre>{text}</pre></div> }
        });
        parts.collect::<Html>()
    });
    html! {
        <div class="message-block-body" hidden=move || view.collapsed.get().then_some("until-found")>
            {parts}
        </div>
    }
}

/// What is in the body of a block that is drawn by hand.
enum Drawn {
    Nothing,
    Raw(RawBody),
    Growing(RenderedBody),
    Rendered,
}

/// The text of a block, in an element that only this changes.
fn text_body(view: View) -> Html {
    let element = NodeRef::<Div>::new();
    let drawn = StoredValue::new(SendWrapper::new(Drawn::Nothing));
    let is_asked = StoredValue::new(false);
    let draw = move || {
        is_asked.set_value(false);
        if let Some(body) = element.try_get_untracked() {
            drawn.try_update_value(|drawn| untrack(|| redraw(view, &body, drawn)));
        }
    };
    Effect::new(move |before: Option<bool>| {
        element.track();
        view.raw.track();
        view.is_rendered.track();
        view.around.expanded.track();
        let completed = view.completed.get();
        if !completed {
            view.with(|_| ());
        }
        // Deltas are drawn with the next frame, however many come before; everything else at once.
        if !completed && before == Some(false) && !is_asked.get_value() {
            is_asked.set_value(true);
            request_animation_frame(draw);
        } else if completed || before != Some(false) {
            draw();
        }
        completed
    });
    on_cleanup(move || {
        drawn.try_update_value(|drawn| {
            if let Drawn::Growing(body) = &mut **drawn {
                body.end();
            }
        });
    });
    html! {
        <div
            class="message-block-body raw"
            aria-live="off"
            hidden=move || view.collapsed.get().then_some("until-found")
            node_ref=element
        ></div>
    }
}

/// Brings the body up to date.
fn redraw(view: View, body: &HtmlElement, drawn: &mut Drawn) {
    let completed = view.completed.get();
    let expanded = view.around.expanded.get() && view.kind != BlockKind::Tool;
    let is_raw = view.raw.get();
    if let Drawn::Growing(growing) = drawn {
        if !completed && expanded {
            return view.with(|block| growing.update(&block.body));
        }
        // What was rendered while it grew stays until all of it is rendered.
        if completed && !view.is_rendered.get() {
            return;
        }
        growing.end();
    }
    let rendered = view.rendered.with_value(|html| html.as_deref().cloned());
    match rendered.filter(|_| completed && !is_raw) {
        Some(html) if !matches!(drawn, Drawn::Rendered) => {
            set_html(body, &html);
            body.set_class_name("message-block-body markdown");
            *drawn = Drawn::Rendered;
        }
        Some(_) => {}
        None if !completed && expanded => {
            let growing = RenderedBody::begin(&cleared(body, "message-block-body markdown"));
            view.with(|block| growing.update(&block.body));
            *drawn = Drawn::Growing(growing);
        }
        None => {
            if !matches!(drawn, Drawn::Raw(_)) {
                *drawn = Drawn::Raw(RawBody::begin(&cleared(body, "message-block-body raw")));
            }
            if let Drawn::Raw(raw) = drawn {
                let mut update = || view.with(|block| raw.update(&view.text(block)));
                // Only what is received scrolls by itself. To measure it takes a layout of the page,
                // which is too much for each block of a long conversation.
                if completed { update() } else { keep_end(body, update) }
            }
        }
    }
}

/// The element without its content.
fn cleared(body: &HtmlElement, class: &str) -> Element {
    body.set_text_content(None);
    body.set_class_name(class);
    body.clone().into()
}

/// Gives a complete block the height that it will probably have, for as long as it is out of view.
fn size_ahead(view: View, article: NodeRef<Article>) {
    let near = Near::of_transcript().map(SendWrapper::new);
    Effect::new(move |_| {
        let Some(article) = article.get() else { return };
        let Some(near) = near.as_ref().filter(|_| view.completed.get() && !view.collapsed.get())
        else {
            return;
        };
        let height = view.with(|block| estimate_height(&block.body, near.characters()));
        // Cannot fail for a known property; browsers that do not know it lay out everything.
        let _ = HtmlElement::style(&article)
            .set_property("contain-intrinsic-height", &format!("auto {height}px"));
    });
}

/// Has a complete block rendered once it is near the view and unfolded.
fn render_near(view: View, article: NodeRef<Article>) {
    let Some(near) = Near::of_transcript().map(SendWrapper::new) else { return };
    if view.kind == BlockKind::Tool {
        return;
    }
    Effect::new(move |_| {
        let Some(article) = article.get() else { return };
        if !view.completed.get() || view.collapsed.get() || view.is_rendered.get_untracked() {
            return;
        }
        let text = move || {
            view.cell.try_with_value(|block| block.with_untracked(|b| view.text(b).into_owned()))
        };
        let show = move |html: JsValue| {
            if !html.is_null() {
                view.rendered.try_set_value(Some(SendWrapper::new(html)));
                view.is_rendered.try_set(true);
            }
        };
        let number = near.watch(&article, text, show);
        let near = near.clone();
        on_cleanup(move || near.forget(number));
    });
}
