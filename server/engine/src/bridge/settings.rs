//! The settings of the bridge, which the operator decides.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::path::PathBuf;

use agents::permission::Safeguards;
use agents::tools::AllowedRoots;
use sha2::{Digest, Sha256};

/// The longest message, in bytes.
pub(super) const MAX_TEXT: usize = 256 * 1024;
/// The most steps that a message can give an agent.
pub const MOST_STEPS: u32 = 100;

/// What the operator decides about the bridge, as one consistent set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeSettings {
    /// One project each, in this order.
    pub workspaces: Vec<WorkspaceFolder>,
    /// What agents may do.
    pub agent: AgentRules,
    /// How many messages are accepted per minute, over all projects.
    pub messages_per_minute: NonZeroU32,
    /// Whether messages wait as drafts until a person sends them, whatever mode they have.
    pub inject_into_chat: bool,
    /// What agents must not touch, even if a user approves.
    pub safeguards: Safeguards,
}

impl BridgeSettings {
    /// The default settings for some folders.
    pub fn new(workspaces: impl IntoIterator<Item = WorkspaceFolder>) -> Self {
        Self {
            workspaces: workspaces.into_iter().collect(),
            agent: AgentRules::default(),
            messages_per_minute: Self::MESSAGES_PER_MINUTE,
            inject_into_chat: false,
            safeguards: Safeguards::default(),
        }
    }

    /// These settings, reduced to the rights that `wanted` has as well. Additional ones in `wanted`
    /// are ignored.
    #[must_use]
    pub fn narrowed_by(&self, wanted: &Self) -> Self {
        let mut workspaces = self.workspaces.clone();
        workspaces.retain(|folder| wanted.workspaces.iter().any(|it| it.path == folder.path));
        Self {
            // An empty list would leave no project at all, which is surely a mistake.
            workspaces: if workspaces.is_empty() { self.workspaces.clone() } else { workspaces },
            agent: self.agent.narrowed_by(&wanted.agent),
            messages_per_minute: self.messages_per_minute.min(wanted.messages_per_minute),
            inject_into_chat: self.inject_into_chat || wanted.inject_into_chat,
            safeguards: self.safeguards.clone(),
        }
    }

    /// The default rate limit: more than a person writes.
    pub const MESSAGES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(120).expect("not zero");
}

/// A workspace folder, which makes one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFolder {
    /// Absolute path of the folder.
    pub path: PathBuf,
    /// The model that answers there, unless a message names one.
    pub model: Option<String>,
}

impl WorkspaceFolder {
    /// A folder without a default model.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), model: None }
    }

    /// The project's id: short, and always the same for the same path.
    pub fn id(&self) -> String {
        let hash = Sha256::digest(self.path.as_os_str().as_encoded_bytes());
        hash.iter().take(6).fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
    }

    /// The last part of the path, as the project's name.
    pub fn name(&self) -> String {
        let path = self.path.file_name().unwrap_or(self.path.as_os_str());
        path.to_string_lossy().into_owned()
    }
}

/// What agents may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRules {
    /// Whether agents can be used at all.
    pub enabled: bool,
    /// A message with this prefix is a goal for an agent. If empty, only its mode counts.
    pub prefix: String,
    /// How many steps an agent has, unless a message sets a number.
    pub max_steps: u32,
    /// The parts of a folder that its agents may use.
    pub allowed_roots: AllowedRoots,
    /// Whether users have to approve changes.
    pub require_approval: bool,
    /// Whether commands can be run.
    pub allow_commands: bool,
    /// Environment variables that commands must not see.
    pub secrets: Vec<String>,
}

impl AgentRules {
    /// These rules, reduced to the rights that `other` has as well.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let further = other.secrets.iter().filter(|secret| !self.secrets.contains(secret));
        Self {
            enabled: self.enabled && other.enabled,
            prefix: other.prefix.clone(),
            max_steps: self.max_steps.min(other.max_steps),
            allowed_roots: self.allowed_roots.narrowed_by(&other.allowed_roots),
            require_approval: self.require_approval || other.require_approval,
            allow_commands: self.allow_commands && other.allow_commands,
            secrets: self.secrets.iter().chain(further).cloned().collect(),
        }
    }
}

impl Default for AgentRules {
    fn default() -> Self {
        Self {
            enabled: true,
            prefix: "agent:".to_owned(),
            max_steps: 12,
            allowed_roots: AllowedRoots::Everything,
            require_approval: true,
            allow_commands: false,
            secrets: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_only_narrowed() {
        let mut now = BridgeSettings::new(["/one", "/two"].map(WorkspaceFolder::new));
        now.agent.allow_commands = true;
        let only = |roots: [&str; 2]| AllowedRoots::Only(roots.map(str::to_owned).to_vec());
        now.agent.allowed_roots = only(["src", "docs"]);
        let mut wanted = BridgeSettings::new(["/two", "/three"].map(WorkspaceFolder::new));
        wanted.agent.require_approval = false;
        wanted.agent.max_steps = 3;
        wanted.agent.allowed_roots = only(["docs", "src/link"]);
        let narrowed = now.narrowed_by(&wanted);
        assert_eq!(narrowed.workspaces, [WorkspaceFolder::new("/two")]);
        assert!(narrowed.agent.require_approval && !narrowed.agent.allow_commands);
        assert_eq!(narrowed.agent.max_steps, 3);
        assert_eq!(narrowed.agent.allowed_roots, AllowedRoots::Only(vec!["docs".to_owned()]));
        // No right comes back while the server runs.
        assert!(!narrowed.narrowed_by(&now).agent.allow_commands);
        assert_eq!(narrowed.narrowed_by(&now), narrowed);
    }

    #[test]
    fn a_folder_has_one_short_id_and_its_own_name() {
        let folder = WorkspaceFolder::new("/home/me/project");
        assert_eq!(folder.name(), "project");
        assert_eq!(folder.id(), WorkspaceFolder::new("/home/me/project").id());
        assert_ne!(folder.id(), WorkspaceFolder::new("/home/you/project").id());
        assert_eq!(folder.id().len(), 12);
        assert_eq!(WorkspaceFolder::new("/").name(), "/");
    }
}
