//! What happened, in order, and how far a reader has come. No clock, no waiting, no readers.

mod passing;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::entry::{BlockRef, LiveEntry, Part};
use crate::journal::{Entity, Position};

/// The entries of a log from the first one, compacted.
///
/// Deltas are not entries here. A block's text is one string, and a [`Item::Run`] stands where
/// deltas came in: it grows while nothing else is pushed, so n deltas in a row are one item.
#[derive(Debug, Default)]
pub(super) struct History {
    items: Vec<Timed<Item>>,
    /// Blocks that have started and not ended; rarely more than a few.
    open: Vec<Arc<Block>>,
    /// Blocks whose text is in no other entry.
    kept: Vec<Arc<Block>>,
    blocks: u32,
    /// How many facts there are: entries that are stored and numbered, which deltas are not.
    facts: u64,
    /// Where the facts stand that are not durable yet. Readers do not get past the first of them.
    waiting: VecDeque<usize>,
    /// How many items were there before the first one that is left, all of them facts.
    dropped: usize,
    /// The number of each item, where some have been taken out between others: what comes and goes.
    numbers: Option<Vec<usize>>,
    /// How many items are gone that were not taken out yet.
    gone: usize,
    /// Where things were added that were not removed since, and where others were added and removed.
    added: HashMap<Entity, usize>,
    removed: VecDeque<(usize, usize)>,
}

/// What an entry adds to the stored facts.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// None for a delta, two where a block's text has to be stored beside its end.
    pub(super) facts: Vec<Timed<Arc<str>>>,
    /// The block that was closed, by the number of the fact that opened it.
    pub(super) closed_block: Option<u64>,
}

/// Something, and when it happened, by the [`Clock`](super::clock::Clock).
#[derive(Clone, Debug)]
pub(super) struct Timed<T> {
    pub(super) at: u64,
    pub(super) what: T,
}

#[derive(Debug)]
enum Item {
    Entry(Arc<str>),
    /// The end of a block, which readers in the middle of it have to notice.
    End(Arc<str>, BlockNumber),
    /// The text of a block, stored as one fact. Readers have it from the runs.
    Stored,
    /// The same in a log that was restored, which has no runs.
    Text(Arc<str>, BlockNumber),
    Run(Run),
    /// Something was added or removed, and every reader has read both; or there is a newer version.
    Gone,
}

impl Item {
    fn is_fact(&self) -> bool {
        !matches!(self, Self::Run(_))
    }

    fn json(&self) -> Option<&Arc<str>> {
        match self {
            Self::Entry(json) | Self::End(json, _) | Self::Text(json, _) => Some(json),
            Self::Stored | Self::Run(_) | Self::Gone => None,
        }
    }

    fn read<E: LiveEntry>(&self) -> Option<E> {
        serde_json::from_str(self.json()?).ok()
    }

    /// Makes an entry a part of a block.
    fn belong(&mut self, part: impl FnOnce(Arc<str>, BlockNumber) -> Self, block: BlockNumber) {
        if let Some(json) = self.json().cloned() {
            *self = part(json, block);
        }
    }
}

/// A part of a block's text, by offsets.
#[derive(Debug)]
struct Run {
    /// Weak, so that the text of a complete block goes as soon as no reader is inside it.
    block: Weak<Block>,
    from: usize,
    to: usize,
}

type BlockNumber = u32;

/// A block and its text so far.
#[derive(Debug)]
pub(super) struct Block {
    number: BlockNumber,
    /// Number of the fact that opened it.
    start: u64,
    kind: &'static str,
    id: Box<str>,
    // Locked for moments only: by who pushes, and by who renders a part of it.
    text: Mutex<BlockText>,
}

#[derive(Debug, Default)]
struct BlockText {
    text: String,
    /// The whole text stands in the entry that ended the block.
    repeated: bool,
    /// How much of the text is stored, in bytes.
    saved: usize,
}

impl Block {
    pub(super) fn name(&self) -> BlockRef<'_> {
        BlockRef { kind: self.kind, id: &self.id }
    }

    fn has_text(&self) -> bool {
        !self.text.lock().text.is_empty()
    }

    /// A part of the text, which only ever grows.
    pub(super) fn text(&self, part: Range<usize>) -> String {
        self.text.lock().text.get(part).unwrap_or_default().to_owned()
    }
}

/// How far a reader has come in a [`History`].
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The item to read next, or to read on.
    item: usize,
    /// How many facts are before it.
    seq: u64,
    /// The blocks of which some text was read, but not yet the end.
    inside: Vec<Inside>,
}

/// A block that a reader is in the middle of.
#[derive(Clone, Debug)]
struct Inside {
    block: Arc<Block>,
    /// How much of its text was read, in bytes.
    read: usize,
}

impl Place {
    /// The place by numbers that stay valid.
    pub(super) fn position(&self) -> Position {
        let inside = self.inside.iter().map(|inside| (inside.block.start, inside.read as u64));
        Position { seq: self.seq, inside: inside.collect() }
    }

    fn inside(&mut self, number: BlockNumber) -> Option<&mut Inside> {
        self.inside.iter_mut().find(|inside| inside.block.number == number)
    }

    /// What is left of the text of a block that this reader is in the middle of.
    fn rest(&mut self, number: BlockNumber) -> Option<Piece> {
        self.inside(number).and_then(|inside| inside.read_to(usize::MAX))
    }

    fn step(&mut self, is_fact: bool) {
        self.item += 1;
        self.seq += u64::from(is_fact);
    }
}

impl Inside {
    /// The next part of the text up to an offset, which then counts as read.
    fn read_to(&mut self, end: usize) -> Option<Piece> {
        let from = self.read;
        let content = self.block.text.lock();
        let end = end.min(content.text.len()).min(from + LONGEST_DELTA);
        let to = content.text.floor_char_boundary(end);
        drop(content);
        if from >= to {
            return None;
        }
        self.read = to;
        Some(Piece::Delta(self.block.clone(), from..to))
    }
}

/// Something to hand to a reader. Holds no text of its own: what a reader does not take from us costs
/// next to nothing.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Entry(Arc<str>),
    Delta(Arc<Block>, Range<usize>),
}

impl Piece {
    fn size(&self) -> usize {
        match self {
            Self::Entry(json) => json.len(),
            Self::Delta(_, part) => part.len(),
        }
    }
}

/// Longer deltas come in parts, so that rendering one is cheap.
const LONGEST_DELTA: usize = 64 * 1024;

/// How much of an answer is still free.
#[derive(Debug)]
pub(super) struct Room {
    pieces: usize,
    bytes: usize,
}

impl Room {
    /// For an answer with everything that is new, within reason.
    pub(super) fn for_all() -> Self {
        Self { pieces: 4096, bytes: 1024 * 1024 }
    }

    /// For an answer with one response, however long.
    pub(super) fn for_one() -> Self {
        Self { pieces: 1, bytes: usize::MAX }
    }

    /// True as long as one more response can be taken.
    pub(super) fn is_left(&self) -> bool {
        self.pieces > 0 && self.bytes > 0
    }

    fn fill(&mut self, piece: &Piece) {
        self.pieces = self.pieces.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(piece.size());
    }
}

impl History {
    /// What was stored: facts and their times, all of them durable.
    pub(super) fn restored(facts: Vec<Timed<Arc<str>>>) -> Self {
        Self {
            facts: facts.len() as u64,
            items: facts
                .into_iter()
                .map(|fact| Timed { at: fact.at, what: Item::Entry(fact.what) })
                .collect(),
            ..Self::default()
        }
    }

    /// Adds an entry. What it adds to the facts is not shown to readers before it is
    /// [settled](Self::settle).
    pub(super) fn push<E: LiveEntry>(
        &mut self,
        entry: &E,
        at: u64,
        json: impl Fn(&E) -> Arc<str>,
    ) -> Staged {
        let mut staged = Staged::default();
        match entry.part() {
            Part::Start(name) if self.find_open(name).is_none() => {
                self.add(at, json(entry), Item::Entry, &mut staged);
                self.blocks += 1;
                self.open.push(Arc::new(Block {
                    number: self.blocks,
                    start: self.facts,
                    kind: name.kind,
                    id: name.id.into(),
                    text: Mutex::default(),
                }));
            }
            Part::Delta(name, text) if let Some(index) = self.find_open(name) => {
                self.append(index, at, text);
            }
            Part::Complete(name, _) if let Some(index) = self.find_open(name) => {
                let block = self.open.remove(index);
                block.text.lock().repeated = true;
                staged.closed_block = Some(block.start);
                self.add(at, json(entry), |json| Item::End(json, block.number), &mut staged);
            }
            Part::End(name) if let Some(index) = self.find_open(name) => {
                let block = self.open.remove(index);
                staged.closed_block = Some(block.start);
                let text = block.text.lock().text.clone();
                if let Some(whole) = E::delta(name, text).filter(|_| block.has_text()) {
                    self.add(at, json(&whole), |_| Item::Stored, &mut staged);
                }
                self.add(at, json(entry), |json| Item::End(json, block.number), &mut staged);
                block.text.lock().text.shrink_to_fit();
                self.kept.push(block);
            }
            Part::Adds(id) => {
                self.added.insert(id, self.end());
                self.add(at, json(entry), Item::Entry, &mut staged);
            }
            Part::Removes(id) => {
                let added = self.added.remove(&id).unwrap_or(self.end());
                self.removed.push_back((added, self.end()));
                self.add(at, json(entry), Item::Entry, &mut staged);
            }
            Part::Replaces(id) => {
                self.supersede(id);
                self.added.insert(id, self.end());
                self.add(at, json(entry), Item::Entry, &mut staged);
            }
            Part::Leaves(id) => {
                self.supersede(id);
                self.removed.push_back((self.end(), self.end()));
                self.add(at, json(entry), Item::Entry, &mut staged);
            }
            // What belongs to no open block is kept as it is rather than lost.
            _ => self.add(at, json(entry), Item::Entry, &mut staged),
        }
        staged
    }

    fn add(
        &mut self,
        at: u64,
        json: Arc<str>,
        item: impl FnOnce(Arc<str>) -> Item,
        staged: &mut Staged,
    ) {
        let number = self.end();
        self.facts += 1;
        self.waiting.push_back(number);
        if let Some(numbers) = &mut self.numbers {
            numbers.push(number);
        }
        self.items.push(Timed { at, what: item(json.clone()) });
        staged.facts.push(Timed { at, what: json });
    }

    /// The next facts are durable: readers may see them.
    pub(super) fn settle(&mut self, facts: usize) {
        self.waiting.drain(..facts.min(self.waiting.len()));
    }

    /// Whether everything that was added is durable.
    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The text of open blocks that is not stored yet, as the number of the fact that opened the
    /// block, where the text begins in it, and the text. It counts as stored from then on.
    pub(super) fn take_unsaved(&mut self) -> Vec<(u64, usize, String)> {
        let mut unsaved = Vec::new();
        for block in &self.open {
            let mut content = block.text.lock();
            let from = content.saved;
            if from < content.text.len() {
                unsaved.push((block.start, from, content.text[from..].to_owned()));
                content.saved = content.text.len();
            }
        }
        unsaved
    }

    /// The place that a position names: of another reader, or from another life of the server.
    pub(super) fn find<E: LiveEntry>(&mut self, position: &Position) -> Place {
        if self.numbers.is_some() {
            return self.find_number(position.seq);
        }
        let mut place = Place::default();
        while let Some(item) = self.items.get(place.item)
            && place.seq < position.seq
        {
            place.step(item.what.is_fact());
        }
        for (start, read) in &position.inside {
            if let Some(block) = self.find_block::<E>(*start) {
                let text = &block.text.lock().text;
                // Less than what was read is left if the server crashed.
                let read = usize::try_from(*read).unwrap_or(usize::MAX).min(text.len());
                let read = text.floor_char_boundary(read);
                place.inside.push(Inside { block: block.clone(), read });
            }
        }
        place
    }

    /// The block that a fact opened, with its text. If that is not in memory any more, it is taken
    /// from the fact that repeats it.
    fn find_block<E: LiveEntry>(&mut self, start: u64) -> Option<Arc<Block>> {
        if let Some(block) = self.open.iter().chain(&self.kept).find(|block| block.start == start) {
            return Some(block.clone());
        }
        let mut facts = self.items.iter().enumerate().filter(|(_, item)| item.what.is_fact());
        let (_, opened) = facts.nth(usize::try_from(start).ok()?.checked_sub(1)?)?;
        let opened: E = opened.what.read()?;
        let Part::Start(name) = opened.part() else { return None };
        let (mut text, mut text_at, mut end_at) = (String::new(), None, None);
        for (index, item) in facts {
            let Some(entry) = item.what.read::<E>() else { continue };
            match entry.part() {
                Part::Delta(other, delta) if other == name => {
                    delta.clone_into(&mut text);
                    text_at = Some(index);
                }
                Part::Complete(other, whole) if other == name => {
                    whole.clone_into(&mut text);
                    end_at = Some(index);
                }
                Part::End(other) if other == name => end_at = Some(index),
                _ => {}
            }
            if end_at.is_some() {
                break;
            }
        }
        let end = &mut self.items[end_at?].what;
        let number = if let Item::End(_, number) = end {
            *number
        } else {
            self.blocks += 1;
            self.blocks
        };
        end.belong(Item::End, number);
        if let Some(index) = text_at {
            self.items[index].what.belong(Item::Text, number);
        }
        let text = Mutex::new(BlockText { saved: text.len(), text, repeated: true });
        Some(Arc::new(Block { number, start, kind: name.kind, id: name.id.into(), text }))
    }

    /// The items that readers may see.
    fn visible(&self) -> &[Timed<Item>] {
        let end = self.waiting.front().map_or(self.items.len(), |number| self.index_of(*number));
        &self.items[..end]
    }

    fn find_open(&self, name: BlockRef<'_>) -> Option<usize> {
        self.open.iter().rposition(|block| block.name() == name)
    }

    /// Deltas that are merged have the time of the first of them.
    fn append(&mut self, index: usize, at: u64, text: &str) {
        if text.is_empty() {
            return;
        }
        let block = &self.open[index];
        let mut content = block.text.lock();
        let from = content.text.len();
        content.text.push_str(text);
        let to = content.text.len();
        if let Some(Timed { what: Item::Run(run), .. }) = self.items.last_mut()
            && std::ptr::eq(run.block.as_ptr(), Arc::as_ptr(block))
        {
            run.to = to;
        } else {
            let run = Run { block: Arc::downgrade(block), from, to };
            self.items.push(Timed { at, what: Item::Run(run) });
        }
    }

    /// What comes after a position, as long as there is room, and the position after that.
    pub(super) fn read(&self, from: &Place, room: &mut Room) -> (Vec<Timed<Piece>>, Place) {
        let mut pieces = Vec::new();
        let mut next = self.not_dropped(from);
        let visible = self.visible();
        while let Some(Timed { at, what }) = visible.get(self.go_to_item(&mut next))
            && room.is_left()
        {
            let piece = match what {
                Item::Entry(json) => {
                    next.step(true);
                    Some(Piece::Entry(json.clone()))
                }
                Item::Stored | Item::Gone => {
                    next.step(true);
                    None
                }
                Item::Text(json, number) => {
                    let is_inside = next.inside(*number).is_some();
                    let rest = next.rest(*number);
                    if rest.is_none() {
                        next.step(true);
                    }
                    rest.or_else(|| (!is_inside).then(|| Piece::Entry(json.clone())))
                }
                Item::End(json, number) => Some(next.rest(*number).unwrap_or_else(|| {
                    next.step(true);
                    next.inside.retain(|inside| inside.block.number != *number);
                    Piece::Entry(json.clone())
                })),
                Item::Run(run) => {
                    let piece = run.read(&mut next);
                    if piece.is_none() {
                        if next.item + 1 == self.end() {
                            // It may still grow: stay here, at its present end.
                            break;
                        }
                        next.step(false);
                    }
                    piece
                }
            };
            if let Some(piece) = piece {
                room.fill(&piece);
                pieces.push(Timed { at: *at, what: piece });
            }
        }
        (pieces, next)
    }

    /// True if [`read`](Self::read) would find anything. Looks no further than the first item that
    /// has something for the reader, which is nearly always the first one.
    pub(super) fn has_more(&self, from: &Place) -> bool {
        let rest = self.visible().get(self.index_of(from.item)..);
        rest.unwrap_or_default().iter().any(|item| match &item.what {
            // Text that the reader has is followed by the end of its block.
            Item::Entry(_) | Item::End(..) | Item::Text(..) => true,
            Item::Stored | Item::Gone => false,
            Item::Run(run) => run.has_more(from),
        })
    }

    /// Gives back what was reserved for growth.
    pub(super) fn shrink(&mut self) {
        self.items.shrink_to_fit();
        self.kept.shrink_to_fit();
    }

    /// How many items are in memory, for tests.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Bytes of text that are kept for deltas, for tests and measurements.
    #[cfg(test)]
    pub(super) fn delta_bytes(&self) -> usize {
        let mut seen = std::collections::HashMap::new();
        for item in &self.items {
            if let Item::Run(run) = &item.what
                && let Some(block) = run.block.upgrade()
            {
                seen.insert(block.number, block.text.lock().text.len());
            }
        }
        seen.values().sum()
    }
}

impl Run {
    /// Whether [`read`](Self::read) would find anything. Not in a block that is complete, unless the
    /// reader is in the middle of it: its end has the whole text, and may not be shown yet.
    fn has_more(&self, reader: &Place) -> bool {
        let Some(block) = self.block.upgrade() else { return false };
        let inside = reader.inside.iter().find(|inside| inside.block.number == block.number);
        match inside {
            Some(inside) => self.to > inside.read,
            None => self.to > self.from && !block.text.lock().repeated,
        }
    }

    /// The next part of it for a reader, who moves behind that part.
    fn read(&self, reader: &mut Place) -> Option<Piece> {
        // Gone: the block is complete and no reader was inside it.
        let block = self.block.upgrade()?;
        if reader.inside(block.number).is_none() {
            if block.text.lock().repeated {
                return None;
            }
            reader.inside.push(Inside { block: block.clone(), read: self.from });
        }
        reader.inside(block.number)?.read_to(self.to)
    }
}
