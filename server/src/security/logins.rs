//! Browsers that are logged in. A login is a random cookie that the server knows, and so can
//! revoke. Cookies are sent to every port of a host, so it also has a secret that only pages of
//! this very origin can store.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::access::{AccessKey, Caller, LoginId, Rights, equal, random};
use super::text;

/// The header in which pages present the secret of their login.
pub const SECRET_HEADER: HeaderName = HeaderName::from_static("portal-login");
const COOKIE: &str = "copilot-portal-login";
/// A login ends this long after a person last used it…
const IDLE: Duration = Duration::from_hours(12);
/// …and at the latest after this.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// More than people have browsers. The least recently used login makes room for a new one.
const MOST: usize = 256;
/// How much of a browser's `User-Agent` is kept, in characters.
const LONGEST_AGENT: usize = 200;

/// All logins. Kept in memory only.
#[derive(Debug, Default)]
pub struct Logins(Mutex<Vec<Login>>);

#[derive(Debug)]
struct Login {
    id: LoginId,
    cookie: String,
    secret: String,
    /// Whether the secret was returned; that happens only once.
    told: bool,
    key: String,
    rights: Rights,
    since: Instant,
    last_act: Instant,
    from: Option<IpAddr>,
    agent: String,
    /// Cancelled when the login ends, for whatever reason.
    ended: CancellationToken,
}

impl Drop for Login {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// Describes a login to people.
#[derive(Clone, Debug)]
pub struct LoginInfo {
    /// Identifies the login in lists.
    pub id: LoginId,
    /// The name of the key it was opened with.
    pub key: String,
    /// Time since it began.
    pub age: Duration,
    /// Time since a person last used it.
    pub idle: Duration,
    /// The address it was opened from.
    pub from: Option<IpAddr>,
    /// The browser's `User-Agent`, truncated.
    pub agent: String,
}

impl Logins {
    /// Begins a login and returns the `Set-Cookie` value. `Strict` keeps other sites from using the
    /// cookie, `HttpOnly` keeps scripts from reading it.
    pub fn begin(&self, key: &AccessKey, from: Option<IpAddr>, headers: &HeaderMap) -> String {
        let agent = text(headers, &header::USER_AGENT).unwrap_or_default();
        let now = Instant::now();
        let login = Login {
            id: LoginId::new_v4(),
            cookie: random(),
            secret: random(),
            told: false,
            key: key.name().to_owned(),
            rights: key.rights(),
            since: now,
            last_act: now,
            from,
            agent: agent.chars().take(LONGEST_AGENT).collect(),
            ended: CancellationToken::new(),
        };
        let cookie = &login.cookie;
        let age = LONGEST.as_secs();
        let value = format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}");
        let mut logins = self.current();
        if logins.len() >= MOST
            && let Some(oldest) = (0..logins.len()).min_by_key(|index| logins[*index].last_act)
        {
            logins.swap_remove(oldest);
        }
        logins.push(login);
        value
    }

    /// The `Set-Cookie` value that deletes a browser's cookie.
    pub fn forget_cookie() -> String {
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The caller with the cookie of a current login.
    pub fn find(&self, headers: &HeaderMap) -> Option<Caller> {
        let logins = self.current();
        let mut shown = cookies(headers);
        shown.find_map(|cookie| {
            let login = logins.iter().find(|login| equal(&login.cookie, cookie))?;
            Some(Caller::Login(login.id, login.rights))
        })
    }

    /// A token that is cancelled when the login ends; already cancelled if it has ended.
    pub fn ended(&self, id: LoginId) -> CancellationToken {
        let logins = self.current();
        let login = logins.iter().find(|login| login.id == id);
        let ended = login.map(|login| login.ended.clone()).unwrap_or_default();
        if login.is_none() {
            ended.cancel();
        }
        ended
    }

    /// Records that a person used the login.
    pub fn touch(&self, id: LoginId) {
        if let Some(login) = self.current().iter_mut().find(|login| login.id == id) {
            login.last_act = Instant::now();
        }
    }

    /// The secret of a login; `None` after the first call.
    pub fn tell_secret(&self, id: LoginId) -> Option<String> {
        let mut logins = self.current();
        let login = logins.iter_mut().find(|login| login.id == id && !login.told)?;
        login.told = true;
        Some(login.secret.clone())
    }

    /// True if the headers contain the secret of this login.
    pub fn knows_secret(&self, id: LoginId, headers: &HeaderMap) -> bool {
        let shown = text(headers, &SECRET_HEADER).unwrap_or_default();
        self.current().iter().any(|login| login.id == id && equal(&login.secret, shown))
    }

    /// Ends a login. Does nothing if it has already ended.
    pub fn end(&self, id: LoginId) {
        self.current().retain(|login| login.id != id);
    }

    /// Ends all logins, including the caller's.
    pub fn end_all(&self) {
        self.current().clear();
    }

    /// All logins, the most recently used first.
    pub fn list(&self) -> Vec<LoginInfo> {
        let now = Instant::now();
        let info = |login: &Login| LoginInfo {
            id: login.id,
            key: login.key.clone(),
            age: now.duration_since(login.since),
            idle: now.duration_since(login.last_act),
            from: login.from,
            agent: login.agent.clone(),
        };
        let mut list: Vec<_> = self.current().iter().map(info).collect();
        list.sort_by_key(|login| login.idle);
        list
    }

    /// The current logins, after removing the expired ones.
    fn current(&self) -> MutexGuard<'_, Vec<Login>> {
        let now = Instant::now();
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logins.retain(|login| {
            now.duration_since(login.last_act) < IDLE && now.duration_since(login.since) < LONGEST
        });
        logins
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

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(logins: &Logins) -> HeaderMap {
        let key = AccessKey::new("correct-horse-battery");
        let cookie = logins.begin(&key, None, &HeaderMap::new());
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        let pair = cookie.split(';').next().expect("name and value");
        let value = format!("other=1; {pair}").parse().expect("a header value");
        [(header::COOKIE, value)].into_iter().collect()
    }

    fn id(logins: &Logins, headers: &HeaderMap) -> LoginId {
        match logins.find(headers) {
            Some(Caller::Login(id, _)) => id,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_ends_after_twelve_hours_without_an_act() {
        let logins = Logins::default();
        let headers = begin(&logins);
        tokio::time::advance(Duration::from_hours(11)).await;
        logins.touch(id(&logins, &headers));
        tokio::time::advance(Duration::from_hours(11)).await;
        assert!(logins.find(&headers).is_some());
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(logins.find(&headers), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_ends_after_thirty_days_however_busy() {
        let logins = Logins::default();
        let headers = begin(&logins);
        for _ in 0..(30 * 24 / 6) {
            assert!(logins.find(&headers).is_some());
            logins.touch(id(&logins, &headers));
            tokio::time::advance(Duration::from_hours(6)).await;
        }
        assert_eq!(logins.find(&headers), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_secret_is_told_once() {
        let logins = Logins::default();
        let mut headers = begin(&logins);
        let id = id(&logins, &headers);
        assert!(!logins.knows_secret(id, &headers));
        let secret = logins.tell_secret(id).expect("the first time");
        assert_eq!(logins.tell_secret(id), None);
        headers.insert(SECRET_HEADER, secret.parse().expect("a header value"));
        assert!(logins.knows_secret(id, &headers));
        let other = begin(&logins);
        let other = self::id(&logins, &other);
        assert!(!logins.knows_secret(other, &headers), "of another login");
    }

    #[tokio::test(start_paused = true)]
    async fn logins_can_be_ended_and_are_bounded() {
        let logins = Logins::default();
        let [one, two] = [begin(&logins), begin(&logins)];
        logins.end(id(&logins, &one));
        assert!(logins.find(&one).is_none() && logins.find(&two).is_some());
        logins.end_all();
        assert!(logins.find(&two).is_none());
        for _ in 0..=MOST {
            begin(&logins);
        }
        assert_eq!(logins.list().len(), MOST);
    }
}
