//! Why a file could not be used.

use std::io;

use crate::names::show_path;

/// A file or folder that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{fault}: `{}`", show_path(path))]
pub struct SandboxError {
    /// What is wrong with it.
    pub fault: Fault,
    /// As it was given.
    pub path: String,
}

/// What is wrong with a path or a file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Empty, or with a zero byte.
    #[error("not a path")]
    NotAPath,
    /// It leads out of the workspace.
    #[error("outside of the workspace")]
    Outside,
    /// It is in the workspace, but not below an allowed root.
    #[error("not in a folder that tools may use")]
    NotAllowed,
    /// The repository's own data.
    #[error("`.git` is off limits")]
    Git,
    /// The portal's own settings, keys or data.
    #[error("the portal's own settings, keys and data are off limits")]
    Guarded,
    /// Links that lead to links, and so on.
    #[error("too many symbolic links")]
    TooManyLinks,
    /// Nothing there.
    #[error("no such file or folder")]
    Missing,
    /// Something there already.
    #[error("already exists")]
    Exists,
    /// A folder, a device, a FIFO, a socket.
    #[error("not a regular file")]
    NotAFile,
    /// A file where a folder is needed.
    #[error("not a folder")]
    NotAFolder,
    /// Its mode says that it is not to be written.
    #[error("the file is read-only")]
    ReadOnly,
    /// More than a tool reads.
    #[error("too large ({size} bytes, the limit is {limit})")]
    TooLarge {
        /// Its size, as far as it was read.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// Not UTF-8, or with zero bytes.
    #[error("binary file")]
    Binary,
    /// It is not what it was when the tool began.
    #[error("the file changed in the meantime, read it again")]
    Changed,
    /// What the system said.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Fault {
    pub(super) fn at(self, path: &str) -> SandboxError {
        let fault = match self {
            // Opened without following links: it was a file or folder when it was looked at.
            Self::System(error) if is_replaced(&error) => Self::Changed,
            Self::System(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Self::System(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::Exists,
            fault => fault,
        };
        SandboxError { fault, path: path.to_owned() }
    }

    /// For programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotAPath => "invalid_arguments",
            Self::Outside | Self::NotAllowed | Self::Git | Self::Guarded | Self::TooManyLinks => {
                "not_allowed"
            }
            Self::Missing => "not_found",
            Self::Exists => "exists",
            Self::NotAFile | Self::NotAFolder => "wrong_kind",
            Self::ReadOnly => "read_only",
            Self::TooLarge { .. } => "too_large",
            Self::Binary => "binary",
            Self::Changed => "changed",
            Self::System(_) => "io",
        }
    }
}

fn is_replaced(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory)
        || is_loop(error)
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_error: &io::Error) -> bool {
    false
}
