//! The text of a configuration file, which tells on which line a value is.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::ConfigError;

/// The path and the text of a configuration file. The default stands for no file.
#[derive(Debug, Default)]
pub(super) struct FileText {
    path: PathBuf,
    text: String,
}

impl FileText {
    pub(super) fn new(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    /// Path of the file; empty if there is none.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Parses the text as TOML.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(&self.text).map_err(|error| ConfigError::File {
            file: self.path.clone(),
            line: error.span().map(|span| self.line_of(&span)),
            problem: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }

    /// An error about a value, found after parsing.
    pub(super) fn error<T>(&self, value: &Spanned<T>, problem: String) -> ConfigError {
        let line = Some(self.line_of(&value.span()));
        ConfigError::File { file: self.path.clone(), line, problem }
    }

    fn line_of(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}
