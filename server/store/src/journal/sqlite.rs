//! The journal in one SQLite file, `portal.db` in the data folder.
//!
//! ```text
//!   submit ──▶ channel ──▶ writer thread ──▶ portal.db (WAL, FULL: one sync a commit)
//!                              │ settles what was committed
//!   read, history … ──▶ readers: connections of their own, which never wait for the writer
//! ```

mod damage;
mod folder;
mod list;
mod operate;
mod readers;
mod rows;
mod schema;
mod streams;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

pub use folder::FILE_NAME;
use folder::FolderLock;
pub use operate::{Info, Problem};
use readers::Readers;
use rows::{key, split_key};
pub use schema::OpenError;
use writer::{Command, Trouble, Writer};

use super::{
    Batch, Chunk, Cursor, Entity, Fact, HistoryPage, HistoryQuery, Journal, OnSettled, Page,
    Record, StoreError,
};

/// Stores everything in one file, written by one thread.
pub struct SqliteJournal {
    /// To the writer thread; `None` once the journal is closed.
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    trouble: Arc<Trouble>,
    readers: Readers,
    /// Keeps other processes out of the folder.
    lock: Mutex<Option<FolderLock>>,
}

impl SqliteJournal {
    /// Opens the store of a data folder, or creates one. Nobody else can open it meanwhile.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let lock = FolderLock::take(folder)?;
        let file = folder.join(FILE_NAME);
        let connection = schema::open_writer(&file)?;
        let (commands, receiver) = mpsc::channel();
        let trouble = Arc::<Trouble>::default();
        let writer = Writer::new(connection, receiver, trouble.clone());
        let writer = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenError::refused(&file, error))?;
        Ok(Self {
            commands: Mutex::new(Some(commands)),
            writer: Mutex::new(Some(writer)),
            trouble,
            readers: Readers::new(file),
            lock: Mutex::new(Some(lock)),
        })
    }

    /// Writes what was submitted, ends the thread and releases the folder. Blocks meanwhile. Later
    /// batches are refused.
    pub fn close(&self) {
        self.commands.lock().take();
        // Readers are closed first: the last connection to close merges the WAL into the database.
        self.readers.close();
        if let Some(writer) = self.writer.lock().take() {
            // A callback on the writer thread may drop the last reference to the journal.
            if writer.thread().id() != std::thread::current().id() {
                // A panic has been reported already.
                let _ = writer.join();
            }
        }
        self.lock.lock().take();
    }

    /// Sends a command to the writer, or returns it if the journal is closed.
    fn send(&self, command: Command) -> Result<(), Command> {
        match &*self.commands.lock() {
            Some(commands) => commands.send(command).map_err(|error| error.0),
            None => Err(command),
        }
    }

    async fn find<T: Send + 'static>(
        &self,
        entity: Entity,
        read: impl FnOnce(&Connection, i64) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let read = move |database: &Connection| {
            let number = database
                .prepare_cached("SELECT number FROM entity WHERE id = ?1")?
                .query_row([entity.to_string()], |row| row.get(0))
                .optional()?;
            number.map(|number| read(database, number)).transpose()
        };
        self.readers.read(read).await
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        self.close();
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the server is stopping".to_owned())
}

#[async_trait]
impl Journal for SqliteJournal {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        if !self.trouble.take_room(writer::size(&batch)) {
            let reason = self.trouble.get().unwrap_or_else(|| "too much waits".to_owned());
            return settled(Err(StoreError::Unavailable(reason)));
        }
        if let Err(Command::Write(_, settled)) = self.send(Command::Write(batch, settled)) {
            settled(Err(closed()));
        }
    }

    async fn read(
        &self,
        entity: Entity,
        after: u64,
        max_facts: usize,
        max_bytes: usize,
    ) -> Result<Option<Page>, StoreError> {
        let read = move |database: &Connection, number| {
            let mut statement = database.prepare_cached(
                "SELECT key, at, json FROM fact WHERE key > ?1 AND key <= ?2 ORDER BY key",
            )?;
            let mut rows =
                statement.query([key(number, after), key(number, u64::from(u32::MAX))])?;
            let mut page = Page { facts: Vec::new(), is_end: true };
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                if page.facts.len() >= max_facts || bytes >= max_bytes {
                    page.is_end = false;
                    break;
                }
                let json: String = row.get(2)?;
                bytes += json.len();
                let (_, seq) = split_key(row.get(0)?);
                page.facts.push((seq, stored_fact(row.get(1)?, json)));
            }
            Ok(page)
        };
        self.find(entity, read).await
    }

    async fn notes(&self, entity: Entity) -> Result<Vec<Fact>, StoreError> {
        let read = |database: &Connection, number| {
            let mut statement = database.prepare_cached(
                "SELECT at, json FROM note WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
            )?;
            let range = [key(number, 0), key(number, u64::from(u32::MAX))];
            let notes =
                statement.query_map(range, |row| Ok(stored_fact(row.get(0)?, row.get(1)?)))?;
            notes.collect()
        };
        self.find(entity, read).await.map(Option::unwrap_or_default)
    }

    async fn record(&self, entity: Entity) -> Result<Option<(Record, u64, u64)>, StoreError> {
        let read = |database: &Connection, number| {
            let row = list::find(database, number)?;
            Ok((row.record, row.facts, row.notes))
        };
        self.find(entity, read).await
    }

    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError> {
        let read = move |database: &Connection, number| {
            let mut statement = database.prepare_cached(
                "SELECT block, start, text FROM chunk WHERE block BETWEEN ?1 AND ?2 \
                 ORDER BY block, start",
            )?;
            let range = [key(number, 0), key(number, u64::from(u32::MAX))];
            let chunks = statement.query_map(range, |row| {
                let (_, block) = split_key(row.get(0)?);
                Ok(Chunk { entity, block, from: row.get(1)?, text: row.get(2)? })
            })?;
            chunks.collect()
        };
        self.find(entity, read).await.map(Option::unwrap_or_default)
    }

    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError> {
        let read =
            move |database: &Connection, number: i64| list::cursors(database, entity, number);
        self.find(entity, read).await.map(Option::unwrap_or_default)
    }

    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError> {
        self.readers.read(move |database| list::history(database, &query)).await
    }

    async fn delete(&self, entity: Entity) -> Result<(), StoreError> {
        let (sender, receiver) = oneshot::channel();
        let settled = Box::new(move |result| drop(sender.send(result)));
        if self.send(Command::Delete(entity, settled)).is_err() {
            return Err(closed());
        }
        receiver.await.unwrap_or_else(|_| Err(closed()))
    }

    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError> {
        let mut expired = 0;
        loop {
            let (sender, receiver) = oneshot::channel();
            let settled = Box::new(move |result| drop(sender.send(result)));
            if self.send(Command::Expire(ended_before, settled)).is_err() {
                return Err(closed());
            }
            // A few at a time, so that other commands are not blocked for long.
            match receiver.await.unwrap_or_else(|_| Err(closed()))? {
                0 => return Ok(expired),
                more => expired += more,
            }
        }
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.get()
    }
}

/// A fact from its row. `is_searchable` only matters when writing.
fn stored_fact(at: u64, json: String) -> Fact {
    Fact { at, json: json.into(), is_searchable: false }
}
