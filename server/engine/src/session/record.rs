//! What a list shows of a stored session.

use serde::Deserialize;
use store::journal::Record;
use wire::PermissionMode;

/// The fields of a session's record that are not columns.
#[derive(Deserialize)]
pub(super) struct Detail {
    /// How its tools' permission requests are answered.
    pub(super) permissions: PermissionMode,
    /// How many prompts wait.
    pub(super) queued: usize,
}

impl Detail {
    /// Reads them; `None` if they are of another version.
    pub(super) fn read(record: &Record) -> Option<Self> {
        serde_json::from_str(&record.detail).ok()
    }
}
