//! Jobs as scripts use them, and entries for them.

use std::fmt::Write;

use axum::body::Body;
use serde_json::{Map, Value, json};
pub use wire::entry::testing::json::{alt, par, repeat, seq};

use crate::{MODEL, Options, Reply, TestApp};

/// A model that changes its mind: `say one | say two`.
pub const FICKLE_MODEL: &str = "fickle";
/// A model that takes a while to start.
pub const SLOW_MODEL: &str = "slow-starter";

/// Options for a server with the models of these tasks.
pub fn options() -> Options {
    Options { further_models: &[FICKLE_MODEL, SLOW_MODEL], ..Options::default() }
}

/// A work of one task.
///
/// - `ok` succeeds, `no` fails, `crash` crashes;
/// - `ok N` and `no N` do so after N seconds;
/// - a list such as `ok,no,ok` does one after the other, each time it is run, then repeats the
///   last;
/// - `asks` needs the user's input, `starts slowly` takes ten seconds before anything happens.
pub fn task(name: &str) -> Value {
    wire::entry::testing::json::task(name)
}

/// An entry with these jobs and the tasks that they name.
pub fn entry_of(jobs: &[(&str, Value)]) -> Value {
    let mut tasks = Map::new();
    let mut named = Map::new();
    for (name, work) in jobs {
        collect_tasks(work, &mut tasks);
        named.insert((*name).to_owned(), json!({ "work": work }));
    }
    let cells: Vec<Value> =
        jobs.iter().map(|(name, _)| json!({ "name": name, "jobName": name })).collect();
    json!({
        "models": { "driving": MODEL, "fickle": FICKLE_MODEL, "slow": SLOW_MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": tasks,
        "jobs": named,
        "grid": [{ "keyword": "test", "jobs": cells }],
    })
}

fn collect_tasks(work: &Value, tasks: &mut Map<String, Value>) {
    match work {
        Value::Object(fields) => {
            if let Some(name) = fields.get("taskId").and_then(Value::as_str) {
                tasks.insert(name.to_owned(), task_named(name));
            }
            fields.values().for_each(|value| collect_tasks(value, tasks));
        }
        Value::Array(works) => works.iter().for_each(|work| collect_tasks(work, tasks)),
        _ => {}
    }
}

/// A task that succeeds exactly if the tool is called.
fn task_named(name: &str) -> Value {
    let (prompt, category) = match name {
        "asks" => ("use the job_boolean_true tool with $user-input".to_owned(), "driving"),
        "starts slowly" => ("use the job_boolean_true tool".to_owned(), "slow"),
        name => (name.split(',').map(prompt_of).collect::<Vec<_>>().join(" | "), "fickle"),
    };
    json!({
        "model": { "category": category },
        "prompt": [prompt],
        "requireUserInput": name == "asks",
        "criteria": {
            "toolExecuted": ["job_boolean_true"],
            "failureAction": { "retryTimes": 0 },
        },
    })
}

fn prompt_of(word: &str) -> String {
    let (word, seconds) = word.split_once(' ').unwrap_or((word, ""));
    let mut prompt = String::new();
    if !seconds.is_empty() {
        write!(prompt, "wait {seconds} seconds, then ").expect("a string takes everything");
    }
    prompt
        + match word {
            "ok" => "use the job_boolean_true tool.",
            "no" => "say nothing happened.",
            "crash" => "crash.",
            word => panic!("no task is called {word}"),
        }
}

impl TestApp {
    /// A server with one job, `job`.
    pub async fn with_job(work: Value) -> Self {
        let app = Self::with(options());
        app.install(&entry_of(&[("job", work)])).await;
        app
    }

    /// Starts a job in the root folder.
    pub async fn start_job(&self, name: &str) -> TestJob<'_> {
        self.start_job_in(name, "/").await
    }

    /// Starts a job in a folder.
    pub async fn start_job_in(&self, name: &str, folder: &str) -> TestJob<'_> {
        let body = format!("{folder}\ninput");
        let reply = self.post(&format!("/api/copilot/job/start/{name}"), body).await.json();
        let id = reply["jobId"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
        TestJob { app: self, id }
    }

    /// The job with this id.
    pub fn job(&self, id: String) -> TestJob<'_> {
        TestJob { app: self, id }
    }

    /// The running jobs, as listed by `copilot/job/running`.
    pub async fn listed_jobs(&self) -> Vec<Value> {
        let mut reply = self.get("/api/copilot/job/running").await.json();
        match reply["jobs"].take() {
            Value::Array(jobs) => jobs,
            _ => panic!("{reply}"),
        }
    }

    /// Begins the shutdown, as Ctrl-C does.
    pub fn begin_shutdown(&self) {
        self.lifecycle.begin_shutdown();
    }
}

/// A running or ended job.
#[derive(Clone)]
pub struct TestJob<'a> {
    app: &'a TestApp,
    /// The id that the server assigned.
    pub id: String,
}

impl TestJob<'_> {
    /// The path of an action on it.
    pub fn path(&self, action: &str) -> String {
        format!("/api/copilot/job/{}/{action}", self.id)
    }

    /// Stops the job; returns the reply.
    pub async fn stop(&self) -> Value {
        self.app.get(&self.path("stop")).await.json()
    }

    /// The reply of the status endpoint.
    pub async fn status(&self) -> Value {
        self.app.get(&self.path("status")).await.json()
    }

    /// A live call with a token.
    pub async fn poll(&self, token: &str) -> Value {
        let path = self.path(&format!("live/{token}"));
        Reply::read(self.app.send("GET", &path, &[], Body::empty()).await).await.json()
    }

    /// Makes live calls until there are responses.
    pub async fn responses(&self, token: &str) -> Vec<Value> {
        loop {
            let mut reply = self.poll(token).await;
            match reply["responses"].take() {
                Value::Array(responses) => return responses,
                _ => assert_eq!(reply["error"], "HttpRequestTimeout", "{reply}"),
            }
        }
    }

    /// Reads until something has happened, in the notation of [`minutes`].
    pub async fn read_until(&self, token: &str, what: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        while !minutes(&seen).split(' ').any(|word| word == what) {
            seen.extend(self.responses(token).await);
        }
        seen
    }

    /// Reads until the job is reported as closed.
    pub async fn read_to_the_end(&self, token: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let reply = self.poll(token).await;
            match &reply["responses"] {
                Value::Array(responses) => seen.extend(responses.iter().cloned()),
                _ if reply["error"] == "HttpRequestTimeout" => {}
                _ => {
                    assert_eq!(reply, json!({"error": "JobsClosed"}));
                    return seen;
                }
            }
        }
    }
}

/// The states of a job's works, in their order.
pub async fn states(job: &TestJob<'_>) -> String {
    let reply = job.status().await;
    let tasks = reply["tasks"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let states = tasks.iter().map(|task| task["state"].as_str().expect("a state"));
    states.collect::<Vec<_>>().join(" ")
}

/// The log of a job in short: `+0` work 0 started, `-0` it succeeded, `!0` it failed.
pub fn minutes(responses: &[Value]) -> String {
    let words = responses.iter().map(|response| match response["callback"].as_str() {
        Some("workStarted") => format!("+{}", response["workId"]),
        Some("workStopped") if response["succeeded"] == true => format!("-{}", response["workId"]),
        Some("workStopped") => format!("!{}", response["workId"]),
        Some(ending) => ending.strip_prefix("job").unwrap_or(ending).to_lowercase(),
        None if response["jobError"].is_string() => "error".to_owned(),
        None => panic!("neither a callback nor an error: {response}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Asserts what holds for every ended job: works alternately start and stop, and the one ending
/// comes last.
pub fn assert_in_order(responses: &[Value]) {
    let all = minutes(responses);
    let mut words: Vec<&str> = all.split(' ').collect();
    let ending = words.pop();
    assert!(matches!(ending, Some("succeeded" | "failed" | "canceled")), "{all}");
    let mut running = Vec::new();
    for word in words {
        match word.split_at(1) {
            ("+", id) => {
                assert!(!running.contains(&id), "started while it runs: {word} in {all}");
                running.push(id);
            }
            ("-" | "!", id) => {
                assert!(running.contains(&id), "not running: {word} in {all}");
                running.retain(|other| *other != id);
            }
            _ => assert_eq!(word, "error", "{all}"),
        }
    }
    assert!(running.is_empty(), "left running: {all}");
}
