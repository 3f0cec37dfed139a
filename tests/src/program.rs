//! The real program as a process, for attacks that need one: other users, kills, signals, file
//! modes.
//!
//! It is copied to a world-readable folder, so that it can be started as another user.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

/// Reached only by a failing test.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The user `nobody` of every Linux: root may do anything, so rights are tested as someone else.
#[cfg(unix)]
pub const NOBODY: u32 = 65534;

/// A program with its own folders, before it is started.
pub struct Program {
    folder: TempDir,
    command: Command,
}

impl Program {
    /// The program in test mode on a free port, in an empty folder, with its own home and data
    /// folder.
    pub fn new(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        open_to_all(folder.path());
        let binary = folder.path().join("copilot-portal");
        fs::copy(built(), &binary).expect("the program can be copied");
        for name in ["work", "home", "data"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let mut command = Command::new(binary);
        command
            .args(["--port", "0", "--test", "--simulated-first-ms", "0", "--data-dir"])
            .arg(folder.path().join("data"))
            .args(arguments)
            .current_dir(folder.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder.path().join("home"))
            .env("RUST_LOG", "warn");
        Self { folder, command }
    }

    /// The folder it is started in.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Its home folder, empty at first.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Its data folder, empty at first.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// The command, for further changes.
    pub fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Makes it log to a file in its home folder, whose path is returned. Call it after
    /// [`Self::after`].
    pub fn log_to_file(&mut self) -> PathBuf {
        let log = self.home().join("log");
        self.command.stderr(fs::File::create(&log).expect("a file"));
        log
    }

    /// Runs it as `nobody`, who then owns its folders. Needs root; `None` otherwise.
    #[cfg(unix)]
    #[must_use]
    pub fn as_nobody(mut self) -> Option<Self> {
        use std::os::unix::fs::chown;
        use std::os::unix::process::CommandExt;

        for folder in [self.work(), self.home(), self.data()] {
            chown(folder, Some(NOBODY), Some(NOBODY)).ok()?;
        }
        self.command.uid(NOBODY).gid(NOBODY);
        Some(self)
    }

    /// The program run by a user without special rights: `nobody` if the test is run by root, else
    /// the test's own user.
    #[cfg(unix)]
    #[must_use]
    pub fn unprivileged(arguments: &[&str]) -> Self {
        let program = Self::new(arguments);
        if is_root() { program.as_nobody().expect("root can become anybody") } else { program }
    }

    /// Starts it from a shell that first runs `setup`, such as `ulimit -n 50`. Call it before the
    /// user is changed.
    #[cfg(unix)]
    #[must_use]
    pub fn after(mut self, setup: &str) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("{setup}; exec \"$0\" \"$@\""));
        shell.arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        for (name, value) in self.command.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        shell.current_dir(self.work());
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        self.command = shell;
        self
    }

    /// Starts it and reads its two start-up lines.
    pub fn start(mut self) -> Running {
        let (child, port) = self.spawn();
        Running { program: self, child, port }
    }

    fn spawn(&mut self) -> (Child, u16) {
        let mut child = self.command.spawn().expect("the program starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut base = String::new();
        output.read_line(&mut base).expect("a start-up line");
        // Reads both: the program does not start if nobody takes them.
        output.read_line(&mut String::new()).expect("a start-up line");
        let port = base.trim().strip_prefix("http://localhost:").expect("it serves");
        (child, port.parse().expect("a port"))
    }
}

/// Whether the test is run by root.
#[cfg(unix)]
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    tempfile::tempdir().and_then(|own| fs::metadata(own.path())).is_ok_and(|own| own.uid() == 0)
}

/// The program next to this test; cargo builds it together with the tests of `server`.
fn built() -> PathBuf {
    let test = env::current_exe().expect("this test has a place");
    let target = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let binary = target.join(format!("copilot-portal{}", env::consts::EXE_SUFFIX));
    assert!(binary.exists(), "build it first: `cargo build --bin copilot-portal`");
    binary
}

fn open_to_all(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("our own folder");
    }
    #[cfg(not(unix))]
    let _ = folder;
}

/// A request to a program that may end meanwhile, on a new connection; `None` if it is not answered.
pub fn try_call(
    port: u16,
    method: &str,
    path: &str,
    head: &str,
    body: &str,
) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{head}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Some((status, body.to_owned()))
}

/// A running program, killed when this is dropped.
pub struct Running {
    /// Its folders and settings.
    pub program: Program,
    /// The process, for signals and waiting.
    pub child: Child,
    /// The port it listens on.
    pub port: u16,
}

impl Running {
    /// Kills it, and starts it again on the same folders.
    pub fn kill_and_restart(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it has ended");
        self.restart();
    }

    /// Starts it again on the same folders, after it has ended.
    pub fn restart(&mut self) {
        (self.child, self.port) = self.program.spawn();
    }

    /// Opens a new connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream
    }

    /// Sends bytes on a new connection.
    pub fn send(&self, request: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("sends");
        stream
    }

    /// A request with additional header lines; returns the status and the body of the response.
    pub fn call(&self, method: &str, path: &str, head: &str, body: &str) -> (u16, String) {
        try_call(self.port, method, path, head, body).expect("a whole answer")
    }

    /// A POST as a script sends it; returns the JSON response.
    pub fn post(&self, path: &str, body: &str) -> Value {
        let (status, answer) = self.call("POST", path, "", body);
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {status} {answer}"))
    }

    /// A GET; returns the JSON response.
    pub fn get(&self, path: &str) -> Value {
        let (status, answer) = self.call("GET", path, "", "");
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {status} {answer}"))
    }

    /// Starts a session in the program's folder; returns its path in the API.
    pub fn start_session(&self) -> String {
        let folder = self.program.work().display().to_string();
        let reply = self.post("/api/copilot/session/start/gpt-5-mini", &folder);
        let id = reply["sessionId"].as_str().unwrap_or_else(|| panic!("{reply}"));
        format!("/api/copilot/session/{id}")
    }

    /// Has the model of a session use a tool.
    pub fn use_tool(&self, session: &str, tool: &str, arguments: &Value) {
        let prompt = format!("use the {tool} tool with the arguments {arguments}");
        let reply = self.post(&format!("{session}/query"), &prompt);
        assert_eq!(reply, serde_json::json!({}), "{prompt}");
    }

    /// Reads a session until there is a response of a kind; `reader` continues where it was.
    pub fn read_until(&self, session: &str, reader: &str, callback: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (_, answer) = self.call("GET", &format!("{session}/live/{reader}"), "", "");
            let answer: Value = serde_json::from_str(&answer).expect("JSON");
            let responses = answer["responses"].as_array().cloned().unwrap_or_default();
            let found = responses.into_iter().find(|response| response["callback"] == callback);
            if let Some(found) = found {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain for {callback}: {answer}");
        }
    }

    /// The output of an agent's command, in a session that need not ask.
    pub fn run_command(&self, session: &str, command: &str) -> String {
        self.use_tool(session, "runCommand", &serde_json::json!({ "command": command }));
        let end = self.read_until(session, "commands", "onEndToolExecution");
        end["result"]["content"].as_str().unwrap_or_else(|| panic!("{end}")).to_owned()
    }

    /// Whether it still responds.
    pub fn is_alive(&self) -> bool {
        self.call("GET", "/api/test", "", "").0 == 200
    }

    /// Waits until a condition holds.
    pub fn wait_for(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            assert!(Instant::now() < deadline, "waited in vain: {what}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
