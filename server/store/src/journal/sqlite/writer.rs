//! The one thread that writes.
//!
//! It takes all waiting commands, executes them in one transaction, commits, and then settles each
//! of them. Meanwhile the next batches accumulate, so the busier it is, the more of them share a
//! commit (group commit); there is no timer.
//!
//! A commit that fails, for example because the disk is full, is retried until it succeeds.
//! Meanwhile batches accumulate up to a limit, [`Trouble`] has the reason, and nothing is reported
//! as durable.
//!
//! The search index is updated later, in transactions of its own, when the thread is idle or a
//! second has passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::damage;
use super::rows::split_key;
use super::streams::{Refusal, Streams};
use crate::journal::search::text_of;
use crate::journal::{Batch, Entity, OnSettled, StoreError};

/// The most commands in one commit. More would delay the first ones too long.
const COMMANDS_PER_COMMIT: usize = 2_000;
/// How many bytes may wait while the store is failing. Running turns can continue until then.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
const RETRY_AFTER: Duration = Duration::from_millis(250);
/// How long the thread is idle before it updates the search index.
const IDLE: Duration = Duration::from_millis(50);
/// How long the search index may lag behind while the thread is never idle.
const INDEX_AFTER: Duration = Duration::from_secs(1);
/// How many texts are indexed in one transaction, during which writers wait.
const TEXTS_PER_PASS: usize = 100;
/// A request to the thread, which ends when all senders are gone.
pub(super) enum Command {
    Write(Batch, OnSettled),
    Delete(Entity, OnSettled),
    /// Deletes some of the entities that ended before a time. Settles with their number; 0 means
    /// that none is left.
    Expire(u64, OnExpired),
}

/// Called with the number of deleted entities.
pub(super) type OnExpired = Box<dyn FnOnce(Result<u64, StoreError>) + Send>;

impl Command {
    fn settle(self, result: Result<u64, StoreError>) {
        match self {
            Self::Write(_, settled) | Self::Delete(_, settled) => settled(result.map(drop)),
            Self::Expire(_, settled) => settled(result),
        }
    }

    /// How many bytes it holds while it waits.
    fn bytes(&self) -> usize {
        match self {
            Self::Write(batch, _) => size(batch),
            Self::Delete(..) | Self::Expire(..) => 0,
        }
    }
}

/// The variable part of a batch's size, in bytes.
pub(super) fn size(batch: &Batch) -> usize {
    let facts = batch.appends.iter().flat_map(|append| append.facts.iter().chain(&append.notes));
    let facts: usize = facts.map(|fact| fact.json.len()).sum();
    facts + batch.chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>()
}

/// Why nothing can be stored at the moment, and how many bytes wait to be written.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    reason: Mutex<Option<String>>,
    waiting_bytes: AtomicUsize,
}

impl Trouble {
    pub(super) fn get(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// Counts a batch that is about to wait. False if too many bytes wait already.
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

/// The state of the writer thread.
pub(super) struct Writer {
    connection: Connection,
    commands: Receiver<Command>,
    /// Whether all senders of commands are gone.
    is_closed: bool,
    trouble: Arc<Trouble>,
    /// The commands of the next commit; after a failed one, the same again.
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

    /// Executes commands until all senders are gone.
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

    /// Waits for a command, and takes all others that wait as well.
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

    /// Executes the waiting commands in one transaction. If that fails, all of them keep waiting.
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

    /// Returns the result of each command. An error means that nothing was written.
    fn write(&mut self) -> Result<Vec<Result<u64, StoreError>>, rusqlite::Error> {
        match self.write_all()? {
            Some(counts) => Ok(counts.into_iter().map(Ok).collect()),
            None => self.write_each(),
        }
    }

    /// Executes the commands without savepoints, which would cost as much as a small command.
    /// `None` if one of them was refused, which is rare: nothing was written then.
    fn write_all(&mut self) -> Result<Option<Vec<u64>>, rusqlite::Error> {
        let transaction = begin(&mut self.connection)?;
        let mut counts = Vec::with_capacity(self.waiting.len());
        for command in &self.waiting {
            match execute(&mut self.streams, &transaction, command) {
                Ok(count) => counts.push(count),
                Err(Refusal::Sqlite(error)) if !damage::is_lasting(&error) => return Err(error),
                Err(_) => {
                    transaction.rollback()?;
                    self.streams.forget();
                    return Ok(None);
                }
            }
        }
        transaction.commit()?;
        Ok(Some(counts))
    }

    /// Executes each command within a savepoint of its own, so that those that are refused leave
    /// nothing behind.
    fn write_each(&mut self) -> Result<Vec<Result<u64, StoreError>>, rusqlite::Error> {
        let mut transaction = begin(&mut self.connection)?;
        let mut results = Vec::with_capacity(self.waiting.len());
        for command in &self.waiting {
            let mut part = transaction.savepoint()?;
            match execute(&mut self.streams, &part, command) {
                Ok(count) => {
                    part.commit()?;
                    results.push(Ok(count));
                }
                Err(Refusal::Sqlite(error)) if !damage::is_lasting(&error) => return Err(error),
                Err(refusal) => {
                    part.rollback()?;
                    part.commit()?;
                    // The cache may contain what was rolled back.
                    self.streams.forget();
                    results.push(Err(refusal.into()));
                }
            }
        }
        transaction.commit()?;
        Ok(results)
    }

    /// Indexes some texts. False if all are indexed.
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

fn begin(connection: &mut Connection) -> Result<Transaction<'_>, rusqlite::Error> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// Executes a command, and returns how many entities it has deleted.
fn execute(
    streams: &mut Streams,
    database: &Connection,
    command: &Command,
) -> Result<u64, Refusal> {
    match command {
        Command::Write(batch, _) => streams.write(database, batch).map(|()| 0),
        Command::Delete(entity, _) => streams.delete(database, *entity).map(|()| 1),
        Command::Expire(before, _) => streams.expire(database, *before),
    }
}

/// Indexes some texts, and returns how many.
fn index(connection: &mut Connection) -> Result<usize, rusqlite::Error> {
    let transaction = begin(connection)?;
    let keys: Vec<i64> = transaction
        .prepare_cached("SELECT key FROM unindexed ORDER BY key LIMIT ?1")?
        .query_map([TEXTS_PER_PASS], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for key in &keys {
        transaction.prepare_cached("DELETE FROM unindexed WHERE key = ?1")?.execute([key])?;
        let (number, seq) = split_key(*key);
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
        // A title may have been indexed with an earlier text.
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
