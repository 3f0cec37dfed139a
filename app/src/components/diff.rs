//! A unified diff. Lines keep their signs, so that it can be read without colours.

use crate::html::{Html, html};

/// The kind of a line in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Added,
    Removed,
    /// The position of a change.
    Hunk,
    /// The name of the file.
    Head,
    Same,
}

impl Line {
    fn class(self) -> &'static str {
        match self {
            Self::Added => "diff-added",
            Self::Removed => "diff-removed",
            Self::Hunk => "diff-hunk",
            Self::Head => "diff-head",
            Self::Same => "diff-same",
        }
    }
}

/// Draws the diff, with one element for each run of lines of the same kind.
pub(crate) fn draw_diff(text: &str) -> Html {
    let stretches = stretches(text).into_iter().map(|(line, text)| {
        html! { <span class=line.class()>{text}</span> }
    });
    let stretches = stretches.collect::<Html>();
    html! {
        <pre class="permission-diff" tabindex="0" aria-label="Changes">
            {stretches}
        </pre>
    }
}

/// Splits the text where the kind of its lines changes.
fn stretches(diff: &str) -> Vec<(Line, String)> {
    // A removed line that begins with dashes looks like a file header, but comes after one.
    let mut is_head = true;
    let mut all: Vec<(Line, String)> = Vec::new();
    for text in diff.lines() {
        let line = match text.as_bytes().first() {
            _ if text.starts_with("@@") => Line::Hunk,
            _ if text.starts_with("diff ") => Line::Head,
            Some(b'+' | b'-')
                if is_head && (text.starts_with("+++") || text.starts_with("---")) =>
            {
                Line::Head
            }
            Some(b'+') => Line::Added,
            Some(b'-') => Line::Removed,
            _ if is_head && text.starts_with("index ") => Line::Head,
            _ => Line::Same,
        };
        match line {
            Line::Hunk => is_head = false,
            Line::Head => is_head = true,
            _ => {}
        }
        match all.last_mut() {
            Some((last, stretch)) if *last == line => {
                stretch.push('\n');
                stretch.push_str(text);
            }
            _ => all.push((line, text.to_owned())),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n--- old\n-b\n+++ new\n c\n\\ No newline";
        let expected = [
            (Line::Head, "--- a/x\n+++ b/x"),
            (Line::Hunk, "@@ -1,3 +1,3 @@"),
            (Line::Same, " a"),
            (Line::Removed, "--- old\n-b"),
            (Line::Added, "+++ new"),
            (Line::Same, " c\n\\ No newline"),
        ];
        assert_eq!(stretches(diff), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn each_file_has_a_head() {
        let diff = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\ndiff --git a/y b/y\n--- a/y";
        let lines: Vec<_> = stretches(diff).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [Line::Head, Line::Hunk, Line::Removed, Line::Head]);
        assert_eq!(stretches(""), []);
    }
}
