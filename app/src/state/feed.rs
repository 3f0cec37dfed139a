//! A conversation as signals: of a session and the task that runs in it, or in a tab of a job's
//! task.

use std::rc::Rc;

use wire::{
    ErrorName, LiveBatch, LiveEntity, LiveId, LiveItem, LiveReply, SessionId, SessionResponse,
    TaskId, TaskResponse, Timed, WaitingPrompt,
};

use super::blocks::{Block, BlockCell, BlockKey};
use super::grouping::Group;
use super::job::{Tab, is_end};
use super::signals::set_if_new;
use super::spending::Spending;
use super::transcript::{Changes, Remark, Transcript};
use crate::api::{self, ApiError};
use crate::live::{self, Next, Source};
use crate::poll::Connection;
use crate::reactive::prelude::*;

impl BlockCell for ArcRwSignal<Block> {
    fn new(block: Block) -> Self {
        Self::new(block)
    }

    fn update(&self, change: impl FnOnce(&mut Block)) {
        Writable::update(self, change);
    }
}

/// A block and the signal its view follows.
pub(crate) type BlockEntry = (BlockKey, ArcRwSignal<Block>);

/// The source of a session that has a feed of its own, and of its tasks.
const ONLY: usize = 0;

/// What a page shows of a session.
#[derive(Clone, Copy)]
pub(crate) struct Feed {
    transcript: StoredValue<Transcript<ArcRwSignal<Block>>>,
    /// The session and its tasks, unless they were read to their end.
    open: StoredValue<Vec<LiveId>>,
    /// How the session ended, if it did.
    ended: StoredValue<Option<Connection>>,
    /// The blocks in order.
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// The blocks that are drawn as one row.
    pub(crate) groups: RwSignal<Vec<Group>>,
    /// The session, if prompts can be sent to it from here.
    pub(crate) session: StoredValue<Option<SessionId>>,
    /// Whether the agent is processing a prompt.
    pub(crate) session_works: RwSignal<bool>,
    /// Whether a task is running, even between two of its prompts.
    pub(crate) task_runs: RwSignal<bool>,
    /// The state of the connection.
    pub(crate) connection: RwSignal<Connection>,
    /// Number of pending permission requests.
    pub(crate) waiting: RwSignal<usize>,
    /// Usage of the session.
    pub(crate) spent: RwSignal<Spending>,
    /// An extension's ephemeral log line.
    pub(crate) remark: RwSignal<Option<Remark>>,
    /// The prompts that wait for their turn, the first line of each.
    pub(crate) queue: RwSignal<Vec<WaitingPrompt>>,
    /// The folder of the session, which paths are shortened by; empty until it is known.
    pub(crate) folder: RwSignal<String>,
    /// Incremented when the reader wants to see the end, for example after sending.
    pub(crate) to_end: RwSignal<u64>,
}

impl Feed {
    /// An empty feed; a task may already be running.
    pub(crate) fn new(task_runs: bool) -> Self {
        Self {
            transcript: StoredValue::new(Transcript::default()),
            open: StoredValue::new(Vec::new()),
            ended: StoredValue::new(None),
            blocks: RwSignal::new(Vec::new()),
            groups: RwSignal::new(Vec::new()),
            session: StoredValue::new(None),
            session_works: RwSignal::new(false),
            task_runs: RwSignal::new(task_runs),
            connection: RwSignal::new(Connection::Connecting),
            waiting: RwSignal::new(0),
            spent: RwSignal::new(Spending::default()),
            remark: RwSignal::new(None),
            queue: RwSignal::new(Vec::new()),
            folder: RwSignal::new(String::new()),
            to_end: RwSignal::new(0),
        }
    }

    /// Whether the agent or a task is working.
    pub(crate) fn is_working(self) -> bool {
        // Reads both, so that a view tracks both.
        self.session_works.get() | self.task_runs.get()
    }

    /// Follows a session until it ends or the calling component is disposed. In the browser only.
    pub(crate) fn follow(self, id: SessionId) {
        self.open(id);
        live::follow(Rc::new(Follower(self)));
    }

    /// Shows what is stored of a session that ended too long ago to be followed. In the browser
    /// only.
    pub(crate) async fn read_stored(self, id: SessionId) {
        self.forget();
        let mut after = 0;
        loop {
            let page = match api::session_events(id, after).await {
                Ok(page) => page,
                // The session was deleted, or never existed.
                Err(ApiError::Domain { .. }) => return,
                Err(error) => return self.tell(Connection::Lost(error)),
            };
            after = page.next;
            self.take_session(ONLY, page.events.into_iter().map(|event| event.timed).collect());
            if page.end {
                break;
            }
        }
        self.end_session(ONLY);
        self.tell(Connection::Ended);
    }

    fn open(self, id: SessionId) {
        self.session.set_value(Some(id));
        self.open.set_value(vec![LiveId::Session(id)]);
    }

    /// Also follows a task in the session. In the browser only.
    pub(crate) fn follow_task(self, id: TaskId) {
        self.open_task(id);
        live::refresh();
    }

    fn open_task(self, id: TaskId) {
        self.task_runs.set(true);
        self.open.update_value(|open| {
            let id = LiveId::Task(id);
            if !open.contains(&id) {
                open.push(id);
            }
        });
    }

    fn take(self, batch: LiveBatch) -> Next {
        let mut failure = None;
        for item in batch.live {
            let id = item.id();
            let error = match item {
                LiveItem::Session(_, LiveReply::Responses { responses }) => {
                    self.take_session(ONLY, responses);
                    continue;
                }
                LiveItem::Task(id, LiveReply::Responses { responses }) => {
                    self.take_decisions(id, responses);
                    continue;
                }
                LiveItem::Job(_, LiveReply::Responses { .. })
                | LiveItem::Inbox(_)
                | LiveItem::Alive(_) => continue,
                LiveItem::Session(_, LiveReply::Error(reply))
                | LiveItem::Task(_, LiveReply::Error(reply))
                | LiveItem::Job(_, LiveReply::Error(reply)) => reply.error,
            };
            if is_end(error) {
                self.close(id, error);
            } else {
                failure = Some(error);
            }
        }
        if let Some(error) = failure {
            return Next::Retry(error.into());
        }
        if self.open.with_value(Vec::is_empty) {
            return Next::End(self.ended.get_value().unwrap_or(Connection::Ended));
        }
        Next::Continue
    }

    fn take_decisions(self, id: TaskId, responses: Vec<Timed<TaskResponse>>) {
        let working =
            self.apply(responses, |transcript, said| transcript.apply_task(ONLY, id, said));
        if let Some(working) = working {
            self.task_runs.set(working);
        }
    }

    /// Something was read to its end.
    fn close(self, id: LiveId, error: ErrorName) {
        self.open.update_value(|open| open.retain(|other| *other != id));
        match id {
            LiveId::Session(_) => {
                self.end_session(ONLY);
                let is_closed = error == SessionId::CLOSED;
                let ended = if is_closed { Connection::Ended } else { Connection::NotFound };
                self.ended.set_value(Some(ended.clone()));
                self.tell(ended);
            }
            LiveId::Task(_) => self.end_task(),
            LiveId::Job(_) | LiveId::Inbox | LiveId::Alive => {}
        }
    }

    fn tell(self, connection: Connection) {
        // A session that has ended does not become live again because its task is still read.
        let connection = match connection {
            Connection::Live => self.ended.get_value().unwrap_or(Connection::Live),
            other => other,
        };
        set_if_new(self.connection, connection);
    }

    /// Processes an answer. Returns whether its sender is working, if the answer tells.
    fn apply<R>(
        self,
        responses: Vec<R>,
        apply: impl Fn(&mut Transcript<ArcRwSignal<Block>>, R) -> Changes,
    ) -> Option<bool> {
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
        set_if_new(self.groups, self.transcript.with_value(|all| all.groups().to_vec()));
        self.tell_aside();
        working
    }

    /// Updates what is not in blocks, if it has changed.
    fn tell_aside(self) {
        let (waiting, spent, remark) =
            self.transcript.with_value(|all| (all.waiting(), all.spent(), all.remark().cloned()));
        set_if_new(self.waiting, waiting);
        set_if_new(self.spent, spent);
        set_if_new(self.remark, remark);
        set_if_new(self.queue, self.transcript.with_value(|all| all.queue().to_vec()));
    }

    fn set_working(self, source: usize, works: bool) {
        let works = self.transcript.try_update_value(|all| all.set_working(source, works));
        self.session_works.set(works.unwrap_or_default());
    }
}

/// Follows a session and its tasks.
struct Follower(Feed);

impl Source for Follower {
    fn ids(&self) -> Vec<LiveId> {
        self.0.open.get_value()
    }

    fn take(&self, batch: LiveBatch) -> Next {
        self.0.take(batch)
    }

    fn tell(&self, connection: Connection) {
        self.0.tell(connection);
    }
}

impl Tab for Feed {
    fn new(task_runs: bool) -> Self {
        Self::new(task_runs)
    }

    fn take_session(&self, source: usize, responses: Vec<Timed<SessionResponse>>) {
        let working =
            self.apply(responses, move |transcript, response| transcript.apply(source, response));
        if let Some(working) = working {
            self.set_working(source, working);
        }
    }

    fn end_session(&self, source: usize) {
        self.transcript.update_value(|transcript| transcript.end(source));
        self.tell_aside();
        self.set_working(source, false);
    }

    fn take_task(&self, source: usize, id: TaskId, response: Timed<TaskResponse>) {
        self.apply(vec![response], move |transcript, response| {
            transcript.apply_task(source, id, response)
        });
    }

    fn end_task(&self) {
        self.task_runs.set(false);
    }

    fn forget(&self) {
        self.transcript.set_value(Transcript::default());
        self.blocks.set(Vec::new());
        self.groups.set(Vec::new());
        self.tell_aside();
    }
}

#[cfg(test)]
mod tests;
