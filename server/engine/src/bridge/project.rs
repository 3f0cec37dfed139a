//! Projects, and the chain of sessions that each of them is.
//!
//! A session of a project names the one before it in its first note, so the journal has the chain:
//! the newest session of the folder that belongs to the project, and the links from there.

use std::path::PathBuf;
use std::time::SystemTime;

use parking_lot::Mutex;
use platform::clock::iso_8601;
use store::fold::{ProjectState, SessionDetail};
use store::journal::{Entity, HistoryQuery, Journal, Record, StoreError};
use wire::{EntityKind, SessionId};

use super::settings::WorkspaceFolder;

/// Used if neither the message nor the project names a model.
pub(super) const PREFERRED_MODEL: &str = "gpt-5.2";
/// How many sessions are looked at together to find the newest one of a project.
const PAGE: usize = 200;
/// How many sessions of a chain are known at most.
const MAX_CHAIN: usize = 1_000;

/// A workspace folder and its sessions.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) path: PathBuf,
    listing: Mutex<Listing>,
    chain: Mutex<Option<Chain>>,
    /// Held while a session is chosen, started or ended.
    pub(super) changing: tokio::sync::Mutex<()>,
    known_since: String,
}

#[derive(Debug)]
struct Listing {
    /// Whether the settings name it. An unlisted project stays, because runs may be active in it.
    is_listed: bool,
    /// The model that answers, unless a message names one.
    model: Option<String>,
}

/// The sessions of a project since its history was last cleared, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) sessions: Vec<SessionId>,
    /// When the project was first known, in ISO 8601.
    pub(super) created: String,
}

impl Project {
    pub(super) fn new(folder: &WorkspaceFolder) -> Self {
        let listing = Listing { is_listed: true, model: folder.model.clone() };
        Self {
            id: folder.id(),
            name: folder.name(),
            path: folder.path.clone(),
            listing: Mutex::new(listing),
            chain: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            known_since: iso_8601(SystemTime::now()),
        }
    }

    /// Applies what the settings say about it; `None` if they do not name it.
    pub(super) fn relist(&self, folder: Option<&WorkspaceFolder>) {
        let model = folder.and_then(|folder| folder.model.clone());
        *self.listing.lock() = Listing { is_listed: folder.is_some(), model };
    }

    pub(super) fn is_listed(&self) -> bool {
        self.listing.lock().is_listed
    }

    pub(super) fn model(&self) -> Option<String> {
        self.listing.lock().model.clone()
    }

    /// The sessions of the project, read from the journal the first time.
    pub(super) async fn chain(&self, journal: &dyn Journal) -> Result<Chain, StoreError> {
        if let Some(chain) = &*self.chain.lock() {
            return Ok(chain.clone());
        }
        let loaded = self.load(journal).await?;
        // Sessions that were added in the meantime are newer than what was read.
        Ok(self.chain.lock().get_or_insert(loaded).clone())
    }

    /// Whether the project never had a session.
    pub(super) async fn is_without_sessions(
        &self,
        journal: &dyn Journal,
    ) -> Result<bool, StoreError> {
        // Looked up each time: the chain must not be known before a history is taken over.
        Ok(self.newest(journal).await?.is_none())
    }

    /// Adds a session to the chain, which was read before.
    pub(super) fn add(&self, session: SessionId) {
        if let Some(chain) = &mut *self.chain.lock() {
            chain.sessions.push(session);
        }
    }

    async fn load(&self, journal: &dyn Journal) -> Result<Chain, StoreError> {
        let mut chain = Chain { sessions: Vec::new(), created: self.known_since.clone() };
        let mut next = self.newest(journal).await?;
        while let Some((id, state)) = next {
            chain.sessions.push(id);
            chain.created = state.link.created;
            let previous = state.link.previous.filter(|_| !state.is_cleared);
            next = match previous {
                Some(id) if chain.sessions.len() < MAX_CHAIN => {
                    state_of(journal, id).await?.map(|state| (id, state))
                }
                _ => None,
            };
        }
        chain.sessions.reverse();
        Ok(chain)
    }

    async fn newest(
        &self,
        journal: &dyn Journal,
    ) -> Result<Option<(SessionId, ProjectState)>, StoreError> {
        let mut query = HistoryQuery {
            kind: Some(EntityKind::Session),
            folder: Some(self.path.to_string_lossy().into_owned()),
            limit: PAGE,
            ..HistoryQuery::default()
        };
        loop {
            let page = journal.history(query.clone()).await?;
            let found = page.items.iter().find_map(|found| {
                let Entity::Session(id) = found.entity else { return None };
                let state = read_state(&found.record)?;
                (state.link.id == self.id).then_some((id, state))
            });
            if found.is_some() || page.next.is_none() {
                return Ok(found);
            }
            query.before = page.next;
        }
    }
}

/// The model of messages that name none.
pub(super) fn default_model(project: &Project) -> String {
    project.model().unwrap_or_else(|| PREFERRED_MODEL.to_owned())
}

/// What a stored session is to its project.
pub(super) async fn state_of(
    journal: &dyn Journal,
    id: SessionId,
) -> Result<Option<ProjectState>, StoreError> {
    let record = journal.record(id.into()).await?;
    Ok(record.and_then(|(record, ..)| read_state(&record)))
}

fn read_state(record: &Record) -> Option<ProjectState> {
    SessionDetail::read(record)?.project
}
