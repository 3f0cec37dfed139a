//! What sessions may do, and how it is narrowed.

use agents::permission::{DefaultMode, ModeLimit, SessionPermissions};
use agents::tools::{AllowedRoots, RootsLimit};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use wire::{Budget, PermissionMode};

use super::SessionSettings;

/// What sessions may do by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRights {
    /// How tools' permission requests are answered.
    pub permissions: PermissionMode,
    /// Which parts of its folder the tools of a session may use.
    pub allowed_roots: AllowedRoots,
    /// Whether tools may run commands.
    pub allow_commands: bool,
    /// How much a new session may use.
    pub budget: Budget,
}

/// The rights of a server's sessions. They can only be narrowed while it runs.
#[derive(Debug)]
pub struct SessionPolicy {
    default_mode: DefaultMode,
    roots: RootsLimit,
    budget: Mutex<Budget>,
    allow_commands: bool,
    /// Cancelled once commands are forbidden; that is final.
    no_commands: CancellationToken,
}

impl SessionPolicy {
    /// Starts with the rights in the settings.
    pub(super) fn new(settings: &SessionSettings) -> Self {
        Self {
            // Only a default: users may choose another mode for a session at any time.
            default_mode: DefaultMode::new(settings.permissions, ModeLimit::yielding()),
            roots: settings.allowed_roots.clone().into(),
            budget: Mutex::new(settings.budget),
            allow_commands: settings.commands.allowed,
            no_commands: settings.commands.forbidden.clone(),
        }
    }

    /// The rights that apply now.
    pub fn rights(&self) -> SessionRights {
        SessionRights {
            permissions: self.default_mode.get(),
            allowed_roots: AllowedRoots::clone(&self.roots.get()),
            allow_commands: self.allow_commands && !self.no_commands.is_cancelled(),
            budget: self.budget(),
        }
    }

    /// Revokes every right that `wanted` lacks, in open sessions as well. A smaller budget is only
    /// that of new sessions.
    pub fn narrow(&self, wanted: &SessionRights) {
        self.default_mode.narrow(wanted.permissions);
        self.roots.narrow(&wanted.allowed_roots);
        let mut budget = self.budget.lock();
        *budget = budget.narrowed_by(wanted.budget);
        drop(budget);
        if !wanted.allow_commands {
            self.no_commands.cancel();
        }
    }

    /// How much a new session may use.
    pub(super) fn budget(&self) -> Budget {
        *self.budget.lock()
    }

    /// The limit that confines the tools of all sessions.
    pub(super) fn roots(&self) -> RootsLimit {
        self.roots.clone()
    }

    /// The permissions of a session that a user opens.
    pub(super) fn permissions(&self) -> SessionPermissions {
        SessionPermissions {
            mode: self.default_mode.get(),
            approve_files: Vec::new(),
            limit: self.default_mode.limit(),
        }
    }
}
