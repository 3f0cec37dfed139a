//! The database file: opening it, its tables, and their migrations.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::damage;

/// SQLite's application id, "PORT", by which tools such as `file` recognise the database.
const APPLICATION: i32 = 0x504f_5254;

/// The migrations from each version of the tables to the next.
pub(super) const MIGRATIONS: &[&str] = &[FIRST, QUESTIONS];

/// The version of the tables that this program reads and writes.
pub(super) const VERSION: usize = MIGRATIONS.len();

/// - `entity.number` numbers entities in the order of their start, and refers to them in all other
///   tables.
/// - `fact.key` and `note.key` are `number << 32 | seq`: one stream is one range of one B-tree.
/// - `unindexed` has the keys of the facts that are not in the search index yet; seq 0 is the
///   title.
const FIRST: &str = "
    CREATE TABLE entity (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT,
        parent INTEGER REFERENCES entity (number),
        title TEXT NOT NULL,
        folder TEXT NOT NULL,
        model TEXT,
        state TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        usage TEXT NOT NULL,
        detail TEXT NOT NULL,
        facts INTEGER NOT NULL,
        notes INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX entity_parent ON entity (parent) WHERE parent IS NOT NULL;
    CREATE INDEX entity_open ON entity (kind, number) WHERE ended_at IS NULL;
    CREATE INDEX entity_ended ON entity (ended_at) WHERE ended_at IS NOT NULL AND parent IS NULL;
    CREATE INDEX entity_kind ON entity (kind, number);
    CREATE INDEX entity_folder ON entity (folder, number);
    CREATE TABLE fact (key INTEGER PRIMARY KEY, at INTEGER NOT NULL, json TEXT NOT NULL) STRICT;
    CREATE TABLE note (key INTEGER PRIMARY KEY, at INTEGER NOT NULL, json TEXT NOT NULL) STRICT;
    CREATE TABLE chunk (
        block INTEGER NOT NULL,
        start INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (block, start)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE cursor (
        number INTEGER NOT NULL,
        reader TEXT NOT NULL,
        seq INTEGER NOT NULL,
        inside TEXT NOT NULL,
        finished INTEGER NOT NULL,
        PRIMARY KEY (number, reader)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE unindexed (key INTEGER PRIMARY KEY) STRICT;
    CREATE VIRTUAL TABLE search USING fts5 (
        text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    );
";

/// The tables stay as they are, but have rows that earlier programs cannot read.
const QUESTIONS: &str = "";

/// Why a store can't be used. Displays as one line that includes the remedy.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another server has it open.
    #[error(
        "the data folder {folder} is used by another portal{process}: stop that one, or choose \
         another folder with --data-dir"
    )]
    InUse {
        /// The data folder that was asked for.
        folder: PathBuf,
        /// ` (process 123)`, if it is known.
        process: String,
    },
    /// The file is not a database, or is corrupt.
    #[error(
        "the store {file} is damaged ({cause}); it was left as it is: move it away, or look at it \
         with `copilot-portal store check`"
    )]
    Damaged {
        /// Path of the database file.
        file: PathBuf,
        /// The error message of SQLite.
        cause: String,
    },
    /// Written by a newer version of the portal.
    #[error(
        "the store {file} was written by a newer portal (its version is {found}, this one reads \
         {VERSION}); it was left as it is: use that portal, or choose another folder with --data-dir"
    )]
    Newer {
        /// Path of the database file.
        file: PathBuf,
        /// The version of its tables.
        found: i64,
    },
    /// The operating system refuses access, or the disk fails.
    #[error("the store {file} can't be used: {cause}; choose another folder with --data-dir")]
    Refused {
        /// The database, or its folder.
        file: PathBuf,
        /// The error message of the system.
        cause: String,
    },
    /// The folder has no database in it.
    #[error("there is no store in {folder}")]
    Missing {
        /// The data folder that was asked for.
        folder: PathBuf,
    },
}

impl OpenError {
    pub(super) fn refused(file: &Path, cause: impl std::fmt::Display) -> Self {
        Self::Refused { file: file.to_owned(), cause: cause.to_string() }
    }

    pub(super) fn from_sqlite(file: &Path, error: &rusqlite::Error) -> Self {
        if damage::is_damage(error) {
            Self::Damaged { file: file.to_owned(), cause: error.to_string() }
        } else {
            Self::refused(file, error)
        }
    }
}

/// Opens the file for its only writer. Creates and migrates it if necessary.
pub(super) fn open_writer(file: &Path) -> Result<Connection, OpenError> {
    open_migrated(file, MIGRATIONS)
}

/// Opens the file for its only writer, with the tables that these migrations make.
pub(super) fn open_migrated(file: &Path, migrations: &[&str]) -> Result<Connection, OpenError> {
    create_private(file).map_err(|error| OpenError::refused(file, error))?;
    let failed = |error: rusqlite::Error| OpenError::from_sqlite(file, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    // Checked before anything is written.
    let found = version(&connection).map_err(failed)?;
    if usize::try_from(found).is_ok_and(|found| found > migrations.len()) {
        return Err(OpenError::Newer { file: file.to_owned(), found });
    }
    prepare(&mut connection).map_err(failed)?;
    let done = usize::try_from(found).unwrap_or_default();
    if done < migrations.len() {
        if done > 0 {
            copy(&connection, file, done)?;
        }
        migrate(&mut connection, migrations, done).map_err(failed)?;
    }
    probe_tables(&connection).map_err(failed)?;
    Ok(connection)
}

fn prepare(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Opens the file of an existing store for reading.
pub(super) fn open_reader(file: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    // A reader never waits for a commit, but the WAL may be locked while it is created or removed.
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Version of the tables; 0 if there are none.
pub(super) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Copies the database to a file next to it that is named after its version, for whoever wants to
/// go back.
fn copy(connection: &Connection, file: &Path, version: usize) -> Result<(), OpenError> {
    let mut copy = file.as_os_str().to_owned();
    copy.push(format!(".version-{version}"));
    let copy = PathBuf::from(copy);
    let refused = |error: io::Error| OpenError::refused(&copy, error);
    match std::fs::remove_file(&copy) {
        // A copy from an earlier attempt may be incomplete.
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
    }
    create_private(&copy).map_err(refused)?;
    connection
        .execute("VACUUM INTO ?1", [copy.to_string_lossy()])
        .map_err(|error| OpenError::from_sqlite(file, &error))?;
    // SQLite leaves that to us.
    File::open(&copy).and_then(|copy| copy.sync_all()).map_err(refused)
}

/// Makes the tables of an older version those of the newest, or leaves them as they are.
fn migrate(
    connection: &mut Connection,
    migrations: &[&str],
    done: usize,
) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction()?;
    for migration in &migrations[done..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    let version = i64::try_from(migrations.len()).unwrap_or_default();
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

/// Reads a little of every table, so that a wrong or damaged file is noticed at once.
fn probe_tables(connection: &Connection) -> Result<(), rusqlite::Error> {
    for table in ["entity", "fact", "note", "chunk", "cursor", "unindexed", "search_config"] {
        let mut statement = connection.prepare(&format!("SELECT 1 FROM {table} LIMIT 1"))?;
        statement.exists([])?;
    }
    Ok(())
}

/// Creates the file for its owner only. SQLite gives the WAL the same mode.
fn create_private(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}
