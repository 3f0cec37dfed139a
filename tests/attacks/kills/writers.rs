//! Those who act: each call is noted once it is acknowledged.

use std::fs;

use serde_json::{Value, json};
use tests::program::Program;

use super::acknowledged::{Acknowledged, Stop};
use super::{Random, try_post};

const MODEL: &str = "gpt-5-mini";
/// Open sessions; further ones are not started.
const MAX_SESSIONS: usize = 24;
const TASKS: [&str; 2] = ["short", "long"];
const JOBS: [&str; 2] = ["one-by-one", "at-once"];

/// Has the program start with tasks and jobs.
pub(super) fn install_entry(program: &mut Program) {
    let file = program.home().join("entry.json");
    fs::write(&file, entry().to_string()).expect("a file");
    program.command().arg("--entry").arg(file);
}

fn entry() -> Value {
    let task = |prompt: &str| json!({ "model": { "category": "driving" }, "prompt": [prompt], "requireUserInput": false });
    let work = |name: &str| json!({ "kind": "Ref", "taskId": name });
    json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [{ "modelId": MODEL, "retries": 1 }],
        "promptVariables": {},
        "tasks": {
            "short": task("say \"done\""),
            "long": task("wait 1 second, then say \"done at last\""),
        },
        "jobs": {
            "one-by-one": { "work": { "kind": "Seq", "works": [work("short"), work("short")] } },
            "at-once": { "work": { "kind": "Par", "works": [work("long"), work("short")] } },
        },
        "grid": [],
    })
}

/// Uses the program until it is gone.
pub(super) fn use_program(port: u16, random: &mut Random, known: &Acknowledged) {
    while act(port, random, known).is_some() {}
}

/// Does something; `None` if the program is gone.
fn act(port: u16, random: &mut Random, known: &Acknowledged) -> Option<()> {
    let sessions = known.open_sessions();
    let choice = random.below(32);
    let Some(session) = random.choose(&sessions) else { return start_session(port, known) };
    match choice {
        0..3 if sessions.len() < MAX_SESSIONS => start_session(port, known),
        3..6 => rename(port, session, known),
        6..9 => send_prompt(port, session, known, question),
        9 => send_prompt(port, session, known, long_answer),
        10..16 => answer(port, random, known),
        16..18 => start_task(port, random, session, known),
        18..20 => start_job(port, random, known),
        20 => stop_job(port, random, known),
        21 => stop_session(port, session, known),
        _ => send_prompt(port, session, known, short_answer),
    }
}

fn short_answer(number: u64) -> String {
    format!("say \"answer {number}\"")
}

/// Streams for three seconds.
fn long_answer(number: u64) -> String {
    format!("{number}: Stream 1500 deltas with 2 ms between deltas after 0 ms.")
}

/// Asks before it creates a file.
fn question(number: u64) -> String {
    let arguments = json!({ "path": file_name(number), "content": number.to_string() });
    format!("use the createFile tool with the arguments {arguments}")
}

pub(super) fn file_name(number: u64) -> String {
    format!("made-{number}.txt")
}

fn start_session(port: u16, known: &Acknowledged) -> Option<()> {
    let folder = known.folder.display().to_string();
    let reply = try_post(port, &format!("/api/copilot/session/start/{MODEL}"), &folder)?;
    let id = reply["sessionId"].as_str().unwrap_or_else(|| panic!("{reply}"));
    known.note(&format!("/api/copilot/session/{id}"), |_| {});
    Some(())
}

fn send_prompt(
    port: u16,
    session: &str,
    known: &Acknowledged,
    prompt: fn(u64) -> String,
) -> Option<()> {
    let prompt = prompt(known.next_number());
    let reply = try_post(port, &format!("{session}/query"), &prompt)?;
    if reply == json!({}) {
        known.note(session, |session| session.prompts.push(prompt));
    }
    Some(())
}

fn rename(port: u16, session: &str, known: &Acknowledged) -> Option<()> {
    let mut titles = known.titles.lock().expect("no user panics");
    let title = format!("title {}", known.next_number());
    // Acknowledged or not, it may be the one that is kept.
    let before = titles.remove(session);
    let reply = try_post(port, &format!("{session}/rename"), &title)?;
    if reply == json!({}) {
        titles.insert(session.to_owned(), title);
    } else if let Some(before) = before {
        titles.insert(session.to_owned(), before);
    }
    Some(())
}

/// Answers a question that a reader has seen.
fn answer(port: u16, random: &mut Random, known: &Acknowledged) -> Option<()> {
    let (session, question) = {
        let mut state = known.state();
        let count = state.questions.len() as u64;
        if count == 0 {
            return Some(());
        }
        state.questions.swap_remove(usize::try_from(random.below(count)).expect("small"))
    };
    let decision = random.choose(&["approve", "deny"]).expect("one of two");
    decide(port, &session, &question, decision, known)
}

/// Answers a question in the inbox, which somebody else may have answered.
pub(super) fn decide(
    port: u16,
    session: &str,
    question: &str,
    decision: &str,
    known: &Acknowledged,
) -> Option<()> {
    let reply = try_post(port, &format!("/api/copilot/inbox/{question}"), decision)?;
    if reply == json!({}) {
        known.note(session, |session| {
            let before = session.answers.insert(question.to_owned(), decision.to_owned());
            assert_eq!(before, None, "an answer to {question} was lost");
        });
    }
    Some(())
}

fn stop_session(port: u16, session: &str, known: &Acknowledged) -> Option<()> {
    known.note(session, |session| session.stop = Stop::Asked);
    let reply = try_post(port, &format!("{session}/stop"), "")?;
    if reply == json!({ "result": "Closed" }) {
        known.note(session, |session| session.stop = Stop::Acknowledged);
    }
    Some(())
}

fn start_task(port: u16, random: &mut Random, session: &str, known: &Acknowledged) -> Option<()> {
    let name = random.choose(&TASKS).expect("one of them");
    let id = session.rsplit('/').next().unwrap_or_default();
    let reply = try_post(port, &format!("/api/copilot/task/start/{name}/session/{id}"), "")?;
    if let Some(task) = reply["taskId"].as_str() {
        known.state().tasks.insert(task.to_owned());
        known.note(session, |_| {});
    }
    Some(())
}

fn start_job(port: u16, random: &mut Random, known: &Acknowledged) -> Option<()> {
    let name = random.choose(&JOBS).expect("one of them");
    let folder = known.folder.display().to_string();
    let reply = try_post(port, &format!("/api/copilot/job/start/{name}"), &folder)?;
    if let Some(job) = reply["jobId"].as_str() {
        known.state().jobs.entry(job.to_owned()).or_default();
    }
    Some(())
}

fn stop_job(port: u16, random: &mut Random, known: &Acknowledged) -> Option<()> {
    let running: Vec<String> = {
        let state = known.state();
        let running =
            state.jobs.iter().filter(|(_, job)| !job.has_ended && job.stop == Stop::Never);
        running.map(|(id, _)| id.clone()).collect()
    };
    let Some(job) = random.choose(&running) else { return Some(()) };
    let note = |stop: Stop| known.state().jobs.entry(job.clone()).or_default().stop = stop;
    note(Stop::Asked);
    let reply = try_post(port, &format!("/api/copilot/job/{job}/stop"), "")?;
    if reply == json!({ "result": "Closed" }) {
        note(Stop::Acknowledged);
    }
    Some(())
}
