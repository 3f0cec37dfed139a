//! The content of an extension as a hash: trust is given to a content, not to a name.

use std::fmt::Write;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// A folder with more files is not an extension, and takes long to read.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Hashes the names and contents of all files in a folder. A link counts by its target: what is
/// outside the folder is not loaded. Blocks.
pub(super) fn hash_folder(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    // Sorted by bytes, so that the order is always the same.
    files.sort();
    let mut hash = Sha256::new();
    let mut bytes = 0;
    for path in files {
        let name = path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes();
        let is_link = path.symlink_metadata()?.is_symlink();
        let content = if is_link {
            Sha256::digest(std::fs::read_link(&path)?.as_os_str().as_encoded_bytes())
        } else {
            hash_file(&path, &mut bytes)?
        };
        // Names have a length prefix and hashes a fixed length, so no name can pretend to be a
        // content.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update([u8::from(is_link)]);
        hash.update(content);
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() || kind.is_symlink() {
            files.push(entry.path());
        } else {
            return Err(io::Error::other("neither a file nor a folder is in it"));
        }
        if files.len() > MOST_FILES {
            return Err(io::Error::other("too many files are in it"));
        }
    }
    Ok(())
}

fn hash_file(path: &Path, bytes: &mut u64) -> io::Result<sha2::digest::Output<Sha256>> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(hash.finalize());
        }
        *bytes += length as u64;
        if *bytes > MOST_BYTES {
            return Err(io::Error::other("it is too large"));
        }
        hash.update(&buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_name_and_every_content_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("lib")).expect("a folder");
        fs::write(at("extension.mjs"), "one").expect("a file");
        fs::write(at("lib/a.mjs"), "two").expect("a file");
        let hash = || hash_folder(folder.path()).expect("a hash");
        let first = hash();
        assert_eq!((first.len(), &first), (64, &hash()));
        let mut seen = vec![first.clone()];
        fs::write(at("lib/a.mjs"), "three").expect("a file");
        seen.push(hash());
        fs::rename(at("lib/a.mjs"), at("lib/b.mjs")).expect("a name");
        seen.push(hash());
        fs::write(at("more"), "").expect("a file");
        seen.push(hash());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/elsewhere", at("link")).expect("a link");
            seen.push(hash());
            fs::remove_file(at("link")).expect("a link");
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "all differ");
        fs::remove_file(at("more")).expect("a file");
        fs::rename(at("lib/b.mjs"), at("lib/a.mjs")).expect("a name");
        fs::write(at("lib/a.mjs"), "two").expect("a file");
        assert_eq!(hash(), first, "as it was");
    }
}
