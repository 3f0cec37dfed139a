//! Content hashes: for file names that change with the content, and to detect whether a rebuild is
//! due.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use sha2::{Digest, Sha256};

/// The first 16 hexadecimal digits of the content's SHA-256.
pub(crate) fn short_hash(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let start = digest.first_chunk().expect("a SHA-256 has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(*start))
}

/// A file name that browsers may cache for ever, such as `copilot-portal.0123456789abcdef.js`.
pub(crate) fn hashed_name(stem: &str, extension: &str, content: &[u8]) -> String {
    format!("{stem}.{}.{extension}", short_hash(content))
}

/// One hash over files and folders: their names and contents. A missing one counts as an empty
/// folder.
pub(crate) fn hash_paths(paths: &[PathBuf]) -> anyhow::Result<String> {
    let mut summary = String::new();
    for path in paths {
        let files = if path.is_file() { vec![path.clone()] } else { files_below(path)? };
        for file in files {
            let content =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let _ = writeln!(summary, "{} {}", file.display(), short_hash(&content));
        }
    }
    Ok(short_hash(summary.as_bytes()))
}

/// Every file below a folder, sorted; empty if the folder does not exist.
pub(crate) fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fn visit(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                visit(&path, files)?;
            } else {
                files.push(path);
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    if folder.is_dir() {
        visit(folder, &mut files).with_context(|| format!("cannot list {}", folder.display()))?;
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_sixteen_digits_of_the_content() {
        assert_eq!(hashed_name("app", "js", b"abc"), "app.ba7816bf8f01cfea.js");
    }

    #[test]
    fn the_hash_of_a_folder_follows_names_and_contents() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = [folder.path().to_owned(), folder.path().join("missing")];
        let hash = || hash_paths(&paths).expect("readable");
        let empty = hash();
        fs::write(folder.path().join("a"), "1").expect("writable");
        let one = hash();
        fs::write(folder.path().join("a"), "2").expect("writable");
        let changed = hash();
        fs::rename(folder.path().join("a"), folder.path().join("b")).expect("writable");
        let renamed = hash();
        let mut all = vec![empty, one, changed, renamed.clone()];
        all.dedup();
        assert_eq!(all.len(), 4);
        assert_eq!(hash(), renamed);
    }
}
