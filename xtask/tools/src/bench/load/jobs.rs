//! Many jobs of trivial tasks: the cost of the engine itself.

use std::collections::HashSet;
use std::path::PathBuf;
use std::{env, fs, process};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::Client;
use super::server::Server;
use crate::bench::figures::{Goal, Outcome, Unit, number, thousands};

/// Models without delays, and entries from the folder in which the server runs.
pub(in crate::bench) const ARGUMENTS: &[&str] =
    &["--simulated-first-ms", "0", "--simulated-delta-ms", "0", "--test-folder", "."];

const JOBS: usize = 50;
const TASKS_EACH: usize = 20;
/// How many tasks a [wave](run_wave) has.
pub(in crate::bench) const TASKS: usize = JOBS * TASKS_EACH;
/// A model that does not even emit reasoning.
const MODEL: &str = "simulated-quick";

pub(in crate::bench) async fn run(server: &Server) -> anyhow::Result<Outcome> {
    let mut client = Client::connect(&server.target).await?;
    install_entry(&mut client).await?;
    let cpu_before = server.cpu_seconds();
    let seconds = run_wave(&mut client).await?;
    let cpu = server.cpu_seconds().zip(cpu_before);
    let cpu_each = cpu.map(|(now, before)| (now - before) * 1e3 / number(TASKS));
    let goal = Goal::new("CPU per task", Unit::Milliseconds, 2.0).measured(cpu_each);
    let details = format!(
        "{} tasks/s, {seconds:.2} s in all, {} responses, {}",
        thousands(number(TASKS) / seconds),
        thousands(number(usize::try_from(server.target.responses())?)),
        server.usage(cpu_before),
    );
    Ok(Outcome { goals: vec![goal], details })
}

/// Runs all jobs at once to their ends, and returns how many seconds that took. The entry must be
/// [installed](install_entry).
pub(in crate::bench) async fn run_wave(client: &mut Client) -> anyhow::Result<f64> {
    let directory = env::temp_dir().display().to_string();
    let begun = Instant::now();
    let mut jobs = HashSet::new();
    for _ in 0..JOBS {
        let answer = client.post("copilot/job/start/bench", &directory).await?;
        let reply: Value = serde_json::from_str(answer)?;
        let id = reply["jobId"].as_str().with_context(|| format!("no job: {answer}"))?;
        jobs.insert(id.to_owned());
    }
    let mut done = Done::default();
    while !jobs.is_empty() {
        let ids: Vec<&str> = jobs.iter().map(String::as_str).collect();
        let answer = client.post("copilot/live/bench", &ids.join("\n")).await?;
        for id in done.note(answer)? {
            jobs.remove(&id);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    if done.tasks != TASKS || done.jobs != JOBS {
        bail!("{} tasks of {TASKS} and {} jobs of {JOBS} succeeded", done.tasks, done.jobs);
    }
    Ok(seconds)
}

pub(in crate::bench) async fn install_entry(client: &mut Client) -> anyhow::Result<()> {
    let works = vec![json!({ "kind": "Ref", "taskId": "trivial" }); TASKS_EACH];
    let entry = json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": { "trivial": {
            "model": { "category": "driving" },
            "prompt": ["do nothing"],
            "requireUserInput": false,
        } },
        "jobs": { "bench": { "work": { "kind": "Seq", "works": works } } },
        "grid": [],
    });
    let file = EntryFile::write(&entry)?;
    let answer =
        client.post("copilot/test/installJobsEntry", &file.0.display().to_string()).await?;
    if !answer.contains("\"OK\"") {
        bail!("the entry was not installed: {answer}");
    }
    Ok(())
}

/// An entry in the server's folder; removed on drop.
struct EntryFile(PathBuf);

impl EntryFile {
    fn write(entry: &Value) -> anyhow::Result<Self> {
        let name = format!("copilot-portal-bench-{}.json", process::id());
        let file = Self(env::temp_dir().join(name));
        fs::write(&file.0, entry.to_string())
            .with_context(|| format!("cannot write {}", file.0.display()))?;
        Ok(file)
    }
}

impl Drop for EntryFile {
    fn drop(&mut self) {
        // If this fails, the clean-up of the folder removes it.
        let _ = fs::remove_file(&self.0);
    }
}

/// What has succeeded so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    tasks: usize,
    jobs: usize,
}

impl Done {
    /// Counts the news in an answer, and returns the jobs that are closed.
    fn note(&mut self, answer: &str) -> anyhow::Result<Vec<String>> {
        let reply: Value = serde_json::from_str(answer)?;
        let mut closed = Vec::new();
        if reply["error"] == "HttpRequestTimeout" {
            return Ok(closed);
        }
        let Some(items) = reply["live"].as_array() else {
            bail!("instead of responses: {answer}");
        };
        for item in items {
            let Some(responses) = item["responses"].as_array() else {
                if item["error"] != "JobsClosed" {
                    bail!("instead of responses: {item}");
                }
                closed.extend(item["id"].as_str().map(str::to_owned));
                continue;
            };
            for response in responses {
                let is = |callback: &str| response["callback"] == callback;
                self.tasks += usize::from(is("workStopped") && response["succeeded"] == true);
                self.jobs += usize::from(is("jobSucceeded"));
            }
        }
        Ok(closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successes_are_counted_and_ends_noticed() {
        let mut done = Done::default();
        let closed = done.note(
            r#"{"live":[{"id":"job-1","error":"JobsClosed"},{"id":"job-2","responses":[
                {"callback":"workStarted","workId":0},
                {"callback":"workStopped","workId":0,"succeeded":true},
                {"callback":"workStopped","workId":1,"succeeded":false},
                {"callback":"jobSucceeded"}]}]}"#,
        );
        assert_eq!(closed.expect("an answer"), ["job-1"]);
        assert_eq!(done, Done { tasks: 1, jobs: 1 });
        for broken in [r#"{"error":"x"}"#, r#"{"live":[{"id":"job-1","error":"JobNotFound"}]}"#] {
            assert!(done.note(broken).is_err(), "{broken}");
        }
    }
}
