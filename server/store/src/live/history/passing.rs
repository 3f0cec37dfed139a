//! Histories of what comes and goes: they forget what everybody has seen go.

use super::{History, Item, Place, Timed};

impl History {
    /// An empty history whose facts are counted from here on, so that a place in an earlier history
    /// with the same name is before its beginning. Its entries may have no blocks.
    pub(in crate::live) fn starting_at(facts: usize) -> Self {
        Self { facts: facts as u64, dropped: facts, ..Self::default() }
    }

    /// The place, or the first one that is left if it is before that.
    pub(super) fn not_dropped(&self, place: &Place) -> Place {
        if place.item >= self.dropped {
            return place.clone();
        }
        Place { item: self.dropped, seq: self.dropped as u64, inside: Vec::new() }
    }

    /// Forgets what was added and removed, if all readers have read that. They are at these places.
    pub(in crate::live) fn forget_removed<'a>(&mut self, readers: impl Iterator<Item = &'a Place>) {
        let visible = self.dropped + self.visible().len();
        let read = readers.map(|place| place.item).min().unwrap_or(visible).min(visible);
        while let Some((added, removed)) = self.removed.pop_front_if(|(_, removed)| *removed < read)
        {
            for index in [added, removed] {
                self.items[index - self.dropped].what = Item::Gone;
            }
        }
        let is_gone = |item: &Timed<Item>| matches!(item.what, Item::Gone);
        let gone = self.items.iter().take_while(|item| is_gone(item)).count();
        self.items.drain(..gone);
        self.dropped += gone;
    }
}
