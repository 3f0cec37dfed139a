//! A session and the task that runs in it as signals: what their streams said so far, and how the
//! connections are.

use leptos::prelude::*;
use wire::{SessionId, SessionResponse, TaskId, TaskResponse};

use super::transcript::{Block, BlockCell, BlockKey, Changes, Transcript};
use crate::api::ApiError;
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
    transcript: StoredValue<Transcript<ArcRwSignal<Block>>>,
    /// The blocks in the order in which they opened.
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// The agent is at work on a prompt.
    pub(crate) session_works: RwSignal<bool>,
    /// A task is under way, also between two of its prompts.
    pub(crate) task_runs: RwSignal<bool>,
    /// How the connection to the session is.
    pub(crate) connection: RwSignal<Connection>,
    /// Why nothing arrives from the task, if nothing does.
    pub(crate) task_lost: RwSignal<Option<ApiError>>,
    /// Counts the answers, for those who must do something after each.
    pub(crate) answers: RwSignal<u64>,
}

impl Feed {
    /// Nothing said yet; a task may run already.
    pub(crate) fn new(task_runs: bool) -> Self {
        Self {
            transcript: StoredValue::new(Transcript::default()),
            blocks: RwSignal::new(Vec::new()),
            session_works: RwSignal::new(false),
            task_runs: RwSignal::new(task_runs),
            connection: RwSignal::new(Connection::Connecting),
            task_lost: RwSignal::new(None),
            answers: RwSignal::new(0),
        }
    }

    /// Something is being worked on.
    pub(crate) fn is_working(self) -> bool {
        // Both are asked, so that whoever draws this hears of both.
        self.session_works.get() | self.task_runs.get()
    }

    /// Follows a session until it ends or the calling component is gone. In the browser only.
    pub(crate) fn follow(self, id: SessionId) {
        poll::follow(&id, move |event| self.take(event));
    }

    /// Follows a task in the session in the same way.
    pub(crate) fn follow_task(self, id: TaskId) {
        self.task_runs.set(true);
        poll::follow(&id, move |event| self.take_from_task(id, event));
    }

    fn take(self, event: Event<SessionResponse>) {
        match event {
            Event::Rewind => self.transcript.update_value(Transcript::rewind),
            Event::Connection(connection) => {
                if matches!(connection, Connection::Ended | Connection::NotFound) {
                    self.session_works.set(false);
                }
                if self.connection.get_untracked() != connection {
                    self.connection.set(connection);
                }
            }
            Event::Responses(responses) => {
                self.apply(responses, self.session_works, |transcript, response| {
                    transcript.apply(response)
                });
            }
        }
    }

    fn take_from_task(self, id: TaskId, event: Event<TaskResponse>) {
        match event {
            Event::Rewind => self.transcript.update_value(Transcript::rewind_task),
            Event::Connection(connection) => {
                if matches!(connection, Connection::Ended | Connection::NotFound) {
                    self.task_runs.set(false);
                }
                let lost = match connection {
                    Connection::Lost(error) => Some(error),
                    _ => None,
                };
                if self.task_lost.get_untracked() != lost {
                    self.task_lost.set(lost);
                }
            }
            Event::Responses(responses) => {
                self.apply(responses, self.task_runs, |transcript, response| {
                    transcript.apply_task(id, response)
                });
            }
        }
    }

    /// Takes in an answer of either stream; `works` is whether its sender is at work.
    fn apply<R>(
        self,
        responses: Vec<R>,
        works: RwSignal<bool>,
        apply: impl Fn(&mut Transcript<ArcRwSignal<Block>>, R) -> Changes,
    ) {
        let (mut opened, mut working) = (false, None);
        self.transcript.update_value(|transcript| {
            for response in responses {
                let changes = apply(transcript, response);
                opened |= changes.opened;
                working = changes.working.or(working);
            }
        });
        if opened {
            self.blocks.set(self.transcript.with_value(|all| all.blocks().to_vec()));
        }
        if let Some(working) = working {
            works.set(working);
        }
        self.answers.update(|answers| *answers += 1);
    }
}
