//! Notices about this server, shown in the log, on standard error and on the page.

use std::sync::Arc;

use parking_lot::Mutex;

/// Notices for people, oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    /// Adds a notice, unless it is already there.
    pub fn add(&self, notice: &str) {
        let mut notices = self.0.lock();
        if notices.iter().any(|known| known == notice) {
            return;
        }
        tracing::warn!("{notice}");
        notices.push(notice.to_owned());
    }

    /// All notices, oldest first.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}
