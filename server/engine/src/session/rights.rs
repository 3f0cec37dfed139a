//! What sessions may do, and how it is narrowed.

use wire::PermissionMode;

use agents::tools::narrow_roots;

/// What sessions may do unless they are told otherwise. It is only narrowed while a server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRights {
    /// How tools that ask are dealt with.
    pub permissions: PermissionMode,
    /// Which parts of its folder the tools of a session may use; empty for all of it.
    pub allowed_roots: Vec<String>,
    /// Whether they may run commands.
    pub allow_commands: bool,
}

impl SessionRights {
    /// These rights without those that `wanted` does not have.
    #[must_use]
    pub fn narrowed_by(&self, wanted: &Self) -> Self {
        Self {
            permissions: self.permissions.stricter(wanted.permissions),
            allowed_roots: narrow_roots(&self.allowed_roots, &wanted.allowed_roots),
            allow_commands: self.allow_commands && wanted.allow_commands,
        }
    }
}
