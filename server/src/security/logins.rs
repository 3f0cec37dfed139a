//! Browsers that are logged in. A login is a random cookie that the server knows, and so can
//! revoke. Cookies are sent to every port of a host, so it also has a secret that only pages of
//! this very origin can store.
//!
//! Logins are kept in the log of the portal, as hashes: after a restart a browser is still logged
//! in, but only with the key that it had. Ending a login takes effect at once, whatever the store
//! does; and a store that fails keeps nobody from logging in, or nobody could stop anything.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderName, header};
use store::fold::{LoginFacts, PortalNote};
use store::portal::PortalLog;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::access::{AccessKey, Caller, Hash, LoginId, Rights, random};
use super::text;

/// The header in which pages present the secret of their login.
pub const SECRET_HEADER: HeaderName = HeaderName::from_static("portal-login");
const COOKIE: &str = "copilot-portal-login";
/// A login ends this long after a person last used it…
const IDLE: Duration = Duration::from_hours(12);
/// …and at the latest after this.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// How often it is noted that a login is used. A restart may end a login that much too early.
const NOTE_USE_EVERY: Duration = Duration::from_hours(1);
/// More than people have browsers. The least recently used login makes room for a new one.
const MOST: usize = 256;
/// How much of a browser's `User-Agent` is kept, in characters.
const LONGEST_AGENT: usize = 200;

/// All logins.
#[derive(Debug, Default)]
pub struct Logins {
    current: Mutex<Vec<Login>>,
    /// `None` if logins end with the process.
    log: Option<Arc<PortalLog>>,
    /// The keys by which logins from before a restart are recognised.
    keys: Vec<AccessKey>,
}

#[derive(Debug)]
struct Login {
    id: LoginId,
    cookie: Hash,
    secret: Hash,
    /// The secret itself, until it is returned; that happens only once.
    untold: Option<String>,
    key: String,
    standing: Standing,
    since: Moment,
    last_act: Moment,
    /// When it was last noted that a person used it.
    noted: Moment,
    from: Option<IpAddr>,
    agent: String,
    /// Cancelled when the login ends, for whatever reason.
    ended: CancellationToken,
}

/// Whether it is known that the key of a login still opens this server.
#[derive(Debug)]
enum Standing {
    /// It has these rights.
    Open(Rights),
    /// Not before the browser comes back with its cookie, which together with the key must have
    /// this hash.
    Restored(Hash),
}

/// A time that may be before the start of the process.
#[derive(Clone, Copy, Debug)]
struct Moment {
    known: Instant,
    before: Duration,
}

impl Moment {
    fn now() -> Self {
        Self { known: Instant::now(), before: Duration::ZERO }
    }

    /// From microseconds since the Unix epoch. The future counts as now.
    fn of_micros(micros: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { before: now.saturating_sub(Duration::from_micros(micros)), ..Self::now() }
    }

    fn elapsed(self) -> Duration {
        self.known.elapsed() + self.before
    }
}

impl Login {
    /// As it was stored; `None` if no such key is left.
    fn restore(facts: &LoginFacts, since: u64, last_act: u64, keys: &[AccessKey]) -> Option<Self> {
        keys.iter().find(|key| key.name() == facts.key)?;
        let last_act = Moment::of_micros(last_act);
        Some(Self {
            id: facts.id.parse().ok()?,
            cookie: Hash::stored(&facts.cookie_hash),
            secret: Hash::stored(&facts.secret_hash),
            untold: None,
            key: facts.key.clone(),
            standing: Standing::Restored(Hash::stored(&facts.key_proof)),
            since: Moment::of_micros(since),
            last_act,
            noted: last_act,
            from: facts.from,
            agent: facts.agent.clone(),
            ended: CancellationToken::new(),
        })
    }

    /// What the holder of its cookie may do; `None` if its key was changed.
    fn rights(&mut self, cookie: &str, keys: &[AccessKey]) -> Option<Rights> {
        if let Standing::Restored(proof) = &self.standing {
            let key = keys.iter().find(|key| key.proof(cookie) == *proof)?;
            self.standing = Standing::Open(key.rights());
        }
        match self.standing {
            Standing::Open(rights) => Some(rights),
            Standing::Restored(_) => None,
        }
    }

    fn is_over(&self) -> bool {
        self.last_act.elapsed() >= IDLE || self.since.elapsed() >= LONGEST
    }
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
    /// The logins of a server that was restarted, with its keys of now.
    pub(super) fn restore(log: Arc<PortalLog>, keys: &[AccessKey]) -> Self {
        let mut current = Vec::new();
        let mut ended = Vec::new();
        log.read(|fold| {
            for (facts, since, last_act) in fold.logins() {
                match Login::restore(facts, since, last_act, keys) {
                    Some(login) => current.push(login),
                    None => ended.push(facts.id.clone()),
                }
            }
        });
        if !ended.is_empty() {
            log.note(PortalNote::LoginsEnded { ids: ended });
        }
        Self { current: Mutex::new(current), log: Some(log), keys: keys.to_vec() }
    }

    /// Begins a login and returns the `Set-Cookie` value. `Strict` keeps other sites from using the
    /// cookie, `HttpOnly` keeps scripts from reading it.
    pub fn begin(&self, key: &AccessKey, from: Option<IpAddr>, headers: &HeaderMap) -> String {
        let agent = text(headers, &header::USER_AGENT).unwrap_or_default();
        let (cookie, secret) = (random(), random());
        let age = LONGEST.as_secs();
        let value = format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}");
        let now = Moment::now();
        let login = Login {
            id: LoginId::new_v4(),
            cookie: Hash::of(&[&cookie]),
            secret: Hash::of(&[&secret]),
            untold: Some(secret),
            key: key.name().to_owned(),
            standing: Standing::Open(key.rights()),
            since: now,
            last_act: now,
            noted: now,
            from,
            agent: agent.chars().take(LONGEST_AGENT).collect(),
            ended: CancellationToken::new(),
        };
        let facts = LoginFacts {
            id: login.id.to_string(),
            cookie_hash: login.cookie.clone().into_text(),
            key_proof: key.proof(&cookie).into_text(),
            secret_hash: login.secret.clone().into_text(),
            key: login.key.clone(),
            from,
            agent: login.agent.clone(),
        };
        let mut logins = self.current();
        if logins.len() >= MOST
            && let Some(oldest) =
                logins.iter().max_by_key(|login| login.last_act.elapsed()).map(|login| login.id)
        {
            self.remove(&mut logins, |login| login.id == oldest);
        }
        logins.push(login);
        self.note(PortalNote::LoggedIn(facts));
        value
    }

    /// The `Set-Cookie` value that deletes a browser's cookie.
    pub fn forget_cookie() -> String {
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The caller with the cookie of a current login.
    pub fn find(&self, headers: &HeaderMap) -> Option<Caller> {
        let mut logins = self.current();
        for cookie in cookies(headers) {
            let hash = Hash::of(&[cookie]);
            let Some(login) = logins.iter_mut().find(|login| login.cookie == hash) else {
                continue;
            };
            let id = login.id;
            match login.rights(cookie, &self.keys) {
                Some(rights) => return Some(Caller::Login(id, rights)),
                // Its key is not a key any more.
                None => self.remove(&mut logins, |login| login.id == id),
            }
        }
        None
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
        let mut logins = self.current();
        let Some(login) = logins.iter_mut().find(|login| login.id == id) else { return };
        login.last_act = Moment::now();
        if login.noted.elapsed() >= NOTE_USE_EVERY {
            login.noted = login.last_act;
            self.note(PortalNote::LoginUsed { id: id.to_string() });
        }
    }

    /// Name of the key that a login was opened with.
    pub(super) fn key(&self, id: LoginId) -> Option<String> {
        self.current().iter().find(|login| login.id == id).map(|login| login.key.clone())
    }

    /// The secret of a login; `None` after the first call.
    pub fn tell_secret(&self, id: LoginId) -> Option<String> {
        self.current().iter_mut().find(|login| login.id == id)?.untold.take()
    }

    /// True if the headers contain the secret of this login.
    pub fn knows_secret(&self, id: LoginId, headers: &HeaderMap) -> bool {
        let shown = Hash::of(&[text(headers, &SECRET_HEADER).unwrap_or_default()]);
        self.current().iter().any(|login| login.id == id && login.secret == shown)
    }

    /// Ends a login. Does nothing if it has already ended.
    pub fn end(&self, id: LoginId) {
        self.remove(&mut self.current(), |login| login.id == id);
    }

    /// Ends all logins, including the caller's.
    pub fn end_all(&self) {
        self.remove(&mut self.current(), |_| true);
    }

    /// Waits until what was done so far is stored, if that is possible.
    pub async fn durable(&self) {
        let Some(log) = &self.log else { return };
        let stored = match log.check_store() {
            Ok(()) => log.durable().await,
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "logins that began or ended are not stored yet");
        }
    }

    /// All logins, the most recently used first.
    pub fn list(&self) -> Vec<LoginInfo> {
        let info = |login: &Login| LoginInfo {
            id: login.id,
            key: login.key.clone(),
            age: login.since.elapsed(),
            idle: login.last_act.elapsed(),
            from: login.from,
            agent: login.agent.clone(),
        };
        let mut list: Vec<_> = self.current().iter().map(info).collect();
        list.sort_by_key(|login| login.idle);
        list
    }

    /// The current logins, after removing the expired ones.
    fn current(&self) -> MutexGuard<'_, Vec<Login>> {
        let mut logins = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove(&mut logins, Login::is_over);
        logins
    }

    fn remove(&self, logins: &mut Vec<Login>, which: impl Fn(&Login) -> bool) {
        let removed: Vec<_> =
            logins.extract_if(.., |login| which(login)).map(|login| login.id.to_string()).collect();
        if !removed.is_empty() {
            self.note(PortalNote::LoginsEnded { ids: removed });
        }
    }

    fn note(&self, note: PortalNote) {
        if let Some(log) = &self.log {
            log.note(note);
        }
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
    use platform::lifecycle::Lifecycle;
    use store::journal::{Append, Entity, Journal, MemoryJournal};
    use store::live::{LiveSettings, LiveShared};

    use super::super::access::Role;
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

    async fn open(journal: &Arc<dyn Journal>) -> Arc<PortalLog> {
        let live = LiveShared::with_journal(LiveSettings::default(), journal.clone());
        PortalLog::open(live, &Lifecycle::new()).await.expect("a log")
    }

    async fn restart(journal: &Arc<dyn Journal>, key: &str) -> Logins {
        Logins::restore(open(journal).await, &[AccessKey::new(key)])
    }

    const KEY: &str = "correct-horse-battery";

    #[tokio::test]
    async fn a_login_outlives_a_restart_until_it_is_ended() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let logins = restart(&journal, KEY).await;
        let [mut one, two] = [begin(&logins), begin(&logins)];
        let (first, second) = (id(&logins, &one), id(&logins, &two));
        let secret = logins.tell_secret(first).expect("the first time");
        let notes = journal.notes(Entity::Portal).await.expect("notes");
        let cookie = one[header::COOKIE].to_str().expect("text").rsplit('=').next().expect("it");
        assert!(
            !notes.iter().any(|note| note.json.contains(cookie) || note.json.contains(&secret))
        );
        logins.end(second);

        let logins = restart(&journal, KEY).await;
        assert_eq!(logins.list().len(), 1);
        assert_eq!(logins.find(&one), Some(Caller::Login(first, Rights::OPERATOR)));
        assert!(logins.find(&two).is_none(), "it was ended");
        assert_eq!(logins.tell_secret(first), None, "it was told");
        one.insert(SECRET_HEADER, secret.parse().expect("a header value"));
        assert!(logins.knows_secret(first, &one));
        logins.end_all();
        assert!(restart(&journal, KEY).await.find(&one).is_none());
    }

    #[tokio::test]
    async fn a_login_ends_with_its_key() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let [one, two] = {
            let logins = restart(&journal, KEY).await;
            [begin(&logins), begin(&logins)]
        };
        let logins = restart(&journal, "another-horse-battery").await;
        assert!(logins.find(&one).is_none(), "the key was changed");
        assert!(restart(&journal, KEY).await.find(&one).is_none(), "for good");
        assert!(restart(&journal, KEY).await.find(&two).is_some(), "it was not shown meanwhile");
        Logins::restore(open(&journal).await, &[]);
        assert!(restart(&journal, KEY).await.find(&two).is_none(), "there was no such key");
    }

    #[tokio::test]
    async fn rights_are_those_of_the_key_of_now() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let headers = begin(&restart(&journal, KEY).await);
        let viewer = Rights { role: Role::Viewer, may_answer: false };
        let key = AccessKey::named("operator", viewer, KEY);
        let logins = Logins::restore(open(&journal).await, &[key]);
        assert!(
            matches!(logins.find(&headers), Some(Caller::Login(_, rights)) if rights == viewer)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn use_is_noted_now_and_then_and_ends_are_noted() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let logins = restart(&journal, KEY).await;
        let headers = begin(&logins);
        let login = id(&logins, &headers);
        let count = async || journal.notes(Entity::Portal).await.expect("notes").len();
        for _ in 0..300 {
            logins.touch(login);
            tokio::time::advance(Duration::from_secs(30)).await;
        }
        assert_eq!(count().await, 1 + 2, "two and a half hours");
        tokio::time::advance(IDLE).await;
        assert_eq!(logins.find(&headers), None);
        assert_eq!(count().await, 4);
        assert_eq!(open(&journal).await.read(|fold| fold.logins().count()), 0);
    }

    #[tokio::test]
    async fn time_goes_on_while_the_server_is_stopped() {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let headers = begin(&restart(&journal, KEY).await);
        let mut notes = journal.notes(Entity::Portal).await.expect("notes");
        let day = u64::try_from(Duration::from_hours(24).as_micros()).expect("not too long");
        notes[0].at -= day;
        let stored = notes.len() as u64;
        let append =
            Append { notes, replaces_notes: true, ..Append::new(Entity::Portal, 0, stored) };
        journal.submit(append.into()).durable().await.expect("kept");
        assert_eq!(restart(&journal, KEY).await.find(&headers), None, "idle for a day");
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
