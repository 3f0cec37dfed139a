//! What is offered while a prompt is written: tasks and commands after `/`, files after `@`.

use std::time::Duration;

use super::draft::Draft;
use crate::api::session;
use crate::html::{Html, html};
use crate::poll::sleep;
use crate::reactive::prelude::*;
use crate::state::composer::completion::{Offered, Token, complete, token_at};
use crate::state::composer::intent::{Command, offer_commands};
use crate::state::palette::Offer;

/// How long typing rests before files are looked for.
const REST: Duration = Duration::from_millis(100);

/// What is offered for a word.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    token: Token,
    offers: Vec<Offer<Option<Command>>>,
    marked: usize,
}

/// The completions of the box.
#[derive(Clone, Copy)]
pub(super) struct Completions {
    draft: Draft,
    open: RwSignal<Option<Open>>,
    /// What was looked for last: an answer for anything else comes too late.
    wanted: StoredValue<Option<Token>>,
}

impl Completions {
    pub(super) fn new(draft: Draft) -> Self {
        Self { draft, open: RwSignal::new(None), wanted: StoredValue::new(None) }
    }

    pub(super) fn is_open(self) -> bool {
        self.open.with(Option::is_some)
    }

    /// The text or the caret has changed.
    pub(super) fn look(self) {
        let token = self.token();
        if self.wanted.with_value(|wanted| *wanted == token) {
            return;
        }
        self.wanted.set_value(token.clone());
        match token {
            // All of the text is the input of the task that was chosen.
            Some(token)
                if token.offered == Offered::Commands
                    && self.draft.chosen.with_untracked(Option::is_none) =>
            {
                let offers = offer_commands(&token.query, &self.draft.known_tasks());
                self.show(token, offers);
            }
            Some(token) if token.offered == Offered::Files => spawn_local(self.find_files(token)),
            _ => self.open.set(None),
        }
    }

    async fn find_files(self, token: Token) {
        let is_late =
            || self.wanted.try_with_value(|it| it.as_ref() != Some(&token)) != Some(false);
        sleep(REST).await;
        if is_late() {
            return;
        }
        // Without files, the prompt can be written all the same.
        let files = session::files(self.draft.id(), &token.query).await.unwrap_or_default();
        if is_late() {
            return;
        }
        let offer = |title| Offer { kind: None, title, detail: String::new() };
        self.show(token, files.into_iter().map(offer).collect());
    }

    fn show(self, token: Token, offers: Vec<Offer<Option<Command>>>) {
        self.open.set((!offers.is_empty()).then_some(Open { token, offers, marked: 0 }));
    }

    /// What is completed at the caret now.
    fn token(self) -> Option<Token> {
        let textarea = self.draft.textarea.get_untracked()?;
        let caret = textarea.selection_end().ok().flatten()?;
        token_at(&textarea.value(), caret)
    }

    pub(super) fn close(self) {
        self.open.set(None);
    }

    /// Marks the next offer, or the one before.
    pub(super) fn mark(self, next: bool) {
        self.open.update(|open| {
            if let Some(open) = open {
                let last = open.offers.len() - 1;
                open.marked = match (next, open.marked) {
                    (true, now) if now == last => 0,
                    (true, now) => now + 1,
                    (false, 0) => last,
                    (false, now) => now - 1,
                };
            }
        });
        request_animation_frame(|| {
            let option = document().query_selector("#completions [aria-selected=true]");
            if let Some(option) = option.ok().flatten() {
                option.scroll_into_view_with_bool(false);
            }
        });
    }

    /// Takes the marked offer, or another one.
    pub(super) fn pick(self, index: Option<usize>) {
        let Some(open) = self.open.get_untracked() else { return };
        self.open.set(None);
        let Some(offer) = open.offers.get(index.unwrap_or(open.marked)) else { return };
        if let Some(command) = offer.kind {
            self.wanted.set_value(None);
            return self.draft.obey(command);
        }
        // The text may have grown since the offers arrived.
        let Some(token) = self.token() else { return };
        let text = self.draft.prompt.get_untracked();
        let (text, caret) = complete(&text, &token, &offer.title);
        self.draft.put(text, caret);
        self.draft.focus();
        self.look();
    }

    /// Which option is marked, for screen readers.
    pub(super) fn active(self) -> Option<String> {
        self.open.with(|open| open.as_ref().map(|open| option_id(open.marked)))
    }

    /// The list, while there is one.
    pub(super) fn draw(self) -> Html {
        let is_open = Memo::new(move |_| self.is_open());
        let marked = Memo::new(move |_| self.open.with(|open| open.as_ref().map(|it| it.marked)));
        let offers = Memo::new(move |_| {
            self.open.with(|open| open.as_ref().map(|it| it.offers.clone())).unwrap_or_default()
        });
        let option = move |(index, offer): (usize, Offer<Option<Command>>)| {
            html! {
                <li
                    id=option_id(index)
                    role="option"
                    aria-selected=move || (marked.get() == Some(index)).to_string()
                    on:click=move |_| self.pick(Some(index))
                >
                    <span class="row-title">{offer.title}</span>
                    <span class="menu-hint">{offer.detail}</span>
                </li>
            }
        };
        html! {
            {move || {
                is_open.get().then(|| html! {
                    <ul
                        id="completions"
                        class="completions above menu open"
                        role="listbox"
                        aria-label="Completions"
                        // The box keeps the focus, and on a phone its keyboard.
                        on:mousedown=|event| event.prevent_default()
                    >
                        {move || offers.get().into_iter().enumerate().map(option).collect::<Html>()}
                    </ul>
                })
            }}
            <span class="visually-hidden" role="status">
                {move || match offers.with(Vec::len) {
                    0 => String::new(),
                    1 => "1 completion".to_owned(),
                    many => format!("{many} completions"),
                }}
            </span>
        }
    }
}

fn option_id(index: usize) -> String {
    format!("completion-{index}")
}
