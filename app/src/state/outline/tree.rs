//! The tree of a job's works, read back from its flow chart.
//!
//! The page has the chart anyway, and a chart lists its nodes in the order of the definition, like
//! a text in which every bracket is closed: what has ended is taken from the top of a stack, and
//! put back as one piece. So the browser needs no second form of a job.

use wire::chart::{Arrow, Chart, Hint};

/// A sequence with longer runs of tasks than this shows them as one group, if it has other parts.
const LONGEST_RUN: usize = 4;

/// A part of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Task {
        /// Number of the work.
        work: u32,
        label: String,
    },
    Group {
        /// Unique within the job, and not 0.
        id: u32,
        kind: GroupKind,
        label: String,
        parts: Vec<Tree>,
    },
}

/// How the parts of a group belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// One after the other.
    Row,
    /// All at once.
    Together,
    /// Again and again.
    Loop,
    /// A condition and its ways, or one of these.
    Choice,
}

impl Tree {
    /// Calls `visit` for each task in the order of the definition, with its work and its label.
    pub(crate) fn visit<'t>(&'t self, visit: &mut dyn FnMut(u32, &'t str)) {
        match self {
            Self::Task { work, label } => visit(*work, label),
            Self::Group { parts, .. } => visit_all(parts, visit),
        }
    }

    fn is_task(&self) -> bool {
        matches!(self, Self::Task { .. })
    }
}

/// Calls `visit` for each task in some parts, as [`Tree::visit`] does.
pub(super) fn visit_all<'t>(parts: &'t [Tree], visit: &mut dyn FnMut(u32, &'t str)) {
    for part in parts {
        part.visit(visit);
    }
}

/// The parts of a job, in the order of its definition.
pub(crate) fn read_tree(chart: &Chart) -> Vec<Tree> {
    let mut reader = Reader { chart, groups: 0, open: Vec::new() };
    for node in &chart.nodes {
        reader.take(node.id, node.hint, node.label.as_deref().unwrap_or_default());
    }
    let pieces = std::mem::take(&mut reader.open);
    reader.row(pieces)
}

/// A piece of the chart that is read, and begins with the node `first`.
struct Piece {
    first: u32,
    what: What,
}

enum What {
    /// The beginning of something that has not ended.
    Begin,
    /// A condition whose ways have not ended; they part at the node `decision`.
    Condition {
        decision: u32,
        part: Tree,
    },
    Done(Tree),
}

struct Reader<'c> {
    chart: &'c Chart,
    groups: u32,
    open: Vec<Piece>,
}

impl<'c> Reader<'c> {
    fn take(&mut self, id: u32, hint: Hint, label: &str) {
        let task = |work| Tree::Task { work, label: label.to_owned() };
        match hint {
            Hint::TaskNode(work) => self.put(id, What::Done(task(work))),
            Hint::CondNode(work) => {
                self.put(id, What::Condition { decision: id, part: task(work) });
            }
            Hint::ParBegin | Hint::CondBegin => self.put(id, What::Begin),
            Hint::ParEnd => {
                let (begin, pieces) = self.pop_to_begin();
                let part = self.together(begin, pieces);
                self.put(begin, What::Done(part));
            }
            Hint::CondEnd => {
                let (begin, pieces) = self.pop_to_begin();
                let parts = self.row(pieces);
                let part = self.group(GroupKind::Choice, "condition".to_owned(), parts);
                self.put(begin, What::Condition { decision: id, part });
            }
            Hint::AltEnd => self.end_choice(),
            Hint::LoopEnd => self.end_loop(id),
        }
    }

    fn put(&mut self, first: u32, what: What) {
        self.open.push(Piece { first, what });
    }

    fn group(&mut self, kind: GroupKind, label: String, parts: Vec<Tree>) -> Tree {
        self.groups += 1;
        Tree::Group { id: self.groups, kind, label, parts }
    }

    fn arrows(&self, id: u32) -> &'c [Arrow] {
        self.chart.nodes.get(id as usize).map_or(&[], |node| &node.arrows)
    }

    /// Takes the last piece for which `is_wanted` holds, and all that follow it.
    fn pop_to(&mut self, is_wanted: impl Fn(&Piece) -> bool) -> Vec<Piece> {
        let at = self.open.iter().rposition(is_wanted);
        at.map_or_else(Vec::new, |at| self.open.split_off(at))
    }

    fn pop_to_begin(&mut self) -> (u32, Vec<Piece>) {
        let mut pieces = self.pop_to(|piece| matches!(piece.what, What::Begin));
        // No chart of the server ends what has not begun.
        let begin = if pieces.is_empty() { 0 } else { pieces.remove(0).first };
        (begin, pieces)
    }

    /// Pieces that follow each other. Long runs of tasks between other parts become groups.
    fn row(&mut self, pieces: Vec<Piece>) -> Vec<Tree> {
        let parts: Vec<_> = pieces.into_iter().filter_map(Piece::part).collect();
        let mut grouped: Vec<Tree> = Vec::new();
        if parts.iter().all(Tree::is_task) {
            return parts;
        }
        let mut run = Vec::new();
        for part in parts {
            if part.is_task() {
                run.push(part);
            } else {
                self.end_run(&mut run, &mut grouped);
                grouped.push(part);
            }
        }
        self.end_run(&mut run, &mut grouped);
        grouped
    }

    fn end_run(&mut self, run: &mut Vec<Tree>, grouped: &mut Vec<Tree>) {
        if run.len() > LONGEST_RUN {
            let label = format!("{} in a row", run.len());
            let group = self.group(GroupKind::Row, label, std::mem::take(run));
            grouped.push(group);
        } else {
            grouped.append(run);
        }
    }

    fn together(&mut self, begin: u32, pieces: Vec<Piece>) -> Tree {
        let arrows = self.arrows(begin);
        let mut branches: Vec<Vec<Piece>> = Vec::new();
        for piece in pieces {
            let is_first = arrows.iter().any(|arrow| arrow.to == piece.first);
            match branches.last_mut() {
                Some(branch) if !is_first => branch.push(piece),
                _ => branches.push(vec![piece]),
            }
        }
        let length = branches.first().map_or(0, Vec::len);
        let are_rows = length > 1
            && branches
                .iter()
                .all(|branch| branch.len() == length && branch.iter().all(Piece::is_task));
        let count = branches.len();
        let label =
            if are_rows { format!("{count} rows of {length}") } else { format!("{count} at once") };
        let mut parts = Vec::with_capacity(count);
        for (branch, number) in branches.into_iter().zip(1..) {
            let mut row = self.row(branch);
            parts.extend(match row.len() {
                0 | 1 => row.pop(),
                _ => Some(self.group(GroupKind::Row, format!("row {number}"), row)),
            });
        }
        self.group(GroupKind::Together, label, parts)
    }

    fn end_choice(&mut self) {
        let mut pieces = self.pop_to(|piece| piece.decision().is_some()).into_iter();
        let Some(Piece { first, what: What::Condition { decision, part } }) = pieces.next() else {
            return;
        };
        let arrows = self.arrows(decision);
        let label = match &part {
            Tree::Task { label, .. } => format!("if {label}"),
            Tree::Group { .. } => "choice".to_owned(),
        };
        let mut ways: [Vec<Piece>; 2] = Default::default();
        let mut way = 0;
        for piece in pieces {
            let arrow = arrows.iter().find(|arrow| arrow.to == piece.first);
            if let Some(label) = arrow.and_then(|arrow| arrow.label.as_deref()) {
                way = usize::from(label == "false");
            }
            ways[way].push(piece);
        }
        let mut parts = vec![part];
        for (way, label) in ways.into_iter().zip(["if true", "if false"]) {
            let row = self.row(way);
            if !row.is_empty() {
                parts.push(self.group(GroupKind::Choice, label.to_owned(), row));
            }
        }
        let choice = self.group(GroupKind::Choice, label, parts);
        self.put(first, What::Done(choice));
    }

    fn end_loop(&mut self, end: u32) {
        let back = self.open.last().and_then(Piece::decision).and_then(|decision| {
            self.arrows(decision).iter().find(|arrow| arrow.loop_back).map(|arrow| arrow.to)
        });
        let mut pieces = if let Some(start) = back {
            self.pop_to(|piece| piece.first == start)
        } else {
            // Without a condition at its end there is one round, which its first one may leave out.
            let before = self.open.iter().filter_map(Piece::decision).next_back();
            let leads_here = |decision: &u32| self.arrows(*decision).iter().any(|it| it.to == end);
            let Some(before) = before.filter(leads_here) else { return };
            self.pop_to(|piece| piece.decision() == Some(before))
        };
        let Some(first) = pieces.first().map(|piece| piece.first) else { return };
        // Conditions stand by themselves, before and behind what they decide about.
        let before = pieces[0].decision().is_some().then(|| pieces.remove(0));
        let after = back.and_then(|_| pieces.pop());
        let mut parts: Vec<_> = before.and_then(Piece::part).into_iter().collect();
        parts.append(&mut self.row(pieces));
        parts.extend(after.and_then(Piece::part));
        let group = self.group(GroupKind::Loop, "loop".to_owned(), parts);
        self.put(first, What::Done(group));
    }
}

impl Piece {
    fn decision(&self) -> Option<u32> {
        match self.what {
            What::Condition { decision, .. } => Some(decision),
            What::Begin | What::Done(_) => None,
        }
    }

    fn is_task(&self) -> bool {
        matches!(&self.what, What::Done(part) if part.is_task())
    }

    fn part(self) -> Option<Tree> {
        match self.what {
            What::Condition { part, .. } | What::Done(part) => Some(part),
            What::Begin => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::entry::testing::{alt, job, number, par, repeat, seq, task};
    use wire::entry::{Job, Work};

    use super::*;

    fn tree(mut work: Work) -> Vec<Tree> {
        number(&mut work, &mut 0);
        read_tree(&Chart::of(&job(work)))
    }

    /// The tree in short: groups by their labels.
    fn show(parts: &[Tree]) -> String {
        let show = |part: &Tree| match part {
            Tree::Task { label, .. } => label.clone(),
            Tree::Group { label, parts, .. } => format!("{label}: ({})", show(parts)),
        };
        parts.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    fn tasks(names: &str) -> Vec<Work> {
        names.chars().map(|name| task(&name.to_string())).collect()
    }

    #[test]
    fn groups_are_named_by_what_is_in_them() {
        let row = |names| seq(tasks(names));
        for (work, shown) in [
            (task("a"), "a"),
            (row("abcdefgh"), "a, b, c, d, e, f, g, h"),
            (par(tasks("abc")), "3 at once: (a, b, c)"),
            (par([row("ab"), row("cd")]), "2 rows of 2: (row 1: (a, b), row 2: (c, d))"),
            (par([row("ab"), task("c")]), "2 at once: (row 1: (a, b), c)"),
            (
                seq([par(tasks("ab")), task("c"), task("d"), par(tasks("ef"))]),
                "2 at once: (a, b), c, d, 2 at once: (e, f)",
            ),
            (
                seq([vec![par(tasks("ab"))], tasks("cdefg")].concat()),
                "2 at once: (a, b), 5 in a row: (c, d, e, f, g)",
            ),
        ] {
            assert_eq!(show(&tree(work)), shown);
        }
    }

    #[test]
    fn loops_and_choices_hold_their_conditions() {
        let until = |name| Some((false, task(name)));
        let check = seq(tasks("xy"));
        for (work, shown) in [
            (repeat(None, task("a"), until("z")), "loop: (a, z)"),
            (repeat(until("p"), task("a"), until("z")), "loop: (p, a, z)"),
            (repeat(until("p"), task("a"), None), "loop: (p, a)"),
            // One round, always: nothing to tell.
            (repeat(None, task("a"), None), "a"),
            (
                repeat(Some((true, check.clone())), task("a"), Some((true, check.clone()))),
                "loop: (condition: (x, y), a, condition: (x, y))",
            ),
            (
                repeat(None, repeat(None, task("a"), until("y")), until("z")),
                "loop: (loop: (a, y), z)",
            ),
            (
                alt(task("c"), Some(task("t")), Some(task("f"))),
                "if c: (c, if true: (t), if false: (f))",
            ),
            (alt(task("c"), None, Some(task("f"))), "if c: (c, if false: (f))"),
            (alt(task("c"), None, None), "if c: (c)"),
            (
                alt(check, Some(repeat(None, task("a"), None)), None),
                "choice: (condition: (x, y), if true: (a))",
            ),
            (
                seq([
                    task("s"),
                    repeat(until("p"), alt(task("c"), Some(par(tasks("ab"))), None), until("z")),
                ]),
                "s, loop: (p, if c: (c, if true: (2 at once: (a, b))), z)",
            ),
        ] {
            assert_eq!(show(&tree(work)), shown);
        }
    }

    fn any_work() -> impl Strategy<Value = Work> {
        Just(()).prop_map(|()| task("t")).prop_recursive(4, 24, 3, |inner| {
            let some = prop::collection::vec(inner.clone(), 1..4);
            let maybe = || prop::option::of(inner.clone());
            prop_oneof![
                some.clone().prop_map(seq),
                some.prop_map(par),
                (inner.clone(), maybe(), maybe()).prop_map(|(c, t, f)| alt(c, t, f)),
                (maybe(), inner.clone(), maybe(), any::<bool>()).prop_map(
                    |(pre, body, post, goes)| {
                        repeat(pre.map(|work| (goes, work)), body, post.map(|work| (!goes, work)))
                    }
                ),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_task_is_in_the_tree_once_and_every_group_has_its_own_id(work in any_work()) {
            let mut work = work;
            number(&mut work, &mut 0);
            let Job { work, .. } = job(work);
            let count = work.task_refs().len();
            let parts = read_tree(&Chart::of(&job(work)));
            let mut works = Vec::new();
            for part in &parts {
                part.visit(&mut |work, _| works.push(work as usize));
            }
            works.sort_unstable();
            prop_assert_eq!(works, (0..count).collect::<Vec<_>>());
            let mut ids = Vec::new();
            collect_ids(&parts, &mut ids);
            let groups = ids.len();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), groups);
        }
    }

    fn collect_ids(parts: &[Tree], ids: &mut Vec<u32>) {
        for part in parts {
            if let Tree::Group { id, parts, .. } = part {
                ids.push(*id);
                collect_ids(parts, ids);
            }
        }
    }
}
