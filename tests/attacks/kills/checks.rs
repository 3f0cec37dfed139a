//! What must hold after every restart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tests::program::Running;

use super::acknowledged::{Acknowledged, KnownSession, Stop};
use super::readers::Reader;
use super::writers::decide;

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The sessions that were used or read since the last check.
    Used,
    /// All sessions.
    All,
}

/// Waits until nothing runs any more, then checks everything.
pub(super) fn check(
    server: &mut Running,
    known: &Acknowledged,
    readers: &mut [Reader],
    killed: Instant,
    scope: Scope,
) {
    wait_until_idle(server, known);
    // Nobody answers them any more.
    known.state().questions.clear();
    let history = history(server);
    let used = std::mem::take(&mut known.state().used);
    let sessions = known.state().sessions.clone();
    let mut made = BTreeMap::new();
    for (path, session) in &sessions {
        if scope == Scope::All || used.contains(path) {
            let events = events(server, path);
            check_session(path, session, &events, &history[path]);
            find_approved(&events, &mut made);
            for reader in readers.iter_mut() {
                reader.check(server, path, &events, killed, known);
            }
        }
    }
    for (path, title) in &*known.titles.lock().expect("no user panics") {
        assert_eq!(history[path]["title"], json!(title), "{path}");
    }
    check_tasks(server, known);
    check_jobs(server, known);
    check_inbox(server, &sessions);
    // By the readers that have caught up.
    known.state().used.clear();
    if scope == Scope::All {
        check_files(known, &made);
    }
}

/// The store is in order, says the program itself.
pub(super) fn check_store(server: &mut Running) {
    server.child.kill().expect("it runs");
    server.child.wait().expect("it has ended");
    let data = server.program.data();
    let mut command = Command::new(data.with_file_name("copilot-portal"));
    let output = command.args(["store", "check", "--data-dir"]).arg(data).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{output:?}");
    assert!(output.status.success());
}

/// All events of an entity, without gaps.
pub(super) fn events(server: &Running, path: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = server.get(&format!("{path}/events?after={}", all.len()));
        for event in page["events"].as_array().unwrap_or_else(|| panic!("{path}: {page}")) {
            assert_eq!(event["seq"], all.len() as u64 + 1, "a gap in {path}");
            all.push(event.clone());
        }
        if page["end"] == true {
            return all;
        }
    }
}

pub(super) fn of<'a>(events: &'a [Value], callback: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["callback"] == callback)
}

/// Waits until the prompts that waited in the sessions are answered, and the tasks that go on after a
/// kill have ended: between two of their prompts a session is idle, too. Tools that ask are refused,
/// and so are questions that a kill has left open.
fn wait_until_idle(server: &mut Running, known: &Acknowledged) {
    server.wait_for("an answer to every prompt", |server| {
        let list = server.get("/api/copilot/session");
        let sessions = list["sessions"].as_array().expect("a list").iter();
        let busy = sessions.filter(|session| session["busy"] == true || session["queued"] != 0);
        // The end of a turn is stored a little later than it is reached.
        let mut open: BTreeSet<_> = busy.map(path_of_listed).collect();
        open.extend(
            ["running", "waiting"].into_iter().flat_map(|state| in_state(server, "session", state)),
        );
        for path in &open {
            let events = events(server, path);
            let answered: BTreeSet<_> = of(&events, "onPermissionResolved")
                .map(|event| event["requestId"].as_str())
                .collect();
            let asked = of(&events, "onPermissionRequest").map(|event| event["requestId"].as_str());
            for question in asked.filter(|id| !answered.contains(id)).flatten() {
                decide(server.port, path, question, "deny", known).expect("the program runs");
            }
        }
        open.is_empty() && in_state(server, "task", "running").is_empty()
    });
}

/// The paths of the sessions or tasks that are stored with this state.
fn in_state(server: &Running, kind: &str, state: &str) -> Vec<String> {
    let page = server.get(&format!("/api/copilot/history?kind={kind}&state={state}&limit=200"));
    let items = page["items"].as_array().expect("items").iter();
    items.filter_map(|item| Some(format!("/api/copilot/{kind}/{}", item["id"].as_str()?))).collect()
}

fn path_of_listed(session: &Value) -> String {
    format!("/api/copilot/session/{}", session["sessionId"].as_str().expect("an id"))
}

fn check_session(path: &str, known: &KnownSession, events: &[Value], item: &Value) {
    let is_closed = item["state"] == "closed";
    match known.stop {
        Stop::Never => assert_eq!(item["state"], "idle", "{path}"),
        Stop::Asked => {}
        Stop::Acknowledged => assert!(is_closed, "{path} was stopped: {item}"),
    }
    for prompt in &known.prompts {
        let times = of(events, "onUserPrompt").filter(|event| event["prompt"] == **prompt).count();
        // A prompt that waits in a session that is stopped has no turn.
        assert!(times == 1 || times == 0 && is_closed, "{times} times {prompt} in {path}");
    }
    for (question, decision) in &known.answers {
        let resolved = of(events, "onPermissionResolved");
        let decisions: Vec<_> = resolved
            .filter(|event| event["requestId"] == **question)
            .map(|event| &event["decision"])
            .collect();
        // A tool does not wait over a restart, so a refusal after it only withdraws the question. One
        // that came before the kill was not lost, or the second would not have been accepted.
        let is_withdrawn = *decision == "deny" && decisions == ["withdrawn"];
        assert!(is_withdrawn || decisions == [decision], "{decisions:?} {question} in {path}");
    }
    check_blocks(path, events);
    if !is_closed {
        // A question that a kill has left open is withdrawn after the turn has ended.
        let is_late = |event: &&Value| {
            event["callback"] == "onExtensionLog" || event["decision"] == "withdrawn"
        };
        let last = events.iter().rfind(|event| !is_late(event));
        assert!(last.is_none_or(|event| event["callback"] == "onIdle"), "{last:?} in {path}");
    }
}

/// Every block, turn and question has one start and one end.
fn check_blocks(path: &str, events: &[Value]) {
    for (start, end, id) in [
        ("onStartReasoning", "onEndReasoning", "reasoningId"),
        ("onStartMessage", "onEndMessage", "messageId"),
        ("onStartToolExecution", "onEndToolExecution", "toolCallId"),
        ("onAgentStart", "onAgentEnd", "turnId"),
        ("onPermissionRequest", "onPermissionResolved", "requestId"),
    ] {
        let ids = |callback: &str| {
            let mut ids: Vec<_> = of(events, callback).map(|event| event[id].to_string()).collect();
            ids.sort_unstable();
            ids
        };
        let (starts, ends) = (ids(start), ids(end));
        assert_eq!(starts, ends, "{start} and {end} in {path}");
        assert!(starts.windows(2).all(|pair| pair[0] != pair[1]), "{start} twice in {path}");
    }
}

/// The files whose creation was approved, and whether the tool reported that it was done.
fn find_approved(events: &[Value], made: &mut BTreeMap<String, bool>) {
    let approved: BTreeSet<_> = of(events, "onPermissionResolved")
        .filter(|event| event["decision"] == "approve")
        .map(|event| event["requestId"].as_str())
        .collect();
    for question in of(events, "onPermissionRequest") {
        if approved.contains(&question["requestId"].as_str()) {
            let file = question["path"].as_str().expect("a file").to_owned();
            let is_done = of(events, "onEndToolExecution").any(|event| {
                let content = event["result"]["content"].as_str();
                content.is_some_and(|content| content.starts_with(&format!("created {file}:")))
            });
            made.insert(file, is_done);
        }
    }
}

/// No file without a stored approval, and no stored success without its file.
fn check_files(known: &Acknowledged, approved: &BTreeMap<String, bool>) {
    for entry in fs::read_dir(&known.folder).expect("the folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        // A kill may leave a file that was not yet given its name.
        let is_unfinished = name.starts_with(".portal-");
        assert!(
            is_unfinished || approved.contains_key(&name),
            "{name} was made, and nobody approved it"
        );
    }
    for (name, _) in approved.iter().filter(|(_, is_done)| **is_done) {
        let text = fs::read_to_string(known.folder.join(name)).expect(name);
        assert_eq!(*name, format!("made-{text}.txt"));
    }
}

/// Nothing waits any more, and it is recorded who gave each answer that was accepted.
fn check_inbox(server: &Running, sessions: &BTreeMap<String, KnownSession>) {
    assert_eq!(server.get("/api/copilot/inbox"), json!({ "items": [] }));
    let answered = listed(server, "/api/copilot/inbox/answered?limit=200");
    for (question, decision) in sessions.values().flat_map(|session| &session.answers) {
        check_recorded(&answered, question, decision);
    }
}

/// It is recorded that an answer was given here.
pub(super) fn check_recorded(answered: &BTreeMap<String, Value>, question: &str, decision: &str) {
    let item = answered.get(question).unwrap_or_else(|| panic!("no record of {question}"));
    assert_eq!((&item["decision"], &item["by"]), (&json!(decision), &json!("local")), "{item}");
}

/// Tasks have ended, once.
fn check_tasks(server: &mut Running, known: &Acknowledged) {
    let tasks = known.state().tasks.clone();
    for task in tasks {
        wait_for_end(server, &task);
    }
}

fn wait_for_end(server: &mut Running, task: &str) {
    let mut ends = 0;
    server.wait_for("the end of a task", |server| {
        let events = events(server, &format!("/api/copilot/task/{task}"));
        ends = of(&events, "taskSucceeded").chain(of(&events, "taskFailed")).count();
        ends > 0
    });
    assert_eq!(ends, 1, "{task}");
}

/// Jobs have ended, once, and so have their works and tasks.
fn check_jobs(server: &mut Running, known: &Acknowledged) {
    let jobs = known.state().jobs.clone();
    for (id, job) in jobs.iter().filter(|(_, job)| !job.has_ended) {
        let path = format!("/api/copilot/job/{id}");
        let mut status = Value::Null;
        server.wait_for("the end of a job", |server| {
            status = server.get(&format!("{path}/status"));
            assert!(status["status"].is_string(), "{path}: {status}");
            status["status"] != "Running"
        });
        if job.stop == Stop::Acknowledged {
            let is_right = status["status"] == "Canceled" || status["status"] == "Succeeded";
            assert!(is_right, "{path} was stopped: {status}");
        }
        check_ended_job(server, &path);
        known.state().jobs.entry(id.clone()).or_default().has_ended = true;
    }
}

/// A job has ended once, and so have its works and tasks. Returns the works with their tasks.
pub(super) fn check_ended_job(server: &mut Running, path: &str) -> Vec<(u64, String)> {
    let events = events(server, path);
    let ends = ["jobSucceeded", "jobFailed", "jobCanceled"];
    let ends = ends.into_iter().flat_map(|callback| of(&events, callback)).count();
    assert_eq!(ends, 1, "{path}: {events:?}");
    let works = |callback: &str| {
        let mut works: Vec<_> =
            of(&events, callback).map(|event| event["workId"].to_string()).collect();
        works.sort_unstable();
        works
    };
    assert_eq!(works("workStarted"), works("workStopped"), "{path}");
    let started = of(&events, "workStarted").map(|started| {
        let task = started["taskId"].as_str().expect("an id").to_owned();
        (started["workId"].as_u64().expect("a number"), task)
    });
    let started: Vec<_> = started.collect();
    for (_, task) in &started {
        wait_for_end(server, task);
    }
    started
}

/// The items of the list, by the paths that sessions would have.
fn history(server: &Running) -> BTreeMap<String, Value> {
    let items = listed(server, "/api/copilot/history?limit=200");
    items.into_iter().map(|(id, item)| (format!("/api/copilot/session/{id}"), item)).collect()
}

/// All items of a list that is read page by page, by their ids.
pub(super) fn listed(server: &Running, path: &str) -> BTreeMap<String, Value> {
    let mut items = BTreeMap::new();
    let mut before = String::new();
    loop {
        let page = server.get(&format!("{path}{before}"));
        for item in page["items"].as_array().expect("items") {
            let id = item["id"].as_str().expect("an id").to_owned();
            let twice = items.insert(id, item.clone());
            assert_eq!(twice, None, "listed twice");
        }
        match page["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => return items,
        }
    }
}
