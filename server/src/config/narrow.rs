//! What a `portal.toml` that merely lies in the working directory can do: take rights away.

use agents::permission::AlwaysAsk;
use agents::tools::AllowedRoots;

use super::bridge::find_folder;
use super::file::{ConfigFile, Tables};
use super::{ConfigError, Settings, guard};

impl Tables {
    /// Takes over settings that give nobody any rights, where these tables lack them.
    pub(super) fn take_harmless(&mut self, found: &Self) {
        self.server.port = self.server.port.or(found.server.port);
        self.simulated.first_ms = self.simulated.first_ms.or(found.simulated.first_ms);
        self.simulated.delta_ms = self.simulated.delta_ms.or(found.simulated.delta_ms);
        self.log.format = self.log.format.or(found.log.format);
    }
}

/// Narrows the settings as the file wants, and adds a notice that lists what was ignored.
pub(super) fn narrow(settings: &mut Settings, found: &ConfigFile) -> Result<(), ConfigError> {
    let mut ignored = Ignored::default();
    narrow_server(settings, &found.tables, &mut ignored);
    narrow_permissions(settings, found, &mut ignored)?;
    narrow_agent(settings, &found.tables, &mut ignored);
    narrow_workspaces(settings, found, &mut ignored);
    narrow_budgets(settings, &found.tables, &mut ignored);
    narrow_jobs(settings, &found.tables, &mut ignored);
    if !ignored.0.is_empty() {
        let (file, names) = (found.text.path().display(), ignored.0.join(", "));
        let better = match guard::user_file() {
            Some(file) => format!("put it into {}, or name a file by --config", file.display()),
            None => "name a file by --config".to_owned(),
        };
        settings.notices.push(format!(
            "{file} lies in the working directory, so it can only take rights away; ignored: \
             {names} ({better})"
        ));
    }
    Ok(())
}

/// Names of settings in the file that are ignored.
#[derive(Default)]
struct Ignored(Vec<&'static str>);

impl Ignored {
    fn add(&mut self, name: &'static str, is_ignored: bool) {
        if is_ignored {
            self.0.push(name);
        }
    }
}

/// Lowers a setting to the file's value. A higher value is ignored.
fn lower<T: Ord + Copy>(
    current: &mut T,
    wanted: Option<T>,
    name: &'static str,
    ignored: &mut Ignored,
) {
    if let Some(wanted) = wanted {
        ignored.add(name, wanted > *current);
        *current = wanted.min(*current);
    }
}

fn narrow_server(settings: &mut Settings, found: &Tables, ignored: &mut Ignored) {
    let server = &found.server;
    ignored.add("server.host", server.host.is_some());
    ignored.add("server.accessKey", server.access_key.is_some());
    ignored.add("server.allowedHosts", server.allowed_hosts.is_some());
    ignored.add("server.entry", server.entry.is_some());
    ignored.add("server.test", server.test);
    ignored.add("server.testFolder", server.test_folder.is_some());
    lower(&mut settings.max_body_bytes, server.max_body_bytes, "server.maxBodyBytes", ignored);
    lower(&mut settings.max_sessions, server.max_sessions, "server.maxSessions", ignored);
    lower(&mut settings.max_tasks, server.max_tasks, "server.maxTasks", ignored);
    let per_job = server.max_tasks_per_job;
    lower(&mut settings.max_tasks_per_job, per_job, "server.maxTasksPerJob", ignored);
    // It would send conversations to another provider.
    ignored.add("sessions.fallback", found.sessions.fallback.is_some());
    ignored.add("keys", !found.keys.is_empty());
    ignored.add("providers", !found.providers.is_empty());
    if found.copilot.enabled == Some(false) {
        settings.copilot = None;
    }
    ignored
        .add("copilot.enabled", found.copilot.enabled == Some(true) && settings.copilot.is_none());
    ignored.add("copilot.cliPath", found.copilot.cli_path.is_some());
    ignored.add("copilot.provider", found.copilot.provider.is_some());
    ignored.add("extensions.allow", !found.extensions.allow.is_empty());
    ignored.add("extensions.sdkPath", found.extensions.sdk_path.is_some());
    ignored.add("bridge.dataDir", found.bridge.data_dir.is_some());
    // What is kept elsewhere, not at all or for a shorter time is lost to people, not to agents.
    ignored.add("store.kind", found.store.kind.is_some());
    ignored.add("store.keepDays", found.store.keep_days.is_some());
}

fn narrow_budgets(settings: &mut Settings, found: &Tables, ignored: &mut Ignored) {
    let mut wanted = found.budget;
    for ((current, name), (wanted, _)) in settings.budgets.named().into_iter().zip(wanted.named()) {
        *current = current.narrowed_by(*wanted);
        // A higher limit is ignored.
        ignored.add(name, wanted.or(*current) != *current);
    }
}

fn narrow_jobs(settings: &mut Settings, found: &Tables, ignored: &mut Ignored) {
    if let Some(wanted) = found.jobs.on_interrupted {
        let current = &mut settings.on_interrupted;
        *current = current.more_careful(wanted);
        ignored.add("jobs.onInterrupted", *current != wanted);
    }
}

fn narrow_permissions(
    settings: &mut Settings,
    found: &ConfigFile,
    ignored: &mut Ignored,
) -> Result<(), ConfigError> {
    let table = &found.tables.permissions;
    for (current, wanted, name) in [
        (&mut settings.permissions, table.sessions, "permissions.sessions"),
        (&mut settings.job_permissions, table.jobs, "permissions.jobs"),
    ] {
        if let Some(wanted) = wanted {
            *current = current.stricter(wanted);
            ignored.add(name, *current != wanted);
        }
    }
    // Both lists count.
    let further = guard::always_ask(found, None)?;
    let globs = settings.safeguards.always_ask.further().iter().chain(further.further());
    settings.safeguards.always_ask = AlwaysAsk::new(globs.cloned().collect())
        .map_err(|error| ConfigError::Arguments(error.to_string()))?;
    Ok(())
}

fn narrow_agent(settings: &mut Settings, found: &Tables, ignored: &mut Ignored) {
    let table = &found.agent;
    let agent = &mut settings.bridge.agent;
    agent.enabled &= table.enabled != Some(false);
    ignored.add("agent.enabled", table.enabled == Some(true) && !agent.enabled);
    // It would make goals of agents out of plain messages.
    let prefix = table.prefix.as_ref();
    ignored.add("agent.prefix", prefix.is_some_and(|prefix| *prefix != agent.prefix));
    let steps = table.max_steps.as_ref().map(|steps| (*steps.get_ref()).max(1));
    lower(&mut agent.max_steps, steps, "agent.maxSteps", ignored);
    agent.require_approval |= table.require_approval == Some(true);
    ignored.add(
        "agent.requireApproval",
        table.require_approval == Some(false) && agent.require_approval,
    );
    if table.allow_commands == Some(false) {
        agent.allow_commands = false;
        settings.allow_commands = false;
    }
    let wants_commands = table.allow_commands == Some(true);
    ignored.add("agent.allowCommands", wants_commands && !settings.allow_commands);
    if !table.allowed_roots.is_empty() {
        let wanted = AllowedRoots::from_setting(&table.allowed_roots);
        for roots in [&mut agent.allowed_roots, &mut settings.allowed_roots] {
            *roots = roots.narrowed_by(&wanted);
        }
        ignored.add("agent.allowedRoots", agent.allowed_roots != wanted);
    }
    let messages = found.bridge.messages_per_minute;
    let current = &mut settings.bridge.messages_per_minute;
    lower(current, messages, "bridge.messagesPerMinute", ignored);
    let injected = found.bridge.inject_into_chat;
    settings.bridge.inject_into_chat |= injected == Some(true);
    let is_sent = injected == Some(false) && settings.bridge.inject_into_chat;
    ignored.add("bridge.injectIntoChat", is_sent);
}

/// Workspaces can be left out, but not added, and their models stay.
fn narrow_workspaces(settings: &mut Settings, found: &ConfigFile, ignored: &mut Ignored) {
    let tables = &found.tables.workspaces;
    if tables.is_empty() {
        return;
    }
    let folder = found.text.path().parent().unwrap_or(found.text.path());
    let find = |table: &super::bridge::WorkspaceTable| find_folder(folder, table.path.get_ref());
    let named: Vec<_> = tables.iter().filter_map(|table| find(table).ok()).collect();
    let current = &mut settings.bridge.workspaces;
    let has_more = named.len() < tables.len()
        || named.iter().any(|path| current.iter().all(|it| it.path != *path))
        || tables.iter().any(|table| table.model.is_some());
    ignored.add("workspaces", has_more);
    if current.iter().any(|it| named.contains(&it.path)) {
        current.retain(|it| named.contains(&it.path));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wire::PermissionMode;

    use super::super::tests::{folder_with, planted};
    use super::super::{Request, read_with};
    use super::*;

    #[test]
    fn a_file_in_the_working_directory_gives_no_rights() {
        let folder = folder_with(
            "[server]\nport = 9000\nhost = '0.0.0.0'\naccessKey = '0123456789abcdef'\n\
             allowedHosts = ['evil.example']\nmaxBodyBytes = 99999999\nentry = 'evil.json'\n\
             maxSessions = 9999\nmaxTasks = 999\nmaxTasksPerJob = 999\ntest = true\n\
             testFolder = '/'\n[simulated]\nfirstMs = 1\n[log]\nformat = 'json'\n\
             [copilot]\ncliPath = 'evil'\n[copilot.provider]\nbaseUrl = 'http://evil'\n\
             models = [{ id = 'a' }]\n[[providers]]\nname = 'p'\nbaseUrl = 'http://evil'\n\
             apiKeyEnv = 'HOME'\n[permissions]\nsessions = 'approve-all'\n\
             jobs = 'approve-all'\n[agent]\nprefix = ''\nmaxSteps = 100\n\
             allowedRoots = ['*']\nrequireApproval = false\nallowCommands = true\n[bridge]\n\
             dataDir = 'data'\nmessagesPerMinute = 9999\n[[workspaces]]\npath = '/'\n\
             [extensions]\nallow = ['/']\nsdkPath = 'evil'\n\
             [[keys]]\nname = 'evil'\nkeyEnv = 'HOME'\n\
             [store]\nkind = 'memory'\nkeepDays = 1\n[sessions]\nfallback = ['evil']\n",
        );
        let empty = tempfile::tempdir().expect("temporary folder");
        let settings = planted(&["--job-permissions", "ask"], folder.path());
        let usual = planted(&["--job-permissions", "ask"], empty.path());
        let rights = |settings: &Settings, folder: &Path| {
            let mut text = format!("{settings:?}");
            let (from, to) = (text.find("safeguards"), text.len());
            text.replace_range(from.unwrap_or(to)..to, "");
            text.replace(&folder.display().to_string(), "FOLDER")
        };
        let expected = Settings {
            port: 9000,
            simulated_first_ms: 1,
            log_format: super::super::LogFormat::Json,
            ..usual
        };
        assert_eq!(rights(&settings, folder.path()), rights(&expected, empty.path()));
        let [notice] = &*settings.notices else { panic!("{:?}", settings.notices) };
        for name in [
            "server.host",
            "server.accessKey",
            "server.allowedHosts",
            "server.maxBodyBytes",
            "server.entry",
            "server.maxSessions",
            "server.maxTasks",
            "server.maxTasksPerJob",
            "server.test",
            "server.testFolder",
            "sessions.fallback",
            "copilot.cliPath",
            "copilot.provider",
            "keys",
            "providers",
            "permissions.sessions",
            "permissions.jobs",
            "agent.prefix",
            "agent.maxSteps",
            "agent.requireApproval",
            "agent.allowCommands",
            "bridge.dataDir",
            "bridge.messagesPerMinute",
            "workspaces",
            "extensions.allow",
            "extensions.sdkPath",
            "store.kind",
            "store.keepDays",
        ] {
            assert!(notice.contains(name), "{name} is missing in: {notice}");
        }
        assert_eq!(notice.lines().count(), 1);
        assert!(!notice.contains("0123456789abcdef"), "{notice}");
    }

    #[test]
    fn roots_that_have_nothing_in_common_leave_nothing() {
        let folder = folder_with("[agent]\nallowedRoots = ['lib']\n");
        let own = "[agent]\nallowedRoots = ['src']\n";
        std::fs::write(folder.path().join("own.toml"), own).expect("a file");
        let settings = planted(&["--config", "own.toml"], folder.path());
        assert_eq!(settings.allowed_roots, AllowedRoots::Only(Vec::new()));
        assert_eq!(settings.bridge.agent.allowed_roots, AllowedRoots::Only(Vec::new()));
        let [notice] = &*settings.notices else { panic!("{:?}", settings.notices) };
        assert!(notice.contains("agent.allowedRoots"), "{notice}");
    }

    #[test]
    fn a_file_in_the_working_directory_takes_rights_away() {
        let folder = folder_with(
            "[server]\nmaxSessions = 5\nmaxTasks = 4\nmaxTasksPerJob = 3\nmaxBodyBytes = 9\n\
             [copilot]\nenabled = false\n[permissions]\nsessions = 'deny'\njobs = 'ask'\n\
             alwaysAsk = ['deploy/**']\n[agent]\nenabled = false\nmaxSteps = 2\n\
             allowedRoots = ['src']\nrequireApproval = true\nallowCommands = false\n\
             [bridge]\nmessagesPerMinute = 1\ninjectIntoChat = true\n\
             [[workspaces]]\npath = 'one'\n",
        );
        for name in ["one", "two"] {
            std::fs::create_dir(folder.path().join(name)).expect("folder");
        }
        let arguments = [
            "--allow-commands",
            "--permissions",
            "approve-all",
            "--agent-require-approval",
            "false",
            "--workspace",
            "one",
            "--workspace",
            "two",
        ];
        let settings = planted(&arguments, folder.path());
        assert_eq!(settings.notices, [] as [&str; 0]);
        assert_eq!((settings.max_sessions, settings.max_body_bytes), (5, 9));
        assert_eq!((settings.max_tasks.get(), settings.max_tasks_per_job.get()), (4, 3));
        assert!(settings.copilot.is_none() && !settings.allow_commands);
        assert_eq!(settings.permissions, PermissionMode::Deny);
        assert_eq!(settings.job_permissions, PermissionMode::Ask);
        let only_src = AllowedRoots::Only(vec!["src".to_owned()]);
        assert_eq!(settings.allowed_roots, only_src);
        assert_eq!(settings.safeguards.always_ask.further().last(), Some(&"deploy/**".to_owned()));
        let bridge = settings.bridge;
        assert!(!bridge.agent.enabled && bridge.agent.require_approval);
        assert!(!bridge.agent.allow_commands && bridge.inject_into_chat);
        assert_eq!((bridge.agent.max_steps, bridge.messages_per_minute.get()), (2, 1));
        assert_eq!((bridge.agent.allowed_roots, bridge.workspaces.len()), (only_src, 1));
        assert!(bridge.workspaces[0].path.ends_with("one"));
    }

    #[test]
    fn the_users_own_file_gives_rights_unless_another_is_named() {
        let folder = folder_with("[agent]\nallowCommands = true\nmaxSteps = 2\n");
        let own = folder_with("[agent]\nallowCommands = true\nmaxSteps = 50\n");
        let other = folder_with("[agent]\nmaxSteps = 40\n");
        let read = |arguments: &[&str]| {
            let user_file = Some(own.path().join("portal.toml"));
            match read_with(arguments.iter().map(Into::into), folder.path(), user_file) {
                Ok(Request::Run(settings)) => settings,
                other => panic!("{other:?}"),
            }
        };
        let settings = read(&[]);
        assert_eq!((settings.allow_commands, settings.bridge.agent.max_steps), (true, 2));
        let other = other.path().join("portal.toml");
        let settings = read(&["--config", other.to_str().expect("text")]);
        assert_eq!((settings.allow_commands, settings.bridge.agent.max_steps), (false, 2));
        let settings = read(&["--config", "portal.toml"]);
        assert_eq!((settings.allow_commands, settings.bridge.agent.max_steps), (true, 2));
        assert_eq!(settings.notices, [] as [&str; 0], "it was named");
    }

    #[test]
    fn what_governs_the_portal_is_guarded() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("work")).expect("folder");
        std::fs::create_dir(at("data")).expect("folder");
        let text = "[[providers]]\nname = 'p'\nbaseUrl = 'http://x'\napiKeyFile = 'the.key'\n\
                    [[keys]]\nname = 'screen'\nkeyFile = 'screen.key'\n";
        std::fs::write(at("own.toml"), text).expect("file");
        std::fs::write(at("work/screen.key"), "wall-screen-battery").expect("file");
        let arguments =
            ["--config", "../own.toml", "--entry", "jobs.json", "--data-dir", "../data"];
        let settings = planted(&arguments, &at("work"));
        let guarded = &settings.bridge.safeguards.guarded;
        for name in [
            "own.toml",
            "work/portal.toml",
            "work/jobs.json",
            "work/the.key",
            "work/screen.key",
            "data",
            "data/extensions.json",
            "data/portal.db",
        ] {
            assert!(guarded.covers(&at(name)), "{name}");
        }
        assert!(!guarded.covers(&at("work/other.toml")));
    }
}
