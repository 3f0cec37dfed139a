//! `copilot-portal store`: what operators do with what the portal has kept.

use std::fmt::Write as _;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use store::journal::{FILE_NAME, Info, OpenError, SqliteJournal};

use crate::config::StoreAction;

/// Does it with the store of a data folder, and prints what comes of it. False if something is wrong
/// with the store.
pub fn run(action: StoreAction, folder: &Path, out: &mut dyn Write) -> anyhow::Result<bool> {
    match action {
        StoreAction::Info => {
            let info = SqliteJournal::info(folder)?;
            let log = folder.join(format!("{FILE_NAME}-wal"));
            let log_bytes = log.metadata().map_or(0, |log| log.len());
            print(out, &table(&folder.join(FILE_NAME), &info, log_bytes))?;
        }
        StoreAction::Check => {
            let problems = check(folder)?;
            let lines = if problems.is_empty() { "ok".to_owned() } else { problems.join("\n") };
            print(out, &format!("{lines}\n"))?;
            return Ok(problems.is_empty());
        }
        StoreAction::Export => export(folder, out)?,
        StoreAction::Vacuum => {
            let before = SqliteJournal::info(folder)?.bytes;
            SqliteJournal::vacuum(folder)?;
            let after = SqliteJournal::info(folder)?.bytes;
            let (before, after) = (readable(before), readable(after));
            print(out, &format!("before  {before}\nafter   {after}\n"))?;
        }
    }
    Ok(true)
}

/// A file that can't even be opened has been looked at, too: its damage is what was asked for.
fn check(folder: &Path) -> Result<Vec<String>, OpenError> {
    match SqliteJournal::check(folder) {
        Err(OpenError::Damaged { file, cause }) => Ok(vec![format!("{}: {cause}", file.display())]),
        result => result,
    }
}

fn export(folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut out = Watched { out, failure: None };
    let result = SqliteJournal::export(folder, &mut BufWriter::new(&mut out));
    match out.failure {
        // Whoever reads it has seen enough.
        Some(ErrorKind::BrokenPipe) => Ok(()),
        Some(kind) => Err(anyhow::anyhow!("the store could not be written out: {kind}")),
        None => Ok(result?),
    }
}

/// Remembers why nothing more can be written: it is not the store's fault.
struct Watched<'a> {
    out: &'a mut dyn Write,
    failure: Option<ErrorKind>,
}

impl Watched<'_> {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != ErrorKind::Interrupted
        {
            self.failure = Some(error.kind());
        }
        result
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.watch(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.watch(result)
    }
}

/// Whoever reads it may have seen enough before the end.
fn print(out: &mut dyn Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// What was written last is in the log beside the database, and may be most of it.
fn table(file: &Path, info: &Info, log_bytes: u64) -> String {
    let log = match log_bytes {
        0 => String::new(),
        bytes => format!(", and {} in its log", readable(bytes)),
    };
    let mut text = format!(
        "file            {}\nsize            {}{log}\nschema version  {}\nfacts           {}\n",
        file.display(),
        readable(info.bytes),
        info.version,
        info.facts,
    );
    if info.entities.is_empty() {
        return text;
    }
    text.push_str("\nkind     state        count\n");
    for (kind, state, count) in &info.entities {
        // Writing to a string never fails.
        let _ = writeln!(text, "{kind:<8} {state:<10} {count:>7}");
    }
    text
}

/// In the largest unit of which there is at least one, with one decimal.
fn readable(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        let sizes = [0, 1023, 1024, 1536, 5 << 20, u64::MAX].map(readable);
        let expected =
            ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "5.0 MiB", "17179869183.9 GiB"];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn the_table_counts_by_kind_and_state() {
        let entities = vec![
            ("job".to_owned(), "succeeded".to_owned(), 3),
            ("session".to_owned(), "idle".to_owned(), 12),
        ];
        let info = Info { version: 1, bytes: 4096, entities, facts: 70 };
        let empty = Info { entities: Vec::new(), facts: 0, ..info.clone() };
        let table = |info, log| table(Path::new("/data/portal.db"), info, log);
        assert_eq!(
            table(&empty, 2048),
            "file            /data/portal.db\n\
             size            4.0 KiB, and 2.0 KiB in its log\n\
             schema version  1\n\
             facts           0\n"
        );
        assert_eq!(
            table(&info, 0),
            "file            /data/portal.db\n\
             size            4.0 KiB\n\
             schema version  1\n\
             facts           70\n\
             \n\
             kind     state        count\n\
             job      succeeded        3\n\
             session  idle            12\n"
        );
    }

    /// Takes nothing.
    struct Full(ErrorKind);

    impl Write for Full {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_reader_that_goes_away_is_no_failure_and_a_full_disk_is_not_the_stores() {
        use store::journal::{Append, Journal, Record};
        use wire::{EntityState, SessionId, Usage};

        let folder = tempfile::tempdir().expect("temporary folder");
        let journal = SqliteJournal::open(folder.path()).expect("a store");
        let record = Record {
            parent: None,
            title: "a session".to_owned(),
            folder: "/".to_owned(),
            model: None,
            state: EntityState::Idle,
            started_at: 1,
            ended_at: None,
            usage: Usage::default(),
            detail: "{}".to_owned(),
        };
        let append = Append { record: Some(record), ..Append::new(SessionId::generate(), 0, 0) };
        journal.submit(append.into()).durable().await.expect("kept");
        for action in [StoreAction::Info, StoreAction::Check, StoreAction::Export] {
            let run = |kind| run(action, folder.path(), &mut Full(kind));
            assert!(run(ErrorKind::BrokenPipe).expect("enough was seen"));
            let error = run(ErrorKind::StorageFull).expect_err("not written").to_string();
            assert!(!error.contains("--data-dir"), "{action:?}: {error}");
        }
    }
}
