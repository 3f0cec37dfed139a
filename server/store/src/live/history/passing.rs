//! Histories of what comes and goes: they forget what everybody has seen go, and what has a newer
//! version.

use super::{History, Item, Place, Timed};
use crate::journal::Entity;

/// How many items may be gone before they are taken out, apart from as many as are left.
const MAX_GONE: usize = 64;

impl History {
    /// An empty history whose facts are counted from here on, so that a place in an earlier history
    /// with the same name is before its beginning. Its entries may have no blocks.
    pub(in crate::live) fn starting_at(facts: usize) -> Self {
        let numbers = Some(Vec::new());
        Self { facts: facts as u64, dropped: facts, numbers, ..Self::default() }
    }

    /// The number of the next item.
    pub(super) fn end(&self) -> usize {
        match self.numbers {
            // All of its items are facts.
            Some(_) => usize::try_from(self.facts).unwrap_or(usize::MAX),
            None => self.items.len(),
        }
    }

    /// Where the item of a number is, or else the next one that is left.
    pub(super) fn index_of(&self, number: usize) -> usize {
        match &self.numbers {
            Some(numbers) => numbers.partition_point(|other| *other < number),
            None => number,
        }
    }

    /// Where the next item is for a reader, who passes by what was taken out before it.
    pub(super) fn go_to_item(&self, place: &mut Place) -> usize {
        let index = self.index_of(place.item);
        if let Some(number) = self.numbers.as_ref().and_then(|numbers| numbers.get(index)) {
            place.item = *number;
            place.seq = *number as u64;
        }
        index
    }

    /// The place before the fact that follows this one, or the first one that is left.
    pub(super) fn find_number(&self, seq: u64) -> Place {
        let item = usize::try_from(seq).unwrap_or(usize::MAX).clamp(self.dropped, self.end());
        Place { item, seq: item as u64, inside: Vec::new() }
    }

    /// The place, or the first one that is left if it is before that.
    pub(super) fn not_dropped(&self, place: &Place) -> Place {
        if place.item >= self.dropped {
            return place.clone();
        }
        Place { item: self.dropped, seq: self.dropped as u64, inside: Vec::new() }
    }

    /// Forgets the present version of something: there is a newer one.
    pub(super) fn supersede(&mut self, id: Entity) {
        let Some(number) = self.added.remove(&id) else { return };
        self.take_away(number);
        // Not one by one, so that each costs the same however many there are.
        if self.gone > MAX_GONE + self.items.len() / 2 {
            self.take_out();
        }
    }

    fn take_away(&mut self, number: usize) {
        let index = self.index_of(number);
        if let Some(item) = self.items.get_mut(index)
            && !matches!(item.what, Item::Gone)
        {
            item.what = Item::Gone;
            self.gone += 1;
        }
    }

    /// Forgets what was added and removed, if all readers have read that. They are at these places.
    pub(in crate::live) fn forget_removed<'a>(&mut self, readers: impl Iterator<Item = &'a Place>) {
        let Some(numbers) = &self.numbers else { return };
        let visible = numbers.get(self.visible().len()).copied().unwrap_or(self.end());
        let read = readers.map(|place| place.item).min().unwrap_or(visible).min(visible);
        while let Some((added, removed)) = self.removed.pop_front_if(|(_, removed)| *removed < read)
        {
            self.take_away(added);
            self.take_away(removed);
        }
        self.take_out();
    }

    /// Takes out what is gone. The numbers of the others stay, and so do the places of readers.
    fn take_out(&mut self) {
        let Some(numbers) = &mut self.numbers else { return };
        if std::mem::take(&mut self.gone) == 0 {
            return;
        }
        let is_gone = |item: &Timed<Item>| matches!(item.what, Item::Gone);
        let mut items = self.items.iter();
        numbers.retain(|_| items.next().is_some_and(|item| !is_gone(item)));
        self.items.retain(|item| !is_gone(item));
        if self.items.capacity() > 4 * self.items.len() + MAX_GONE {
            self.items.shrink_to_fit();
            numbers.shrink_to_fit();
        }
        let first = numbers.first().copied();
        self.dropped = first.unwrap_or(self.end());
    }
}
