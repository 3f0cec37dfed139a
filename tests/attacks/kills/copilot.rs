//! The program is killed together with the Copilot CLI in the middle of a turn, and the job goes on.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use stub_provider::{Answer, Frames, StubProvider, copilot_cli};
use tests::program::{Program, Running};

use super::checks::{events, of};

const MODEL: &str = "scripted";
const PROMPT: &str = "Plant a plum tree";
const CONDITION: &str = "Does it stand? Say so by job_boolean_true";
const RESUMED: &str = "The server stopped while you were working on your last prompt";
const REPEATED: &str = "The session crashed, please redo";
const INBOX: &str = "/api/copilot/inbox";

/// A program whose job runs on the CLI, which runs on a scripted provider.
struct Bench {
    provider: StubProvider,
    server: Running,
    /// The path of the job.
    job: String,
}

impl Bench {
    /// Starts a job with one task.
    async fn start(task: &Value, script: impl IntoIterator<Item = Answer>) -> Self {
        let provider = StubProvider::start().await.expect("loopback");
        for answer in script {
            provider.push(answer);
        }
        let mut program = Program::new(&["--store", "sqlite"]);
        for (name, value) in copilot_cli::environment(&program.home()) {
            program.command().env(name, value);
        }
        let (cli, url) = (copilot_cli::program().display().to_string(), provider.base_url());
        let settings = format!(
            "[copilot]\ncliPath = {cli:?}\n\
             [copilot.provider]\nbaseUrl = {url:?}\nmodels = [{{ id = {MODEL:?} }}]\n"
        );
        let (config, file) = (program.home().join("own.toml"), program.home().join("entry.json"));
        fs::write(&config, settings).expect("a file");
        fs::write(&file, entry(task).to_string()).expect("a file");
        program.command().arg("--config").arg(config).arg("--entry").arg(file);
        let folder = program.work().display().to_string();
        let server = program.start();
        let reply = server.post("/api/copilot/job/start/grow", &folder);
        let id = reply["jobId"].as_str().unwrap_or_else(|| panic!("{reply}"));
        let job = format!("/api/copilot/job/{id}");
        Self { provider, server, job }
    }

    /// Kills the program and its CLI once the provider was asked so often.
    async fn kill_after(&mut self, requests: usize) {
        self.provider.wait_for_requests(requests).await;
        self.server.child.kill().expect("it runs");
        self.server.child.wait().expect("it has ended");
    }

    /// The CLI forgets its conversations.
    fn forget(&self) {
        let kept = self.server.program.home().join("session-state");
        fs::remove_dir_all(kept).expect("the conversations of the CLI");
    }

    /// Starts the program again, on whose questions the provider then answers so.
    fn restart(&mut self, script: impl IntoIterator<Item = Answer>) {
        for answer in script {
            self.provider.push(answer);
        }
        self.server.restart();
    }

    /// Answers the one question that comes.
    fn answer(&mut self, choice: &str) {
        let mut question = Value::Null;
        self.server.wait_for("a question", |server| {
            question = server.get(INBOX)["items"].get(0).cloned().unwrap_or_default();
            !question.is_null()
        });
        assert_eq!(question["kind"], "interrupted", "{question}");
        let path = format!("{INBOX}/{}", question["id"].as_str().expect("an id"));
        assert_eq!(self.server.post(&path, choice), json!({}), "{question}");
    }

    /// Waits until the job has succeeded, and returns what was decided about the interrupted turn.
    fn recoveries(&mut self) -> Vec<String> {
        let path = format!("{}/status", self.job);
        let mut status = Value::Null;
        self.server.wait_for("the end of the job", |server| {
            status = server.get(&path);
            status["status"] != "Running"
        });
        assert_eq!(status["status"], "Succeeded", "{status}\n{:#?}", self.told());
        let of_job = events(&self.server, &self.job);
        let started = of(&of_job, "workStarted").next().expect("the work has started");
        let task = started["taskId"].as_str().expect("an id");
        let of_task = events(&self.server, &format!("/api/copilot/task/{task}"));
        let decisions = of(&of_task, "taskDecision");
        decisions
            .filter(|decision| decision["kind"] == "Interrupted")
            .map(|decision| decision["recovery"].as_str().expect("a word").to_owned())
            .collect()
    }

    /// What the last request told the model, without the CLI's instructions: the role of each
    /// message, and the message.
    fn told(&self) -> Vec<(String, String)> {
        let last = self.provider.chats().pop().expect("a request");
        let messages = last["messages"].as_array().expect("messages").iter();
        let told = messages.filter(|message| message["role"] != "system").map(|message| {
            let role = message["role"].as_str().expect("a role").to_owned();
            (role, message.to_string())
        });
        told.collect()
    }

    /// Checks what the last request told the model: for each message its role and a part of it.
    fn assert_told(&self, expected: &[(&str, &str)]) {
        let told = self.told();
        let is_expected = told.len() == expected.len()
            && told
                .iter()
                .zip(expected)
                .all(|(told, (role, part))| told.0 == *role && told.1.contains(part));
        assert!(is_expected, "not {expected:#?} but {told:#?}");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.server.program.work().join(name)
    }
}

fn entry(task: &Value) -> Value {
    json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": { "plant": task },
        "jobs": { "grow": {
            "permissions": "approve-all",
            "work": { "kind": "Ref", "taskId": "plant" },
        } },
        "grid": [],
    })
}

fn task() -> Value {
    json!({ "model": { "category": "driving" }, "prompt": [PROMPT], "requireUserInput": false })
}

/// An answer that never ends.
fn endless() -> Answer {
    Answer::stream().bytes(Frames::new().text("Once").text_of_all()).hang()
}

fn call(tool: &str, arguments: &Value) -> Answer {
    let call = Frames::new().call(0, "call-1", tool, &arguments.to_string());
    call.finish("tool_calls").done().answer()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_the_copilot_cli_is_resumed_with_what_it_had_done() {
    let mut bench = Bench::start(&task(), []).await;
    let file = bench.file("tree.txt");
    bench.provider.push(call("create", &json!({ "path": file, "file_text": "plum" })));
    bench.provider.push(endless());
    bench.kill_after(2).await;
    bench.restart([Frames::saying("It stands.")]);
    assert_eq!(bench.recoveries(), ["resumed"]);
    bench.assert_told(&[
        ("user", PROMPT),
        ("assistant", "tree.txt"),
        ("tool", "call-1"),
        ("user", RESUMED),
    ]);
    assert_eq!(fs::read_to_string(file).expect("the file"), "plum");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_copilot_cli_that_was_killed_is_left_to_the_resumed_turn() {
    let mut bench = Bench::start(&task(), []).await;
    let file = bench.file("log");
    let command = "echo dug >> log; sleep 3611";
    bench.provider.push(call("bash", &json!({ "command": command, "description": "dig" })));
    bench.server.wait_for("the command runs", |_| file.exists());
    bench.kill_after(1).await;
    bench.restart([Frames::saying("It was dug before.")]);
    assert_eq!(bench.recoveries(), ["resumed"]);
    bench.assert_told(&[
        ("user", PROMPT),
        ("assistant", "echo dug"),
        ("tool", "call-1"),
        ("user", RESUMED),
    ]);
    assert_eq!(fs::read_to_string(file).expect("the file"), "dug\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_the_copilot_cli_has_not_saved_is_repeated_when_its_turn_is_resumed() {
    let mut task = task();
    task["criteria"] = json!({ "condition": [CONDITION], "failureAction": { "retryTimes": 0 } });
    let mut bench = Bench::start(&task, [Frames::saying("Planted."), endless()]).await;
    bench.kill_after(2).await;
    let verdict = call("job_boolean_true", &json!({ "argument": "I see it" }));
    bench.restart([verdict, Frames::saying("It stands.")]);
    assert_eq!(bench.recoveries(), ["resumed"]);
    let told = bench.told();
    let resumed = told.iter().find(|(_, message)| message.contains(RESUMED));
    assert!(resumed.is_some_and(|(_, message)| message.contains(CONDITION)), "{told:#?}");
    assert!(told.iter().any(|(_, message)| message.contains(PROMPT)), "{told:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_conversation_a_turn_of_the_copilot_cli_that_only_looked_begins_again() {
    let mut bench = Bench::start(&task(), []).await;
    bench.provider.push(call("view", &json!({ "path": bench.file("") })));
    bench.provider.push(endless());
    bench.kill_after(2).await;
    bench.forget();
    bench.restart([Frames::saying("Planted.")]);
    assert_eq!(bench.recoveries(), ["sentAgain"]);
    bench.assert_told(&[("user", PROMPT)]);
    assert!(bench.told()[0].1.contains(REPEATED), "{:?}", bench.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_conversation_somebody_decides_on_a_turn_that_may_have_changed_something() {
    for (choice, recovery) in
        [("continue", "resumed"), ("redo", "sentAgain"), ("done", "countedAsDone")]
    {
        let mut bench = Bench::start(&task(), []).await;
        let file = bench.file("tree.txt");
        bench.provider.push(call("create", &json!({ "path": file, "file_text": "plum" })));
        bench.provider.push(endless());
        bench.kill_after(2).await;
        bench.forget();
        bench.restart([Frames::saying("It stands.")]);
        bench.answer(choice);
        assert_eq!(bench.recoveries(), ["asked", recovery]);
        let requests = bench.provider.chats().len();
        match choice {
            // A new conversation is told what the lost one was about.
            "continue" => {
                bench.assert_told(&[("user", RESUMED)]);
                let told = &bench.told()[0].1;
                assert!(told.contains(PROMPT) && told.contains("tool create"), "{told}");
            }
            "redo" => bench.assert_told(&[("user", REPEATED)]),
            _ => assert_eq!(requests, 2, "nobody is asked again"),
        }
    }
}
