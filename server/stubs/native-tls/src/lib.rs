//! Stands in for the crate of this name, see `[patch.crates-io]` in the workspace.
//!
//! Only the build script of `github-copilot-sdk` uses it, to download a CLI when the feature
//! `runtime` is on. It is off, so the real crate would ask for the headers of OpenSSL for nothing.
//! Should the script ever try to connect, it is told why it cannot.

use std::fmt;

/// Never exists.
#[derive(Debug)]
pub enum TlsConnector {}

/// The only answer there is.
#[derive(Debug)]
pub struct Error;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("downloads at build time are switched off")
    }
}

impl std::error::Error for Error {}

impl TlsConnector {
    /// Always fails.
    pub fn new() -> Result<Self, Error> {
        Err(Error)
    }
}
