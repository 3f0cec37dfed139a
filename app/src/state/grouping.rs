//! Which tool calls of a conversation are drawn as one row: `Looked around · 4 files, 2 searches`.
//!
//! Two or more reads and searches next to each other, all of which succeeded. A failure is never
//! inside a group, and neither is a call that has not ended.

use std::ops::Range;

use super::tool_summary::{ToolIcon, ToolSummary};

/// A block of a conversation, as far as groups are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A read or a search that succeeded.
    Look {
        files: u32,
        searches: u32,
        /// How long it took.
        millis: i64,
    },
    /// Anything else.
    Other,
}

impl Step {
    /// The step of a tool call that has ended, and took so long.
    pub(crate) fn of(summary: &ToolSummary, millis: i64) -> Self {
        match (summary.icon, summary.outcome) {
            (ToolIcon::Read, None) => Self::Look { files: summary.count, searches: 0, millis },
            (ToolIcon::Search, None) => Self::Look { files: 0, searches: 1, millis },
            _ => Self::Other,
        }
    }
}

/// Steps that are drawn as one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Indices of the steps.
    pub(crate) range: Range<usize>,
    pub(crate) files: u32,
    pub(crate) searches: u32,
    /// How long all of them took together.
    pub(crate) millis: i64,
}

impl Group {
    /// The text of the row.
    pub(crate) fn text(&self) -> String {
        let part = |count, one, more| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {more}")),
        };
        let parts = [part(self.files, "file", "files"), part(self.searches, "search", "searches")];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        format!("Looked around · {}", parts.join(", "))
    }
}

/// Brings the groups up to date after the step `changed` was added or has become another one, and
/// those behind it, if there are any, may have, too. What stands before it is not looked at, except
/// for the steps that may be in one group with it.
pub(crate) fn regroup(groups: &mut Vec<Group>, steps: &[Step], changed: usize) {
    let before = steps.iter().take(changed).rev();
    let start = changed.min(steps.len())
        - before.take_while(|step| matches!(step, Step::Look { .. })).count();
    groups.retain(|group| group.range.end <= start);
    let mut open: Option<Group> = None;
    for (index, step) in steps.iter().enumerate().skip(start) {
        match *step {
            Step::Look { files, searches, millis } => {
                let empty = Group { range: index..index, files: 0, searches: 0, millis: 0 };
                let group = open.get_or_insert(empty);
                group.range.end = index + 1;
                group.files += files;
                group.searches += searches;
                group.millis += millis;
            }
            Step::Other => groups.extend(open.take().filter(|group| group.range.len() > 1)),
        }
    }
    groups.extend(open.filter(|group| group.range.len() > 1));
}

#[cfg(test)]
mod tests {
    use super::super::tool_summary::{Ending, ToolCall};
    use super::*;

    const OTHER: Step = Step::Other;
    const READ: Step = Step::Look { files: 1, searches: 0, millis: 300 };
    const SEARCH: Step = Step::Look { files: 0, searches: 1, millis: 500 };

    fn ranges(groups: &[Group]) -> Vec<(usize, usize)> {
        groups.iter().map(|group| (group.range.start, group.range.end)).collect()
    }

    fn step(name: &str, ending: Ending<'_>) -> Step {
        let arguments = r#"{"files":["a","b"],"query":"c"}"#;
        Step::of(&ToolSummary::of(&ToolCall { name, arguments, folder: "", ending }), 7)
    }

    #[test]
    fn only_looking_that_succeeded_is_a_look() {
        let ok = Ending::Returned { content: "", details: None };
        let look = |files, searches| Step::Look { files, searches, millis: 7 };
        assert_eq!(step("readFiles", ok), look(2, 0));
        assert_eq!(step("searchFiles", ok), look(0, 1));
        assert_eq!(step("listFiles", ok), look(0, 1));
        for name in ["editFile", "runCommand", "job_boolean_true"] {
            assert_eq!(step(name, ok), OTHER);
        }
        for denied in [false, true] {
            assert_eq!(step("readFiles", Ending::Failed { message: "", denied }), OTHER);
        }
        assert_eq!(step("readFiles", Ending::Aborted), OTHER);
    }

    #[test]
    fn two_looks_next_to_each_other_are_a_group() {
        for (steps, groups) in [
            (&[][..], &[][..]),
            (&[READ], &[]),
            (&[READ, SEARCH], &[(0, 2)]),
            (&[READ, OTHER, READ], &[]),
            (&[OTHER, READ, READ, READ, OTHER, SEARCH, SEARCH], &[(1, 4), (5, 7)]),
            (&[READ, READ, OTHER], &[(0, 2)]),
        ] {
            let mut found = Vec::new();
            regroup(&mut found, steps, 0);
            assert_eq!(ranges(&found), groups, "{steps:?}");
        }
    }

    #[test]
    fn step_by_step_comes_to_the_same_as_all_at_once() {
        // Every sequence of eight steps, added one by one, the looks as other steps at first.
        for bits in 0_u32..256 {
            let ends_as = |index: usize| if bits >> index & 1 == 0 { OTHER } else { READ };
            let (mut steps, mut groups) = (Vec::new(), Vec::new());
            for index in 0..8 {
                steps.push(OTHER);
                regroup(&mut groups, &steps, index);
                // Calls that run at once end in another order than they began.
                if index % 2 == 1 {
                    for ended in [index, index - 1] {
                        steps[ended] = ends_as(ended);
                        regroup(&mut groups, &steps, ended);
                    }
                }
            }
            let mut at_once = Vec::new();
            regroup(&mut at_once, &steps, 0);
            assert_eq!(groups, at_once, "{bits:08b}");
        }
    }

    #[test]
    fn a_group_tells_what_was_looked_at_and_for_how_long() {
        let mut groups = Vec::new();
        let many = Step::Look { files: 3, searches: 0, millis: 1000 };
        regroup(&mut groups, &[many, SEARCH, READ, SEARCH, OTHER, READ, SEARCH], 0);
        assert_eq!(groups[0].text(), "Looked around · 4 files, 2 searches");
        assert_eq!(groups[0].millis, 2300);
        assert_eq!(groups[1].text(), "Looked around · 1 file, 1 search");
        regroup(&mut groups, &[SEARCH, SEARCH], 0);
        assert_eq!(groups[0].text(), "Looked around · 2 searches");
    }
}
