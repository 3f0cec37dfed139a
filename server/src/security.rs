//! Who may call this server, and how. Agents run with the rights of the server's user, so a request
//! must prove that it comes from our own pages, from a script, or from a person.
//!
//! Checked on every path, GET included, before anything else sees the request:
//!
//! 1. [`target`]: the request target is well formed;
//! 2. [`host`]: `Host` is one of our own names (a foreign one is DNS rebinding);
//! 3. no header that these checks depend on appears twice;
//! 4. [`origin`]: the request was not caused by another site;
//! 5. [`admission`]: it carries an access key ([`access`]), or the cookie of a login ([`logins`]),
//!    if there is a key; clients that try keys are slowed down ([`brake`]);
//! 6. if it acts: the key allows it, it is intended ([`intent`]), and a login presents its secret;
//! 7. the body is within the limit, if its length is declared.
//!
//! All checks are plain functions over the request's head; `http::guard` applies them.

pub mod access;
pub mod admission;
pub mod brake;
pub mod host;
pub mod intent;
pub mod logins;
pub mod origin;
pub mod peer;
pub mod target;

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};

use access::Caller;
use admission::Access;
use host::OwnNames;
use peer::Peer;

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
    /// A header that must be unambiguous appears more than once.
    #[error("a header comes more than once: {0}")]
    DuplicateHeader(HeaderName),
    /// It acts, and a browser may have sent it without anyone intending it.
    #[error("this address acts: call it by POST, or send `Authorization: Bearer KEY`")]
    PostRequired,
    /// It acts, and a person navigated there with a browser.
    #[error("this address acts: the person is asked first")]
    MustBeAsked,
    /// No access key, or a wrong one.
    #[error("an access key is needed: open the login URL, or send `Authorization: Bearer KEY`")]
    Credentials,
    /// A process started by an agent attempts what only a person may do.
    #[error("only a person may do this, not a process that an agent has started")]
    AgentProcess,
    /// Wrong access keys, again and again. Contains the remaining wait.
    #[error("too many wrong access keys: wait for {} s", .0.as_secs() + 1)]
    TooManyWrongKeys(Duration),
    /// The role of the key does not allow this.
    #[error("this access key may not do that")]
    Role,
    /// It acts, but presents only the cookie of a login and not its secret.
    #[error("acting needs the secret of the login in the header Portal-Login: log in again")]
    LoginSecret,
    /// The declared length exceeds this limit, in bytes.
    #[error("the request body is larger than the limit of {0} bytes")]
    BodyTooLarge(u64),
}

/// The rules of one server.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The host names under which the server is reached.
    pub own_names: OwnNames,
    /// The keys that callers must present, if any, and the logins.
    pub access: Arc<Access>,
    /// Limit of a request body, in bytes.
    pub max_body_bytes: u64,
}

/// Who a path is for, which decides what other sites and strangers may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A page of the app: other sites may link to it.
    Page,
    /// Styles, scripts and pictures of the app, and the login itself: contain no secrets.
    Open,
    /// Everything else, above all the API.
    Api,
    /// The part of the API that asks a person who navigates there.
    Act,
}

/// What a request would do if it were let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It changes nothing on the server.
    Read,
    /// It starts, stops or changes something.
    Act,
    /// It answers an agent's permission request.
    Answer,
    /// It trusts an agent's extensions or changes its permissions.
    Govern,
}

impl Deed {
    /// Whether only a person may do it, and no process that an agent has started.
    pub fn is_a_persons(self) -> bool {
        matches!(self, Self::Answer | Self::Govern)
    }
}

/// Headers that the checks depend on. If one appears twice, we might look at one value and a proxy
/// or a handler at the other. `Host` has its own check.
const ONCE: [HeaderName; 10] = [
    header::ORIGIN,
    header::REFERER,
    header::AUTHORIZATION,
    header::COOKIE,
    header::CONTENT_LENGTH,
    origin::SEC_FETCH_SITE,
    origin::SEC_FETCH_MODE,
    origin::SEC_FETCH_DEST,
    HeaderName::from_static("sec-fetch-user"),
    logins::SECRET_HEADER,
];

impl Policy {
    /// Judges a request by its head, and returns the caller.
    pub fn judge(&self, head: &Parts, audience: Audience, deed: Deed) -> Result<Caller, Refusal> {
        target::check(&head.uri)?;
        let host = self.own_names.check(&head.uri, &head.headers)?;
        refuse_duplicates(&head.headers)?;
        origin::check(&head.method, &head.headers, host, audience)?;
        let caller = match audience {
            Audience::Open => Caller::Anyone,
            Audience::Page | Audience::Api | Audience::Act => self.recognise(head)?,
        };
        if deed != Deed::Read {
            self.check_deed(head, host, caller, deed)?;
        }
        if let Caller::Login(id, _) = caller
            && (deed != Deed::Read || audience == Audience::Page)
        {
            // Pages keep reading while nobody looks at them; this request was made by a person.
            self.access.logins.touch(id);
        }
        if declared_length(&head.headers).is_some_and(|length| length > self.max_body_bytes) {
            return Err(Refusal::BodyTooLarge(self.max_body_bytes));
        }
        Ok(caller)
    }

    fn recognise(&self, head: &Parts) -> Result<Caller, Refusal> {
        let from = head.extensions.get::<Peer>().map(Peer::address);
        if let Some(caller) = self.access.recognise(&head.headers, from) {
            return Ok(caller);
        }
        // The right key always works: otherwise one wrong script would lock out everyone behind a
        // proxy.
        let tried = head.headers.contains_key(header::AUTHORIZATION);
        match self.access.brake.wait(from).filter(|_| tried) {
            Some(wait) => Err(Refusal::TooManyWrongKeys(wait)),
            None => Err(Refusal::Credentials),
        }
    }

    fn check_deed(
        &self,
        head: &Parts,
        host: &str,
        caller: Caller,
        deed: Deed,
    ) -> Result<(), Refusal> {
        if !caller.rights().allow(deed) {
            return Err(Refusal::Role);
        }
        match caller {
            Caller::Bearer(..) => Ok(()),
            Caller::Anyone => intent::check(head, host),
            Caller::Login(id, _) => {
                intent::check(head, host)?;
                let known = self.access.logins.knows_secret(id, &head.headers);
                if known { Ok(()) } else { Err(Refusal::LoginSecret) }
            }
        }
    }
}

fn refuse_duplicates(headers: &HeaderMap) -> Result<(), Refusal> {
    // Almost always true, and cheaper than nine look-ups.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let twice = ONCE.into_iter().find(|name| headers.get_all(name).iter().nth(1).is_some());
    twice.map_or(Ok(()), |name| Err(Refusal::DuplicateHeader(name)))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    text(headers, &header::CONTENT_LENGTH)?.parse().ok()
}

/// A header's value if it is text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
