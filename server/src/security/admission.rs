//! Who is let in: callers with one of the keys, and browsers that are logged in.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use store::portal::PortalLog;

use super::access::{AccessKey, Caller};
use super::brake::Brake;
use super::logins::Logins;
use super::text;

/// The name of callers who need no key.
pub const LOCAL: &str = "local";

/// Access control: the keys, the logins, and the brake for wrong keys.
#[derive(Debug, Default)]
pub struct Access {
    keys: Vec<AccessKey>,
    /// The browsers that are logged in.
    pub logins: Logins,
    /// Slows down clients that try keys.
    pub brake: Brake,
}

impl Access {
    /// Admits callers with one of these keys; everybody if there are none. Logins end with the
    /// process.
    pub fn new(keys: impl IntoIterator<Item = AccessKey>) -> Self {
        Self { keys: keys.into_iter().collect(), ..Self::default() }
    }

    /// The same with logins that are kept, and with those that were.
    pub fn with_log(keys: impl IntoIterator<Item = AccessKey>, log: Arc<PortalLog>) -> Self {
        let keys: Vec<_> = keys.into_iter().collect();
        Self { logins: Logins::restore(log, &keys), keys, ..Self::default() }
    }

    /// True if there is a key.
    pub fn is_locked(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The key that matches. Always compares with all keys.
    pub fn find_key(&self, key: &str) -> Option<&AccessKey> {
        self.find_number(key).map(|number| &self.keys[number])
    }

    fn find_number(&self, key: &str) -> Option<usize> {
        let keys = self.keys.iter().enumerate();
        keys.fold(
            None,
            |found, (number, own)| if own.opens_with(key) { Some(number) } else { found },
        )
    }

    /// Name of a caller, for the record: that of the key, or [`LOCAL`] if there are no keys.
    pub fn name(&self, caller: Caller) -> String {
        let key = match caller {
            Caller::Anyone => None,
            Caller::Bearer(number, _) => self.keys.get(number).map(|key| key.name().to_owned()),
            Caller::Login(id, _) => self.logins.key(id),
        };
        key.unwrap_or_else(|| LOCAL.to_owned())
    }

    /// The caller with these headers; `None` for a stranger.
    pub fn recognise(&self, headers: &HeaderMap, from: Option<IpAddr>) -> Option<Caller> {
        if !self.is_locked() {
            return Some(Caller::Anyone);
        }
        if headers.contains_key(header::AUTHORIZATION) {
            let number = bearer(headers).and_then(|key| self.find_number(key));
            if number.is_none() {
                self.brake.failed(from);
            }
            return number.map(|number| Caller::Bearer(number, self.keys[number].rights()));
        }
        self.logins.find(headers)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = text(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

#[cfg(test)]
mod tests {
    use super::super::access::{Rights, Role};
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
        let operator = Some(Caller::Bearer(0, Rights::OPERATOR));
        assert_eq!(caller("Bearer correct-horse-battery"), operator);
        assert_eq!(caller("bearer correct-horse-battery"), operator);
        let viewer = Rights { role: Role::Viewer, may_answer: false };
        assert_eq!(caller("Bearer wall-screen-battery"), Some(Caller::Bearer(1, viewer)));
    }

    #[test]
    fn a_caller_has_the_name_of_its_key() {
        let viewer = Rights { role: Role::Viewer, may_answer: true };
        let access =
            Access::new([AccessKey::new(KEY), AccessKey::named("phone", viewer, "phone-battery")]);
        assert_eq!(access.name(Caller::Anyone), "local");
        assert_eq!(access.name(Caller::Bearer(0, Rights::OPERATOR)), "operator");
        assert_eq!(access.name(Caller::Bearer(1, viewer)), "phone");
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
}
