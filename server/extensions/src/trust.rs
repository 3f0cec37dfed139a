//! Which extensions may be started in which folders. People allow extensions with their current
//! contents: one that has changed, or is new, has to be allowed again.
//!
//! ```text
//!   allow ──▶ TrustStore ── durable ──▶ takes effect
//!   forbid ─▶ takes effect, and goes to the TrustStore
//! ```

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use parking_lot::Mutex;

pub use file::read_trust_file;

/// Keeps decisions about extensions. Implemented by the engine.
pub trait TrustStore: fmt::Debug + Send + Sync + 'static {
    /// What was decided before, by folder.
    fn decisions(&self) -> BTreeMap<String, Decision>;

    /// Accepts a decision at once, in the order of these calls. The future resolves when it is
    /// durable, or can't be. What forbids is kept even if nobody waits for it.
    fn keep(&self, folder: &str, decision: &Decision) -> BoxFuture<'static, Result<(), NotKept>>;
}

/// A decision could not be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the decision can't be stored at the moment: {0}")]
pub struct NotKept(pub String);

/// What was decided about the extensions of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// None may be started.
    Forbidden,
    /// Those with these hashes may be started.
    Allowed(BTreeMap<String, String>),
    /// They were allowed before contents were recorded, which no longer counts.
    Outdated,
}

/// The decisions that are in effect.
pub(super) struct Trust {
    /// `None` if decisions last as long as the process.
    store: Option<Arc<dyn TrustStore>>,
    everywhere: bool,
    allowed: Vec<PathBuf>,
    folders: Mutex<BTreeMap<String, Folder>>,
    /// Held while the contents that are found first become the allowed ones.
    first: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Folder {
    decision: Option<Decision>,
    /// Counts the decisions about this folder: only the latest takes effect.
    decided: u64,
}

/// Which extensions of a folder may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// None, for this reason.
    Untrusted(String),
    /// Those with these hashes.
    Trusted(BTreeMap<String, String>),
}

const NOT_TRUSTED: &str = "the folder is not trusted";
const OLD_RECORD: &str = "it was allowed before contents were remembered: allow it again";

impl Trust {
    /// Begins with what was decided before.
    pub(super) fn new(
        store: Option<Arc<dyn TrustStore>>,
        everywhere: bool,
        allowed: Vec<PathBuf>,
    ) -> Self {
        let decided = store.as_ref().map(|store| store.decisions()).unwrap_or_default();
        let old = decided.iter().filter(|(_, decision)| **decision == Decision::Outdated);
        for (folder, _) in old {
            tracing::warn!(folder, "extensions are untrusted there: {OLD_RECORD}");
        }
        let folder = |decision| Folder { decision: Some(decision), decided: 0 };
        let folders = decided.into_iter().map(|(name, decision)| (name, folder(decision)));
        let allowed = allowed.into_iter().map(|folder| folder.canonicalize().unwrap_or(folder));
        Self {
            store,
            everywhere,
            allowed: allowed.collect(),
            folders: Mutex::new(folders.collect()),
            first: tokio::sync::Mutex::default(),
        }
    }

    /// Whether any extension may be started in the folder. Decisions of people override settings.
    pub(super) fn is_trusted(&self, folder: &Path) -> bool {
        match self.decision(folder) {
            Some(decision) => matches!(decision, Decision::Allowed(_)),
            None => self.is_allowed(folder),
        }
    }

    /// Which extensions may be started in the folder. If settings allow it, the first contents that
    /// are found become the allowed ones: `found` are their hashes.
    pub(super) async fn standing(
        &self,
        folder: &Path,
        found: BTreeMap<String, String>,
    ) -> Standing {
        if let Some(decision) = self.decision(folder) {
            return decision.into();
        }
        if !self.is_allowed(folder) {
            return Standing::Untrusted(NOT_TRUSTED.to_owned());
        }
        let _first = self.first.lock().await;
        if let Some(decision) = self.decision(folder) {
            return decision.into();
        }
        match self.allow(folder, found.clone()).await {
            Ok(()) => self.decision(folder).map_or(Standing::Trusted(found), Into::into),
            Err(error) => Standing::Untrusted(error.to_string()),
        }
    }

    /// Allows extensions with these hashes, now and later. Takes effect when it is durable.
    pub(super) async fn allow(
        &self,
        folder: &Path,
        hashes: BTreeMap<String, String>,
    ) -> Result<(), NotKept> {
        let Some(name) = text(folder) else { return Ok(()) };
        let decision = Decision::Allowed(hashes);
        let (number, kept) = {
            let mut folders = self.folders.lock();
            let known = folders.entry(name.to_owned()).or_default();
            known.decided += 1;
            (known.decided, self.keep(name, &decision))
        };
        kept.await?;
        if let Some(known) = self.folders.lock().get_mut(name)
            && known.decided == number
        {
            known.decision = Some(decision);
        }
        Ok(())
    }

    /// Forbids all extensions, now and later. Takes effect at once; the future resolves when it is
    /// durable.
    pub(super) fn forbid(&self, folder: &Path) -> BoxFuture<'static, Result<(), NotKept>> {
        let Some(name) = text(folder) else { return Box::pin(ready(Ok(()))) };
        let mut folders = self.folders.lock();
        let known = folders.entry(name.to_owned()).or_default();
        known.decided += 1;
        known.decision = Some(Decision::Forbidden);
        self.keep(name, &Decision::Forbidden)
    }

    /// Called under the lock, so that the store has decisions in the order of their numbers.
    fn keep(&self, name: &str, decision: &Decision) -> BoxFuture<'static, Result<(), NotKept>> {
        match &self.store {
            Some(store) => store.keep(name, decision),
            None => Box::pin(ready(Ok(()))),
        }
    }

    fn is_allowed(&self, folder: &Path) -> bool {
        self.everywhere || self.allowed.iter().any(|one| one == folder)
    }

    fn decision(&self, folder: &Path) -> Option<Decision> {
        self.folders.lock().get(folder.to_str()?)?.decision.clone()
    }
}

impl From<Decision> for Standing {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allowed(hashes) => Self::Trusted(hashes),
            Decision::Outdated => Self::Untrusted(OLD_RECORD.to_owned()),
            Decision::Forbidden => Self::Untrusted(NOT_TRUSTED.to_owned()),
        }
    }
}

fn text(folder: &Path) -> Option<&str> {
    let name = folder.to_str();
    if name.is_none() {
        tracing::warn!(folder = %folder.display(), "the name of this folder is not text");
    }
    name
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    fn hashes(hash: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("project/a".to_owned(), hash.to_owned())])
    }

    /// Keeps decisions, refuses them, or lets them wait.
    #[derive(Debug, Default)]
    struct Shelf {
        kept: Mutex<BTreeMap<String, Decision>>,
        is_full: AtomicBool,
        gate: Mutex<Option<oneshot::Receiver<()>>>,
    }

    impl TrustStore for Shelf {
        fn decisions(&self) -> BTreeMap<String, Decision> {
            self.kept.lock().clone()
        }

        fn keep(
            &self,
            folder: &str,
            decision: &Decision,
        ) -> BoxFuture<'static, Result<(), NotKept>> {
            if self.is_full.load(Ordering::Relaxed) {
                return Box::pin(ready(Err(NotKept("it is full".to_owned()))));
            }
            self.kept.lock().insert(folder.to_owned(), decision.clone());
            match self.gate.lock().take() {
                Some(gate) => Box::pin(gate.map(|_| Ok(()))),
                None => Box::pin(ready(Ok(()))),
            }
        }
    }

    #[tokio::test]
    async fn decisions_are_remembered_and_come_before_settings() {
        let shelf = Arc::<Shelf>::default();
        let (one, other) = (Path::new("/one"), Path::new("/other"));
        let open = || Trust::new(Some(shelf.clone()), false, vec![other.to_owned()]);
        let trust = open();
        assert!(!trust.is_trusted(one) && trust.is_trusted(other));
        trust.allow(one, hashes("1")).await.expect("kept");
        trust.forbid(other).await.expect("kept");
        assert!(trust.is_trusted(one) && !trust.is_trusted(other));
        let trust = open();
        assert!(trust.is_trusted(one) && !trust.is_trusted(other), "another start");
        assert_eq!(trust.standing(one, hashes("2")).await, Standing::Trusted(hashes("1")));
        assert!(!trust.is_trusted(Path::new("/one/inside")), "exactly that folder");
    }

    #[tokio::test]
    async fn what_settings_allow_is_what_is_found_first() {
        let shelf = Arc::<Shelf>::default();
        let one = Path::new("/one");
        let open = || Trust::new(Some(shelf.clone()), true, Vec::new());
        let trust = open();
        assert_eq!(trust.standing(one, hashes("1")).await, Standing::Trusted(hashes("1")));
        assert_eq!(trust.standing(one, hashes("2")).await, Standing::Trusted(hashes("1")));
        assert_eq!(open().standing(one, hashes("2")).await, Standing::Trusted(hashes("1")));
    }

    #[tokio::test]
    async fn a_record_without_hashes_counts_no_more() {
        let shelf = Arc::<Shelf>::default();
        shelf.kept.lock().insert("/one".to_owned(), Decision::Outdated);
        let trust = Trust::new(Some(shelf), true, Vec::new());
        assert!(!trust.is_trusted(Path::new("/one")));
        let standing = trust.standing(Path::new("/one"), BTreeMap::new()).await;
        assert_eq!(standing, Standing::Untrusted(OLD_RECORD.to_owned()));
    }

    #[tokio::test]
    async fn without_a_store_it_is_kept_in_memory() {
        let trust = Trust::new(None, true, Vec::new());
        assert!(trust.is_trusted(Path::new("/anywhere")));
        trust.forbid(Path::new("/anywhere")).await.expect("nothing to keep");
        assert!(!trust.is_trusted(Path::new("/anywhere")));
    }

    #[tokio::test]
    async fn trust_is_given_when_it_is_stored_and_withdrawn_in_any_case() {
        let shelf = Arc::<Shelf>::default();
        let (one, other) = (Path::new("/one"), Path::new("/other"));
        let trust = Trust::new(Some(shelf.clone()), false, vec![other.to_owned()]);
        shelf.is_full.store(true, Ordering::Relaxed);
        assert!(trust.allow(one, hashes("1")).await.is_err());
        assert!(!trust.is_trusted(one));
        let standing = trust.standing(other, hashes("1")).await;
        assert!(matches!(standing, Standing::Untrusted(_)), "{standing:?}");
        shelf.is_full.store(false, Ordering::Relaxed);
        trust.allow(one, hashes("1")).await.expect("kept");
        shelf.is_full.store(true, Ordering::Relaxed);
        assert!(trust.forbid(one).await.is_err());
        assert!(!trust.is_trusted(one), "it holds nevertheless");
    }

    #[tokio::test]
    async fn trust_that_is_withdrawn_while_it_is_being_stored_is_not_given() {
        let shelf = Arc::<Shelf>::default();
        let trust = Trust::new(Some(shelf.clone()), false, Vec::new());
        let one = Path::new("/one");
        let (stored, gate) = oneshot::channel();
        *shelf.gate.lock() = Some(gate);
        let mut allowing = Box::pin(trust.allow(one, hashes("1")));
        assert!(allowing.as_mut().now_or_never().is_none(), "it is not durable yet");
        assert!(!trust.is_trusted(one));
        trust.forbid(one).await.expect("kept");
        stored.send(()).expect("somebody waits");
        allowing.await.expect("kept");
        assert!(!trust.is_trusted(one));
        assert_eq!(shelf.kept.lock()["/one"], Decision::Forbidden);
    }
}
