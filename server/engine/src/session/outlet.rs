//! Where the responses of a session go: to its log, and to the extensions that listen.

use std::sync::{Arc, OnceLock, Weak};

use extensions::{SessionExtensions, SessionPort};
use store::fold::{PromptAuthor, SessionNote};
use store::journal::StoreError;
use store::live::LiveLog;
use wire::{LogLevel, SessionResponse};

use super::queue::Queue;
use super::stream::Stream;

/// Pushes a stream's responses to the log and to extensions.
pub(super) struct Outlet {
    log: Arc<LiveLog<SessionResponse>>,
    /// Weak, because the extensions own the stream.
    extensions: OnceLock<Weak<SessionExtensions>>,
}

impl Outlet {
    pub(super) fn new(log: Arc<LiveLog<SessionResponse>>) -> Self {
        Self { log, extensions: OnceLock::new() }
    }

    pub(super) fn connect(&self, extensions: &Arc<SessionExtensions>) {
        self.extensions.get_or_init(|| Arc::downgrade(extensions));
    }

    pub(super) fn extensions(&self) -> Option<Arc<SessionExtensions>> {
        self.extensions.get()?.upgrade()
    }

    pub(super) fn push(&self, response: &SessionResponse) {
        self.log.push(response);
        if let Some(extensions) = self.extensions() {
            extensions.observe(response);
        }
    }

    pub(super) fn note(&self, note: &SessionNote) {
        self.log.note(note);
    }

    pub(super) async fn durable(&self) -> Result<(), StoreError> {
        self.log.durable().await
    }

    pub(super) fn close(&self) {
        self.log.close();
    }
}

/// The opposite direction: what extensions may do in a session.
pub(super) struct Port {
    pub(super) stream: Arc<Stream>,
    pub(super) queue: Arc<Queue>,
}

impl SessionPort for Port {
    fn send(&self, prompt: String) -> Result<(), String> {
        let sent = self.queue.add(prompt, PromptAuthor::Extension);
        sent.map(drop).map_err(|error| error.to_string())
    }

    fn abort(&self) {
        self.queue.abort();
    }

    fn log(&self, extension: &str, level: LogLevel, message: String, ephemeral: bool) {
        self.stream.extension_log(extension, level, message, ephemeral);
    }

    fn has_waiting(&self) -> bool {
        self.queue.load().1 > 0
    }
}
