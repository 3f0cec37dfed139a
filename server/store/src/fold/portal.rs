//! The fold of the portal itself: which extensions are trusted, who is logged in, and which entries
//! were installed.
//!
//! Its notes never end, so the log is rewritten now and then: [`PortalFold::notes`] are the fewest
//! notes that come to the same fold. A new kind of note needs an arm in [`PortalFold::note`] and its
//! part in `notes`, and must be bounded by itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use wire::{EntityState, Usage};

use crate::journal::Record;

/// How many installs are remembered.
const MAX_INSTALLS: usize = 50;
/// How many bytes of installed entries are kept. The latest one is kept whatever its size.
const MAX_ENTRY_BYTES: usize = 1024 * 1024;

/// The notes of the portal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PortalNote {
    /// Earlier decisions about extensions were taken over from the file that had them. Once.
    TrustAdopted {
        /// The decisions by folder.
        folders: BTreeMap<String, FolderTrust>,
    },
    /// It was decided which extensions of a folder may run.
    Trust {
        /// The folder as an absolute path.
        folder: String,
        /// Replaces what was decided before.
        trust: FolderTrust,
    },
    /// A browser has logged in.
    LoggedIn(LoginFacts),
    /// A person used a login. Not noted for each request.
    LoginUsed {
        /// Id of the login.
        id: String,
    },
    /// Logins ended: by their time, by a person, or to make room.
    LoginsEnded {
        /// Ids of the logins.
        ids: Vec<String>,
    },
    /// An entry was installed.
    EntryInstalled {
        /// Who asked for it.
        by: Installer,
        /// Hash of its JSON.
        hash: String,
        /// Its JSON. Left out in the store if it is there already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry: Option<String>,
    },
}

/// Which extensions of a folder may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FolderTrust {
    /// None, whatever the settings say.
    Forbidden,
    /// They were allowed before contents were recorded, which no longer counts.
    Outdated,
    /// Those with these names and hashes of their contents.
    Allowed(BTreeMap<String, String>),
}

/// A login, without what would let anybody use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginFacts {
    /// Identifies it in lists.
    pub id: String,
    /// Hash of its cookie.
    pub cookie_hash: String,
    /// Hash of its cookie and the key together: shows that the key is still the same, and says
    /// nothing about the key without the cookie.
    pub key_proof: String,
    /// Hash of the secret that pages act with.
    pub secret_hash: String,
    /// Name of the key that it was opened with.
    pub key: String,
    /// The address that it was opened from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
    /// The browser's `User-Agent`, truncated.
    pub agent: String,
}

/// Who asked for an entry to be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Installer {
    /// The sample, because there was nothing else to install.
    Sample,
    /// The command line, with `--entry`.
    CommandLine,
    /// A call to the API, in test mode.
    TestApi,
}

/// An install of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledEntry {
    /// Microseconds since the Unix epoch.
    pub at: u64,
    /// Who asked for it.
    pub by: Installer,
    /// Hash of its JSON.
    pub hash: String,
}

/// A login and when it was used, in microseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq)]
struct Login {
    facts: LoginFacts,
    since: u64,
    last_used: u64,
}

/// What was decided about the portal, from its notes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortalFold {
    adopted_at: Option<u64>,
    trust: BTreeMap<String, (u64, FolderTrust)>,
    logins: BTreeMap<String, Login>,
    installs: VecDeque<InstalledEntry>,
    entries: BTreeMap<String, String>,
}

impl PortalFold {
    /// Whether the decisions of the file were taken over already.
    pub fn has_adopted_trust(&self) -> bool {
        self.adopted_at.is_some()
    }

    /// What was decided about extensions, by folder.
    pub fn trust(&self) -> impl Iterator<Item = (&str, &FolderTrust)> {
        self.trust.iter().map(|(folder, (_, trust))| (&**folder, trust))
    }

    /// The logins that have not ended, each with its beginning and its last noted use, in
    /// microseconds since the Unix epoch.
    pub fn logins(&self) -> impl Iterator<Item = (&LoginFacts, u64, u64)> {
        self.logins.values().map(|login| (&login.facts, login.since, login.last_used))
    }

    /// The latest installs, the oldest first.
    pub fn installs(&self) -> impl DoubleEndedIterator<Item = &InstalledEntry> {
        self.installs.iter()
    }

    /// The JSON of an installed entry, by its hash. The latest one is always there.
    pub fn entry(&self, hash: &str) -> Option<&String> {
        self.entries.get(hash)
    }

    /// Applies the next note, made at this time (microseconds since the Unix epoch).
    pub fn note(&mut self, at: u64, note: &PortalNote) {
        match note {
            PortalNote::TrustAdopted { folders } => {
                self.adopted_at = Some(at);
                for (folder, trust) in folders {
                    // What was decided since is newer.
                    let decided = self.trust.entry(folder.clone());
                    decided.or_insert_with(|| (at, trust.clone()));
                }
            }
            PortalNote::Trust { folder, trust } => {
                self.trust.insert(folder.clone(), (at, trust.clone()));
            }
            PortalNote::LoggedIn(facts) => {
                let login = Login { facts: facts.clone(), since: at, last_used: at };
                self.logins.insert(facts.id.clone(), login);
            }
            PortalNote::LoginUsed { id } => {
                if let Some(login) = self.logins.get_mut(id) {
                    login.last_used = at;
                }
            }
            PortalNote::LoginsEnded { ids } => {
                for id in ids {
                    self.logins.remove(id);
                }
            }
            PortalNote::EntryInstalled { by, hash, entry } => {
                self.installs.push_back(InstalledEntry { at, by: *by, hash: hash.clone() });
                if self.installs.len() > MAX_INSTALLS {
                    self.installs.pop_front();
                }
                if let Some(entry) = entry {
                    self.entries.insert(hash.clone(), entry.clone());
                }
                self.forget_old_entries();
            }
        }
    }

    /// The note as it is stored: without what is stored already.
    pub(crate) fn shorten(&self, note: PortalNote) -> PortalNote {
        match note {
            PortalNote::EntryInstalled { by, hash, .. } if self.entries.contains_key(&hash) => {
                PortalNote::EntryInstalled { by, hash, entry: None }
            }
            note => note,
        }
    }

    /// The fewest notes that come to this fold, with their times.
    pub fn notes(&self) -> Vec<(u64, PortalNote)> {
        let mut notes = Vec::new();
        if let Some(at) = self.adopted_at {
            notes.push((at, PortalNote::TrustAdopted { folders: BTreeMap::new() }));
        }
        for (folder, (at, trust)) in &self.trust {
            let (folder, trust) = (folder.clone(), trust.clone());
            notes.push((*at, PortalNote::Trust { folder, trust }));
        }
        for (id, login) in &self.logins {
            notes.push((login.since, PortalNote::LoggedIn(login.facts.clone())));
            if login.last_used != login.since {
                notes.push((login.last_used, PortalNote::LoginUsed { id: id.clone() }));
            }
        }
        // Each text goes with the latest install of its entry: with an earlier one, it would be
        // forgotten again by those in between.
        let mut told = BTreeSet::new();
        let installs = self.installs.iter().rev().map(|install| {
            let InstalledEntry { at, by, hash } = install.clone();
            let entry = self.entries.get(&hash).filter(|_| told.insert(hash.clone())).cloned();
            (at, PortalNote::EntryInstalled { by, hash, entry })
        });
        let installs: Vec<_> = installs.collect();
        notes.extend(installs.into_iter().rev());
        notes
    }

    /// The row of the portal, which no list shows.
    pub fn record(&self) -> Record {
        Record {
            parent: None,
            title: String::new(),
            folder: String::new(),
            model: None,
            state: EntityState::Running,
            started_at: 0,
            ended_at: None,
            usage: Usage::default(),
            detail: String::new(),
        }
    }

    /// Keeps the texts of the latest installs, as many as there is room for.
    fn forget_old_entries(&mut self) {
        let mut kept = BTreeMap::new();
        let mut bytes = 0;
        for install in self.installs.iter().rev() {
            let Some(entry) = self.entries.remove(&install.hash) else { continue };
            bytes += entry.len();
            if kept.is_empty() || bytes <= MAX_ENTRY_BYTES {
                kept.insert(install.hash.clone(), entry);
            }
        }
        self.entries = kept;
    }
}
