//! Lists whose items come, go and move.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use leptos::prelude::RenderEffect;
use web_sys::{Comment, Node};

use super::{Placed, SharedWalk, create_end, find, insert, place};
use crate::html::{Html, Items};
use crate::reactive::prelude::*;

/// A list in the document; the comment ends it.
pub(crate) struct List {
    effect: RenderEffect<Vec<Item>>,
    end: Comment,
}

struct Item {
    key: u64,
    placed: Placed,
    /// Owns what the drawing of the item created. Dropped with it.
    owner: Owner,
}

impl List {
    pub(super) fn first_node(&self) -> Option<Node> {
        let first = |items: &mut Vec<Item>| items.iter().find_map(|item| item.placed.first_node());
        self.effect.with_value_mut(first).flatten().or_else(|| Some(self.end.clone().into()))
    }

    pub(super) fn each_node(&self, visit: &mut dyn FnMut(&Node)) {
        self.effect.with_value_mut(|items| {
            for item in items.iter() {
                item.placed.each_node(visit);
            }
        });
        visit(&self.end);
    }
}

/// Creates the nodes of a list.
pub(super) fn place_list(
    items: Box<dyn Items + Send>,
    parent: &Node,
    before: Option<&Node>,
) -> List {
    let end = create_end();
    insert(&end, parent, before);
    let kept = Rc::new(RefCell::new(Some(end.clone())));
    List { effect: follow(items, kept, None), end }
}

/// Finds the nodes of a list that the server rendered.
pub(super) fn find_list(items: Box<dyn Items + Send>, walk: &SharedWalk) -> List {
    let kept = Rc::new(RefCell::new(None));
    let effect = follow(items, kept.clone(), Some(walk.clone()));
    let end = walk.borrow_mut().take_end();
    kept.replace(Some(end.clone()));
    List { effect, end }
}

/// Draws the items now, and the new ones with every change.
fn follow(
    mut items: Box<dyn Items + Send>,
    end: Rc<RefCell<Option<Comment>>>,
    walk: Option<SharedWalk>,
) -> RenderEffect<Vec<Item>> {
    // The effect's own owner is cleared with every change; items stay.
    let owner = Owner::current().unwrap_or_default();
    RenderEffect::new(move |before: Option<Vec<Item>>| {
        let end = end.borrow().clone();
        let mut old: HashMap<u64, Item> =
            before.into_iter().flatten().map(|item| (item.key, item)).collect();
        let mut now = Vec::new();
        items.visit(&mut |key, draw| {
            let item = old.remove(&key).unwrap_or_else(|| {
                let owner = owner.with(Owner::new);
                let placed = owner.with(|| {
                    untrack(|| match (&end, &walk) {
                        (Some(end), _) => place_before(draw(), end),
                        (None, Some(walk)) => find(draw(), walk),
                        (None, None) => Placed::Fragment(Vec::new()),
                    })
                });
                Item { key, placed, owner }
            });
            now.push(item);
        });
        for item in old.into_values() {
            item.owner.cleanup();
            item.placed.remove();
        }
        if let Some(end) = &end {
            arrange(&now, end);
        }
        now
    })
}

fn place_before(html: Html, end: &Comment) -> Placed {
    match end.parent_node() {
        Some(parent) => place(html, &parent, Some(end)),
        // The list was removed, and its effect is about to be.
        None => Placed::Fragment(Vec::new()),
    }
}

/// Moves the items that are not where they belong, from the last one on.
fn arrange(items: &[Item], end: &Comment) {
    let mut behind = Node::from(end.clone());
    for item in items.iter().rev() {
        let mut nodes = Vec::new();
        item.placed.each_node(&mut |node| nodes.push(node.clone()));
        for node in nodes.into_iter().rev() {
            if node.next_sibling().as_ref() != Some(&behind)
                && let Some(parent) = behind.parent_node()
            {
                insert(&node, &parent, Some(&behind));
            }
            behind = node;
        }
    }
}
