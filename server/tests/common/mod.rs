//! The real program as a process, shared by all tests that need one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a shutdown may take.
const END_DEADLINE: Duration = Duration::from_secs(5);

/// The program, with its output piped.
pub(crate) fn portal(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copilot-portal"));
    // A folder without a portal.toml.
    command.args(arguments).current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The developer's own settings must not affect the tests.
    for (name, _) in std::env::vars_os() {
        let is_setting = name.to_str().is_some_and(|name| {
            name.starts_with("COPILOT_PORTAL_") || name.starts_with("LEPTOS_SITE")
        });
        if is_setting {
            command.env_remove(name);
        }
    }
    // Nor is what they keep.
    command.env("COPILOT_PORTAL_STORE", "memory");
    // Nobody reads the log while the program runs, so it must not fill the pipe.
    command.env("RUST_LOG", "warn");
    command
}

/// A running server, killed at the end of the test.
pub(crate) struct Running {
    pub(crate) child: Option<Child>,
    pub(crate) port: u16,
}

impl Running {
    /// Starts the program and reads its two start-up lines.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut line = || lines.next().expect("a start-up line").expect("text");
        let (base, stop) = (line(), line());
        let port = base.strip_prefix("http://localhost:").expect(&base).parse().expect(&base);
        assert_eq!(stop, format!("{base}/api/stop"));
        Self::new(child, port)
    }

    /// Wraps a program that was started in another way.
    pub(crate) fn new(child: Child, port: u16) -> Self {
        Self { child: Some(child), port }
    }

    /// Sends bytes on a new connection.
    pub(crate) fn send(&self, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("connects");
        stream.write_all(head.as_bytes()).expect("sends");
        stream
    }

    /// The whole response to a GET, including its head.
    pub(crate) fn get(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        self.send(&head).read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Waits for the process to exit on its own.
    pub(crate) fn wait(mut self) -> ExitStatus {
        let mut child = self.child.take().expect("running");
        let (done, ended) = mpsc::channel();
        let pid = child.id();
        std::thread::spawn(move || done.send(child.wait()));
        let status = ended.recv_timeout(END_DEADLINE);
        status.unwrap_or_else(|_| panic!("process {pid} did not end in time")).expect("waited for")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have exited already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
