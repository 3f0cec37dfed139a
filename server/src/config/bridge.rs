//! The settings of the bridge: workspace folders and what agents may do there.

use std::num::NonZeroU32;
use std::path::{Component, Path, PathBuf};

use agents::tools::AllowedRoots;
use engine::bridge::{AgentRules, BridgeSettings, MOST_STEPS, WorkspaceFolder};
use platform::repository::repo_root;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::command_line::CommandLine;
use super::text::FileText;

const MAX_WORKSPACES: usize = 100;

/// One table of `[[workspaces]]`: a folder, and the model that answers there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceTable {
    pub(super) path: Spanned<PathBuf>,
    pub(super) model: Option<String>,
}

/// `[agent]`: what agents may do in a folder with the portal's own tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AgentTable {
    pub(super) enabled: Option<bool>,
    pub(super) prefix: Option<String>,
    pub(super) max_steps: Option<Spanned<u32>>,
    pub(super) allowed_roots: Vec<String>,
    pub(super) require_approval: Option<bool>,
    pub(super) allow_commands: Option<bool>,
}

/// `[bridge]`: where data is stored, how many messages are accepted, and whether a person sends them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct BridgeTable {
    pub(super) data_dir: Option<PathBuf>,
    pub(super) messages_per_minute: Option<NonZeroU32>,
    pub(super) inject_into_chat: Option<bool>,
}

/// The tables that have settings of the bridge.
#[derive(Clone, Copy)]
pub(super) struct BridgeTables<'a> {
    pub(super) agent: &'a AgentTable,
    pub(super) bridge: &'a BridgeTable,
    pub(super) workspaces: &'a [WorkspaceTable],
}

/// The settings of the bridge, from the command line, the file and the defaults.
pub(super) fn settle(
    line: &CommandLine,
    tables: BridgeTables,
    file: &FileText,
    working_directory: &Path,
    secrets: &[String],
) -> Result<BridgeSettings, ConfigError> {
    let usual = AgentRules::default();
    let table = tables.agent;
    let max_steps = match (line.agent_max_steps, &table.max_steps) {
        (Some(steps), _) => check_steps(steps)
            .map_err(|problem| ConfigError::Arguments(format!("--agent-max-steps: {problem}")))?,
        (None, Some(steps)) => {
            check_steps(*steps.get_ref()).map_err(|problem| file.error(steps, problem))?
        }
        (None, None) => usual.max_steps,
    };
    let agent = AgentRules {
        enabled: table.enabled.unwrap_or(usual.enabled),
        prefix: table.prefix.clone().unwrap_or(usual.prefix),
        max_steps,
        allowed_roots: AllowedRoots::from_setting(&table.allowed_roots),
        require_approval: line
            .agent_require_approval
            .or(table.require_approval)
            .unwrap_or(usual.require_approval),
        allow_commands: line.allow_commands || table.allow_commands == Some(true),
        secrets: secrets.to_vec(),
    };
    let messages_per_minute =
        tables.bridge.messages_per_minute.unwrap_or(BridgeSettings::MESSAGES_PER_MINUTE);
    let workspaces = settle_workspaces(line, tables.workspaces, file, working_directory)?;
    let inject_into_chat = tables.bridge.inject_into_chat == Some(true);
    let usual = BridgeSettings::new(workspaces);
    Ok(BridgeSettings { agent, messages_per_minute, inject_into_chat, ..usual })
}

/// The workspaces of the command line, else of the file, else the repository. Models come from the
/// file in any case.
fn settle_workspaces(
    line: &CommandLine,
    tables: &[WorkspaceTable],
    file: &FileText,
    working_directory: &Path,
) -> Result<Vec<WorkspaceFolder>, ConfigError> {
    let mut of_file = Vec::new();
    for table in tables {
        let path = find_folder(working_directory, table.path.get_ref())
            .map_err(|problem| file.error(&table.path, problem))?;
        of_file.push(WorkspaceFolder { path, model: table.model.clone() });
    }
    let mut wanted = Vec::new();
    for path in &line.workspace {
        let path = find_folder(working_directory, path)
            .map_err(|problem| ConfigError::Arguments(format!("--workspace: {problem}")))?;
        wanted.push(path);
    }
    if wanted.is_empty() && of_file.is_empty() {
        wanted.push(repo_root(working_directory));
    }
    let model_of = |path: &Path| of_file.iter().find(|it| it.path == path)?.model.clone();
    let of_line: Vec<_> =
        wanted.into_iter().map(|path| WorkspaceFolder { model: model_of(&path), path }).collect();
    let chosen = if of_line.is_empty() { of_file } else { of_line };
    let mut folders: Vec<WorkspaceFolder> = Vec::new();
    for folder in chosen {
        if !folders.iter().any(|other| other.path == folder.path) {
            folders.push(folder);
        }
    }
    if folders.len() > MAX_WORKSPACES {
        let count = folders.len();
        let problem = format!("there are at most {MAX_WORKSPACES} workspaces, not {count}");
        return Err(ConfigError::Arguments(problem));
    }
    Ok(folders)
}

/// The folder for stored data. In test mode there is none unless one is named, so that tests leave
/// the user's data alone.
pub(super) fn settle_data(
    of_line: Option<&Path>,
    table: &BridgeTable,
    working_directory: &Path,
    test: bool,
) -> Option<PathBuf> {
    match of_line.or(table.data_dir.as_deref()) {
        Some(folder) => Some(working_directory.join(folder)),
        None if test => None,
        None => Some(state_folder()?.join("copilot-portal")),
    }
}

/// The folder in which this user's programs keep their state.
fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))
}

pub(super) fn find_folder(working_directory: &Path, path: &Path) -> Result<PathBuf, String> {
    let full: PathBuf = working_directory.join(path).components().collect();
    if !full.is_dir() {
        return Err(format!("no such folder: `{}`", path.display()));
    }
    let climbs = full.components().any(|component| component == Component::ParentDir);
    // A folder has one id, so it needs one spelling.
    let resolved = if climbs { full.canonicalize() } else { Ok(full) };
    resolved.map_err(|error| format!("{error}: `{}`", path.display()))
}

fn check_steps(steps: u32) -> Result<u32, String> {
    if (1..=MOST_STEPS).contains(&steps) {
        return Ok(steps);
    }
    Err(format!("an agent has at least 1 and at most {MOST_STEPS} steps, not {steps}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder_with, message, run};
    use super::*;

    fn paths(settings: &BridgeSettings) -> Vec<&Path> {
        settings.workspaces.iter().map(|folder| &*folder.path).collect()
    }

    #[test]
    fn workspaces_come_from_wherever_they_are_named() {
        let empty = tempfile::tempdir().expect("temporary folder");
        let settings = run(&[], empty.path()).expect("defaults").bridge;
        assert_eq!(paths(&settings), [empty.path()]);
        assert!(settings.agent.enabled && settings.agent.require_approval);
        assert!(!settings.agent.allow_commands);
        assert_eq!((&*settings.agent.prefix, settings.agent.max_steps), ("agent:", 12));

        let folder = folder_with(
            "[[workspaces]]\npath = 'one'\nmodel = 'gpt-5.2'\n[[workspaces]]\npath = 'two/'\n",
        );
        for name in ["one", "two", "three"] {
            std::fs::create_dir(folder.path().join(name)).expect("folder");
        }
        let path = |name: &str| folder.path().join(name);
        let settings = run(&[], folder.path()).expect("file").bridge;
        assert_eq!(paths(&settings), [path("one"), path("two")]);
        assert_eq!(settings.workspaces[0].model.as_deref(), Some("gpt-5.2"));
        let line = ["--workspace", "three", "--workspace", "./one", "--workspace", "three/"];
        let settings = run(&line, folder.path()).expect("line").bridge;
        assert_eq!(paths(&settings), [path("three"), path("one")]);
        assert_eq!(settings.workspaces[1].model.as_deref(), Some("gpt-5.2"));
        let error = message(&["--workspace", "four"], folder.path());
        assert!(error.contains("--workspace: no such folder: `four`"), "{error}");
        let folder = folder_with("\n[[workspaces]]\npath = 'gone'\n");
        let error = message(&[], folder.path());
        assert!(error.contains("portal.toml:3: no such folder: `gone`"), "{error}");
    }

    #[test]
    fn what_agents_may_do_is_read() {
        let folder = folder_with(
            "[agent]\nenabled = false\nprefix = 'go:'\nmaxSteps = 3\nallowedRoots = ['src']\n\
             requireApproval = false\nallowCommands = true\n[bridge]\nmessagesPerMinute = 6\n\
             injectIntoChat = true\n\
             [[providers]]\nname = 'p'\nbaseUrl = 'http://localhost:1/v1'\napiKeyEnv = 'P_KEY'\n",
        );
        let settings = run(&[], folder.path()).expect("file").bridge;
        let rules = AgentRules {
            enabled: false,
            prefix: "go:".to_owned(),
            max_steps: 3,
            allowed_roots: AllowedRoots::Only(vec!["src".to_owned()]),
            require_approval: false,
            allow_commands: true,
            secrets: vec!["P_KEY".to_owned()],
        };
        assert_eq!(settings.agent, rules);
        assert_eq!((settings.messages_per_minute.get(), settings.inject_into_chat), (6, true));
        let line = ["--agent-max-steps", "5", "--agent-require-approval", "true"];
        let rules = run(&line, folder.path()).expect("line").bridge.agent;
        assert_eq!((rules.max_steps, rules.require_approval), (5, true));
        for (file, problem) in [
            ("[agent]\nmaxSteps = 0\n", "portal.toml:2: an agent has at least 1"),
            ("[agent]\nmaxStep = 1\n", "unknown field `maxStep`"),
            ("[bridge]\nmessagesPerMinute = 0\n", "portal.toml:2: "),
        ] {
            let error = message(&[], folder_with(file).path());
            assert!(error.contains(problem), "{error}");
        }
        let empty = tempfile::tempdir().expect("temporary folder");
        let error = message(&["--agent-max-steps", "101"], empty.path());
        assert!(error.contains("at most 100"), "{error}");
    }

    #[test]
    fn tests_keep_their_histories_only_where_they_are_told_to() {
        let folder = folder_with("[bridge]\ndataDir = 'kept'\n");
        let data = |arguments: &[&str], folder: &Path| run(arguments, folder).expect("runs").data;
        assert_eq!(data(&["--test"], folder.path()), Some(folder.path().join("kept")));
        let given = data(&["--test", "--data-dir", "/elsewhere"], folder.path());
        assert_eq!(given, Some(PathBuf::from("/elsewhere")));
        let empty = tempfile::tempdir().expect("temporary folder");
        assert_eq!(data(&["--test"], empty.path()), None);
    }
}
