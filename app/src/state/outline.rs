//! The outline of a job: its works as rows of a tree, with time bars.
//!
//! Sixty tasks fit on a screen because only what runs, waits or failed is open. What a person
//! opens or folds stays so.
//!
//! ```text
//!   chart ─► tree ──┐
//!   standings ──────┼─► rows, cells of the strip
//!   filter, choices ┘
//! ```

pub(crate) mod keys;
mod timeline;
pub(crate) mod tree;

#[cfg(test)]
mod tests;

use wire::WorkState;

use super::duration;
use super::job::{Millis, Span};
use crate::wording::work_word;
use timeline::Timeline;
use tree::{GroupKind, Tree, visit_all};

/// So many tasks in a row that were not reached are folded.
const FEWEST_FOLDED: usize = 2;

/// How a work stands, and when it last ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkFacts {
    pub(crate) state: WorkState,
    pub(crate) span: Span,
    /// How often it has been started, as far as known.
    pub(crate) rounds: u32,
    /// How many attempts its last run has made, if that is known.
    pub(crate) attempts: Option<u32>,
}

impl Default for WorkFacts {
    fn default() -> Self {
        let state = WorkState::NotReached;
        Self { state, span: Span::default(), rounds: 0, attempts: Some(0) }
    }
}

/// The rows that are wanted, besides those that lead to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Failed,
    Waiting,
    Running,
}

impl Filter {
    /// Whether a work in this state is wanted.
    pub(crate) fn takes(self, state: WorkState) -> bool {
        match self {
            Self::Failed => matches!(state, WorkState::Failed | WorkState::Interrupted),
            Self::Waiting => state == WorkState::Waiting,
            Self::Running => state == WorkState::Running,
        }
    }
}

/// What a row stands for. It stays the same while the job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowKey {
    /// A group, by its id.
    Group(u32),
    /// A work, by its number.
    Task(u32),
    /// Tasks in a row that were not reached, by the number of the last one: the first ones may yet be.
    Rest(u32),
}

/// A row of the outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: RowKey,
    /// How many groups it is in.
    pub(crate) depth: u32,
    pub(crate) state: WorkState,
    pub(crate) label: String,
    /// That it has needed more than one attempt.
    pub(crate) extra: String,
    /// Where its time bar begins and ends, of 1000.
    pub(crate) bar: Option<(u32, u32)>,
    /// How long it has been running, or ran; of a sequence that is under way, how far it is.
    pub(crate) note: String,
    /// Whether its parts are hidden; never for a task.
    pub(crate) folded: bool,
    /// How many tasks that hides.
    pub(crate) hidden: u32,
}

impl Row {
    /// Whether it can be folded.
    pub(crate) fn has_parts(&self) -> bool {
        !matches!(self.key, RowKey::Task(_))
    }
}

/// A cell of the strip, which has one for each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) work: u32,
    pub(crate) state: WorkState,
    /// Its name and how it stands: `task-10: running for 1 minute`.
    pub(crate) title: String,
}

/// What the rows are made of.
#[derive(Clone, Copy)]
pub(crate) struct Outline<'a> {
    pub(crate) tree: &'a [Tree],
    pub(crate) facts: &'a dyn Fn(u32) -> WorkFacts,
    /// When the job began and ended; `None` in a preview, in which everything is open.
    pub(crate) job: Option<Span>,
    pub(crate) now: Millis,
    pub(crate) filter: Option<Filter>,
    /// What a person has opened (`true`) or folded.
    pub(crate) choices: &'a [(RowKey, bool)],
}

impl Outline<'_> {
    /// The rows in the order of the job's definition.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut spans = Vec::new();
        visit_all(self.tree, &mut |work, _| spans.push((self.facts)(work).span));
        let line = Timeline::of(self.job.unwrap_or_default(), spans, self.now);
        let mut rows = Vec::new();
        self.add_parts(&mut rows, &line, 0, self.tree);
        rows
    }

    /// The cells of the strip, in the same order.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        visit_all(self.tree, &mut |work, label| {
            let facts = (self.facts)(work);
            let title = format!("{label}: {}", self.describe(facts));
            cells.push(Cell { work, state: facts.state, title });
        });
        cells
    }

    /// How many works a filter takes.
    pub(crate) fn count(&self, filter: Filter) -> usize {
        let mut count = 0;
        visit_all(self.tree, &mut |work, _| {
            count += usize::from(filter.takes((self.facts)(work).state));
        });
        count
    }

    /// The work that began last of those that run or wait: what a reader who follows the job sees.
    pub(crate) fn newest_running(&self) -> Option<u32> {
        let mut newest = None;
        visit_all(self.tree, &mut |work, _| {
            let WorkFacts { state, span, .. } = (self.facts)(work);
            if matches!(state, WorkState::Running | WorkState::Waiting) {
                newest = newest.max(Some((span.start, work)));
            }
        });
        newest.map(|(_, work)| work)
    }

    /// How a work stands and for how long, in words.
    pub(crate) fn describe(&self, facts: WorkFacts) -> String {
        let word = work_word(facts.state);
        let Some(start) = facts.span.start else { return word.to_owned() };
        let time = duration::spoken(facts.span.end.unwrap_or(self.now) - start);
        match facts.state {
            WorkState::NotReached | WorkState::Queued | WorkState::Skipped => word.to_owned(),
            WorkState::Waiting => format!("{word}, running for {time}"),
            WorkState::Running => format!("{word} for {time}"),
            _ => format!("{word} after {time}"),
        }
    }

    fn add_parts(&self, rows: &mut Vec<Row>, line: &Timeline, depth: u32, parts: &[Tree]) {
        let mut rest = parts;
        while let Some((part, others)) = rest.split_first() {
            let run = self.unreached(parts, rest);
            if run > 0 {
                self.add_rest(rows, line, depth, &rest[..run]);
                rest = &rest[run..];
                continue;
            }
            match part {
                Tree::Task { work, label } => self.add_task(rows, line, depth, *work, label),
                Tree::Group { id, kind, label, parts } => {
                    let sum = self.sum(parts);
                    if sum.is_wanted {
                        let row = self.group_row(line, depth, *id, *kind, label, &sum);
                        let folded = row.folded;
                        rows.push(row);
                        if !folded {
                            self.add_parts(rows, line, depth + 1, parts);
                        }
                    }
                }
            }
            rest = others;
        }
    }

    /// How many tasks at the beginning of `rest` are one row because they were not reached, although
    /// others of the group were.
    fn unreached(&self, parts: &[Tree], rest: &[Tree]) -> usize {
        if self.filter.is_some() || self.job.is_none() {
            return 0;
        }
        let is_unreached = |part: &&Tree| match part {
            Tree::Task { work, .. } => (self.facts)(*work).state == WorkState::NotReached,
            Tree::Group { .. } => false,
        };
        let run = rest.iter().take_while(is_unreached).count();
        if run < FEWEST_FOLDED || self.sum(parts).state == WorkState::NotReached {
            return 0;
        }
        run
    }

    fn add_rest(&self, rows: &mut Vec<Row>, line: &Timeline, depth: u32, tasks: &[Tree]) {
        let mut last = 0;
        visit_all(tasks, &mut |work, _| last = work);
        let key = RowKey::Rest(last);
        let state = WorkState::NotReached;
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        let folded = !self.chosen(key).unwrap_or(false);
        rows.push(Row {
            key,
            depth,
            state,
            label: format!("{count} more, {}", work_word(state)),
            extra: String::new(),
            bar: None,
            note: String::new(),
            folded,
            hidden: if folded { count } else { 0 },
        });
        if !folded {
            for task in tasks {
                task.visit(&mut |work, label| self.add_task(rows, line, depth + 1, work, label));
            }
        }
    }

    fn add_task(&self, rows: &mut Vec<Row>, line: &Timeline, depth: u32, work: u32, label: &str) {
        let WorkFacts { state, span, attempts, .. } = (self.facts)(work);
        if self.filter.is_some_and(|filter| !filter.takes(state)) {
            return;
        }
        let note = match state {
            WorkState::Waiting => "asks".to_owned(),
            _ => span.elapsed(|| self.now).unwrap_or_default(),
        };
        rows.push(Row {
            key: RowKey::Task(work),
            depth,
            state,
            label: label.to_owned(),
            extra: match attempts {
                Some(attempts) if attempts > 1 => format!("{attempts} attempts"),
                _ => String::new(),
            },
            bar: line.bar(span),
            note,
            folded: false,
            hidden: 0,
        });
    }

    fn group_row(
        &self,
        line: &Timeline,
        depth: u32,
        id: u32,
        kind: GroupKind,
        label: &str,
        sum: &Sum,
    ) -> Row {
        let key = RowKey::Group(id);
        let by_itself = self.job.is_none() || self.filter.is_some() || is_open(sum.state);
        let folded = !self.chosen(key).unwrap_or(by_itself);
        let label = match kind {
            GroupKind::Loop if sum.rounds > 1 => format!("{label}, iteration {}", sum.rounds),
            _ => label.to_owned(),
        };
        let note = match (kind, sum.state) {
            (_, WorkState::NotReached | WorkState::Skipped) => String::new(),
            (GroupKind::Row, WorkState::Running | WorkState::Waiting | WorkState::Queued) => {
                format!("{} of {}", sum.done, sum.tasks)
            }
            _ => sum.span.elapsed(|| self.now).unwrap_or_default(),
        };
        Row {
            key,
            depth,
            state: sum.state,
            label,
            extra: String::new(),
            bar: line.bar(sum.span),
            note,
            folded,
            hidden: if folded { sum.tasks } else { 0 },
        }
    }

    fn chosen(&self, key: RowKey) -> Option<bool> {
        self.choices.iter().rev().find(|(chosen, _)| *chosen == key).map(|(_, open)| *open)
    }

    /// What the tasks in some parts come to.
    fn sum(&self, parts: &[Tree]) -> Sum {
        let mut sum = Sum { is_wanted: self.filter.is_none(), ..Sum::default() };
        let (mut state, mut reached, mut unreached) = (None, false, false);
        let mut has_ended = true;
        visit_all(parts, &mut |work, _| {
            let facts = (self.facts)(work);
            sum.tasks += 1;
            sum.done += u32::from(is_done(facts.state));
            sum.rounds = sum.rounds.max(facts.rounds);
            sum.is_wanted |= self.filter.is_some_and(|filter| filter.takes(facts.state));
            reached |= is_done(facts.state);
            unreached |= facts.state == WorkState::NotReached;
            // The most urgent state is that of all.
            state = state.max(urgency(facts.state).map(|urgency| (urgency, work)));
            if let Some(start) = facts.span.start {
                sum.span.start = Some(sum.span.start.map_or(start, |first| first.min(start)));
                sum.span.end = sum.span.end.max(facts.span.end);
                has_ended &= facts.span.end.is_some();
            }
        });
        if !has_ended {
            sum.span.end = None;
        }
        let is_over = self.job.is_some_and(|job| job.end.is_some());
        sum.state = match state {
            Some((_, work)) => (self.facts)(work).state,
            None if reached && !unreached => WorkState::Succeeded,
            // Between two of its tasks.
            None if reached && !is_over => WorkState::Running,
            None if unreached => WorkState::NotReached,
            None => WorkState::Skipped,
        };
        sum
    }
}

/// What the tasks of a group come to.
#[derive(Debug)]
struct Sum {
    state: WorkState,
    span: Span,
    tasks: u32,
    done: u32,
    rounds: u32,
    /// Whether the filter leaves anything of it.
    is_wanted: bool,
}

impl Default for Sum {
    fn default() -> Self {
        let state = WorkState::NotReached;
        Self { state, span: Span::default(), tasks: 0, done: 0, rounds: 0, is_wanted: false }
    }
}

/// Whether a work is over, and the job went on.
fn is_done(state: WorkState) -> bool {
    matches!(state, WorkState::Succeeded | WorkState::True | WorkState::False)
}

/// Whether a group in this state is open unless a person has folded it.
fn is_open(state: WorkState) -> bool {
    urgency(state).is_some()
}

/// Which state counts for a group whose tasks are in several; none if all of them count.
fn urgency(state: WorkState) -> Option<u8> {
    Some(match state {
        WorkState::Waiting => 5,
        WorkState::Running => 4,
        WorkState::Queued => 3,
        WorkState::Failed => 2,
        WorkState::Interrupted => 1,
        WorkState::Canceled => 0,
        _ => return None,
    })
}
