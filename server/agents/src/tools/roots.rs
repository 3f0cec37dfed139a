//! The parts of a folder that tools may use.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// Which parts of a folder tools may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowedRoots {
    /// The whole folder.
    #[default]
    Everything,
    /// What is below one of these paths, which are relative to the folder; nothing if the list is
    /// empty.
    Only(Vec<String>),
}

impl AllowedRoots {
    /// The meaning of `allowedRoots` in a settings file: a list that is empty or has `*` stands for
    /// everything.
    pub fn from_setting(roots: &[String]) -> Self {
        if roots.is_empty() || roots.iter().any(|root| root == "*") {
            Self::Everything
        } else {
            Self::Only(roots.to_vec())
        }
    }

    /// What both allow. Roots are compared by their names: a folder within a root could be a link
    /// that leads anywhere.
    #[must_use]
    pub fn narrowed_by(&self, wanted: &Self) -> Self {
        match (self, wanted) {
            (Self::Everything, roots) | (roots, Self::Everything) => roots.clone(),
            (Self::Only(roots), Self::Only(wanted)) => {
                Self::Only(roots.iter().filter(|root| wanted.contains(root)).cloned().collect())
            }
        }
    }
}

/// Allowed roots that can only be narrowed. Clones share them, and every workspace checks their
/// current value on each use.
#[derive(Clone, Debug, Default)]
pub struct RootsLimit(Arc<Mutex<Arc<AllowedRoots>>>);

impl RootsLimit {
    /// The roots that are allowed now.
    pub fn get(&self) -> Arc<AllowedRoots> {
        Arc::clone(&self.0.lock())
    }

    /// Takes away what `wanted` does not allow.
    pub fn narrow(&self, wanted: &AllowedRoots) {
        let mut roots = self.0.lock();
        let narrowed = roots.narrowed_by(wanted);
        if narrowed != **roots {
            *roots = Arc::new(narrowed);
        }
    }
}

impl From<AllowedRoots> for RootsLimit {
    fn from(roots: AllowedRoots) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(roots))))
    }
}

/// Roots and their resolved paths in one folder.
#[derive(Clone, Default)]
pub(super) struct ResolvedRoots {
    pub(super) roots: Arc<AllowedRoots>,
    /// Resolved paths by the name of the root; not used if everything is allowed.
    pub(super) real: Arc<HashMap<String, PathBuf>>,
}

impl ResolvedRoots {
    /// Whether `is_one` holds for the path of any root; always true if everything is allowed.
    pub(super) fn any(&self, is_one: impl Fn(&Path) -> bool) -> bool {
        match &*self.roots {
            AllowedRoots::Everything => true,
            AllowedRoots::Only(_) => self.real.values().any(|real| is_one(real)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(roots: &[&str]) -> AllowedRoots {
        AllowedRoots::Only(roots.iter().map(|&root| root.to_owned()).collect())
    }

    #[test]
    fn roots_are_narrowed_to_those_that_both_have() {
        let all = AllowedRoots::Everything;
        for (roots, wanted, expected) in [
            (all.clone(), all.clone(), all.clone()),
            (all.clone(), only(&["src"]), only(&["src"])),
            (only(&["src"]), all.clone(), only(&["src"])),
            (only(&["src", "docs"]), only(&["docs", "lib"]), only(&["docs"])),
            (only(&["src"]), only(&["docs"]), only(&[])),
            (only(&[]), all, only(&[])),
        ] {
            assert_eq!(roots.narrowed_by(&wanted), expected);
            let limit = RootsLimit::from(roots);
            limit.clone().narrow(&wanted);
            assert_eq!(*limit.get(), expected);
        }
    }

    #[test]
    fn a_setting_without_roots_or_with_a_star_allows_everything() {
        let setting = |roots: &[&str]| {
            let roots: Vec<String> = roots.iter().map(|&root| root.to_owned()).collect();
            AllowedRoots::from_setting(&roots)
        };
        assert_eq!(setting(&[]), AllowedRoots::Everything);
        assert_eq!(setting(&["src", "*"]), AllowedRoots::Everything);
        assert_eq!(setting(&["src"]), only(&["src"]));
    }
}
