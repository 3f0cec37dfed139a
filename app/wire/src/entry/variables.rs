//! The variables of an entry, and what prompts become when they are put in.
//!
//! Each variable is expanded once, those that it uses first, without recursion: a chain of them
//! may be as long as the text. What is wrong with a variable is kept with it, and reported at each
//! place where it is used.

use std::collections::HashSet;
use std::fmt;

use indexmap::IndexMap;

use super::problem::{Collector, Path};
use super::prompt::{Piece, Prompt, RuntimeVariable, pieces};

/// How long a prompt may become: variables that use others twice would double it at each step.
const MAX_PROMPT_BYTES: usize = 1024 * 1024;
/// How long all prompts and variables may become together.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// How deep variables may use each other.
const MAX_HEIGHT: usize = 100;
/// How many variables of a cycle are named.
const MAX_CYCLE: usize = 20;
/// How many cycles are noted.
const MAX_CYCLES: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Variables<'t> {
    /// Whether the names of all variables could be read.
    is_complete: bool,
    by_name: IndexMap<&'t str, Variable<'t>>,
    total_bytes: usize,
}

#[derive(Debug, Default)]
struct Variable<'t> {
    ordinal: usize,
    text: String,
    /// Indexes of the variables in its text, each once.
    uses: Vec<usize>,
    /// `None` if something is wrong with it or with what it uses.
    expansion: Option<String>,
    /// Faults of its own text.
    faults: Vec<Fault<'t>>,
    /// Those of `uses` that have faults to report.
    faulty_uses: Vec<usize>,
    height: usize,
    is_settled: bool,
    is_used: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault<'t> {
    NotFound(String),
    Empty,
    Cycle(Vec<&'t str>),
    TooDeep,
    TooLong,
    TooLongInAll,
    /// Not reported: the cause already was, or there are enough reports.
    Unreadable,
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NotFound(name) => write!(formatter, "Cannot find prompt variable: ${name}."),
            Self::Empty => formatter.write_str("Must not be empty."),
            Self::Cycle(names) => {
                formatter.write_str("Prompt variables use each other in a cycle: ")?;
                for name in names.iter().take(MAX_CYCLE) {
                    write!(formatter, "${name} -> ")?;
                }
                let more = if names.len() > MAX_CYCLE { "… -> " } else { "" };
                write!(formatter, "{more}${}.", names.first().unwrap_or(&""))
            }
            Self::TooDeep => {
                write!(formatter, "Prompt variables use each other more than {MAX_HEIGHT} deep.")
            }
            Self::TooLong => {
                write!(formatter, "Longer than {MAX_PROMPT_BYTES} bytes when it is expanded.")
            }
            Self::TooLongInAll => write!(
                formatter,
                "All prompts are longer than {MAX_TOTAL_BYTES} bytes when they are expanded."
            ),
            Self::Unreadable => formatter.write_str("Cannot be read."),
        }
    }
}

impl<'t> Variables<'t> {
    /// Takes the variables: name, ordinal, and text if it could be read.
    pub(super) fn new(
        variables: impl IntoIterator<Item = (&'t str, usize, Option<String>)>,
    ) -> Self {
        let by_name = variables.into_iter().map(|(name, ordinal, text)| {
            let faults = if text.is_none() { vec![Fault::Unreadable] } else { Vec::new() };
            let text = text.unwrap_or_default();
            (name, Variable { ordinal, text, faults, ..Variable::default() })
        });
        let mut variables = Self { is_complete: true, by_name: by_name.collect(), total_bytes: 0 };
        for index in 0..variables.by_name.len() {
            if variables.by_name[index].faults.is_empty() {
                let (uses, faults) = variables.look_up(&variables.by_name[index].text);
                let variable = &mut variables.by_name[index];
                (variable.uses, variable.faults) = (uses, faults);
            }
        }
        for index in variables.sort() {
            variables.settle(index);
        }
        variables
    }

    /// Expands a prompt; reports why it can't.
    pub(super) fn expand(
        &mut self,
        text: &str,
        ordinal: usize,
        path: &Path,
        problems: &mut Collector,
    ) -> Option<Prompt> {
        let (uses, mut faults) = self.look_up(text);
        self.mark(uses.clone());
        let expandable = faults.is_empty()
            && uses.iter().all(|variable| self.by_name[*variable].expansion.is_some());
        let expansion = if expandable { self.put_in(text, &mut faults) } else { None };
        for fault in faults.iter().filter(|fault| **fault != Fault::Unreadable) {
            problems.report(ordinal, path, fault);
        }
        for variable in uses {
            self.report(variable, ordinal, path, problems);
        }
        expansion.map(Prompt::expanded)
    }

    /// Reports what is wrong with variables that no prompt uses.
    pub(super) fn check_unused(&mut self, path: &Path, problems: &mut Collector) {
        let used_by_others: HashSet<usize> =
            self.by_name.values().flat_map(|variable| variable.uses.iter().copied()).collect();
        // First those that nothing uses; then what is left uses itself in cycles.
        let all = 0..self.by_name.len();
        let roots = all.clone().filter(|index| !used_by_others.contains(index));
        for index in roots.chain(all) {
            if !self.by_name[index].is_used {
                self.mark(vec![index]);
                let Some((name, variable)) = self.by_name.get_index(index) else { continue };
                self.report_at(index, variable.ordinal, &path.key(name), problems);
            }
        }
    }

    /// The variables in a text, each once, and what is wrong with it at first sight.
    fn look_up(&self, text: &str) -> (Vec<usize>, Vec<Fault<'t>>) {
        let (mut uses, mut faults, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        if text.trim().is_empty() {
            faults.push(Fault::Empty);
        }
        for piece in pieces(text) {
            if let Piece::Variable(name) = piece
                && seen.insert(name)
            {
                match self.by_name.get_index_of(name) {
                    Some(index) => uses.push(index),
                    None if RuntimeVariable::find(name).is_some() => {}
                    None if !self.is_complete => faults.push(Fault::Unreadable),
                    None => faults.push(Fault::NotFound(name.to_owned())),
                }
            }
        }
        (uses, faults)
    }

    /// The variables in an order where each comes after those that it uses. Notes the cycles.
    fn sort(&mut self) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum Visit {
            NotYet,
            /// On the current path, at this position.
            Begun(usize),
            Done,
        }
        let mut cycles = 0;
        let mut visits = vec![Visit::NotYet; self.by_name.len()];
        let mut sorted = Vec::with_capacity(visits.len());
        for root in 0..visits.len() {
            if visits[root] != Visit::NotYet {
                continue;
            }
            // Variables on the way down, each with how many of its uses were followed.
            let mut way = vec![(root, 0)];
            visits[root] = Visit::Begun(0);
            while let Some((index, followed)) = way.last_mut() {
                let index = *index;
                let Some(used) = self.by_name[index].uses.get(*followed).copied() else {
                    visits[index] = Visit::Done;
                    sorted.push(index);
                    way.pop();
                    continue;
                };
                *followed += 1;
                match visits[used] {
                    Visit::Done => {}
                    Visit::NotYet => {
                        visits[used] = Visit::Begun(way.len());
                        way.push((used, 0));
                    }
                    Visit::Begun(place) => {
                        cycles += 1;
                        let cycle = way[place..].iter().take(MAX_CYCLE + 1);
                        let names = cycle.filter_map(|(index, _)| self.by_name.get_index(*index));
                        let names = names.map(|(name, _)| *name).collect();
                        let faults = &mut self.by_name[index].faults;
                        if cycles <= MAX_CYCLES {
                            faults.push(Fault::Cycle(names));
                        } else if faults.is_empty() {
                            faults.push(Fault::Unreadable);
                        }
                    }
                }
            }
        }
        sorted
    }

    /// Expands a variable after those that it uses.
    fn settle(&mut self, index: usize) {
        let text = std::mem::take(&mut self.by_name[index].text);
        let mut faults = std::mem::take(&mut self.by_name[index].faults);
        let variable = &self.by_name[index];
        let uses = variable.uses.iter().map(|used| (*used, &self.by_name[*used]));
        // One that is not settled closes a cycle, which is a fault of this one.
        let faulty_uses = uses.clone().filter(|(_, used)| used.is_settled && used.has_faults());
        let faulty_uses: Vec<usize> = faulty_uses.map(|(used, _)| used).collect();
        let expandable = uses.clone().all(|(_, used)| used.expansion.is_some());
        let height = 1 + uses.map(|(_, used)| used.height).max().unwrap_or(0);

        let expandable = expandable && faults.is_empty();
        let is_too_deep = height > MAX_HEIGHT;
        if is_too_deep {
            faults = vec![Fault::TooDeep];
        }
        let expansion =
            if expandable && !is_too_deep { self.put_in(&text, &mut faults) } else { None };
        let variable = &mut self.by_name[index];
        variable.is_settled = true;
        variable.expansion = expansion;
        variable.faults = faults;
        // Those above a variable that is too deep count from there: it is reported once.
        variable.height = if is_too_deep { 0 } else { height };
        variable.faulty_uses = if is_too_deep { Vec::new() } else { faulty_uses };
    }

    /// The text with its variables put in. All of them have an expansion.
    fn put_in(&mut self, text: &str, faults: &mut Vec<Fault<'t>>) -> Option<String> {
        let expansion = |piece| match piece {
            Piece::Text(plain) => ("", plain),
            Piece::Variable(name) => match self.by_name.get(name) {
                Some(variable) => ("", variable.expansion.as_deref().unwrap_or_default()),
                None => ("$", name),
            },
        };
        // Counted before anything is copied.
        let parts = || pieces(text).map(expansion);
        let bytes: usize = parts().map(|(dollar, text)| dollar.len() + text.len()).sum();
        if bytes > MAX_PROMPT_BYTES {
            faults.push(Fault::TooLong);
            return None;
        }
        let before = self.total_bytes;
        let total_bytes = before + bytes;
        let expanded = (total_bytes <= MAX_TOTAL_BYTES)
            .then(|| parts().flat_map(|(dollar, text)| [dollar, text]).collect());
        self.total_bytes = total_bytes;
        // Once is enough.
        if expanded.is_none() && before <= MAX_TOTAL_BYTES {
            faults.push(Fault::TooLongInAll);
        }
        expanded
    }

    /// Notes that these are used, and all that they use.
    fn mark(&mut self, mut used: Vec<usize>) {
        while let Some(index) = used.pop() {
            let variable = &mut self.by_name[index];
            if !variable.is_used {
                variable.is_used = true;
                used.extend(&variable.uses);
            }
        }
    }

    /// Reports what is wrong with a variable that is used at a place.
    fn report(&self, index: usize, ordinal: usize, path: &Path, problems: &mut Collector) {
        if let Some((name, _)) = self.by_name.get_index(index) {
            self.report_at(index, ordinal, &path.variable(name), problems);
        }
    }

    fn report_at(&self, index: usize, ordinal: usize, path: &Path, problems: &mut Collector) {
        let variable = &self.by_name[index];
        for fault in variable.faults.iter().filter(|fault| **fault != Fault::Unreadable) {
            problems.report(ordinal, path, fault);
            // Many prompts may use a variable with many faults.
            if !problems.has_room(ordinal) {
                return;
            }
        }
        for used in &variable.faulty_uses {
            // There may be more ways to a fault than anybody can count.
            if problems.has_room(ordinal) {
                self.report(*used, ordinal, path, problems);
            }
        }
    }
}

impl Variable<'_> {
    /// Whether there is something to report when it is used.
    fn has_faults(&self) -> bool {
        !self.faulty_uses.is_empty() || self.faults.iter().any(|fault| *fault != Fault::Unreadable)
    }
}
