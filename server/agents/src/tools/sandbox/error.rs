//! Why a file could not be used.

use std::io;

use crate::names::show_path;

/// A file or folder that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{fault}: `{}`", show_path(path))]
pub struct SandboxError {
    /// What is wrong with it.
    pub fault: Fault,
    /// The path as the caller gave it.
    pub path: String,
}

/// What is wrong with a path or a file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The path is empty or contains a zero byte.
    #[error("not a path")]
    NotAPath,
    /// The path leads out of the workspace.
    #[error("outside of the workspace")]
    Outside,
    /// The path is in the workspace, but not below an allowed root.
    #[error("not in a folder that tools may use")]
    NotAllowed,
    /// The path leads to the repository's own data.
    #[error("`.git` is off limits")]
    Git,
    /// The path leads to the portal's own settings, keys or data.
    #[error("the portal's own settings, keys and data are off limits")]
    Guarded,
    /// More symbolic links than the sandbox follows.
    #[error("too many symbolic links")]
    TooManyLinks,
    /// The file or folder does not exist.
    #[error("no such file or folder")]
    Missing,
    /// The file already exists.
    #[error("already exists")]
    Exists,
    /// It is a folder, a device, a FIFO or a socket.
    #[error("not a regular file")]
    NotAFile,
    /// A component of the path is a file.
    #[error("not a folder")]
    NotAFolder,
    /// Its mode forbids writing.
    #[error("the file is read-only")]
    ReadOnly,
    /// The file exceeds the limit of the tool.
    #[error("too large ({size} bytes, the limit is {limit})")]
    TooLarge {
        /// Its size in bytes, as far as it was read.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The content is not UTF-8 or contains zero bytes.
    #[error("binary file")]
    Binary,
    /// The file changed since the tool first looked at it.
    #[error("the file changed in the meantime, read it again")]
    Changed,
    /// The operating system reported an error.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Fault {
    pub(super) fn at(self, path: &str) -> SandboxError {
        let fault = match self {
            // Opened without following links, and it was a file or folder just before, so it was
            // replaced.
            Self::System(error) if is_replaced(&error) => Self::Changed,
            Self::System(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Self::System(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::Exists,
            fault => fault,
        };
        SandboxError { fault, path: path.to_owned() }
    }

    /// The error code in the tool's result.
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
