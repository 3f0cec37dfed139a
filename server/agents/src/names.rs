//! File names: which are off limits, and how they are displayed.

use std::ffi::OsStr;
use std::path::Path;

/// Whether some file system treats this name as `.git`.
///
/// Windows ignores trailing dots and spaces and has short names and streams; macOS ignores case and
/// zero-width characters. All variants are refused on every system, because a folder can be shared.
pub(crate) fn is_git(name: &OsStr) -> bool {
    let name = normal(&name.to_string_lossy());
    name == ".git" || name == "git~1"
}

/// One spelling for all names that some file system treats as equal.
pub(crate) fn normal(name: &str) -> String {
    let name: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    // Upper case first: some distinct letters share a capital.
    name.to_uppercase().to_lowercase()
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Characters that make a text look different from what it is: control characters, and those that
/// change the writing direction.
fn is_deceptive(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || is_ignorable(c)
        || matches!(c, '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2069}' | '\u{61c}')
}

/// The text with deceptive characters escaped, for people who decide by it.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_deceptive(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A path on one line with `/` as separator; quoted as in JSON if it has deceptive characters.
pub fn show_path(path: &str) -> String {
    if path.chars().any(|c| is_deceptive(c) || matches!(c, '\n' | '\t' | '\r')) {
        format!("{path:?}")
    } else {
        path.to_owned()
    }
}

/// The path of a file below the root as tools write it; `None` if it is not UTF-8.
pub(crate) fn path_text(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
    Some(parts?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_git_is_known() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git. .",
            ".gIt...",
            "git~1",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git\u{200d}",
        ] {
            assert!(is_git(OsStr::new(name)), "{name:?}");
        }
        for name in [".gitignore", ".github", "git", ".gi", "x.git", ".git2", "..git", "", "."] {
            assert!(!is_git(OsStr::new(name)), "{name:?}");
        }
    }

    #[test]
    fn deceptive_characters_are_spelt_out() {
        assert_eq!(visible("a\u{202e}b\u{1b}[2J\n\tü"), "a\\u{202e}b\\u{1b}[2J\n\tü");
        assert_eq!(show_path("src/ü.rs"), "src/ü.rs");
        assert_eq!(show_path("a\nb"), "\"a\\nb\"");
        assert_eq!(show_path("a\u{202e}b"), "\"a\\u{202e}b\"");
    }
}
