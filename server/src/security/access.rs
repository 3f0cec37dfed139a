//! Access keys, and what their holders may do.

use std::fmt;
use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::brake::Brake;
use super::logins::{LoginId, Logins};
use super::{Deed, text};

/// What a key opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Operator,
    /// Only reads.
    Viewer,
}

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// What the key opens.
    pub role: Role,
    /// Whether its holder may answer the questions of agents. Programs with a viewer's key may be
    /// allowed to; those with an operator's may be kept from it.
    pub may_answer: bool,
}

impl Rights {
    /// Of the person who runs the server.
    pub const OPERATOR: Self = Self { role: Role::Operator, may_answer: true };

    /// True if the deed is allowed.
    pub fn allow(self, deed: Deed) -> bool {
        let acts = self.role == Role::Operator;
        match deed {
            Deed::Read => true,
            Deed::Act => acts,
            Deed::Answer => self.may_answer,
            // Who may not answer must not have others answer more freely either.
            Deed::Govern => acts && self.may_answer,
        }
    }
}

/// A key that callers may show. Never printed by `{:?}`.
#[derive(Clone)]
pub struct AccessKey {
    name: String,
    rights: Rights,
    key: String,
}

impl AccessKey {
    /// The operator's key.
    pub fn new(key: &str) -> Self {
        Self { name: "operator".into(), rights: Rights::OPERATOR, key: key.to_owned() }
    }

    /// A key with a name, by which lists and logs call it.
    pub fn named(name: &str, rights: Rights, key: &str) -> Self {
        Self { name: name.to_owned(), rights, key: key.to_owned() }
    }

    /// A key of 244 random bits.
    pub fn generate() -> Self {
        Self::new(&random())
    }

    /// What lists and logs call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its holder may do.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// True if `key` is this key. Takes the same time wherever the two differ.
    pub fn opens_with(&self, key: &str) -> bool {
        equal(&self.key, key)
    }

    /// The path of the login URL. The one place where the key is shown, on the operator's own
    /// terminal.
    pub fn login_path(&self) -> String {
        format!("/login?key={}", self.key)
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessKey({}, …)", self.name)
    }
}

/// Who calls, as far as the key tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// No key is asked for.
    Anyone,
    /// Has shown a key in `Authorization`, which no browser adds by itself.
    Bearer(Rights),
    /// A browser that has logged in. Its cookie reaches every port of the host.
    Login(LoginId, Rights),
}

impl Caller {
    /// What the caller may do.
    pub fn rights(&self) -> Rights {
        match self {
            Self::Anyone => Rights::OPERATOR,
            Self::Bearer(rights) | Self::Login(_, rights) => *rights,
        }
    }
}

/// Who gets in: the keys, those who have logged in by them, and those who keep trying.
#[derive(Debug, Default)]
pub struct Access {
    keys: Vec<AccessKey>,
    /// Who has logged in.
    pub logins: Logins,
    /// Who has failed to.
    pub brake: Brake,
}

impl Access {
    /// Lets in whoever has one of these keys; without any, everybody.
    pub fn new(keys: impl IntoIterator<Item = AccessKey>) -> Self {
        Self { keys: keys.into_iter().collect(), ..Self::default() }
    }

    /// True if there is a key.
    pub fn is_locked(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The key that this is. Always compares with all of them.
    pub fn find_key(&self, key: &str) -> Option<&AccessKey> {
        self.keys
            .iter()
            .fold(None, |found, own| if own.opens_with(key) { Some(own) } else { found })
    }

    /// Who calls with these headers; `None` for a stranger.
    pub fn recognise(&self, headers: &HeaderMap, from: Option<IpAddr>) -> Option<Caller> {
        if !self.is_locked() {
            return Some(Caller::Anyone);
        }
        if headers.contains_key(header::AUTHORIZATION) {
            let key = bearer(headers).and_then(|key| self.find_key(key));
            if key.is_none() {
                self.brake.failed(from);
            }
            return key.map(|key| Caller::Bearer(key.rights));
        }
        self.logins.find(headers)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = text(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// 244 random bits.
pub(super) fn random() -> String {
    [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|part| part.simple().to_string()).concat()
}

/// Compares hashes in constant time, so that neither content nor length leaks.
pub(super) fn equal(a: &str, b: &str) -> bool {
    Sha256::digest(a).ct_eq(&Sha256::digest(b)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "correct-horse-battery";

    fn caller(value: &str) -> Option<Caller> {
        let viewer = Rights { role: Role::Viewer, may_answer: false };
        let access = Access::new([
            AccessKey::new(KEY),
            AccessKey::named("screen", viewer, "wall-screen-battery"),
        ]);
        let headers = [(header::AUTHORIZATION, value.parse().expect("a header value"))];
        access.recognise(&headers.into_iter().collect(), None)
    }

    #[test]
    fn a_key_brings_its_rights() {
        let operator = Some(Caller::Bearer(Rights::OPERATOR));
        assert_eq!(caller("Bearer correct-horse-battery"), operator);
        assert_eq!(caller("bearer correct-horse-battery"), operator);
        let viewer = Rights { role: Role::Viewer, may_answer: false };
        assert_eq!(caller("Bearer wall-screen-battery"), Some(Caller::Bearer(viewer)));
    }

    #[test]
    fn anything_else_is_a_stranger() {
        assert_eq!(Access::new([AccessKey::new(KEY)]).recognise(&HeaderMap::new(), None), None);
        for value in ["Bearer correct-horse-batter", "Basic correct-horse-battery", KEY, "Bearer "]
        {
            assert_eq!(caller(value), None, "{value}");
        }
        let everybody = Access::default().recognise(&HeaderMap::new(), None);
        assert_eq!(everybody, Some(Caller::Anyone));
    }

    #[test]
    fn rights_go_by_role_and_by_the_leave_to_answer() {
        let all = [Deed::Read, Deed::Act, Deed::Answer, Deed::Govern];
        for (role, may_answer, allowed) in [
            (Role::Operator, true, [true, true, true, true]),
            (Role::Operator, false, [true, true, false, false]),
            (Role::Viewer, true, [true, false, true, false]),
            (Role::Viewer, false, [true, false, false, false]),
        ] {
            let rights = Rights { role, may_answer };
            assert_eq!(all.map(|deed| rights.allow(deed)), allowed, "{rights:?}");
        }
    }

    #[test]
    fn a_key_is_not_in_debug_output() {
        assert!(!format!("{:?}", AccessKey::new(KEY)).contains(KEY));
    }

    #[test]
    fn generated_keys_differ() {
        let key = AccessKey::generate();
        assert!(!AccessKey::generate().opens_with(&key.key));
        assert!(key.key.len() >= 32);
    }
}
