//! What people should know about this server: told in the log, on standard error and on the page.

use std::sync::Arc;

use parking_lot::Mutex;

/// Lines for people, oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    /// Tells it, once.
    pub fn add(&self, notice: &str) {
        let mut notices = self.0.lock();
        if notices.iter().any(|known| known == notice) {
            return;
        }
        tracing::warn!("{notice}");
        notices.push(notice.to_owned());
    }

    /// All that was told.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}
