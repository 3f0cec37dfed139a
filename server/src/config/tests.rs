use super::*;

/// Reads a `portal.toml` in the folder, if there is one, as if it were named by `--config`.
pub(super) fn run(arguments: &[&str], folder: &Path) -> Result<Settings, ConfigError> {
    let is_named = arguments.contains(&"--config") || !folder.join(DEFAULT_FILE).exists();
    let named: &[&str] = if is_named { &[] } else { &["--config", DEFAULT_FILE] };
    read_alone(&[named, arguments].concat(), folder)
}

/// Reads a `portal.toml` that merely lies in the folder, and is not named.
pub(super) fn planted(arguments: &[&str], folder: &Path) -> Settings {
    read_alone(arguments, folder).expect("settings")
}

/// The arguments that name the file in the folder.
pub(super) fn named() -> impl Iterator<Item = OsString> {
    ["--config", DEFAULT_FILE].into_iter().map(OsString::from)
}

fn read_alone(arguments: &[&str], folder: &Path) -> Result<Settings, ConfigError> {
    match read_with(arguments.iter().map(OsString::from), folder, None)? {
        Request::Run(settings) => Ok(*settings),
        other => panic!("asked for something else: {other:?}"),
    }
}

pub(super) fn folder_with(file: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary folder");
    std::fs::write(folder.path().join(DEFAULT_FILE), file).expect("configuration file");
    folder
}

pub(super) fn message(arguments: &[&str], folder: &Path) -> String {
    run(arguments, folder).expect_err("must be refused").to_string()
}

#[test]
fn a_newcomer_needs_no_configuration() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let settings = run(&[], folder.path()).expect("defaults");
    assert_eq!(settings.host, IpAddr::V4(Ipv4Addr::LOCALHOST));
    assert_eq!(settings.port, 8888);
    assert!(!settings.test);
    assert_eq!(settings.test_folder, folder.path().join("tests"));
    assert!(settings.access_key.is_none());
    assert_eq!(settings.max_body_bytes, 16 * 1024 * 1024);
}

#[test]
fn the_port_may_be_bare() {
    let folder = tempfile::tempdir().expect("temporary folder");
    assert_eq!(run(&["9000"], folder.path()).expect("bare").port, 9000);
    assert_eq!(run(&["--port", "9000"], folder.path()).expect("option").port, 9000);
    assert_eq!(run(&["--port=0"], folder.path()).expect("any").port, 0);
    assert_eq!(run(&["--port=1", "--port=2"], folder.path()).expect("last").port, 2);
    assert!(message(&["9000", "--port", "9001"], folder.path()).contains("cannot be used with"));
}

#[test]
fn the_command_line_wins_over_the_file() {
    let folder = folder_with(
        "[server]\nport = 9000\ntest = true\nallowedHosts = ['portal.lan']\n\
         [simulated]\nfirstMs = 5\n",
    );
    let settings = run(&[], folder.path()).expect("file");
    assert_eq!((settings.port, settings.test), (9000, true));
    assert_eq!((settings.simulated_first_ms, settings.simulated_delta_ms), (5, 20));
    assert_eq!(settings.allowed_hosts, ["portal.lan"]);
    assert_eq!(run(&["--port", "9001"], folder.path()).expect("both").port, 9001);
    let names = ["--allowed-host", "a.lan", "--allowed-host", "b.lan"];
    assert_eq!(run(&names, folder.path()).expect("both").allowed_hosts, ["a.lan", "b.lan"]);
}

#[test]
fn an_entry_is_looked_for_in_the_working_directory() {
    let folder = folder_with("[server]\nentry = 'ours.json'\n");
    let entry = |arguments: &[&str], folder: &Path| run(arguments, folder).expect("runs").entry;
    assert_eq!(entry(&[], folder.path()), Some(folder.path().join("ours.json")));
    let given = entry(&["--entry", "jobs/mine.json"], folder.path());
    assert_eq!(given, Some(folder.path().join("jobs/mine.json")));
    let elsewhere = folder.path().join("elsewhere.json");
    let given = entry(&["--entry", elsewhere.to_str().expect("text")], Path::new("/other"));
    assert_eq!(given, Some(elsewhere));
    assert_eq!(entry(&[], tempfile::tempdir().expect("temporary folder").path()), None);
}

#[test]
fn other_commands_take_none_of_the_servers_options() {
    let folder = folder_with("[server]\nprt = 1\n");
    let read = |arguments: &[&str]| read(arguments.iter().map(OsString::from), folder.path());
    // They don't look at the configuration file.
    assert!(
        matches!(read(&["validate", "a.json"]), Ok(Request::Validate(file)) if file == Path::new("a.json"))
    );
    assert!(matches!(read(&["schema"]), Ok(Request::Print(_))));
    // Except to find the data folder, and then not at one that merely lies around.
    let store = read(&["store", "check", "--data-dir", "kept"]);
    assert!(
        matches!(store, Ok(Request::Store(StoreAction::Check, data)) if data == folder.path().join("kept"))
    );
    let error = read(&["store", "check", "--config", DEFAULT_FILE]).expect_err("a mistake");
    assert!(error.to_string().contains("unknown field `prt`"), "{error}");
    assert!(matches!(read(&["sample"]), Ok(Request::Print(text)) if text == engine::entry::SAMPLE));
    for arguments in [
        &["validate"][..],
        &["validate", "a.json", "b.json"],
        &["validate", "a.json", "--port", "1"],
        &["--port", "1", "validate", "a.json"],
        &["--test", "schema"],
        &["9000", "sample"],
        &["sample", "9000"],
        &["store"],
        &["store", "burn"],
        &["store", "info", "--port", "1"],
        &["--data-dir", "kept", "store", "info"],
    ] {
        let error = read(arguments).expect_err("must be refused").to_string();
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    }
}

#[test]
fn the_bounds_of_jobs_come_from_wherever_they_are_set() {
    let folder = folder_with("[server]\nmaxTasks = 20\nmaxTasksPerJob = 5\n");
    let bounds = |arguments: &[&str], folder: &Path| {
        let settings = run(arguments, folder).expect("settings");
        (settings.max_tasks.get(), settings.max_tasks_per_job.get())
    };
    assert_eq!(bounds(&[], folder.path()), (20, 5));
    assert_eq!(bounds(&["--max-tasks-per-job", "1"], folder.path()), (20, 1));
    let empty = tempfile::tempdir().expect("temporary folder");
    assert_eq!(bounds(&[], empty.path()), (32, 8));
    assert_eq!(bounds(&["--max-tasks", "9"], empty.path()), (9, 8));
    assert!(message(&["--max-tasks", "0"], empty.path()).contains("--max-tasks"));
    let folder = folder_with("[server]\nmaxTasks = 0\n");
    assert!(message(&[], folder.path()).contains("portal.toml:2: "));
}

#[test]
fn what_tools_may_do_comes_from_wherever_it_is_set() {
    let modes = |arguments: &[&str], folder: &Path| {
        let settings = run(arguments, folder).expect("settings");
        assert_eq!(settings.allow_commands, arguments.contains(&"--allow-commands"));
        (settings.permissions, settings.job_permissions)
    };
    let empty = tempfile::tempdir().expect("temporary folder");
    let usual = (PermissionMode::Ask, PermissionMode::ApproveAll);
    assert_eq!(modes(&["--allow-commands"], empty.path()), usual);
    let folder = folder_with("[permissions]\nsessions = 'deny'\njobs = 'ask'\n");
    assert_eq!(modes(&[], folder.path()), (PermissionMode::Deny, PermissionMode::Ask));
    let given = ["--permissions", "approve-all", "--job-permissions", "deny"];
    let expected = (PermissionMode::ApproveAll, PermissionMode::Deny);
    assert_eq!(modes(&given, folder.path()), expected);
    assert!(message(&["--permissions", "yes"], empty.path()).contains("approve-all"));

    let folder = folder_with("[agent]\nallowedRoots = ['src']\nallowCommands = true\n");
    let settings = run(&[], folder.path()).expect("settings");
    let only_src = AllowedRoots::Only(vec!["src".to_owned()]);
    assert_eq!((settings.allowed_roots, settings.allow_commands), (only_src, true));
}

#[test]
fn an_address_from_cargo_leptos_is_only_a_default() {
    let folder = folder_with("[server]\nhost = '::1'\n");
    let settings = run(&["--site-address", "127.0.0.2:3000"], folder.path()).expect("both");
    assert_eq!((settings.host.to_string().as_str(), settings.port), ("::1", 3000));
}

#[test]
fn mistakes_in_the_file_name_their_line_and_what_is_accepted() {
    for (file, line, words) in [
        ("[server]\nprt = 1\n", 2, &["unknown field `prt`", "`port`", "`host`"][..]),
        ("\n[servre]\nport = 1\n", 2, &["unknown field `servre`", "`server`"]),
        ("[server]\nport = 70000\n", 2, &["70000", "u16"]),
        ("[server]\n\nport = 'x'\n", 3, &["string \"x\"", "u16"]),
        ("[server]\nhost = 'no such host'\n", 2, &["not an address", "no such host"]),
        ("[server]\naccessKey = 'short'\n", 2, &["at least 16"]),
        ("[log]\nformat = 'xml'\n", 2, &["unknown variant `xml`", "`text`", "`json`"]),
        (
            "[permissions]\nsessions = 'yes'\n",
            2,
            &["unknown variant `yes`", "`approve-all`", "`ask`"],
        ),
        ("[server\n", 1, &["]"]),
    ] {
        let folder = folder_with(file);
        let message = message(&[], folder.path());
        assert!(message.contains(&format!("portal.toml:{line}: ")), "{file:?}: {message}");
        for word in words {
            assert!(message.contains(word), "{file:?}: {message}");
        }
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn mistakes_in_the_arguments_are_one_line() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for (arguments, word) in [
        (&["--port", "abc"][..], "--port"),
        (&["--port", "70000"], "70000"),
        (&["abc"], "abc"),
        (&["--prot", "1"], "--prot"),
        (&["--host", "no such host"], "no such host"),
        (&["--access-key", "short"], "at least 16"),
        (&["--config", "missing.toml"], "missing.toml"),
        (&["--log-format", "xml"], "text"),
    ] {
        let message = message(arguments, folder.path());
        assert!(message.contains(word), "{arguments:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments:?}: {message}");
    }
}

#[test]
fn a_wider_address_always_has_a_key() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let settings = run(&["--host", "0.0.0.0"], folder.path()).expect("generated");
    assert!(settings.access_key_generated && settings.access_key.is_some());

    let key = "0123456789abcdef";
    let settings = run(&["--host", "0.0.0.0", "--access-key", key], folder.path()).expect("given");
    assert!(!settings.access_key_generated);
    assert!(settings.access_key.expect("given").opens_with(key));

    let settings = run(&["--access-key", key], folder.path()).expect("on loopback");
    assert!(settings.access_key.is_some(), "a given key counts on loopback too");
}

#[test]
fn help_explains_every_option_and_version_names_the_program() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let print = |argument: &str| match read([argument.into()], folder.path()) {
        Ok(Request::Print(text)) => text,
        other => panic!("{argument}: {other:?}"),
    };
    let help = print("--help");
    for option in [
        "--port",
        "--host",
        "--entry",
        "--test",
        "--test-folder",
        "--config",
        "--access-key",
        "--copilot-cli",
        "--version",
        "validate",
        "schema",
        "sample",
        "--store",
        "--keep-days",
        "store",
    ] {
        assert!(help.contains(option), "{option} is missing in:\n{help}");
    }
    for variable in ["COPILOT_PORTAL_PORT", "COPILOT_PORTAL_ENTRY", "COPILOT_PORTAL_STORE"] {
        assert!(help.contains(variable), "{variable} is missing in:\n{help}");
    }
    assert_eq!(print("--version").trim(), concat!("copilot-portal ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn further_keys_have_names_roles_and_a_source() {
    use crate::security::Deed;

    let folder = tempfile::tempdir().expect("temporary folder");
    let settle = |keys: &str| {
        std::fs::write(folder.path().join(DEFAULT_FILE), keys).expect("settings");
        run(&["--config", DEFAULT_FILE, "--host", "0.0.0.0"], folder.path())
    };
    std::fs::write(folder.path().join("screen.key"), "wall-screen-battery\n").expect("a key");
    std::fs::write(folder.path().join("short.key"), "short").expect("a key");
    let settings =
        settle("[[keys]]\nname = \"screen\"\nrole = \"viewer\"\nkeyFile = \"screen.key\"")
            .expect("a key");
    assert!(!settings.access_key_generated, "there is one");
    let [key] = &*settings.keys else { panic!("{:?}", settings.keys) };
    assert!(key.opens_with("wall-screen-battery"));
    assert!(!key.rights().allow(Deed::Act) && !key.rights().allow(Deed::Answer));

    let both = "name = \"a\"\nkeyFile = \"screen.key\"\n";
    for (keys, word) in [
        ("name = \"a\"".to_owned(), "one source"),
        (format!("{both}keyEnv = \"HOME\""), "one source"),
        ("name = \"a\"\nkeyFile = \"short.key\"".to_owned(), "at least 16"),
        ("name = \"a\"\nkeyFile = \"missing.key\"".to_owned(), "can't be read"),
        ("name = \"a\"\nkeyEnv = \"NOT_SET_ANYWHERE\"".to_owned(), "not set"),
        ("name = \"a\"\nkey = \"wall-screen-battery\"".to_owned(), "unknown field"),
        (format!("{both}role = \"king\""), "viewer"),
        (format!("{both}[[keys]]\n{both}"), "name of its own"),
    ] {
        let error = settle(&format!("[[keys]]\n{keys}")).expect_err(&keys).to_string();
        assert!(error.contains(word), "{keys}: {error}");
    }
}
