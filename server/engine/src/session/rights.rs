//! What sessions may do, and how it is narrowed.

use agents::permission::{DefaultMode, ModeLimit, SessionPermissions};
use agents::tools::{AllowedRoots, RootsLimit};
use tokio_util::sync::CancellationToken;
use wire::PermissionMode;

use super::SessionSettings;

/// What sessions may do unless they are told otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRights {
    /// How tools that ask are dealt with.
    pub permissions: PermissionMode,
    /// Which parts of its folder the tools of a session may use.
    pub allowed_roots: AllowedRoots,
    /// Whether they may run commands.
    pub allow_commands: bool,
}

/// The rights of sessions while a server runs. They are only narrowed.
#[derive(Debug)]
pub struct SessionPolicy {
    default_mode: DefaultMode,
    roots: RootsLimit,
    allow_commands: bool,
    /// Cancelled when commands are not allowed any more.
    no_commands: CancellationToken,
}

impl SessionPolicy {
    /// The rights that the settings give.
    pub(super) fn new(settings: &SessionSettings) -> Self {
        Self {
            // The mode is a default. People may choose another one for a session at any time.
            default_mode: DefaultMode::new(settings.permissions, ModeLimit::yielding()),
            roots: settings.allowed_roots.clone().into(),
            allow_commands: settings.commands.allowed,
            no_commands: settings.commands.forbidden.clone(),
        }
    }

    /// What sessions may do now.
    pub fn rights(&self) -> SessionRights {
        SessionRights {
            permissions: self.default_mode.get(),
            allowed_roots: AllowedRoots::clone(&self.roots.get()),
            allow_commands: self.allow_commands && !self.no_commands.is_cancelled(),
        }
    }

    /// Takes away what `wanted` does not have, from sessions that are open, too.
    pub fn narrow(&self, wanted: &SessionRights) {
        self.default_mode.narrow(wanted.permissions);
        self.roots.narrow(&wanted.allowed_roots);
        if !wanted.allow_commands {
            self.no_commands.cancel();
        }
    }

    /// The roots that the tools of all sessions keep to.
    pub(super) fn roots(&self) -> RootsLimit {
        self.roots.clone()
    }

    /// How a session that a person opens deals with tools that ask.
    pub(super) fn permissions(&self) -> SessionPermissions {
        SessionPermissions {
            mode: self.default_mode.get(),
            approve_files: Vec::new(),
            limit: self.default_mode.limit(),
        }
    }
}
