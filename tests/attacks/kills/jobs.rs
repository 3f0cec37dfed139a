//! Jobs whose agents change files: each ends as if nothing had happened, and nothing is done twice
//! unless somebody has decided so.
//!
//! ```text
//!   starters ×2 ─► jobs, each in a folder of its own ──┐
//!   answerers ×2 ─► continue, redo, done ──────────────┤
//!                                                      ▼
//!   kill -9 ─► restart, up to four times ─► all end ─► what the tasks report agrees with the folders
//! ```

mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tests::program::{Program, Running};

use super::checks::{check_ended_job, check_recorded, check_store, listed};
use super::{Random, begin, live_and_die, try_get, try_post};
use traces::{Summary, TaskTrace};

/// Starters, and as many answerers.
const USERS: usize = 2;
/// In one life of the program, by each starter.
const MOST_JOBS: u64 = 2;
/// After so many kills all jobs have to end. A prompt is tried five times, and a kill may take a try.
const KILLS_IN_A_ROW: usize = 4;
/// In ms: about as long as a job takes.
const LONGEST_LIFE: u64 = 700;
const MODEL: &str = "gpt-5-mini";
/// In the order of their works.
const TASKS: [&str; 4] = ["first", "left", "right", "judged"];
const ASKS: &str = "asks";
const JOBS: [&str; 2] = ["resumes", ASKS];
const INBOX: &str = "/api/copilot/inbox";

/// What was acknowledged.
struct Known {
    work: PathBuf,
    /// Counts folders.
    folders: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: BTreeSet<String>,
    /// By the id of the question.
    answers: BTreeMap<String, Answer>,
}

/// An answer that was accepted.
struct Answer {
    choice: &'static str,
    task: String,
    asked_at: String,
}

impl Known {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no user panics")
    }

    fn has_answered(&self, question: &str) -> bool {
        self.state().answers.contains_key(question)
    }

    /// The answers that a task got, in the order of its questions.
    fn answers_to(&self, task: &str) -> Vec<&'static str> {
        let state = self.state();
        let mut answers: Vec<_> =
            state.answers.values().filter(|answer| answer.task == task).collect();
        answers.sort_by(|a, b| a.asked_at.cmp(&b.asked_at));
        answers.iter().map(|answer| answer.choice).collect()
    }
}

/// The commands of a task. A second run of one shows in the log of the job's folder.
fn commands_of(task: &str) -> [String; 2] {
    [format!("echo {task} begun >> log"), format!("echo {task} done >> log")]
}

fn entry() -> Value {
    let task = |name: &str| {
        let [begin, end] = commands_of(name).map(|command| json!({ "command": command }));
        let file = json!({ "path": format!("{name}.txt"), "content": name });
        json!({
            "model": { "category": "driving" },
            "prompt": [
                format!("Use the runCommand tool with the arguments {begin}"),
                format!("Use the createFile tool with the arguments {file}"),
                "Wait 50 ms",
                format!("Use the runCommand tool with the arguments {end}"),
                "Say \"done\"",
            ],
            "requireUserInput": false,
        })
    };
    let mut tasks: BTreeMap<_, _> = TASKS.iter().map(|name| (*name, task(name))).collect();
    let judged = tasks.get_mut("judged").expect("a task");
    judged["criteria"] = json!({
        "condition": ["Use the job_boolean_true tool with the argument \"so it is\""],
        "runConditionInSameSession": false,
        "failureAction": { "retryTimes": 0 },
    });
    let work = |name: &str| json!({ "kind": "Ref", "taskId": name });
    let [first, left, right, last] = TASKS.map(work);
    let both = json!({ "kind": "Par", "works": [left, right] });
    let job = |on_interrupted: &str| {
        json!({
            "permissions": "approve-all",
            "onInterrupted": on_interrupted,
            "work": { "kind": "Seq", "works": [first, both, last] },
        })
    };
    json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": tasks,
        "jobs": { "resumes": job("resume"), ASKS: job("ask") },
        "grid": [],
    })
}

/// Starts some jobs, unless the program is killed before.
fn start_jobs(port: u16, random: &mut Random, known: &Known) -> Option<()> {
    for _ in 0..=random.below(MOST_JOBS) {
        let number = known.folders.fetch_add(1, Ordering::Relaxed);
        let folder = known.work.join(format!("job-{number}"));
        fs::create_dir(&folder).expect("a folder");
        let name = random.choose(&JOBS).expect("one of them");
        let path = format!("/api/copilot/job/start/{name}");
        let reply = try_post(port, &path, &folder.display().to_string())?;
        let id = reply["jobId"].as_str().unwrap_or_else(|| panic!("{reply}"));
        known.state().jobs.insert(id.to_owned());
    }
    Some(())
}

/// Answers everything that waits; `None` if the program is gone.
fn answer_all(port: u16, random: &mut Random, known: &Known) -> Option<()> {
    let inbox = try_get(port, INBOX)?;
    for item in inbox["items"].as_array().expect("items") {
        let field = |name: &str| item[name].as_str().unwrap_or_else(|| panic!("{item}")).to_owned();
        let (id, task, asked_at) = (field("id"), field("taskId"), field("askedAt"));
        assert_eq!(item["kind"], "interrupted", "{item}");
        let choice = *random.choose(&["continue", "redo", "done"]).expect("one of them");
        let reply = try_post(port, &format!("{INBOX}/{id}"), choice)?;
        if reply == json!({}) {
            let answer = Answer { choice, task, asked_at };
            let before = known.state().answers.insert(id, answer);
            assert!(before.is_none(), "answered twice: {item}");
        } else {
            // Somebody else was first.
            assert_eq!(reply, json!({ "error": "NotPending" }), "{item}");
        }
    }
    Some(())
}

/// Waits until all jobs have ended. Whatever they ask is answered.
fn wait_for_ends(server: &mut Running, random: &mut Random, known: &Known) {
    server.wait_for("the end of all jobs", |server| {
        for item in server.get(INBOX)["items"].as_array().expect("items") {
            let id = item["id"].as_str().expect("an id");
            assert!(!known.has_answered(id), "asked again: {item}");
        }
        answer_all(server.port, random, known).expect("it runs");
        jobs(server).values().all(|job| job["endedAt"].is_string())
    });
}

fn jobs(server: &Running) -> BTreeMap<String, Value> {
    listed(server, "/api/copilot/history?kind=job&limit=200")
}

/// Checks all jobs that were not checked yet, whether their start was acknowledged or not.
fn check_jobs(
    server: &mut Running,
    known: &Known,
    checked: &mut BTreeSet<String>,
    summary: &mut Summary,
) {
    let jobs = jobs(server);
    for id in &known.state().jobs {
        assert!(jobs.contains_key(id), "{id} is lost");
    }
    for (id, item) in &jobs {
        if checked.insert(id.clone()) {
            let path = format!("/api/copilot/job/{id}");
            let status = server.get(&format!("{path}/status"));
            assert_eq!(status["status"], "Succeeded", "{path}: {status}");
            let is_asking = item["title"] == ASKS;
            let mut tasks = check_ended_job(server, &path);
            tasks.sort_unstable();
            let traces: Vec<_> =
                tasks.iter().map(|(_, task)| TaskTrace::read(server, task)).collect();
            assert_eq!(traces.len(), TASKS.len(), "{path}");
            let folder = item["folder"].as_str().expect("a folder");
            check_job(Path::new(folder), is_asking, &traces, known);
            summary.add(&traces);
        }
    }
    let answered = listed(server, "/api/copilot/inbox/answered?limit=200");
    for (question, Answer { choice, .. }) in &known.state().answers {
        check_recorded(&answered, question, choice);
    }
    assert_eq!(server.get(INBOX), json!({ "items": [] }), "nobody waits any more");
}

/// What is in the folder of a job is what its tasks say.
fn check_job(folder: &Path, is_asking: bool, traces: &[TaskTrace], known: &Known) {
    // The program may have been killed before the first command, and the work counted as done.
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let mut unexplained: Vec<&str> = log.lines().collect();
    for (name, trace) in TASKS.iter().zip(traces) {
        let of_task = format!("`{name}` in {}: {trace:#?}", folder.display());
        if is_asking {
            trace.check_answers(&known.answers_to(&trace.id), &of_task);
        } else {
            assert!(!trace.was_asked(), "{of_task}");
        }
        for command in &commands_of(name) {
            let line = command.trim_start_matches("echo ").trim_end_matches(" >> log");
            let before = unexplained.len();
            unexplained.retain(|it| *it != line);
            trace.check_command(command, before - unexplained.len(), &of_task);
        }
        let file = fs::read_to_string(folder.join(format!("{name}.txt")));
        assert!(trace.counts_as_done() || file.is_ok_and(|text| text == *name), "{of_task}");
    }
    assert_eq!(unexplained, [""; 0], "nobody has done this: {traces:#?}");
}

#[test]
fn jobs_end_as_if_nothing_had_happened_and_repeat_nothing_unless_somebody_says_so() {
    let (kills, mut random) = begin();
    let mut program =
        Program::new(&["--store", "sqlite", "--simulated-delta-ms", "1", "--allow-commands"]);
    let file = program.home().join("entry.json");
    fs::write(&file, entry().to_string()).expect("a file");
    program.command().arg("--entry").arg(file);
    let known =
        Known { work: program.work(), folders: AtomicU64::default(), state: Mutex::default() };
    let (mut checked, mut summary) = (BTreeSet::new(), Summary::default());
    let mut server = program.start();
    for kill in 1..=kills {
        let life = Duration::from_millis(random.below(LONGEST_LIFE));
        let seeds: Vec<u64> = (0..2 * USERS).map(|_| random.below(u64::MAX)).collect();
        let (for_starters, for_answerers) = seeds.split_at(USERS);
        let known = &known;
        live_and_die(&mut server, life, |scope, port| {
            for seed in for_starters {
                scope.spawn(move || start_jobs(port, &mut Random::new(*seed), known));
            }
            for seed in for_answerers {
                scope.spawn(move || {
                    let mut random = Random::new(*seed);
                    while answer_all(port, &mut random, known).is_some() {}
                });
            }
        });
        println!("kill {kill} after {life:?}");
        if kill.is_multiple_of(KILLS_IN_A_ROW) || kill == kills {
            wait_for_ends(&mut server, &mut random, known);
            check_jobs(&mut server, known, &mut checked, &mut summary);
        }
    }
    println!("{} jobs, {} answers, {summary:?}", checked.len(), known.state().answers.len());
    assert!(!known.state().jobs.is_empty() && !summary.is_empty(), "something was interrupted");
    check_store(&mut server);
}
