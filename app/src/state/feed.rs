//! A session as signals: what its stream said so far, and how the connection is.

use std::cell::RefCell;

use leptos::prelude::*;
use wire::SessionId;

use super::transcript::{Block, BlockCell, BlockKey, Transcript};
use crate::poll::{self, Connection, Event};

impl BlockCell for ArcRwSignal<Block> {
    fn new(block: Block) -> Self {
        Self::new(block)
    }

    fn update(&self, change: impl FnOnce(&mut Block)) {
        Update::update(self, change);
    }
}

/// A block and whoever draws it.
pub(crate) type BlockEntry = (BlockKey, ArcRwSignal<Block>);

/// What a page shows of a session.
#[derive(Clone, Copy)]
pub(crate) struct Feed {
    /// The blocks in the order in which they opened.
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// Something is being worked on.
    pub(crate) working: RwSignal<bool>,
    /// How the connection is.
    pub(crate) connection: RwSignal<Connection>,
    /// Counts the answers, for those who must do something after each.
    pub(crate) answers: RwSignal<u64>,
}

impl Feed {
    /// Nothing said yet.
    pub(crate) fn new() -> Self {
        Self {
            blocks: RwSignal::new(Vec::new()),
            working: RwSignal::new(false),
            connection: RwSignal::new(Connection::Connecting),
            answers: RwSignal::new(0),
        }
    }

    /// Follows a session until it ends or the calling component is gone. In the browser only.
    pub(crate) fn follow(self, id: SessionId) {
        let transcript = RefCell::new(Transcript::<ArcRwSignal<Block>>::default());
        poll::follow_session(id, move |event| self.take(&mut transcript.borrow_mut(), event));
    }

    fn take(self, transcript: &mut Transcript<ArcRwSignal<Block>>, event: Event) {
        match event {
            Event::Rewind => transcript.rewind(),
            Event::Connection(connection) => {
                if self.connection.get_untracked() != connection {
                    self.connection.set(connection);
                }
            }
            Event::Responses(responses) => {
                let (mut opened, mut working) = (false, None);
                for response in responses {
                    let changes = transcript.apply(response);
                    opened |= changes.opened;
                    working = changes.working.or(working);
                }
                if opened {
                    self.blocks.set(transcript.blocks().to_vec());
                }
                if let Some(working) = working {
                    self.working.set(working);
                }
                self.answers.update(|answers| *answers += 1);
            }
        }
    }
}
