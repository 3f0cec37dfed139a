//! The body of a tool's block in its parts: arguments, output, and what came of the call. The body is
//! one text that grows at its end, so a part is remembered by where it begins.

use super::super::grouping::Step;
use super::super::tool_summary::{Ending, ToolCall, ToolSummary};
use super::{Block, BlockKind, Trouble};

/// What a part of a tool's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Arguments,
    /// What the tool printed while it ran.
    Output,
    Result,
    Details,
    Error,
}

impl Part {
    /// How the text of the part begins, by which it is told from the others.
    fn prefix(self) -> &'static str {
        match self {
            Self::Arguments | Self::Output => "",
            Self::Result => "Result: ",
            Self::Details => "Details: ",
            Self::Error => "Error: ",
        }
    }

    /// The title of a part whose text does not say what it is.
    pub(crate) fn title(self) -> Option<&'static str> {
        match self {
            Self::Arguments => Some("Arguments"),
            Self::Output => Some("Output"),
            Self::Result | Self::Details | Self::Error => None,
        }
    }
}

impl Block {
    /// Begins a part, or adds to it if it is the last one.
    pub(in crate::state) fn add_part(&mut self, part: Part, text: &str) {
        if self.parts.last().is_none_or(|(last, _)| *last != part) {
            if !self.body.is_empty() && !self.body.ends_with('\n') {
                self.body.push('\n');
            }
            self.parts.push((part, self.body.len()));
            self.body.push_str(part.prefix());
        }
        self.body.push_str(text);
    }

    /// The parts of a tool's body, each with its text.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, &str)> {
        let ends = self.parts.iter().skip(1).map(|(_, start)| *start);
        let ends = ends.chain([self.body.len()]);
        self.parts
            .iter()
            .zip(ends)
            .map(|((part, start), end)| (*part, self.body[*start..end].trim_end_matches('\n')))
    }

    /// What a part says, without the word that it begins with.
    fn said(&self, wanted: Part) -> Option<&str> {
        let (_, text) = self.parts().find(|(part, _)| *part == wanted)?;
        Some(text.strip_prefix(wanted.prefix()).unwrap_or(text))
    }

    /// What the call of a tool did; paths are shortened by the folder.
    pub(crate) fn tool_summary(&self, folder: &str) -> ToolSummary {
        let ending = match (self.completed, self.said(Part::Error)) {
            (false, _) => Ending::Running,
            (true, _) if self.trouble == Some(Trouble::Aborted) => Ending::Aborted,
            (true, Some(message)) => {
                Ending::Failed { message, denied: self.trouble == Some(Trouble::Denied) }
            }
            (true, None) => Ending::Returned {
                content: self.said(Part::Result).unwrap_or_default(),
                details: self.said(Part::Details),
            },
        };
        ToolSummary::of(&ToolCall {
            name: self.title.as_deref().unwrap_or_default(),
            arguments: self.said(Part::Arguments).unwrap_or_default(),
            folder,
            ending,
        })
    }

    /// What the block is among those that may be drawn as one row.
    pub(super) fn step(&self, kind: BlockKind) -> Step {
        if kind != BlockKind::Tool || !self.completed || self.parent.is_some() {
            return Step::Other;
        }
        Step::of(&self.tool_summary(""), self.millis())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tool_summary::Outcome;
    use super::*;

    fn ended(change: impl FnOnce(&mut Block)) -> Block {
        let mut block = Block::receiving(Some("runCommand".to_owned()), String::new());
        block.add_part(Part::Arguments, r#"{"command":"cargo test"}"#);
        block.add_part(Part::Output, "compiling");
        block.add_part(Part::Output, "\ntesting\n");
        change(&mut block);
        block.completed = true;
        block
    }

    #[test]
    fn a_body_is_read_in_its_parts() {
        let block = ended(|block| {
            block.add_part(Part::Result, "ok");
            block.add_part(Part::Details, "3 files");
        });
        assert_eq!(
            block.body,
            "{\"command\":\"cargo test\"}\ncompiling\ntesting\nResult: ok\nDetails: 3 files"
        );
        let parts: Vec<_> = block.parts().collect();
        assert_eq!(
            parts,
            [
                (Part::Arguments, r#"{"command":"cargo test"}"#),
                (Part::Output, "compiling\ntesting"),
                (Part::Result, "Result: ok"),
                (Part::Details, "Details: 3 files"),
            ]
        );
    }

    #[test]
    fn a_summary_knows_how_the_call_ended() {
        let summary = |block: &Block| block.tool_summary("");
        let running = Block { completed: false, ..ended(|_| {}) };
        assert_eq!((summary(&running).verb, summary(&running).outcome), ("Run", None));
        let done = ended(|block| block.add_part(Part::Result, "[exit code 1]\nno"));
        assert_eq!(summary(&done).text(), "cargo test → exit 1");
        let failed = ended(|block| block.add_part(Part::Error, "no such command"));
        assert_eq!(summary(&failed).outcome, Some(Outcome::Failed));
        let denied = Block { trouble: Some(Trouble::Denied), ..failed.clone() };
        assert_eq!(summary(&denied).outcome, Some(Outcome::Denied));
        let aborted = Block { trouble: Some(Trouble::Aborted), ..failed };
        assert_eq!(summary(&aborted).outcome, Some(Outcome::Aborted));
    }

    #[test]
    fn only_a_look_of_the_agent_itself_can_be_grouped() {
        let mut look = Block::receiving(Some("readFiles".to_owned()), String::new());
        look.add_part(Part::Arguments, r#"{"files":["a"]}"#);
        assert_eq!(look.step(BlockKind::Tool), Step::Other, "still running");
        look.completed = true;
        let step = Step::Look { files: 1, searches: 0, millis: 0 };
        assert_eq!(look.step(BlockKind::Tool), step);
        look.parent = Some("sub-agent".to_owned());
        assert_eq!(look.step(BlockKind::Tool), Step::Other);
    }
}
