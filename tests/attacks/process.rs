//! What processes started by agents, and other users of the machine, must not achieve.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tests::program::{NOBODY, PATIENCE, Program, Running, is_root};

const MAY_ALL: [&str; 3] = ["--allow-commands", "--permissions", "approve-all"];
/// A user other than `nobody`, who need not exist on the system.
const SOMEBODY: u32 = 65533;

/// Waits for a file with a complete first line.
fn line_of(file: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            return line.to_owned();
        }
        assert!(Instant::now() < deadline, "waited in vain: {}", file.display());
        std::thread::yield_now();
    }
}

fn assert_goes(process: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        assert!(Instant::now() < deadline, "still there: {stat}");
        std::thread::yield_now();
    }
}

/// A command that sends a request to the server and prints the response.
fn request(server: &Running, method: &str, path: &str, head: &str, body: &str) -> String {
    let (port, length) = (server.port, body.len());
    format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} || exit; printf \"%b\" \"{method} {path} HTTP/1.1\\r\\n\
         Host: localhost\\r\\nConnection: close\\r\\nContent-Length: {length}\\r\\n{head}\\r\\n{body}\" >&3; \
         cat <&3'"
    )
}

fn permissions(server: &Running) -> Value {
    let (_, sessions) = server.call("GET", "/api/copilot/session", "", "");
    let sessions: Value = serde_json::from_str(&sessions).expect("JSON");
    sessions["sessions"][0]["permissions"].clone()
}

#[test]
fn commands_die_with_a_killed_server() {
    let mut server = Program::unprivileged(&MAY_ALL).start();
    let session = server.start_session();
    // One in the group, one that has left it, and an orphan.
    let command = "setsid sh -c 'echo $$ > left; sleep 1000' & \
        sh -c 'setsid sh -c \"echo \\$\\$ > orphan; sleep 1000\" &'; echo $$ > leader; sleep 1000";
    server.use_tool(&session, "runCommand", &json!({ "command": command }));
    let work = server.program.work();
    let processes = ["left", "orphan", "leader"].map(|name| line_of(&work.join(name)));
    server.child.kill().expect("killed");
    for process in processes {
        assert_goes(&process);
    }
}

#[test]
fn the_copilot_cli_dies_with_a_killed_server() {
    let program = Program::new(&["--copilot", "true"]);
    let cli = program.home().join("copilot");
    let pid = program.home().join("pid");
    let script = format!("#!/bin/sh\necho $$ > {}\nsleep 1000\n", pid.display());
    fs::write(&cli, script).expect("a file");
    fs::set_permissions(&cli, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut server = program.env("COPILOT_PORTAL_COPILOT_CLI", &cli).start();
    let listing = server.send("GET /api/copilot/models HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let process = line_of(&pid);
    server.child.kill().expect("killed");
    assert_goes(&process);
    drop(listing);
}

#[test]
fn extensions_die_with_a_killed_server() {
    let program = Program::new(&["--allow-extensions"]);
    let folder = program.work().join(".github/extensions/stays");
    fs::create_dir_all(&folder).expect("a folder");
    let pid = program.home().join("pid");
    let text = format!(
        "import {{ writeFileSync }} from 'node:fs';\n\
         writeFileSync('{}', `${{process.pid}}\\n`);\nsetInterval(() => {{}}, 1000);\n",
        pid.display()
    );
    fs::write(folder.join("extension.mjs"), text).expect("a file");
    let sdk =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions/node_modules/@github/copilot-sdk");
    let mut server = program.env("COPILOT_SDK_PATH", sdk).start();
    let session = server.start_session();
    server.post(&format!("{session}/query"), "say x");
    let process = line_of(&pid);
    server.child.kill().expect("killed");
    assert_goes(&process);
}

#[test]
fn supervised_extensions_are_talked_to_as_before() {
    let program = Program::new(&["--allow-extensions", "--permissions", "approve-all"]);
    let extensions = Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions");
    let folder = program.work().join(".github/extensions/twin");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(extensions.join("twin/extension.mjs"), folder.join("extension.mjs")).expect("a file");
    let sdk = extensions.join("node_modules/@github/copilot-sdk");
    let mut server = program.env("COPILOT_SDK_PATH", sdk).start();
    let session = server.start_session();
    server.wait_for("a running extension", |server| {
        let (_, list) = server.call("GET", &format!("{session}/extensions"), "", "");
        list.contains("\"running\"")
    });
    // The call arrives on its standard input, which the supervisor forwards.
    server.use_tool(&session, "greet_someone", &json!({}));
    let end = server.read_until(&session, "commands", "onEndToolExecution");
    assert_eq!(end["result"]["content"], "from the twin", "{end}");
}

#[test]
fn supervised_commands_answer_as_before() {
    let server = Program::unprivileged(&MAY_ALL).start();
    let session = server.start_session();
    assert_eq!(server.run_command(&session, "cat; echo a; echo b >&2"), "[exit code 0]\na\nb\n");
    assert_eq!(server.run_command(&session, "exit 3"), "[exit code 3]\n");
    assert_eq!(server.run_command(&session, "kill -9 $$"), "[ended by signal 9]\n");
    let left = server.run_command(&session, "setsid sleep 1000 & echo $!");
    assert_goes(left.trim().lines().last().expect("a number"));
}

#[test]
fn commands_see_no_secrets_and_cannot_read_them_from_the_server() {
    let program = Program::unprivileged(&MAY_ALL)
        .env("GITHUB_TOKEN", "hidden-1")
        .env("AWS_SECRET_ACCESS_KEY", "hidden-2")
        .env("COPILOT_PORTAL_MAX_TASKS", "31")
        .env("HARMLESS", "visible");
    let server = program.start();
    let session = server.start_session();
    let seen = server.run_command(&session, "env");
    assert!(seen.contains("HARMLESS=visible"), "{seen}");
    assert!(!seen.contains("hidden-") && !seen.contains("COPILOT_PORTAL_"), "{seen}");
    let pid = server.child.id();
    let command = format!("cat /proc/{pid}/environ || echo REFUSED; cat /proc/$PPID/environ");
    let seen = server.run_command(&session, &command);
    assert!(seen.contains("REFUSED") && !seen.contains("hidden-"), "{seen}");
    // A process that cannot be inspected can still do its work.
    server.use_tool(&session, "createFile", &json!({ "path": "a/b.txt", "content": "x" }));
    server.read_until(&session, "commands", "onEndToolExecution");
    let made = fs::read_to_string(server.program.work().join("a/b.txt"));
    assert_eq!(made.expect("the tools work"), "x");
}

#[test]
fn who_kills_its_supervisor_is_killed() {
    let server = Program::unprivileged(&MAY_ALL).start();
    let session = server.start_session();
    let command = "setsid sh -c 'echo $$ > left; sleep 1000' & echo $$ > leader; \
        while [ ! -s left ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000";
    // The shell may report that its `sleep` was killed.
    let output = server.run_command(&session, command);
    assert!(output.starts_with("[ended by signal 9]\n"), "{output}");
    for name in ["left", "leader"] {
        assert_goes(&line_of(&server.program.work().join(name)));
    }
}

#[test]
fn an_approved_command_cannot_approve_anything() {
    let mut server = Program::unprivileged(&["--allow-commands"]).start();
    let session = server.start_session();
    let raise = request(&server, "POST", &format!("{session}/permissions"), "", "approve-all");
    let trust = request(&server, "POST", &format!("{session}/extensions/trust"), "", "allow");
    let budget = request(&server, "POST", &format!("{session}/budget"), "", "{}");
    let answer = request(&server, "POST", &format!("{session}/permission/1"), "", "approve");
    let approve = request(&server, "POST", "/approval", "", "{}");
    // As a child and as an orphan.
    let work = server.program.work();
    for (name, text) in [
        (
            "child.sh",
            format!("({raise}; {trust}; {budget}; {answer}; {approve}) > new; mv new child"),
        ),
        ("orphan.sh", format!("{raise} > new; mv new orphan")),
    ] {
        fs::write(work.join(name), text).expect("a file");
    }
    let command = "sh ./child.sh; sh -c 'setsid sh ./orphan.sh &'; sleep 1000";
    server.use_tool(&session, "runCommand", &json!({ "command": command }));
    let question = server.read_until(&session, "person", "onPermissionRequest");
    let request = question["requestId"].as_str().expect("an id").to_owned();
    // A person can answer; otherwise none of this would prove anything.
    let reply = server.post(&format!("{session}/permission/{request}"), "approve");
    assert_eq!(reply, json!({}));
    server.wait_for("all attempts", |_| work.join("orphan").exists());
    for (file, attempts) in [("child", 5), ("orphan", 1)] {
        let answers = fs::read_to_string(work.join(file)).expect("answers");
        assert_eq!(answers.matches("\"AgentProcess\"").count(), attempts, "{file}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1 403").count(), attempts, "{file}: {answers}");
    }
    assert_eq!(permissions(&server), "ask");
}

#[test]
fn an_agent_that_hangs_up_before_it_is_looked_at_approves_nothing() {
    let server = Program::unprivileged(&["--allow-commands"]).start();
    let session = server.start_session();
    let raise = request(&server, "POST", &format!("{session}/permissions"), "", "approve-all");
    let raise = raise.replace("cat <&3", "exec 3>&-");
    let command = format!("for i in 1 2 3 4 5 6 7 8 9; do {raise}; done; echo over");
    server.use_tool(&session, "runCommand", &json!({ "command": command }));
    let question = server.read_until(&session, "person", "onPermissionRequest");
    let request = question["requestId"].as_str().expect("an id").to_owned();
    server.post(&format!("{session}/permission/{request}"), "approve");
    let end = server.read_until(&session, "person", "onEndToolExecution");
    assert!(end["result"]["content"].as_str().is_some_and(|text| text.contains("over")), "{end}");
    // Connections are accepted in order: when this one is answered, the others have been judged.
    assert_eq!(permissions(&server), "ask");
}

/// The response to a request by another user.
fn as_user(user: u32, command: &str) -> String {
    let output = Command::new("/bin/sh").arg("-c").arg(command).uid(user).gid(user).output();
    String::from_utf8(output.expect("a shell").stdout).expect("text")
}

#[test]
fn another_local_user_is_refused_unless_there_is_a_key() {
    if !is_root() {
        eprintln!("NOT TESTED: only root can become another user");
        return;
    }
    let server = Program::unprivileged(&[]).start();
    let start = request(&server, "POST", "/api/copilot/session/start/gpt-5-mini", "", "");
    let answer = as_user(SOMEBODY, &start);
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("OtherUser"), "{answer}");
    assert_eq!(permissions(&server), Value::Null, "no session was started");
    let answer = as_user(NOBODY, &request(&server, "GET", "/api/test", "", ""));
    assert!(answer.starts_with("HTTP/1.1 200"), "its own user: {answer}");
    // A client that hangs up at once is not taken for root, to whom the kernel assigns such
    // sockets.
    for _ in 0..20 {
        as_user(SOMEBODY, &start.replace("cat <&3", "exec 3>&-"));
    }
    assert_eq!(permissions(&server), Value::Null, "no session was started");
    drop(server);

    let key = "a-key-of-sixteen-characters";
    let server = Program::unprivileged(&["--access-key", key]).start();
    let bearer = format!("Authorization: Bearer {key}\\r\\n");
    for user in [NOBODY, SOMEBODY] {
        let answer = as_user(user, &request(&server, "GET", "/api/test", "", ""));
        assert!(answer.starts_with("HTTP/1.1 401"), "{user}: {answer}");
        let answer = as_user(user, &request(&server, "GET", "/api/test", &bearer, ""));
        assert!(answer.starts_with("HTTP/1.1 200"), "{user}: {answer}");
    }
}
