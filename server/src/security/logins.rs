//! Browsers that have logged in. A login is a random cookie that the server knows, and so can forget;
//! beside it goes a secret that only pages of this very origin can keep: cookies reach every port of
//! a host.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::access::{AccessKey, Caller, Rights, equal, random};
use super::text;

/// The header in which pages show the secret of their login.
pub const SECRET_HEADER: HeaderName = HeaderName::from_static("portal-login");
const COOKIE: &str = "copilot-portal-login";
/// A login ends so long after a person has last done something with it…
const IDLE: Duration = Duration::from_hours(12);
/// …and at the latest after this.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// More than people have browsers. The one that was used least lately makes room.
const MOST: usize = 256;
/// How much of the name that a browser gives itself is kept.
const LONGEST_AGENT: usize = 200;

/// Names a login in lists.
pub type LoginId = uuid::Uuid;

/// Everybody who has logged in, in memory only.
#[derive(Debug, Default)]
pub struct Logins(Mutex<Vec<Login>>);

#[derive(Debug)]
struct Login {
    id: LoginId,
    cookie: String,
    secret: String,
    /// The secret was told; it is told only once.
    told: bool,
    key: String,
    rights: Rights,
    since: Instant,
    last_act: Instant,
    from: Option<IpAddr>,
    agent: String,
    /// Cancelled when the login ends, however it does.
    ended: CancellationToken,
}

impl Drop for Login {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// A login, for people.
#[derive(Clone, Debug)]
pub struct LoginInfo {
    /// Id of the login, for lists.
    pub id: LoginId,
    /// The name of the key that opened it.
    pub key: String,
    /// How long ago it began.
    pub age: Duration,
    /// How long ago a person did something with it.
    pub idle: Duration,
    /// Where it came from.
    pub from: Option<IpAddr>,
    /// What the browser calls itself.
    pub agent: String,
}

impl Logins {
    /// Begins a login; the `Set-Cookie` value that lets the browser in. `Strict` keeps other sites
    /// from using it, `HttpOnly` keeps scripts from reading it.
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

    /// The `Set-Cookie` value that makes a browser forget its login.
    pub fn forget_cookie() -> String {
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// Who shows the cookie of a login that has not ended.
    pub fn find(&self, headers: &HeaderMap) -> Option<Caller> {
        let logins = self.current();
        let mut shown = cookies(headers);
        shown.find_map(|cookie| {
            let login = logins.iter().find(|login| equal(&login.cookie, cookie))?;
            Some(Caller::Login(login.id, login.rights))
        })
    }

    /// Cancelled when the login ends; at once if it has ended.
    pub fn ended(&self, id: LoginId) -> CancellationToken {
        let logins = self.current();
        let login = logins.iter().find(|login| login.id == id);
        let ended = login.map(|login| login.ended.clone()).unwrap_or_default();
        if login.is_none() {
            ended.cancel();
        }
        ended
    }

    /// A person did something with it.
    pub fn touch(&self, id: LoginId) {
        if let Some(login) = self.current().iter_mut().find(|login| login.id == id) {
            login.last_act = Instant::now();
        }
    }

    /// The secret of a login, the first time.
    pub fn tell_secret(&self, id: LoginId) -> Option<String> {
        let mut logins = self.current();
        let login = logins.iter_mut().find(|login| login.id == id && !login.told)?;
        login.told = true;
        Some(login.secret.clone())
    }

    /// True if the headers show the secret of this login.
    pub fn knows_secret(&self, id: LoginId, headers: &HeaderMap) -> bool {
        let shown = text(headers, &SECRET_HEADER).unwrap_or_default();
        self.current().iter().any(|login| login.id == id && equal(&login.secret, shown))
    }

    /// Ends a login.
    pub fn end(&self, id: LoginId) {
        self.current().retain(|login| login.id != id);
    }

    /// Ends all of them.
    pub fn end_all(&self) {
        self.current().clear();
    }

    /// All of them, the one that was used last first.
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

    /// Those that have not ended.
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
