//! `#job-outline`: the works of a job as rows of a tree with time bars, and the chips that filter them.
//!
//! A row is drawn once, and follows what changes in it.

use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::html::{Div, Span};
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use super::works::Works;
use crate::components::icon::draw_icon;
use crate::components::reveal::reveal;
use crate::components::work_mark::work_dot;
use crate::html::{Html, each, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::outline::keys::{Move, neighbour};
use crate::state::outline::{Filter, Outline, Row, RowKey};

/// Which rows are wanted, and what a person has opened or folded.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    filter: RwSignal<Option<Filter>>,
    choices: RwSignal<Vec<(RowKey, bool)>>,
    rows: Memo<Vec<Row>>,
}

impl Filters {
    pub(super) fn new(works: Works) -> Self {
        let filter = RwSignal::new(None);
        let choices = RwSignal::new(Vec::new());
        let rows = Memo::new(move |_| {
            let filter = filter.get();
            choices.with(|choices| works.look(|it| Outline { filter, choices, ..it }.rows()))
        });
        Self { filter, choices, rows }
    }

    /// Opens what is folded, and folds what is open.
    fn toggle(self, row: &Row) {
        self.choices.update(|choices| {
            choices.retain(|(key, _)| *key != row.key);
            choices.push((row.key, row.folded));
        });
    }
}

/// The chips: how many works failed, wait or run. They show these only.
pub(super) fn draw_chips(works: Works, filters: Filters) -> Html {
    let chips = [Filter::Failed, Filter::Waiting, Filter::Running];
    let chips = chips.into_iter().map(|filter| {
        let count = Memo::new(move |_| works.look(|outline| outline.count(filter)));
        let is_on = move || filters.filter.get() == Some(filter);
        move || {
            // One that is on stays, or there would be no way back.
            (count.get() > 0 || is_on()).then(|| {
                html! {
                    <button
                        type="button"
                        class="chip"
                        aria-pressed=is_on().to_string()
                        on:click=move |_| {
                            filters.filter.update(|on| *on = (*on != Some(filter)).then_some(filter));
                        }
                    >
                        {name(filter)}
                        " "
                        {count.get()}
                    </button>
                }
            })
        }
    });
    let chips = chips.collect::<Html>();
    html! { <div class="chips" role="group" aria-label="Only tasks that are">{chips}</div> }
}

fn name(filter: Filter) -> &'static str {
    match filter {
        Filter::Failed => "Failed",
        Filter::Waiting => "Waiting",
        Filter::Running => "Running",
    }
}

/// The tree.
pub(super) fn draw_outline(works: Works, filters: Filters) -> Html {
    let page = works.page;
    let rows = filters.rows;
    let tree = NodeRef::<Div>::new();
    let focused = RwSignal::new(None::<RowKey>);
    // The row that Tab leads to.
    let entry = Memo::new(move |_| {
        let is_there = |key: &RowKey| rows.with(|rows| rows.iter().any(|row| row.key == *key));
        let selected = page.selection.work.get().map(RowKey::Task);
        let first = || rows.with(|rows| rows.first().map(|row| row.key));
        focused.get().filter(is_there).or_else(|| selected.filter(is_there)).or_else(first)
    });
    let newest = Memo::new(move |_| works.look(|outline| outline.newest_running()));
    Effect::new(move |_| {
        let Some(work) = newest.get().filter(|_| page.follow.get()) else { return };
        // Its row may be drawn by a later effect.
        request_animation_frame(move || {
            if let Some(tree) = tree.try_get_untracked()
                && let Some(row) = find_row(&tree, RowKey::Task(work))
            {
                reveal(&tree, &row);
            }
        });
    });
    let act = move |row: &Row| match row.key {
        RowKey::Task(work) if page.tracking.is_some() => page.toggle(work),
        RowKey::Task(_) => {}
        RowKey::Group(_) | RowKey::Rest(_) => filters.toggle(row),
    };
    let at = move |element: &Element| {
        let key = read_key(&element.closest("[data-row]").ok()??.get_attribute("data-row")?)?;
        rows.with_untracked(|rows| rows.iter().position(|row| row.key == key))
    };
    let click = move |event: MouseEvent| {
        let Some(index) = at(&event_target(&event)) else { return };
        if let Some(row) = rows.with_untracked(|rows| rows.get(index).cloned()) {
            focused.set(Some(row.key));
            act(&row);
        }
    };
    let press = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let Some(index) = at(&event_target(&event)) else { return };
        let all = rows.get_untracked();
        let Some(row) = all.get(index) else { return };
        let key = event.key();
        match (&*key, neighbour(&all, index, &key)) {
            ("Enter" | " ", _) => act(row),
            (_, Some(Move::Toggle)) => filters.toggle(row),
            (_, Some(Move::To(next))) => {
                page.follow.set(false);
                if let (Some(tree), Some(next)) = (tree.get_untracked(), all.get(next)) {
                    focused.set(Some(next.key));
                    focus_row(&tree, next.key);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let stay = move || page.follow.set(false);
    html! {
        <div
            id="job-outline"
            class="outline"
            role="tree"
            aria-label="Outline"
            node_ref=tree
            on:click=click
            on:keydown=press
            on:wheel=move |_| stay()
            on:touchmove=move |_| stay()
        >
            {each(
                move || rows.with(|rows| rows.iter().map(|row| row.key).collect()),
                |key| *key,
                move |key| draw_row(works, rows, key, entry),
            )}
        </div>
        {move || {
            rows.with(Vec::is_empty)
                .then(|| html! { <p class="empty outline-empty">"No task is in this state."</p> })
        }}
    }
}

fn draw_row(works: Works, rows: Memo<Vec<Row>>, key: RowKey, entry: Memo<Option<RowKey>>) -> Html {
    let page = works.page;
    let row = Memo::new(move |_| rows.with(|rows| rows.iter().find(|row| row.key == key).cloned()));
    let of =
        move |look: fn(&Row) -> Option<String>| move || row.with(|row| row.as_ref().and_then(look));
    let bar = NodeRef::<Span>::new();
    Effect::new(move |_| {
        let place = row.with(|row| row.as_ref().and_then(|row| row.bar));
        if let (Some(bar), Some((from, to))) = (bar.get(), place) {
            let style = HtmlElement::style(&bar);
            for (name, value) in [("--from", from), ("--length", to - from)] {
                // Setting a property with a valid name cannot fail.
                let _ = style.set_property(name, &thousandths(value));
            }
        }
    });
    let is_selected = move || page.selection.work.get().map(RowKey::Task) == Some(key);
    let twisty = move || {
        let folded = row.with(|row| row.as_ref().filter(|row| row.has_parts()).map(|it| it.folded));
        let icon = if folded? { Icon::ChevronRight } else { Icon::ChevronDown };
        Some(draw_icon(icon))
    };
    let dot = move || row.with(|row| row.as_ref().map(|row| work_dot(row.state)));
    html! {
        <div
            class="outline-row"
            class:untimed=move || row.with(|row| row.as_ref().is_none_or(|row| row.bar.is_none()))
            role="treeitem"
            data-row=write_key(key)
            data-state=of(|row| Some(row.state.as_str().to_owned()))
            title=of(|row| Some(row.label.clone()))
            aria-level=of(|row| Some((row.depth + 1).to_string()))
            aria-expanded=of(|row| row.has_parts().then(|| (!row.folded).to_string()))
            aria-selected=move || is_selected().to_string()
            tabindex=move || if entry.get() == Some(key) { "0" } else { "-1" }
        >
            <span class="outline-twisty">{twisty}</span>
            {dot}
            <span class="outline-label">
                {of(|row| Some(row.label.clone()))}
                <span class="outline-extra">{of(|row| Some(row.extra.clone()))}</span>
            </span>
            <span class="outline-track" aria-hidden="true">
                <span class="outline-bar" node_ref=bar></span>
            </span>
            <span class="outline-time">{of(|row| Some(row.note.clone()))}</span>
        </div>
    }
}

/// A share of 1000 as a decimal. Integers only: formatting a float takes much code.
fn thousandths(number: u32) -> String {
    format!("{}.{:03}", number / 1000, number % 1000)
}

fn write_key(key: RowKey) -> String {
    match key {
        RowKey::Group(id) => format!("g{id}"),
        RowKey::Task(id) => format!("t{id}"),
        RowKey::Rest(id) => format!("r{id}"),
    }
}

fn read_key(text: &str) -> Option<RowKey> {
    let (kind, id) = text.split_at_checked(1)?;
    let id = id.parse().ok()?;
    Some(match kind {
        "g" => RowKey::Group(id),
        "t" => RowKey::Task(id),
        "r" => RowKey::Rest(id),
        _ => return None,
    })
}

fn find_row(tree: &Element, key: RowKey) -> Option<Element> {
    tree.query_selector(&format!("[data-row=\"{}\"]", write_key(key))).ok().flatten()
}

fn focus_row(tree: &Element, key: RowKey) {
    if let Some(row) = find_row(tree, key) {
        // If it cannot take the focus, nothing changes.
        let _ = row.unchecked_into::<HtmlElement>().focus();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_rows_survive_the_page() {
        for key in [RowKey::Group(1), RowKey::Task(0), RowKey::Rest(59)] {
            assert_eq!(read_key(&write_key(key)), Some(key));
        }
        for text in ["", "t", "x1", "t-1", "é1"] {
            assert_eq!(read_key(text), None);
        }
    }

    #[test]
    fn shares_are_decimals() {
        assert_eq!([0, 7, 333, 1000].map(thousandths), ["0.000", "0.007", "0.333", "1.000"]);
    }
}
