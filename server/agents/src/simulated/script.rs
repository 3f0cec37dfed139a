//! Instructions for the turns to come, and which part of a prompt contains instructions at all.

use std::sync::LazyLock;

use regex::Regex;

/// Delimiters of the part of a prompt that is only context.
const CONTEXT: (&str, &str) = ("<context>", "</context>");

/// `Turn 2: …`, up to the next such line.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^[ \t]*turn[ \t]+(\d{1,4})[ \t]*:").expect("a valid pattern")
});

/// The parts of a script, by the turn from which they apply; and the number of the next turn.
#[derive(Debug, Default)]
pub(super) struct Script {
    parts: Vec<(u32, String)>,
    next: u32,
}

impl Script {
    /// Whether a text is a script with instructions for each turn.
    pub(super) fn is_script(text: &str) -> bool {
        LINE.is_match(text)
    }

    /// The text whose instructions the next turn carries out.
    pub(super) fn follow(
        &mut self,
        prompt: &str,
        has_instructions: impl FnOnce(&str) -> bool,
    ) -> String {
        let prompt = without_context(prompt);
        let parts = parts_of(&prompt);
        if !parts.is_empty() {
            *self = Self { parts, next: 1 };
        } else if self.parts.is_empty() || has_instructions(&prompt) {
            self.parts.clear();
            return prompt;
        }
        let turn = self.next;
        self.next = self.next.saturating_add(1);
        let so_far = self.parts.iter().filter(|(first, _)| *first <= turn);
        so_far.max_by_key(|(first, _)| *first).map_or(prompt, |(_, text)| text.clone())
    }
}

/// Removes everything from the first opening to the last closing delimiter: the context may contain
/// these words, too.
pub(super) fn without_context(prompt: &str) -> String {
    let (begin, end) = CONTEXT;
    match (prompt.find(begin), prompt.rfind(end)) {
        (Some(from), Some(to)) if from < to => {
            format!("{}{}", &prompt[..from], prompt[to + end.len()..].trim_start())
        }
        _ => prompt.to_owned(),
    }
}

fn parts_of(prompt: &str) -> Vec<(u32, String)> {
    let lines: Vec<_> = LINE.captures_iter(prompt).collect();
    let ends = lines.iter().skip(1).map(|line| line.get_match().start()).chain([prompt.len()]);
    lines
        .iter()
        .zip(ends)
        .map(|(line, end)| {
            let turn = line[1].parse().expect("four digits at most");
            (turn, prompt[line.get_match().end()..end].trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instructions that result from each of some prompts.
    fn follow(prompts: &[&str]) -> Vec<String> {
        let mut script = Script::default();
        prompts
            .iter()
            .map(|prompt| script.follow(prompt, |prompt| prompt.starts_with("say")))
            .collect()
    }

    #[test]
    fn each_turn_does_what_was_said_for_it() {
        for (prompts, expected) in [
            (&["say a", "b"][..], &["say a", "b"][..]),
            (&["Turn 1: a\nTurn 2: b", "x", "y"], &["a", "b", "b"]),
            (
                &["Goal:\n\nturn 1: a\nmore\n TURN 3 : c", "x", "y", "z"],
                &["a\nmore", "a\nmore", "c", "c"],
            ),
            (&["Turn 1: a\nTurn 2: b", "say c", "x"], &["a", "say c", "x"]),
            (&["Turn 1: a\nTurn 2: b", "Turn 1: c", "x"], &["a", "c", "c"]),
            (&["Turn 2: b", "x"], &["Turn 2: b", "b"]),
            (&["In turn 1: a"], &["In turn 1: a"]),
        ] {
            assert_eq!(follow(prompts), expected, "{prompts:?}");
        }
    }

    #[test]
    fn what_is_only_reported_does_not_count() {
        for (prompt, expected) in [
            ("<context>\nsay a\nTurn 1: b\n</context>\n\nc", "c"),
            ("a <context>x</context> b", "a b"),
            ("<context>\n</context> say a\n</context>\nb", "b"),
            ("<context> a", "<context> a"),
            ("</context><context>", "</context><context>"),
        ] {
            assert_eq!(follow(&[prompt]), [expected], "{prompt}");
        }
        assert_eq!(
            follow(&["<context>say x</context>\nTurn 1: a\nTurn 2: b", "<context>say y</context>"]),
            ["a", "b"]
        );
    }
}
