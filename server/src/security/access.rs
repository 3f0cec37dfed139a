//! The access key, and the cookie that stands for it in a browser.

use std::fmt;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::text;
use crate::hex::hex;

const COOKIE: &str = "copilot-portal-access";

/// The key that callers must show. Never printed by `{:?}`.
#[derive(Clone)]
pub struct AccessKey {
    key: String,
    /// What browsers keep: derived from the key, so that a leaked cookie does not tell it.
    cookie: String,
}

impl AccessKey {
    /// A key that the operator chose.
    pub fn new(key: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"copilot-portal cookie\0");
        hash.update(key.as_bytes());
        let cookie = hex(&hash.finalize());
        Self { key: key.to_owned(), cookie }
    }

    /// A key of 244 random bits.
    pub fn generate() -> Self {
        let key = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
        Self::new(&key.map(|part| part.simple().to_string()).concat())
    }

    /// True if `key` is this key. Takes the same time wherever the two differ.
    pub fn opens_with(&self, key: &str) -> bool {
        equal(&self.key, key)
    }

    /// True if a request with these headers shows the key or the cookie.
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let bearer = text(headers, &header::AUTHORIZATION)
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, key)| key.trim());
        bearer.is_some_and(|key| self.opens_with(key))
            || cookies(headers).any(|cookie| equal(&self.cookie, cookie))
    }

    /// The `Set-Cookie` value that lets a browser in. `Strict` keeps other sites from using it,
    /// `HttpOnly` keeps scripts from reading it.
    pub fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000", self.cookie)
    }

    /// The path of the login URL. The one place where the key is shown, on the operator's own
    /// terminal.
    pub fn login_path(&self) -> String {
        format!("/login?key={}", self.key)
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessKey(…)")
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter_map(|(name, value)| (name == COOKIE).then_some(value))
}

/// Compares hashes in constant time, so that neither content nor length leaks.
fn equal(a: &str, b: &str) -> bool {
    Sha256::digest(a).ct_eq(&Sha256::digest(b)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "correct-horse-battery";

    fn admits(name: header::HeaderName, value: &str) -> bool {
        let headers = [(name, value.parse().expect("a header value"))].into_iter().collect();
        AccessKey::new(KEY).admits(&headers)
    }

    #[test]
    fn the_key_and_its_cookie_are_admitted() {
        assert!(admits(header::AUTHORIZATION, "Bearer correct-horse-battery"));
        assert!(admits(header::AUTHORIZATION, "bearer correct-horse-battery"));
        let cookie = AccessKey::new(KEY).set_cookie();
        let pair = cookie.split(';').next().expect("name and value");
        assert!(admits(header::COOKIE, pair));
        assert!(admits(header::COOKIE, &format!("other=1; {pair}")));
    }

    #[test]
    fn anything_else_is_not() {
        assert!(!AccessKey::new(KEY).admits(&HeaderMap::new()));
        assert!(!admits(header::AUTHORIZATION, "Bearer correct-horse-batter"));
        assert!(!admits(header::AUTHORIZATION, "Basic correct-horse-battery"));
        assert!(!admits(header::AUTHORIZATION, "correct-horse-battery"));
        assert!(!admits(header::COOKIE, &format!("{COOKIE}={KEY}")));
        assert!(!admits(header::COOKIE, &format!("{COOKIE}=")));
    }

    #[test]
    fn the_key_is_neither_in_the_cookie_nor_in_debug_output() {
        let key = AccessKey::new(KEY);
        assert!(!key.set_cookie().contains(KEY));
        assert!(!format!("{key:?}").contains(KEY));
    }

    #[test]
    fn generated_keys_differ() {
        let key = AccessKey::generate();
        assert!(!AccessKey::generate().opens_with(&key.key));
        assert!(key.key.len() >= 32);
    }
}
