//! The one thread that writes.
//!
//! It takes what waits, writes all of it in one transaction, commits, and then tells everybody
//! whose batch was in it. While one commit is under way the next batches gather, so the busier it
//! is the more of them share a commit; there is no timer.
//!
//! A commit that fails (the disk is full) is tried again until it works. Meanwhile batches gather
//! up to a bound, [`Trouble`] says why, and nobody is told that anything is durable.
//!
//! The search index follows behind, in transactions of its own, when nothing else is to be done or
//! a second has passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::damage;
use super::rows::parts;
use super::streams::{Refusal, Streams};
use crate::journal::search::text_of;
use crate::journal::{Batch, Entity, OnSettled, StoreError};

/// What is done in one commit, at most. A longer one would keep those at its front waiting.
const COMMANDS_PER_COMMIT: usize = 2_000;
/// Bytes that may wait while the store is failing. Running turns go on so far.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
const RETRY_AFTER: Duration = Duration::from_millis(250);
/// How long nothing is to be done before the search index catches up.
const IDLE: Duration = Duration::from_millis(50);
/// How long it may be behind while there is always something to do.
const INDEX_AFTER: Duration = Duration::from_secs(1);
/// Texts that are indexed in one go. Writers wait that long.
const TEXTS_PER_PASS: usize = 100;
/// What the thread is asked to do. It ends when nobody can ask any more.
pub(super) enum Command {
    Write(Batch, OnSettled),
    Delete(Entity, OnSettled),
    /// Forgets some of what ended before a time, and says how many; none is left after a 0.
    Expire(u64, OnExpired),
}

/// Is told how many entities were forgotten.
pub(super) type OnExpired = Box<dyn FnOnce(Result<u64, StoreError>) + Send>;

impl Command {
    fn settle(self, result: Result<u64, StoreError>) {
        match self {
            Self::Write(_, settled) | Self::Delete(_, settled) => settled(result.map(drop)),
            Self::Expire(_, settled) => settled(result),
        }
    }

    /// What it takes while it waits.
    fn bytes(&self) -> usize {
        match self {
            Self::Write(batch, _) => size(batch),
            Self::Delete(..) | Self::Expire(..) => 0,
        }
    }
}

/// Bytes of a batch that grow with what it says.
pub(super) fn size(batch: &Batch) -> usize {
    let facts = batch.appends.iter().flat_map(|append| append.facts.iter().chain(&append.notes));
    let facts: usize = facts.map(|fact| fact.json.len()).sum();
    facts + batch.chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>()
}

/// Why nothing can be kept at the moment, and how much waits for better times.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    reason: Mutex<Option<String>>,
    waiting_bytes: AtomicUsize,
}

impl Trouble {
    pub(super) fn get(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// Counts a batch that is about to wait. False if too much waits already.
    pub(super) fn take_room(&self, bytes: usize) -> bool {
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = waiting < MAX_WAITING_BYTES;
        if !has_room {
            self.give_back(bytes);
        }
        has_room
    }

    fn give_back(&self, bytes: usize) {
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn set(&self, reason: Option<String>) {
        *self.reason.lock() = reason;
    }
}

/// The thread's own.
pub(super) struct Writer {
    connection: Connection,
    commands: Receiver<Command>,
    /// Nobody can ask for anything any more.
    is_closed: bool,
    trouble: Arc<Trouble>,
    /// What is to be done; after a failed commit, all of it again.
    waiting: Vec<Command>,
    streams: Streams,
    last_indexed: Instant,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        commands: Receiver<Command>,
        trouble: Arc<Trouble>,
    ) -> Self {
        Self {
            connection,
            commands,
            is_closed: false,
            trouble,
            waiting: Vec::new(),
            streams: Streams::default(),
            last_indexed: Instant::now(),
        }
    }

    /// Writes until everybody who could ask for something is gone.
    pub(super) fn run(mut self) {
        loop {
            self.gather();
            if self.waiting.is_empty() && self.is_closed {
                break;
            }
            self.commit();
            if self.is_closed && !self.waiting.is_empty() {
                break;
            }
            if self.last_indexed.elapsed() > INDEX_AFTER {
                self.index();
            }
        }
        let closed = || StoreError::Unavailable("the server has stopped".to_owned());
        for command in self.waiting.drain(..) {
            command.settle(Err(closed()));
        }
        while self.index() {}
        let _ = self.connection.pragma_update(None, "wal_checkpoint", "TRUNCATE");
    }

    /// Waits for something to do, and takes whatever else waits.
    fn gather(&mut self) {
        if !self.waiting.is_empty() {
            std::thread::sleep(RETRY_AFTER);
        }
        let mut is_behind = true;
        while self.waiting.is_empty() {
            let first = if is_behind {
                self.commands.recv_timeout(IDLE)
            } else {
                self.commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match first {
                Ok(command) => self.waiting.push(command),
                Err(RecvTimeoutError::Timeout) => is_behind = self.index(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.is_closed = true;
                    return;
                }
            }
        }
        while self.waiting.len() < COMMANDS_PER_COMMIT {
            match self.commands.try_recv() {
                Ok(command) => self.waiting.push(command),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.is_closed = true;
                    break;
                }
            }
        }
    }

    /// Does what waits, in one transaction. If that fails, all of it waits on.
    fn commit(&mut self) {
        match self.write() {
            Ok(results) => {
                if self.trouble.get().is_some() {
                    tracing::info!("the store works again");
                    self.trouble.set(None);
                }
                for (command, result) in self.waiting.drain(..).zip(results) {
                    self.trouble.give_back(command.bytes());
                    command.settle(result);
                }
            }
            Err(error) => {
                self.streams.forget();
                if self.trouble.get().is_none() {
                    tracing::error!(%error, "the store fails; trying again");
                }
                self.trouble.set(Some(error.to_string()));
            }
        }
    }

    /// What became of each command. An error means that nothing was written.
    fn write(&mut self) -> Result<Vec<Result<u64, StoreError>>, rusqlite::Error> {
        let behavior = TransactionBehavior::Immediate;
        let mut transaction = self.connection.transaction_with_behavior(behavior)?;
        let mut results = Vec::with_capacity(self.waiting.len());
        for command in &self.waiting {
            let mut part = transaction.savepoint()?;
            let result = match command {
                Command::Write(batch, _) => self.streams.write(&part, batch).map(|()| 0),
                Command::Delete(entity, _) => self.streams.delete(&part, *entity).map(|()| 1),
                Command::Expire(before, _) => self.streams.expire(&part, *before),
            };
            match result {
                Ok(count) => {
                    part.commit()?;
                    results.push(Ok(count));
                }
                Err(Refusal::Sqlite(error)) if !damage::is_lasting(&error) => return Err(error),
                Err(refusal) => {
                    part.rollback()?;
                    part.commit()?;
                    // What was remembered may not have happened.
                    self.streams.forget();
                    results.push(Err(refusal.into()));
                }
            }
        }
        transaction.commit()?;
        Ok(results)
    }

    /// Lets the search know of more texts. False if it knows all of them.
    fn index(&mut self) -> bool {
        self.last_indexed = Instant::now();
        match index(&mut self.connection) {
            Ok(count) => count == TEXTS_PER_PASS,
            Err(error) => {
                tracing::warn!(%error, "the search index is behind");
                false
            }
        }
    }
}

/// Indexes some texts, and says how many.
fn index(connection: &mut Connection) -> Result<usize, rusqlite::Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let keys: Vec<i64> = transaction
        .prepare_cached("SELECT key FROM unindexed ORDER BY key LIMIT ?1")?
        .query_map([TEXTS_PER_PASS], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for key in &keys {
        transaction.prepare_cached("DELETE FROM unindexed WHERE key = ?1")?.execute([key])?;
        let (number, seq) = parts(*key);
        let text: Option<String> = if seq == 0 {
            transaction
                .prepare_cached("SELECT title FROM entity WHERE number = ?1")?
                .query_row([number], |row| row.get(0))
                .optional()?
        } else {
            transaction
                .prepare_cached("SELECT json FROM fact WHERE key = ?1")?
                .query_row([key], |row| row.get::<_, String>(0))
                .optional()?
                .and_then(|json| text_of(&json))
        };
        // A title may have been another one before.
        transaction.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([key])?;
        if let Some(text) = text {
            transaction
                .prepare_cached("INSERT INTO search (rowid, text) VALUES (?1, ?2)")?
                .execute(params![key, text])?;
        }
    }
    transaction.commit()?;
    Ok(keys.len())
}
