//! What happened, in order, and how far a reader has come. No clock, no waiting, no readers.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::entry::{BlockRef, LiveEntry, Part};

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
    Run(Run),
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

/// How far a reader has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Position {
    item: usize,
    /// How much of the run at `item` was read, as an offset in the block's text; else 0.
    offset: usize,
    /// The blocks of which some text was read, but not yet the end.
    inside: Vec<Arc<Block>>,
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
            Part::Complete(name) if let Some(index) = self.find_open(name) => {
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
        self.facts += 1;
        self.waiting.push_back(self.items.len());
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

    /// How many items readers may see.
    fn visible(&self) -> usize {
        self.waiting.front().copied().unwrap_or(self.items.len())
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
    pub(super) fn read(&self, from: &Position, room: &mut Room) -> (Vec<Timed<Piece>>, Position) {
        let mut pieces = Vec::new();
        let mut next = from.clone();
        let visible = &self.items[..self.visible()];
        while let Some(Timed { at, what }) = visible.get(next.item)
            && room.is_left()
        {
            let timed = |piece| Timed { at: *at, what: piece };
            match what {
                Item::Entry(json) => pieces.push(timed(Piece::Entry(json.clone()))),
                Item::Stored => {
                    next.item += 1;
                    continue;
                }
                Item::End(json, number) => {
                    pieces.push(timed(Piece::Entry(json.clone())));
                    next.inside.retain(|block| block.number != *number);
                }
                Item::Run(run) => {
                    let is_last = next.item + 1 == self.items.len();
                    if let Some(piece @ Piece::Delta(..)) = run.read(&mut next) {
                        room.fill(&piece);
                        pieces.push(timed(piece));
                        if next.offset < run.to {
                            continue;
                        }
                    }
                    if is_last {
                        // It may still grow: stay here, at its present end.
                        next.offset = run.to;
                        break;
                    }
                    next.item += 1;
                    next.offset = 0;
                    continue;
                }
            }
            if let Some(piece) = pieces.last() {
                room.fill(&piece.what);
            }
            next.item += 1;
            next.offset = 0;
        }
        (pieces, next)
    }

    /// True if [`read`](Self::read) would find anything. Costs the same however much that is.
    pub(super) fn has_more(&self, from: &Position) -> bool {
        match self.items[..self.visible()].get(from.item..) {
            None | Some([] | [Timed { what: Item::Stored, .. }]) => false,
            Some([Timed { what: Item::Run(run), .. }]) => run.to > run.from.max(from.offset),
            // Text that is worth nothing any more is followed by the end of its block.
            Some(_) => true,
        }
    }

    /// Gives back what was reserved for growth.
    pub(super) fn shrink(&mut self) {
        self.items.shrink_to_fit();
        self.kept.shrink_to_fit();
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
    /// The next part of it for a reader, who moves behind that part.
    fn read(&self, reader: &mut Position) -> Option<Piece> {
        // Gone: the block is complete and no reader was inside it.
        let block = self.block.upgrade()?;
        let inside = reader.inside.iter().any(|other| other.number == block.number);
        let content = block.text.lock();
        if content.repeated && !inside {
            return None;
        }
        let from = self.from.max(reader.offset);
        let mut to = self.to.min(from + LONGEST_DELTA);
        while !content.text.is_char_boundary(to) {
            to -= 1;
        }
        drop(content);
        if from >= to {
            return None;
        }
        reader.offset = to;
        if !inside {
            reader.inside.push(block.clone());
        }
        Some(Piece::Delta(block, from..to))
    }
}
