//! What stands below each other in a conversation: blocks, and before several that only looked around
//! a row that folds them.

use std::collections::{HashMap, HashSet};

use super::Said;
use crate::components::icon::draw_icon;
use crate::components::message_block::draw_time;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::blocks::BlockKey;
use crate::state::duration::took;
use crate::state::feed::BlockEntry;
use crate::state::grouping::Group;

/// One of them.
#[derive(Clone)]
pub(super) enum Row {
    /// The row above a group; the key is that of its first block.
    Group(BlockKey),
    Block(BlockEntry),
}

impl Row {
    /// Tells it from the others.
    pub(super) fn key(&self) -> (bool, BlockKey) {
        match self {
            Self::Group(first) => (true, first.clone()),
            Self::Block((key, _)) => (false, key.clone()),
        }
    }
}

/// The rows of a conversation, and which groups are open.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    said: Said,
    /// The groups that the reader has opened, by their first blocks.
    open: RwSignal<HashSet<BlockKey>>,
    /// The group of each block that is in one.
    members: Memo<HashMap<BlockKey, BlockKey>>,
}

impl Rows {
    pub(super) fn new(said: Said) -> Self {
        let members = Memo::new(move |_| {
            let groups = said.groups.get();
            said.blocks.with_untracked(|blocks| members(&groups, blocks))
        });
        Self { said, open: RwSignal::new(HashSet::new()), members }
    }

    /// All rows in order; tracked.
    pub(super) fn get(self) -> Vec<Row> {
        let mut rows = Vec::new();
        self.said.groups.with(|groups| {
            let mut groups = groups.iter().peekable();
            for (index, entry) in self.said.blocks.get().into_iter().enumerate() {
                if groups.next_if(|group| group.range.start == index).is_some() {
                    rows.push(Row::Group(entry.0.clone()));
                }
                rows.push(Row::Block(entry));
            }
        });
        rows
    }

    /// Whether a block is inside of a group that is folded, and what opens that.
    pub(super) fn folded_away(self, key: &BlockKey) -> (Memo<bool>, Callback<()>) {
        let Self { open, members, .. } = self;
        let (member, opened) = (key.clone(), key.clone());
        let folded = Memo::new(move |_| {
            let of = members.with(|members| members.get(&member).cloned());
            of.is_some_and(|first| open.with(|open| !open.contains(&first)))
        });
        let unfold = Callback::new(move |()| {
            let of = members.with_untracked(|members| members.get(&opened).cloned());
            open.update(|open| open.extend(of));
        });
        (folded, unfold)
    }

    /// The row above a group.
    pub(super) fn draw_group(self, first: BlockKey) -> Html {
        let Self { said, open, .. } = self;
        let key = first.clone();
        let group = Memo::new(move |_| {
            let groups = said.groups.get();
            said.blocks.with_untracked(|blocks| {
                let starts = |group: &&Group| {
                    blocks.get(group.range.start).is_some_and(|(first, _)| *first == key)
                };
                groups.iter().find(starts).map(|group| (group.text(), took(group.millis)))
            })
        });
        let own = first.clone();
        let is_open = move || open.with(|open| open.contains(&own));
        let toggle = move |_| {
            open.update(|open| {
                if !open.remove(&first) {
                    open.insert(first.clone());
                }
            });
        };
        html! {
            <button
                type="button"
                class="group-row"
                aria-expanded=move || is_open().to_string()
                on:click=toggle
            >
                {draw_icon(Icon::Search)}
                {move || {
                    group.get().map(|(text, time)| {
                        html! { <span>{text}</span> {time.map(draw_time)} }
                    })
                }}
            </button>
        }
    }
}

/// The group of each block that is in one.
fn members(groups: &[Group], blocks: &[BlockEntry]) -> HashMap<BlockKey, BlockKey> {
    let mut members = HashMap::new();
    for group in groups {
        let Some(inside) = blocks.get(group.range.clone()) else { continue };
        let Some((first, _)) = inside.first() else { continue };
        members.extend(inside.iter().map(|(key, _)| (key.clone(), first.clone())));
    }
    members
}
