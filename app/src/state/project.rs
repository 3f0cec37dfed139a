//! The state of a bridge project, as signals.

use wire::MessageId;
use wire::bridge::Draft;

use super::blocks::Block;
use super::bridge::{Heard, ProjectLog};
use super::feed::BlockEntry;
use super::signals::set_if_new;
use crate::events::{self, Told};
use crate::notification;
use crate::poll::Connection;
use crate::reactive::prelude::*;

/// What a page shows of a project.
#[derive(Clone, Copy)]
pub(crate) struct Project {
    log: StoredValue<ProjectLog<ArcRwSignal<Block>>>,
    /// The blocks in order.
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// Runs that have not ended, oldest first.
    pub(crate) running: RwSignal<Vec<MessageId>>,
    /// Number of pending permission requests.
    pub(crate) waiting: RwSignal<usize>,
    /// Messages that wait until a person sends them; `None` until they are known.
    pub(crate) drafts: RwSignal<Option<Vec<Draft>>>,
    /// The state of the connection.
    pub(crate) connection: RwSignal<Connection>,
}

impl Project {
    /// Follows a project until the calling component is disposed.
    pub(crate) fn new(id: String) -> Self {
        let project = Self {
            log: StoredValue::new(ProjectLog::default()),
            blocks: RwSignal::new(Vec::new()),
            running: RwSignal::new(Vec::new()),
            waiting: RwSignal::new(0),
            drafts: RwSignal::new(None),
            connection: RwSignal::new(Connection::Connecting),
        };
        // Effects run in the browser only.
        Effect::new(move |_| events::follow(id.clone(), move |told| project.take(told)));
        project
    }

    fn take(self, told: Told) {
        let heard = match told {
            Told::Connection(connection) => return set_if_new(self.connection, connection),
            Told::History(history) => {
                self.log.update_value(|log| log.load(history));
                Heard { moved: true, notice: None }
            }
            Told::Event(event) => {
                self.log.try_update_value(|log| log.hear(event)).unwrap_or_default()
            }
        };
        if heard.moved {
            self.blocks.set(self.log.with_value(|log| log.blocks().to_vec()));
        }
        let (running, waiting) = self.log.with_value(|log| (log.running().to_vec(), log.waiting()));
        set_if_new(self.running, running);
        set_if_new(self.waiting, waiting);
        set_if_new(self.drafts, self.log.with_value(|log| log.drafts().map(<[_]>::to_vec)));
        if let Some(notice) = heard.notice {
            notification::tell_if_hidden(&notice.describe());
        }
    }
}
