//! Which files a `glob` matches.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use wire::ToolError;

use super::failure;

/// In bytes. Patterns come from models: longer ones are a mistake or an attack.
const MAX_LENGTH: usize = 1000;

/// Selects files by path.
pub(super) enum Pattern {
    All,
    /// A plain word: matches any part of the path.
    Word(String),
    Glob(GlobSet),
}

impl Pattern {
    pub(super) fn parse(glob: Option<&str>) -> Result<Self, ToolError> {
        let glob = glob.unwrap_or_default().trim();
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        if glob.is_empty() {
            return Ok(Self::All);
        }
        if glob.len() > MAX_LENGTH {
            return Err(invalid(&format!("more than {MAX_LENGTH} bytes")));
        }
        if !glob.contains(['*', '?', '[', '{']) {
            return Ok(Self::Word(glob.to_owned()));
        }
        let mut set = GlobSetBuilder::new();
        // Without a folder, it matches files of that name in any folder.
        let anywhere = if glob.contains('/') { "" } else { "**/" };
        let built = GlobBuilder::new(&format!("{anywhere}{glob}"))
            .literal_separator(true)
            .build()
            .map_err(|error| invalid(&error.to_string()))?;
        let set = set.add(built).build().map_err(|error| invalid(&error.to_string()))?;
        Ok(Self::Glob(set))
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Word(word) => path.contains(word.as_str()),
            Self::Glob(set) => set.is_match(path),
        }
    }
}

fn invalid(why: &str) -> ToolError {
    failure("invalid_arguments", format!("invalid glob: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        Pattern::parse(Some(glob)).expect("a good pattern").matches(path)
    }

    #[test]
    fn plain_words_are_parts_and_globs_are_globs() {
        for (glob, path, expected) in [
            ("main", "src/main.rs", true),
            ("src/", "src/main.rs", true),
            ("lib", "src/main.rs", false),
            ("*.rs", "src/deep/main.rs", true),
            ("*.rs", "main.rs", true),
            ("src/*.rs", "src/main.rs", true),
            ("./src/*.rs", "src/main.rs", true),
            ("src/*.rs", "src/deep/main.rs", false),
            ("src/**/*.rs", "src/deep/main.rs", true),
            ("src/**/*.rs", "src/main.rs", true),
            ("*.{rs,toml}", "Cargo.toml", true),
            ("", "anything", true),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn bad_globs_are_errors() {
        let nested = format!("{}a{}", "{".repeat(400), "}".repeat(400));
        for glob in ["[", "{a", &"*".repeat(1001), &nested] {
            let error = Pattern::parse(Some(glob)).err().expect("a bad pattern");
            assert!(error.message.starts_with("invalid glob: "), "{}", error.message);
        }
    }
}
