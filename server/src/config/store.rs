//! Where the portal keeps sessions, tasks and jobs, and for how long.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::command_line::CommandLine;
use super::text::FileText;

const DEFAULT_KEEP_DAYS: u32 = 90;

/// What is decided about the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Where things are kept.
    pub place: StorePlace,
    /// How many days after its end something is deleted; 0 never.
    pub keep_days: u32,
}

/// Where things are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// In memory, until the server ends.
    Memory,
    /// In a database in this folder.
    Sqlite(PathBuf),
}

/// `[store]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct StoreTable {
    pub(super) kind: Option<Spanned<String>>,
    pub(super) keep_days: Option<u32>,
}

enum Kind {
    Memory,
    Sqlite,
}

/// In the data folder, unless told otherwise. Tests keep nothing unless they are told to.
pub(super) fn settle(
    line: &CommandLine,
    table: &StoreTable,
    file: &FileText,
    data: Option<&Path>,
    test: bool,
) -> Result<StoreSettings, ConfigError> {
    let of_line = |problem: String| ConfigError::Arguments(format!("--store: {problem}"));
    let place = match (&line.store, &table.kind) {
        (Some(kind), _) => find_place(kind, data).map_err(of_line)?,
        (None, Some(kind)) => {
            find_place(kind.get_ref(), data).map_err(|problem| file.error(kind, problem))?
        }
        (None, None) => match data {
            Some(folder) if !test => StorePlace::Sqlite(folder.to_owned()),
            Some(_) | None => StorePlace::Memory,
        },
    };
    let keep_days = line.keep_days.or(table.keep_days).unwrap_or(DEFAULT_KEEP_DAYS);
    Ok(StoreSettings { place, keep_days })
}

fn find_place(kind: &str, data: Option<&Path>) -> Result<StorePlace, String> {
    match (parse_kind(kind)?, data) {
        (Kind::Memory, _) => Ok(StorePlace::Memory),
        (Kind::Sqlite, Some(folder)) => Ok(StorePlace::Sqlite(folder.to_owned())),
        (Kind::Sqlite, None) => {
            Err("sqlite needs a data folder: name one with --data-dir".to_owned())
        }
    }
}

/// An address of a database may contain a password: it is not repeated.
fn parse_kind(kind: &str) -> Result<Kind, String> {
    match kind {
        "memory" => Ok(Kind::Memory),
        "sqlite" => Ok(Kind::Sqlite),
        _ if kind.starts_with("postgres") => {
            Err("PostgreSQL is not supported yet; memory and sqlite are accepted".to_owned())
        }
        _ if kind.contains("://") => {
            Err("no address is accepted, only memory and sqlite".to_owned())
        }
        _ => Err(format!("memory and sqlite are accepted, not `{kind}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder_with, message, planted, run};
    use super::*;

    fn place(arguments: &[&str], folder: &Path) -> StorePlace {
        run(arguments, folder).expect("settings").store.place
    }

    #[test]
    fn things_are_kept_in_the_data_folder_unless_told_otherwise() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let kept = StorePlace::Sqlite(folder.path().join("kept"));
        let with_data = |further: &[&str]| {
            place(&[&["--data-dir", "kept"][..], further].concat(), folder.path())
        };
        assert_eq!(with_data(&[]), kept);
        assert_eq!(with_data(&["--store", "sqlite"]), kept);
        assert_eq!(with_data(&["--store", "memory"]), StorePlace::Memory);
        let settings = run(&[], folder.path()).expect("defaults");
        let usual = settings.data.map_or(StorePlace::Memory, StorePlace::Sqlite);
        assert_eq!(settings.store.place, usual);
    }

    #[test]
    fn tests_keep_nothing_unless_they_are_told_to() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert_eq!(place(&["--test"], folder.path()), StorePlace::Memory);
        let with_data = ["--test", "--data-dir", "kept"];
        assert_eq!(place(&with_data, folder.path()), StorePlace::Memory);
        let both = ["--test", "--data-dir", "kept", "--store", "sqlite"];
        assert_eq!(place(&both, folder.path()), StorePlace::Sqlite(folder.path().join("kept")));
        let error = message(&["--test", "--store", "sqlite"], folder.path());
        assert!(error.contains("--store: ") && error.contains("--data-dir"), "{error}");

        let folder = folder_with("[store]\nkind = 'sqlite'\n[bridge]\ndataDir = 'kept'\n");
        let kept = StorePlace::Sqlite(folder.path().join("kept"));
        assert_eq!(place(&["--test"], folder.path()), kept, "the file says so");
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let folder = folder_with("[store]\nkind = 'memory'\nkeepDays = 7\n");
        let settings = run(&["--data-dir", "kept"], folder.path()).expect("settings").store;
        assert_eq!(settings, StoreSettings { place: StorePlace::Memory, keep_days: 7 });
        let line = ["--data-dir", "kept", "--store", "sqlite", "--keep-days", "0"];
        let settings = run(&line, folder.path()).expect("settings").store;
        assert_eq!(settings.place, StorePlace::Sqlite(folder.path().join("kept")));
        assert_eq!(settings.keep_days, 0);
        let empty = tempfile::tempdir().expect("temporary folder");
        assert_eq!(run(&[], empty.path()).expect("defaults").store.keep_days, 90);
    }

    #[test]
    fn mistakes_name_their_place_and_what_is_accepted() {
        let empty = tempfile::tempdir().expect("temporary folder");
        for (kind, words) in [
            ("disk", &["memory and sqlite", "`disk`"][..]),
            ("postgres://me:secret@host/db", &["PostgreSQL is not supported yet", "sqlite"]),
            ("mysql://me:secret@host/db", &["memory and sqlite"]),
        ] {
            let of_line = message(&["--store", kind], empty.path());
            assert!(of_line.starts_with("--store: "), "{of_line}");
            let of_file = message(&[], folder_with(&format!("[store]\nkind = '{kind}'\n")).path());
            assert!(of_file.contains("portal.toml:2: "), "{of_file}");
            for error in [of_line, of_file] {
                assert!(words.iter().all(|word| error.contains(word)), "{error}");
                assert!(!error.contains("secret") && error.lines().count() == 1, "{error}");
            }
        }
        for (file, problem) in [
            ("[store]\nkeepDays = -1\n", "portal.toml:2: "),
            ("[store]\nkeepDay = 1\n", "unknown field `keepDay`, expected `kind` or `keepDays`"),
        ] {
            let error = message(&[], folder_with(file).path());
            assert!(error.contains(problem), "{error}");
        }
        assert!(message(&["--keep-days", "x"], empty.path()).contains("--keep-days"));
    }

    #[test]
    fn a_file_in_the_working_directory_neither_moves_nor_deletes_anything() {
        for (file, ignored) in [
            ("[store]\nkind = 'memory'\n", "store.kind"),
            // Not even read: it could only stop the server.
            ("[store]\nkind = 'postgres://host/db'\n", "store.kind"),
            ("[store]\nkeepDays = 1\n", "store.keepDays"),
            ("[store]\nkeepDays = 0\n", "store.keepDays"),
        ] {
            let folder = folder_with(file);
            let settings = planted(&["--data-dir", "kept"], folder.path());
            let place = StorePlace::Sqlite(folder.path().join("kept"));
            assert_eq!(settings.store, StoreSettings { place, keep_days: 90 });
            let [notice] = &*settings.notices else { panic!("{:?}", settings.notices) };
            assert!(notice.contains(ignored), "{notice}");
        }
    }
}
