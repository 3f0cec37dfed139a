//! Who may talk to this server, and how. Agents run with the rights of the server's user, so a
//! request must prove that it comes from our own pages, from a script, or from the person.
//!
//! Checked on every path, GET included, before anything else sees the request:
//!
//! 1. [`target`]: the request target is well formed;
//! 2. [`host`]: `Host` is one of our own names (a foreign one is DNS rebinding);
//! 3. [`origin`]: the request was not caused by another site;
//! 4. [`access`]: it carries the access key, if there is one;
//! 5. the body, if its length is declared, is within the cap.
//!
//! All of it is plain functions over the request's head; `http::guard` carries it out.

pub mod access;
pub mod host;
pub mod origin;
pub mod target;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};

use access::AccessKey;
use host::OwnNames;

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request target is malformed.
    #[error("malformed request target: {0}")]
    Target(&'static str),
    /// `Host` is missing, repeated, or not ours.
    #[error("this server does not answer to the host name: `{0}`; --allowed-host adds a name")]
    Host(String),
    /// Another site caused the request.
    #[error("requests from other sites are refused: {0}")]
    CrossSite(String),
    /// No access key, or a wrong one.
    #[error("an access key is needed: open the login URL, or send `Authorization: Bearer KEY`")]
    Credentials,
    /// The body is larger than allowed.
    #[error("the request body is larger than the limit of {0} bytes")]
    BodyTooLarge(u64),
}

/// The rules of one server.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The names under which the server is reached.
    pub own_names: OwnNames,
    /// What callers must show, if anything.
    pub access_key: Option<AccessKey>,
    /// The largest body in bytes.
    pub max_body_bytes: u64,
}

/// What a path serves: it decides what other sites and strangers may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A page of the app: other sites may link to it.
    Page,
    /// Styles, scripts and pictures of the app, and the login itself: hold no secret.
    Open,
    /// Everything else, the API first of all.
    Api,
}

impl Policy {
    /// Judges a request by its head.
    pub fn judge(&self, head: &Parts, audience: Audience) -> Result<(), Refusal> {
        target::check(&head.uri)?;
        let host = self.own_names.check(&head.uri, &head.headers)?;
        origin::check(&head.method, &head.headers, host, audience)?;
        if let Some(key) = &self.access_key
            && audience != Audience::Open
            && !key.admits(&head.headers)
        {
            return Err(Refusal::Credentials);
        }
        if declared_length(&head.headers).is_some_and(|length| length > self.max_body_bytes) {
            return Err(Refusal::BodyTooLarge(self.max_body_bytes));
        }
        Ok(())
    }
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    text(headers, &header::CONTENT_LENGTH)?.parse().ok()
}

/// A header's value if it is text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
