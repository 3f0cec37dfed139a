//! Access keys, and what their holders may do.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Deed;
use crate::hex::hex;

/// What a key grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything: reading, acting, answering and governing.
    Operator,
    /// Reading; acting needs another key.
    Viewer,
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The role of the key.
    pub role: Role,
    /// Whether its holder may answer permission requests of agents. Programs with a viewer's key
    /// may be allowed to; those with an operator's key may be denied it.
    pub may_answer: bool,
}

impl Rights {
    /// The rights of the person who runs the server.
    pub const OPERATOR: Self = Self { role: Role::Operator, may_answer: true };

    /// True if the deed is allowed.
    pub fn allow(self, deed: Deed) -> bool {
        let acts = self.role == Role::Operator;
        match deed {
            Deed::Read => true,
            Deed::Act => acts,
            Deed::Answer => self.may_answer,
            // Callers who may not answer must not make agents ask less either.
            Deed::Govern => acts && self.may_answer,
        }
    }
}

/// An access key. Never printed by `{:?}`.
#[derive(Clone)]
pub struct AccessKey {
    name: String,
    rights: Rights,
    key: String,
}

impl AccessKey {
    /// The operator's key, which grants everything.
    pub fn new(key: &str) -> Self {
        Self { name: "operator".into(), rights: Rights::OPERATOR, key: key.to_owned() }
    }

    /// A key with a name, which appears in lists and logs.
    pub fn named(name: &str, rights: Rights, key: &str) -> Self {
        Self { name: name.to_owned(), rights, key: key.to_owned() }
    }

    /// Generates a key of 244 random bits.
    pub fn generate() -> Self {
        Self::new(&random())
    }

    /// Its name in lists and logs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its holder may do.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// True if `key` is this key. Takes the same time wherever they differ.
    pub fn opens_with(&self, key: &str) -> bool {
        equal(&self.key, key)
    }

    /// Shows to who knows the cookie that a login was opened with this key, and nothing to others.
    pub(super) fn proof(&self, cookie: &str) -> Hash {
        Hash::of(&[cookie, &self.key])
    }

    /// The path of the login URL. The only place where the key is shown: on the operator's own
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

/// Identifies a login in lists.
pub type LoginId = uuid::Uuid;

/// The caller, as far as the key tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// No key is required.
    Anyone,
    /// Has presented a key in `Authorization`, which no browser adds on its own. The number is that
    /// of the key.
    Bearer(usize, Rights),
    /// A browser that is logged in. Its cookie is sent to every port of the host.
    Login(LoginId, Rights),
}

impl Caller {
    /// What the caller may do.
    pub fn rights(&self) -> Rights {
        match self {
            Self::Anyone => Rights::OPERATOR,
            Self::Bearer(_, rights) | Self::Login(_, rights) => *rights,
        }
    }
}

/// A random text of 244 bits.
pub(super) fn random() -> String {
    [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(|part| part.simple().to_string()).concat()
}

/// A SHA-256 hash in hexadecimal digits. Two are compared in constant time.
#[derive(Clone, Debug)]
pub(super) struct Hash(String);

impl Hash {
    /// The hash of some texts, none of which contains a line feed.
    pub(super) fn of(texts: &[&str]) -> Self {
        Self(hex(&Sha256::digest(texts.join("\n"))))
    }

    /// A hash that was stored.
    pub(super) fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// As it is stored.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl PartialEq for Hash {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

/// Compares hashes in constant time, so that neither content nor length leaks.
fn equal(a: &str, b: &str) -> bool {
    Sha256::digest(a).ct_eq(&Sha256::digest(b)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "correct-horse-battery";

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
