//! Stands in for the crate of this name, see `[patch.crates-io]` in the workspace.
//!
//! Only the build script of `github-copilot-sdk` uses it, to download a CLI when the feature
//! `runtime` is on. It is off, so the real crate would bring OpenSSL along for nothing. This one has
//! the names that the script mentions; every call fails.

use std::time::Duration;
use std::{fmt, io};

/// The names of failures that the script tells apart; only [`Error::Disabled`] ever occurs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Downloads are switched off.
    Disabled,
    /// An HTTP status.
    StatusCode(u16),
    /// Not a URI.
    BadUri(String),
    /// A malformed message.
    Http(String),
    /// Not a proxy's URL.
    InvalidProxyUrl,
    /// A chain of redirects without end.
    TooManyRedirects,
    /// A redirect that cannot be followed.
    RedirectFailed,
    /// Plain HTTP where it is not allowed.
    RequireHttpsOnly(String),
    /// TLS where there is none.
    TlsRequired,
    /// A failure of TLS.
    Tls(&'static str),
    /// A failure of the system's TLS.
    NativeTls(String),
    /// Not a PEM file.
    Pem(String),
    /// Not a DER file.
    Der(String),
    /// A body over the limit.
    BodyExceedsLimit(u64),
    /// A head over the limit.
    LargeResponseHeader(usize, usize),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "downloads at build time are switched off ({self:?})")
    }
}

impl std::error::Error for Error {}

/// Where requests would be made.
#[derive(Debug)]
pub struct Agent(());

/// Settings of an agent, all of which are ignored.
#[derive(Debug)]
pub struct Config(());

/// A request that fails.
#[derive(Debug)]
pub struct Request(());

/// Never exists.
#[derive(Debug)]
pub enum Response {}

/// Never exists.
#[derive(Debug)]
pub enum Body {}

impl Agent {
    /// Starts with the settings of an agent.
    pub fn config_builder() -> Config {
        Config(())
    }

    /// Prepares a request.
    pub fn get(&self, _url: &str) -> Request {
        Request(())
    }
}

impl Config {
    /// Ignored.
    #[must_use]
    pub fn tls_config(self, _config: tls::TlsConfig) -> Self {
        self
    }

    /// Ignored.
    #[must_use]
    pub fn timeout_connect(self, _limit: Option<Duration>) -> Self {
        self
    }

    /// Ignored.
    #[must_use]
    pub fn timeout_recv_response(self, _limit: Option<Duration>) -> Self {
        self
    }

    /// Ignored.
    #[must_use]
    pub fn timeout_recv_body(self, _limit: Option<Duration>) -> Self {
        self
    }

    /// Ends the settings.
    #[must_use]
    pub fn build(self) -> Self {
        self
    }

    /// The agent.
    pub fn new_agent(self) -> Agent {
        Agent(())
    }
}

impl Request {
    /// Always fails.
    pub fn call(self) -> Result<Response, Error> {
        Err(Error::Disabled)
    }
}

impl Response {
    /// Never called.
    pub fn body_mut(&mut self) -> &mut Body {
        match *self {}
    }
}

impl Body {
    /// Never called.
    pub fn as_reader(&mut self) -> io::Empty {
        match *self {}
    }
}

/// Status codes.
pub mod http {
    /// A status code, of which nothing is known.
    #[derive(Debug)]
    pub struct StatusCode(());

    impl StatusCode {
        /// Takes any number.
        pub fn from_u16(_code: u16) -> Result<Self, super::Error> {
            Ok(Self(()))
        }

        /// No words for it.
        pub fn canonical_reason(&self) -> Option<&'static str> {
            None
        }
    }
}

/// Settings of TLS, all of which are ignored.
pub mod tls {
    /// Settings of TLS.
    #[derive(Debug)]
    pub struct TlsConfig(());

    /// Whose TLS.
    #[derive(Debug)]
    pub enum TlsProvider {
        /// The system's.
        NativeTls,
    }

    /// Whose certificates.
    #[derive(Debug)]
    pub enum RootCerts {
        /// The system's.
        PlatformVerifier,
    }

    impl TlsConfig {
        /// Starts with the settings.
        pub fn builder() -> Self {
            Self(())
        }

        /// Ignored.
        #[must_use]
        pub fn provider(self, _provider: TlsProvider) -> Self {
            self
        }

        /// Ignored.
        #[must_use]
        pub fn root_certs(self, _certificates: RootCerts) -> Self {
            self
        }

        /// Ends the settings.
        #[must_use]
        pub fn build(self) -> Self {
            self
        }
    }
}
