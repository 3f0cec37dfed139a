//! Commands in a real shell. Processes are identified by their ids.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::permission::{ApproveAll, DenyAll, PermissionHandler};
use crate::tool::{ToolOutput, ToolSet};
use crate::tools::{RootsLimit, Workspace, WorkspaceSettings, session_tools};

struct Fixture {
    folder: TempDir,
    tools: ToolSet,
}

impl Fixture {
    fn new() -> Self {
        Self::with(
            CommandSettings { allowed: true, ..CommandSettings::default() },
            Arc::new(ApproveAll),
        )
    }

    fn with(commands: CommandSettings, permissions: Arc<dyn PermissionHandler>) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        std::fs::create_dir(folder.path().join("sub")).expect("folder");
        let workspace = Workspace::open(folder.path(), &RootsLimit::default()).expect("a folder");
        let tools = session_tools(WorkspaceSettings { workspace, permissions, commands });
        Self { folder, tools }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }

    async fn call(&self, arguments: Value) -> Result<String, (String, String)> {
        let result = self.tools.call("runCommand", ToolCall::new(arguments)).await;
        result
            .map(|result| result.content)
            .map_err(|error| (error.code.unwrap_or_default(), error.message))
    }

    async fn run(&self, command: &str) -> String {
        self.call(json!({ "command": command })).await.expect("success")
    }

    /// The process whose id a command has written to a file.
    async fn process(&self, file: &str) -> u32 {
        let place = self.folder.path().join(file);
        loop {
            let text = std::fs::read_to_string(&place).unwrap_or_default();
            match text.strip_suffix('\n').map(str::parse) {
                Some(number) => return number.expect("a number"),
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }
}

/// Waits until a process has exited, even if its parent has not reaped it yet.
async fn gone(process: u32) {
    let started = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "still there: {stat}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts processes in the background and one in the foreground, none of which ever ends.
const FAMILY: &str = "echo started; sh -c 'sleep 1000 & echo $! > grandchild; wait' & \
    echo $$ > leader; sleep 1000";

#[tokio::test]
async fn a_command_answers_with_its_code_and_output() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.run("echo one; echo two >&2; echo three").await,
        "[exit code 0]\none\ntwo\nthree\n"
    );
    assert_eq!(fixture.run("exit 3").await, "[exit code 3]\n");
    assert_eq!(fixture.run("kill -9 $$").await, "[ended by signal 9]\n");
    assert_eq!(fixture.run("cat; echo over").await, "[exit code 0]\nover\n");
    assert!(fixture.run("no-such-command").await.starts_with("[exit code 127]\n"));
    assert_eq!(fixture.run("printf 'f\\374r'").await, "[exit code 0]\nf\u{fffd}r");
}

#[tokio::test]
async fn a_command_runs_in_a_folder_of_the_workspace() {
    let fixture = Fixture::new();
    let root = fixture.root();
    let pwd = |cwd: Value| fixture.call(json!({ "command": "pwd -P", "cwd": cwd }));
    for (cwd, folder) in
        [(json!(null), ""), (json!(""), ""), (json!("."), ""), (json!("sub"), "sub")]
    {
        let expected = format!("[exit code 0]\n{}\n", root.join(folder).display());
        assert_eq!(
            pwd(cwd).await.map(|text| text.replace("/\n", "\n")),
            Ok(expected.replace("/\n", "\n"))
        );
    }
    std::os::unix::fs::symlink("/", root.join("link")).expect("link");
    std::fs::write(root.join("file"), "").expect("file");
    for cwd in ["..", "/", "link", "link/etc", "file", "missing", ".git"] {
        assert!(pwd(json!(cwd)).await.is_err(), "{cwd}");
    }
}

#[tokio::test]
async fn commands_are_off_unless_allowed_and_approved() {
    let fixture = Fixture::with(CommandSettings::default(), Arc::new(ApproveAll));
    let (code, message) = fixture.call(json!({ "command": "touch x" })).await.expect_err("off");
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("not_allowed", "commands are not allowed by the settings")
    );
    let settings = CommandSettings { allowed: true, ..CommandSettings::default() };
    let refused = Fixture::with(settings, Arc::new(DenyAll));
    let (code, _) = refused.call(json!({ "command": "touch x" })).await.expect_err("refused");
    assert_eq!(code, "denied");
    assert!(!refused.folder.path().join("x").exists());
    let fixture = Fixture::new();
    for command in ["", "  ", "a\0b", &"x".repeat(20_000)] {
        let (code, _) = fixture.call(json!({ "command": command })).await.expect_err("invalid");
        assert_eq!(code, "invalid_arguments");
    }
}

#[tokio::test]
async fn an_approved_command_does_not_run_if_commands_were_forbidden_meanwhile() {
    struct Forbid(CancellationToken);
    #[async_trait]
    impl PermissionHandler for Forbid {
        async fn request(
            &self,
            _: &Asker,
            _: PermissionRequest,
        ) -> Result<(), crate::permission::Denied> {
            self.0.cancel();
            Ok(())
        }
    }
    let settings = CommandSettings { allowed: true, ..CommandSettings::default() };
    let forbid = Arc::new(Forbid(settings.forbidden.clone()));
    let fixture = Fixture::with(settings, forbid);
    let refused = fixture.call(json!({ "command": "touch made" })).await;
    assert_eq!(refused.expect_err("refused").0, "not_allowed");
    assert!(!fixture.folder.path().join("made").exists());
}

#[tokio::test]
async fn people_see_the_whole_command() {
    struct Asked(Mutex<Vec<PermissionRequest>>);
    #[async_trait]
    impl PermissionHandler for Asked {
        async fn request(
            &self,
            _: &Asker,
            request: PermissionRequest,
        ) -> Result<(), crate::permission::Denied> {
            self.0.lock().push(request);
            Ok(())
        }
    }
    let asked = Arc::new(Asked(Mutex::default()));
    let settings = CommandSettings { allowed: true, ..CommandSettings::default() };
    let fixture = Fixture::with(settings, Arc::<Asked>::clone(&asked));
    let command = "echo one\necho \u{202e}two";
    let call = fixture.call(json!({ "command": command, "cwd": "sub" })).await;
    assert!(call.is_ok());
    let request = asked.0.lock().pop().expect("a question");
    assert_eq!(request.kind, PermissionKind::Command);
    assert_eq!(request.title, "Run echo one…");
    assert_eq!(request.path.as_deref(), Some("sub"));
    assert_eq!(request.detail.as_deref(), Some("echo one\necho \\u{202e}two"));
}

#[tokio::test]
async fn a_time_out_ends_all_processes() {
    let fixture = Fixture::new();
    let call = fixture.call(json!({ "command": FAMILY, "timeoutMs": 500 }));
    let (code, message) = call.await.expect_err("too slow");
    assert_eq!(code, "timed_out");
    assert!(message.starts_with("ended after 500 ms: `echo started;"), "{message}");
    assert!(message.ends_with("\nstarted\n"), "{message}");
    gone(fixture.process("leader").await).await;
    gone(fixture.process("grandchild").await).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_ends_as_well() {
    let fixture = Fixture::new();
    // A process in a new session has a process group of its own.
    let command = "setsid sh -c 'echo $$ > left; sleep 1000' & wait";
    let left = tokio::select! {
        outcome = fixture.call(json!({ "command": command })) => panic!("{outcome:?}"),
        left = fixture.process("left") => left,
    };
    gone(left).await;
}

#[tokio::test]
async fn a_dropped_call_ends_all_processes() {
    let fixture = Fixture::new();
    let processes =
        async { (fixture.process("leader").await, fixture.process("grandchild").await) };
    let (leader, grandchild) = tokio::select! {
        outcome = fixture.call(json!({ "command": FAMILY })) => panic!("{outcome:?}"),
        processes = processes => processes,
    };
    gone(leader).await;
    gone(grandchild).await;
}

#[tokio::test]
async fn an_aborted_task_ends_all_processes() {
    let fixture = Arc::new(Fixture::new());
    let running = Arc::clone(&fixture);
    let task = tokio::spawn(async move { running.call(json!({ "command": FAMILY })).await });
    let grandchild = fixture.process("grandchild").await;
    task.abort();
    assert!(task.await.is_err());
    gone(grandchild).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_command() {
    let fixture = Fixture::new();
    let text = fixture.run("sleep 1000 & echo $! > left; echo over").await;
    assert_eq!(text, "[exit code 0]\nover\n");
    gone(fixture.process("left").await).await;
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let fixture = Fixture::new();
    let text = fixture.run("echo first; yes | head -c 3000000; echo last").await;
    assert!(text.starts_with("[exit code 0]\nfirst\ny\n"));
    assert!(text.ends_with("y\nlast\n"));
    assert!(text.contains(" bytes left out …]\n"));
    assert!(text.len() < 50_000, "{}", text.len());
}

#[tokio::test]
async fn output_is_reported_as_it_comes() {
    let fixture = Fixture::new();
    let seen = Arc::new(Mutex::new(String::new()));
    let count = Arc::new(AtomicUsize::new(0));
    let (text, deltas) = (Arc::clone(&seen), Arc::clone(&count));
    let go = fixture.folder.path().join("go");
    // The command goes on only after its first output was reported.
    let output = ToolOutput::new(move |delta| {
        text.lock().push_str(delta);
        deltas.fetch_add(1, Ordering::SeqCst);
        std::fs::write(&go, "").expect("file");
    });
    let command = "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two";
    let call = ToolCall::new(json!({ "command": command })).followed("call-1", output);
    let result = fixture.tools.call("runCommand", call).await;
    assert_eq!(result.expect("success").content, "[exit code 0]\none\ntwo\n");
    assert_eq!(*seen.lock(), "one\ntwo\n");
    assert!(count.load(Ordering::SeqCst) >= 2);
}

#[tokio::test]
async fn secrets_are_kept_from_commands() {
    // Setting a variable is unsafe, so the test hides an existing one.
    let settings = CommandSettings {
        allowed: true,
        secrets: vec!["CARGO_PKG_NAME".to_owned()],
        ..CommandSettings::default()
    };
    let fixture = Fixture::with(settings, Arc::new(ApproveAll));
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    let text = fixture.run("echo ${CARGO_PKG_NAME-none} ${CARGO_PKG_VERSION:+some}").await;
    assert_eq!(text, "[exit code 0]\nnone some\n");
}
