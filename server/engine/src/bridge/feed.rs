//! Clients that read events: each follows the logs of its projects' sessions, one after the other.
//!
//! ```text
//!   LiveLog of the session ─► Follower ─► Reading ─► events, each with the place after it
//!      └ closed: the next session of the chain
//! ```
//!
//! A client is a position in each log, whatever it has read: a slow one costs no more than that. The
//! id of an event names the place after it in all of the client's projects, so a client that comes
//! again misses nothing and gets nothing twice, as long as the sessions are kept.

use std::sync::Arc;

use futures_util::future::{FutureExt, select_all};
use store::journal::{Position, StoreError};
use tokio::sync::{OwnedSemaphorePermit, watch};
use wire::SessionId;
use wire::bridge::Event;

use super::inner::Inner;
use super::place::{event_id, part_of, short};
use super::project::{Project, default_model};
use super::reading::Reading;
use super::source::Source;

/// The size of one batch for a reader.
const BATCH_EVENTS: usize = 256;
const BATCH_BYTES: usize = 64 * 1024;

/// An event as it is sent to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// The value of the `id:` line: the place after the event.
    pub id: String,
    /// The value of the `event:` line.
    pub name: &'static str,
    /// The value of the `data:` line.
    pub data: String,
}

/// Where a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// With the next event.
    Now,
    /// After the event with this id, the last one it has read.
    After(&'a str),
}

/// New events for a reader.
#[derive(Debug)]
pub struct Batch {
    /// Set if the reader may have missed events: the place with which it goes on.
    pub missed: Option<String>,
    /// In order. May be empty.
    pub events: Vec<EventRecord>,
}

/// A reader of the events of one project, or of all.
pub struct Subscription {
    bridge: Arc<Inner>,
    /// The only project to read, if it is one.
    only: Option<String>,
    followed: Vec<Followed>,
    is_missing: bool,
    news: watch::Receiver<()>,
    _place: OwnedSemaphorePermit,
}

/// How far a reader has come in one project.
struct Followed {
    project: Arc<Project>,
    session: Option<SessionId>,
    source: Source,
    reading: Reading,
    /// What the reader had read of the session when it came.
    since: Position,
}

impl Followed {
    /// A project before its first session.
    fn new(project: Arc<Project>) -> Self {
        Self {
            session: None,
            source: Source::default(),
            reading: Reading::new(&project.id, ""),
            since: Position::default(),
            project,
        }
    }

    /// Goes on with a session, at a place in it.
    async fn open(
        &mut self,
        bridge: &Inner,
        session: SessionId,
        since: Position,
    ) -> Result<(), StoreError> {
        let source = Source::open(&bridge.sessions, session).await?;
        // All at once, because the call may be dropped while it waits.
        self.reading = Reading::new(&self.project.id, &default_model(&self.project));
        self.since = since;
        self.session = Some(session);
        self.source = source;
        Ok(())
    }

    /// Opens the next session of the project, if this one has been read to its end.
    async fn sync(&mut self, bridge: &Inner) -> Result<(), StoreError> {
        let chain = self.project.chain(bridge.journal()).await?.sessions;
        loop {
            if self.is_outdated(bridge)
                && let Some(session) = self.session
            {
                let place = self.reading.place();
                self.open(bridge, session, place).await?;
                return Ok(());
            }
            if !self.source.is_at_end() {
                return Ok(());
            }
            let next = match self.session {
                None => chain.first(),
                Some(session) => {
                    let now = chain.iter().position(|known| *known == session);
                    now.and_then(|now| chain.get(now + 1))
                }
            };
            let Some(next) = next else { return Ok(()) };
            self.open(bridge, *next, Position::default()).await?;
        }
    }

    /// Whether the session has got another log since: its old one was freed while it was idle.
    fn is_outdated(&self, bridge: &Inner) -> bool {
        let Source::Live { follower, rest: None } = &self.source else { return false };
        let known = self.session.and_then(|session| bridge.sessions.live().get(session));
        known.is_some_and(|log| !Arc::ptr_eq(&log, follower.log()))
    }

    /// The next event, if there is one at the moment.
    fn next(&mut self) -> Option<Event> {
        loop {
            let (at, response) = self.source.next()?;
            if let Some(event) = self.reading.take(at, &response, &self.since) {
                return Some(event);
            }
        }
    }

    /// The place of the reader in this project, as part of an id: where it began, until it has read
    /// up to there.
    fn place(&self) -> String {
        let read = self.reading.place();
        let place = if read.is_before(&self.since) { &self.since } else { &read };
        event_id(&self.project.id, self.session, place)
    }
}

impl Subscription {
    pub(super) async fn new(
        bridge: Arc<Inner>,
        only: Option<String>,
        start: Start<'_>,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, StoreError> {
        let news = bridge.news.subscribe();
        let mut this =
            Self { bridge, only, followed: Vec::new(), is_missing: false, news, _place: place };
        for project in this.projects() {
            let mut followed = Followed::new(project);
            let is_found = match start {
                Start::Now => {
                    this.read_all(&mut followed).await?;
                    true
                }
                Start::After(id) => this.find(&mut followed, id).await?,
            };
            this.is_missing |= !is_found;
            this.followed.push(followed);
        }
        Ok(this)
    }

    /// The projects that the reader wants.
    fn projects(&self) -> Vec<Arc<Project>> {
        let is_wanted =
            |project: &Arc<Project>| self.only.as_ref().is_none_or(|only| *only == project.id);
        self.bridge.projects.read().iter().filter(|project| is_wanted(project)).cloned().collect()
    }

    /// Skips everything that has happened.
    async fn read_all(&self, followed: &mut Followed) -> Result<(), StoreError> {
        let chain = followed.project.chain(self.bridge.journal()).await?;
        if let Some(session) = chain.sessions.last() {
            followed.open(&self.bridge, *session, Position::default()).await?;
            while followed.next().is_some() {}
        }
        Ok(())
    }

    /// Goes to the place that an id names. False if there is none: then everything is new.
    async fn find(&self, followed: &mut Followed, id: &str) -> Result<bool, StoreError> {
        let Some((session, place)) = part_of(id, &followed.project.id) else { return Ok(false) };
        if session.is_empty() {
            return Ok(true);
        }
        let chain = followed.project.chain(self.bridge.journal()).await?;
        let Some(session) = chain.sessions.iter().find(|known| short(**known) == session) else {
            return Ok(false);
        };
        followed.open(&self.bridge, *session, place).await?;
        Ok(true)
    }

    /// Waits for new events; `None` once the bridge has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Batch> {
        loop {
            let is_ending = self.bridge.ended.is_cancelled();
            self.news.borrow_and_update();
            if let Err(error) = self.sync().await {
                tracing::warn!(%error, "events can't be read");
            }
            let batch = self.take();
            if batch.missed.is_some() || !batch.events.is_empty() {
                return Some(batch);
            }
            if is_ending {
                return None;
            }
            self.wait().await;
        }
    }

    async fn sync(&mut self) -> Result<(), StoreError> {
        for project in self.projects() {
            if !self.followed.iter().any(|followed| followed.project.id == project.id) {
                self.followed.push(Followed::new(project));
            }
        }
        for followed in &mut self.followed {
            followed.sync(&self.bridge).await?;
        }
        Ok(())
    }

    /// The place after everything that was read.
    pub fn read_up_to(&self) -> String {
        self.followed.iter().map(Followed::place).collect::<Vec<_>>().join(",")
    }

    fn take(&mut self) -> Batch {
        let missed = std::mem::take(&mut self.is_missing).then(|| self.read_up_to());
        let (mut events, mut bytes) = (Vec::new(), 0);
        for index in 0..self.followed.len() {
            while events.len() < BATCH_EVENTS
                && bytes < BATCH_BYTES
                && let Some(event) = self.followed[index].next()
            {
                let data = event.data();
                bytes += data.len();
                events.push(EventRecord { id: self.read_up_to(), name: event.name(), data });
            }
        }
        Batch { missed, events }
    }

    /// Waits until there may be something to read.
    async fn wait(&mut self) {
        let live = self.followed.iter().filter_map(|followed| match &followed.source {
            Source::Live { follower, .. } if !follower.is_at_end() => {
                Some(follower.ready().boxed())
            }
            _ => None,
        });
        let ended = self.bridge.ended.cancelled().boxed();
        let any = select_all(live.chain([ended]));
        tokio::select! {
            _ = any => {}
            // The bridge has the sender.
            _ = self.news.changed() => {}
        }
    }
}
