//! Positions of a chart's nodes and routes of its arrows.
//!
//! A chart consists of nested chains, rows and loops, and the nodes of each have consecutive ids.
//! So one pass over the nodes is enough: a node that ends a construct merges the blocks since its
//! beginning into one block. Every block has a spine, on which it is entered at the top and left at
//! the bottom. Arrows that pass a block run on a lane beside it.

use std::ops::Range;

use wire::chart::{Chart, ChartNode, Hint};

use super::text;

/// Pixels to the right and down.
pub(crate) type Point = (i32, i32);

/// Vertical gap between two nodes, and the larger one for an arrow with a label.
const GAP: i32 = 32;
const LABEL_GAP: i32 = 38;
/// Gap between works side by side.
const ROW_GAP: i32 = 28;
/// Gap between a lane and what it passes.
const LANE_GAP: i32 = 22;
/// Margin around the chart.
const MARGIN: i32 = 24;
/// How far above a loop's start the arrow back joins the arrow in.
const JOIN_RISE: i32 = 16;
/// Space left and right of a task's label; wide enough for a status mark.
const PADDING: i32 = 30;
/// The same for a hexagon.
const COND_PADDING: i32 = 36;
/// Minimum width of a node; what stands below a label fits in.
const MIN_WIDTH: i32 = 112;
const TASK_HEIGHT: i32 = 42;

/// Position and size of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The centre of the node.
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Place {
    pub(crate) fn left(self) -> i32 {
        self.x - self.width / 2
    }

    pub(crate) fn right(self) -> i32 {
        self.x + self.width / 2
    }

    pub(crate) fn top(self) -> i32 {
        self.y - self.height / 2
    }

    pub(crate) fn bottom(self) -> i32 {
        self.y + self.height / 2
    }

    /// The middle of the side that faces `x`.
    fn side(self, x: i32) -> Point {
        (if x < self.x { self.left() } else { self.right() }, self.y)
    }
}

/// The route of an arrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Indices of the nodes it connects.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Consecutive points differ in one coordinate only.
    pub(crate) points: Vec<Point>,
    pub(crate) label: Option<String>,
    pub(crate) loop_back: bool,
    /// The lane on which it passes other nodes.
    lane: Option<i32>,
}

impl Link {
    /// The position of the label, and whether the label ends there instead of beginning.
    pub(crate) fn label_place(&self) -> (Point, bool) {
        let &[(x, y), (x2, _), ..] = self.points.as_slice() else { return ((0, 0), false) };
        match x2 - x {
            0 => ((x + 7, y + 16), false),
            right => ((x + 7 * right.signum(), y - 6), right < 0),
        }
    }
}

/// Positions of all nodes and arrows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) width: i32,
    pub(crate) height: i32,
    /// In the order of the chart's nodes.
    pub(crate) nodes: Vec<Place>,
    pub(crate) links: Vec<Link>,
}

/// The role of a block until it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Work,
    /// A decision, merged at the end of its loop or of its branches.
    Condition,
    /// A beginning whose end has not come yet.
    Begin(Hint),
}

/// Nodes in their final relative positions, around a spine at x = 0 and below a top at y = 0.
#[derive(Clone, Copy, Debug)]
struct Block {
    kind: Kind,
    /// Indices of its nodes.
    first: usize,
    end: usize,
    /// How far it extends from its spine.
    left: i32,
    right: i32,
    height: i32,
}

impl Block {
    fn last(self) -> usize {
        self.end - 1
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

struct Builder<'a> {
    nodes: &'a [ChartNode],
    places: Vec<Place>,
    /// In the order of the nodes they start from.
    links: Vec<Link>,
    /// Index of each node's first link in `links`, followed by the number of links.
    first_link: Vec<usize>,
    /// The blocks so far, from top to bottom.
    blocks: Vec<Block>,
}

/// Lays out a chart. Any chart gets a layout; the charts of jobs get one without overlaps.
pub(crate) fn lay_out(chart: &Chart) -> Layout {
    let mut builder = Builder::new(&chart.nodes);
    for index in 0..chart.nodes.len() {
        builder.add(index);
    }
    builder.finish()
}

fn size(node: &ChartNode) -> (i32, i32) {
    let label = || node.label.as_ref().map_or(0, |label| text::width(&text::shorten(label)));
    match node.hint {
        Hint::TaskNode(_) => ((label() + 2 * PADDING).max(MIN_WIDTH), TASK_HEIGHT),
        Hint::CondNode(_) => ((label() + 2 * COND_PADDING).max(MIN_WIDTH), TASK_HEIGHT),
        Hint::ParBegin | Hint::ParEnd => (52, 8),
        Hint::CondBegin | Hint::AltEnd => (40, 8),
        Hint::CondEnd => (26, 26),
        Hint::LoopEnd => (20, 20),
    }
}

impl<'a> Builder<'a> {
    fn new(nodes: &'a [ChartNode]) -> Self {
        let mut links = Vec::new();
        let mut first_link = vec![0];
        for (from, node) in nodes.iter().enumerate() {
            for arrow in node.arrows.iter().filter(|arrow| (arrow.to as usize) < nodes.len()) {
                links.push(Link {
                    from,
                    to: arrow.to as usize,
                    points: Vec::new(),
                    label: arrow.label.as_deref().map(text::shorten),
                    loop_back: arrow.loop_back,
                    lane: None,
                });
            }
            first_link.push(links.len());
        }
        Self { nodes, places: Vec::new(), links, first_link, blocks: Vec::new() }
    }

    /// Adds the next node, and merges the blocks that it ends.
    fn add(&mut self, index: usize) {
        let hint = self.nodes[index].hint;
        let (width, height) = size(&self.nodes[index]);
        self.places.push(Place { x: 0, y: height / 2, width, height });
        let kind = match hint {
            Hint::CondNode(_) => Kind::Condition,
            Hint::ParBegin | Hint::CondBegin => Kind::Begin(hint),
            _ => Kind::Work,
        };
        let (left, right) = (width / 2, width / 2);
        let node = Block { kind, first: index, end: index + 1, left, right, height };
        match hint {
            Hint::CondEnd => self.end_condition(node),
            Hint::ParEnd => self.end_par(node),
            Hint::AltEnd => self.end_alt(node),
            Hint::LoopEnd => self.end_loop(node),
            _ => self.blocks.push(node),
        }
    }

    fn end_condition(&mut self, node: Block) {
        let begin = self.find(|block| block.kind == Kind::Begin(Hint::CondBegin));
        self.blocks.push(node);
        if let Some(begin) = begin {
            self.chain(begin, Kind::Condition);
        }
    }

    fn end_par(&mut self, node: Block) {
        let begin = self.find(|block| block.kind == Kind::Begin(Hint::ParBegin));
        if let Some(begin) = begin {
            let works = self.gather_ways(begin);
            self.add_row(&works, 0);
        }
        self.blocks.push(node);
        if let Some(begin) = begin {
            self.chain(begin, Kind::Work);
        }
    }

    fn end_alt(&mut self, node: Block) {
        let Some(at) = self.find(|block| block.kind == Kind::Condition) else {
            return self.blocks.push(node);
        };
        let decision = self.blocks[at].last();
        let missing: Vec<(usize, Side)> = self
            .links_of(decision)
            .zip([Side::Left, Side::Right])
            .filter(|&(link, _)| self.links[link].to == node.first)
            .collect();
        let branches = self.gather_ways(at);
        let room = self.links_of(decision).map(|link| self.label_room(link)).max();
        self.add_row(&branches, room.unwrap_or(0));
        let reach = self.reach(at + 1);
        self.blocks.push(node);
        self.chain(at, Kind::Work);
        for (link, side) in missing {
            self.add_lane(link, side, reach);
        }
    }

    fn end_loop(&mut self, node: Block) {
        let post = self
            .blocks
            .len()
            .checked_sub(1)
            .filter(|&top| self.blocks[top].kind == Kind::Condition);
        let back = post.and_then(|post| self.link(post, |link| link.loop_back));
        let post = post.filter(|_| back.is_some());
        let pre = self.blocks[..post.unwrap_or(self.blocks.len())]
            .iter()
            .rposition(|block| block.kind == Kind::Condition);
        let skip = pre.and_then(|pre| self.link(pre, |link| link.to == node.first));
        let pre = pre.filter(|_| skip.is_some());
        let start = back.and_then(|back| self.position(self.links[back].to)).or(pre);

        let past_all = start.map(|start| self.reach(start));
        let past_body = pre.map(|pre| self.reach(pre + 1));
        self.blocks.push(node);
        if let Some(start) = start {
            self.chain(start, Kind::Work);
        }
        if let (Some(skip), Some(reach)) = (skip, past_body) {
            self.add_lane(skip, Side::Right, reach);
        }
        if let (Some(back), Some(reach)) = (back, past_all) {
            self.add_lane(back, Side::Left, reach);
        }
    }

    /// The last block that satisfies the condition.
    fn find(&self, is_so: impl Fn(&Block) -> bool) -> Option<usize> {
        self.blocks.iter().rposition(is_so)
    }

    /// The block that begins with a node.
    fn position(&self, node: usize) -> Option<usize> {
        self.blocks.binary_search_by_key(&node, |block| block.first).ok()
    }

    fn links_of(&self, node: usize) -> Range<usize> {
        self.first_link[node]..self.first_link[node + 1]
    }

    /// The link out of a block that satisfies the condition.
    fn link(&self, block: usize, is_so: impl Fn(&Link) -> bool) -> Option<usize> {
        self.links_of(self.blocks[block].last()).find(|&link| is_so(&self.links[link]))
    }

    /// How far blocks extend from their spine, to the left and to the right.
    fn reach(&self, from: usize) -> (i32, i32) {
        let reach = |(left, right): (i32, i32), block: &Block| {
            (left.max(block.left), right.max(block.right))
        };
        self.blocks[from..].iter().fold((0, 0), reach)
    }

    /// How far from a node's spine a line must be so that its label fits beside the node.
    fn label_room(&self, link: usize) -> i32 {
        let link = &self.links[link];
        let label = link.label.as_ref().map_or(0, |label| text::width(label) + 12);
        self.places[link.from].width / 2 + label + LANE_GAP / 2
    }

    fn shift(&mut self, block: Block, (dx, dy): Point) {
        for place in &mut self.places[block.first..block.end] {
            place.x += dx;
            place.y += dy;
        }
        let links = self.first_link[block.first]..self.first_link[block.end];
        for lane in self.links[links].iter_mut().filter_map(|link| link.lane.as_mut()) {
            *lane += dx;
        }
    }

    /// Merges the blocks from `from` on into one chain.
    fn chain(&mut self, from: usize, kind: Kind) {
        let mut blocks = self.blocks.split_off(from).into_iter();
        let Some(mut whole) = blocks.next() else { return };
        for block in blocks {
            let is_labelled =
                self.links[self.links_of(whole.last())].iter().any(|link| link.label.is_some());
            let top = whole.height + if is_labelled { LABEL_GAP } else { GAP };
            self.shift(block, (0, top));
            whole.end = block.end;
            whole.left = whole.left.max(block.left);
            whole.right = whole.right.max(block.right);
            whole.height = top + block.height;
        }
        whole.kind = kind;
        self.blocks.push(whole);
    }

    /// Removes what follows the block at `at`, as one chain per link out of the block.
    fn gather_ways(&mut self, at: usize) -> Vec<Block> {
        let mut ways = Vec::new();
        for link in self.links_of(self.blocks[at].last()).rev() {
            // An empty branch leads past all others, and has no blocks.
            if let Some(start) = self.position(self.links[link].to).filter(|&start| start > at) {
                self.chain(start, Kind::Work);
                ways.extend(self.blocks.pop());
            }
        }
        ways.reverse();
        ways
    }

    /// Merges blocks side by side. If there are two, each is at least `room` away from the spine.
    fn add_row(&mut self, row: &[Block], room: i32) {
        let [first, .., last] = row else { return self.blocks.extend(row) };
        let mut spines = Vec::new();
        let mut x = 0;
        for block in row {
            x += block.left;
            spines.push(x);
            x += block.right + ROW_GAP;
        }
        let mut width = x - ROW_GAP;
        if let [left, right] = spines.as_mut_slice() {
            let more = (2 * room - (*right - *left)).max(0);
            *right += more;
            width += more;
        }
        let middle = i32::midpoint(first.left, width - last.right);
        // A work that is nearly in the middle looks better straight below the beginning.
        let near = spines.iter().copied().find(|spine| (spine - middle).abs() < MIN_WIDTH / 2);
        let spine = near.unwrap_or(middle);
        for (block, x) in row.iter().zip(spines) {
            self.shift(*block, (x - spine, 0));
        }
        self.blocks.push(Block {
            kind: Kind::Work,
            first: first.first,
            end: last.end,
            left: spine,
            right: width - spine,
            height: row.iter().map(|block| block.height).max().unwrap_or(0),
        });
    }

    /// Routes an arrow past blocks that extend so far. The last block is the one that contains it.
    fn add_lane(&mut self, link: usize, side: Side, (left, right): (i32, i32)) {
        let room = self.label_room(link);
        let Some(block) = self.blocks.last_mut() else { return };
        let lane = match side {
            Side::Left => {
                let lane = (left + LANE_GAP).max(room);
                block.left = block.left.max(lane);
                -lane
            }
            Side::Right => {
                let lane = (right + LANE_GAP).max(room);
                block.right = block.right.max(lane);
                lane
            }
        };
        self.links[link].lane = Some(lane);
    }

    fn finish(mut self) -> Layout {
        self.chain(0, Kind::Work);
        let Some(whole) = self.blocks.pop() else { return Layout::default() };
        self.shift(whole, (MARGIN + whole.left, MARGIN));
        for index in 0..self.links.len() {
            self.links[index].points = self.route(&self.links[index]);
        }
        Layout {
            width: whole.left + whole.right + 2 * MARGIN,
            height: whole.height + 2 * MARGIN,
            nodes: self.places,
            links: self.links,
        }
    }

    fn route(&self, link: &Link) -> Vec<Point> {
        let (from, to) = (self.places[link.from], self.places[link.to]);
        match link.lane {
            Some(lane) if link.loop_back => {
                let join = to.top() - JOIN_RISE;
                let up = [from.side(lane), (lane, from.y), (lane, join)];
                [&up[..], &[(to.x, join), (to.x, to.top())]].concat()
            }
            Some(lane) => vec![from.side(lane), (lane, from.y), (lane, to.y), to.side(lane)],
            None if from.x == to.x => vec![(from.x, from.bottom()), (to.x, to.top())],
            None if self.links_of(link.from).len() > 1 => {
                vec![from.side(to.x), (to.x, from.y), (to.x, to.top())]
            }
            None => vec![(from.x, from.bottom()), (from.x, to.y), to.side(from.x)],
        }
    }
}
