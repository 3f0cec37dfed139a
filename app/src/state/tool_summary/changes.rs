//! How many lines a tool adds and removes: as its result says, or else as its arguments do.

use super::arguments::{Value, fields, items, unescape};

/// Lines that were added, and lines that were removed.
pub(super) type Lines = (u32, u32);

/// What the result of a tool says.
pub(super) fn told(content: &str, details: Option<&str>) -> Option<Lines> {
    // Longer differences are cut in the details, so what the portal's tools have counted comes first.
    counted(content).or_else(|| details.and_then(of_diff)).or_else(|| of_diff(content))
}

/// What the arguments of a tool come to.
pub(super) fn intended(arguments: &str) -> Option<Lines> {
    let (mut old, mut new, mut written) = (None, None, None);
    for (name, value) in fields(arguments) {
        match (name, value) {
            ("diff" | "patch" | "input", Value::Text(text)) => {
                let found = of_diff(&unescape(text));
                if found.is_some() {
                    return found;
                }
            }
            ("old_str" | "old_string" | "oldText" | "oldString", Value::Text(text)) => {
                old = Some(unescape(text));
            }
            ("new_str" | "new_string" | "newText" | "newString", Value::Text(text)) => {
                new = Some(unescape(text));
            }
            ("content" | "file_text" | "contents", Value::Text(text)) => {
                written = Some(unescape(text));
            }
            ("edits", Value::List(list)) => {
                let edits = items(list).filter_map(|item| match item {
                    Value::Object(edit) => intended(edit),
                    _ => None,
                });
                return edits
                    .reduce(|(added, removed), (more, less)| (added + more, removed + less));
            }
            _ => {}
        }
    }
    match (old, new, written) {
        (None, None, None) => of_diff(arguments),
        (None, None, Some(text)) => Some(between("", &text)),
        (old, new, _) => Some(between(&old.unwrap_or_default(), &new.unwrap_or_default())),
    }
}

/// `changed a.rs: 3 lines added, 1 removed`, as the portal's tools say.
fn counted(content: &str) -> Option<Lines> {
    let (_, counts) = content.strip_prefix("changed ")?.rsplit_once(": ")?;
    let (added, removed) = counts.split_once(" lines added, ")?;
    Some((added.parse().ok()?, removed.strip_suffix(" removed")?.parse().ok()?))
}

/// The changed lines of a unified diff, or of the patches that some agents write.
fn of_diff(text: &str) -> Option<Lines> {
    let mut lines = (0, 0);
    let mut is_change = false;
    for line in text.lines() {
        if line.starts_with("@@") || is_patched(line) {
            is_change = true;
        } else if line.starts_with("diff --git ") {
            is_change = false;
        } else if is_change {
            match line.as_bytes().first() {
                Some(b'+') => lines.0 += 1,
                Some(b'-') => lines.1 += 1,
                _ => {}
            }
        }
    }
    (lines != (0, 0)).then_some(lines)
}

/// Whether a line of a patch names a file whose changes follow.
fn is_patched(line: &str) -> bool {
    line.starts_with("*** Update File: ") || line.starts_with("*** Add File: ")
}

/// The lines that differ, if all of them are next to each other.
fn between(old: &str, new: &str) -> Lines {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |(old, new): &(&&str, &&str)| old == new;
    let before = old.iter().zip(&new).take_while(same).count();
    let rest = old[before..].iter().rev().zip(new[before..].iter().rev());
    let kept = before + rest.take_while(same).count();
    let count = |lines: &[&str]| u32::try_from(lines.len() - kept).unwrap_or(u32::MAX);
    (count(&new), count(&old))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_what_changed() {
        let diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-one\n+two\n+three\n same\n";
        let git = format!("\ndiff --git a/x b/x\n{diff}diff --git a/y b/y\n{diff}");
        for (content, details, lines) in [
            ("changed a.rs: 3 lines added, 1 removed", Some("cut"), Some((3, 1))),
            ("changed a: 1.rs: 0 lines added, 0 removed", None, Some((0, 0))),
            ("File updated.", Some(diff), Some((2, 1))),
            ("File updated.", Some(&git), Some((4, 2))),
            (diff, None, Some((2, 1))),
            ("changed my mind: yes", None, None),
            ("- a\n+ b", None, None),
        ] {
            assert_eq!(told(content, details), lines, "{content}");
        }
    }

    #[test]
    fn arguments_say_what_is_to_change() {
        for (arguments, lines) in [
            (r#"{"path":"a","diff":"@@ -1 +1 @@\n-a\n+b\n+c"}"#, Some((2, 1))),
            (r#"{"old_str":"a\nb\nc","new_str":"a\nx\ny\nc"}"#, Some((2, 1))),
            (r#"{"old_str":"a\na","new_str":"a"}"#, Some((0, 1))),
            (r#"{"new_string":"x\ny","old_string":"","file_path":"f"}"#, Some((2, 0))),
            (r#"{"content":"a\nb\n","path":"f"}"#, Some((2, 0))),
            (
                r#"{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""},1]}"#,
                Some((1, 2)),
            ),
            ("*** Begin Patch\n*** Update File: a.rs\n-a\n+b\n*** End Patch", Some((1, 1))),
            (r#"{"path":"a"}"#, None),
            ("", None),
        ] {
            assert_eq!(intended(arguments), lines, "{arguments}");
        }
    }
}
