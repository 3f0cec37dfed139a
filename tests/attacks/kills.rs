//! The program is killed at random moments, again and again, and loses nothing that it acknowledged.
//!
//! Bounded here; `KILLS=100` makes it more, `SEED=…` repeats a run.

use std::collections::BTreeMap;
use std::env;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tests::program::{Program, Running, try_call};

const KILLS: usize = 8;
const WRITERS: u64 = 4;

/// A small generator of our own, so that a seed means the same moments.
struct Random(u64);

impl Random {
    /// One whose numbers are others than those of the generator that its seed is from.
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        // The step of a well-known generator (xorshift).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// What the program has acknowledged or shown.
#[derive(Default)]
struct Acknowledged {
    /// By the path of the session: prompts, in order.
    prompts: BTreeMap<String, Vec<String>>,
    /// By the path of the session: the last title.
    titles: BTreeMap<String, String>,
    /// Counts what is sent, so that no two prompts or titles are the same.
    sent: u64,
    /// Completed messages that a reader has seen: session, id, text.
    messages: Vec<(String, String, String)>,
}

/// A call that may be cut off by the kill; its answer if it came whole.
fn try_post(port: u16, path: &str, body: &str) -> Option<Value> {
    let (_, answer) = try_call(port, "POST", path, "", body)?;
    serde_json::from_str(&answer).ok()
}

/// Uses the program until it is gone.
fn use_program(port: u16, random: &mut Random, known: &Mutex<Acknowledged>) {
    loop {
        let sessions: Vec<String> = known.lock().expect("whole").prompts.keys().cloned().collect();
        let choice = random.below(10);
        let answered = if sessions.is_empty() || choice == 0 {
            start_session(port, known)
        } else {
            let index = random.below(sessions.len() as u64);
            let session = &sessions[usize::try_from(index).expect("small")];
            match choice {
                1 => rename(port, session, known),
                2..=5 => read(port, session, random, known),
                _ => send_prompt(port, session, known),
            }
        };
        if answered.is_none() {
            return;
        }
    }
}

fn start_session(port: u16, known: &Mutex<Acknowledged>) -> Option<()> {
    let reply = try_post(port, "/api/copilot/session/start/gpt-5-mini", "")?;
    let path = format!("/api/copilot/session/{}", reply["sessionId"].as_str()?);
    known.lock().expect("whole").prompts.insert(path, Vec::new());
    Some(())
}

fn next_number(known: &mut Acknowledged) -> u64 {
    known.sent += 1;
    known.sent
}

fn send_prompt(port: u16, session: &str, known: &Mutex<Acknowledged>) -> Option<()> {
    let number = next_number(&mut known.lock().expect("whole"));
    let prompt = format!("say \"answer {number}\"");
    let reply = try_post(port, &format!("{session}/query"), &prompt)?;
    if reply == json!({}) {
        let mut known = known.lock().expect("whole");
        known.prompts.get_mut(session).expect("known").push(prompt);
    }
    Some(())
}

fn rename(port: u16, session: &str, known: &Mutex<Acknowledged>) -> Option<()> {
    // One at a time, or nobody could tell which one was the last.
    let mut known = known.lock().expect("whole");
    let title = format!("title {}", next_number(&mut known));
    // Acknowledged or not, it may be the one that is kept.
    let before = known.titles.remove(session);
    let reply = try_post(port, &format!("{session}/rename"), &title)?;
    if reply == json!({}) {
        known.titles.insert(session.to_owned(), title);
    } else if let Some(before) = before {
        known.titles.insert(session.to_owned(), before);
    }
    Some(())
}

fn read(port: u16, session: &str, random: &mut Random, known: &Mutex<Acknowledged>) -> Option<()> {
    let token = random.below(u64::MAX);
    let reply = try_post(port, &format!("/api/copilot/live/{token}"), &session[21..])?;
    for response in reply["live"][0]["responses"].as_array().into_iter().flatten() {
        if response["callback"] == "onEndMessage" {
            let field = |name: &str| response[name].as_str().unwrap_or_default().to_owned();
            let message = (session.to_owned(), field("messageId"), field("completeContent"));
            known.lock().expect("whole").messages.push(message);
        }
    }
    Some(())
}

/// All events of a session, without gaps.
fn events(server: &Running, session: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = server.get(&format!("{session}/events?after={}", all.len()));
        for event in page["events"].as_array().unwrap_or_else(|| panic!("{page}")) {
            assert_eq!(event["seq"], all.len() as u64 + 1, "a gap in {session}");
            all.push(event.clone());
        }
        if page["end"] == true {
            return all;
        }
    }
}

/// Waits until the prompts that waited in the sessions are answered.
fn wait_until_idle(server: &mut Running) {
    server.wait_for("an answer to every prompt", |server| {
        let list = server.get("/api/copilot/session");
        let mut sessions = list["sessions"].as_array().expect("a list").iter();
        sessions.all(|session| session["busy"] == false && session["queued"] == 0)
    });
}

fn check(server: &mut Running, known: &Acknowledged) {
    wait_until_idle(server);
    let list = server.get("/api/copilot/session");
    let open: Vec<_> = list["sessions"].as_array().expect("a list").iter().collect();
    let mut kept_messages = BTreeMap::new();
    for (session, prompts) in &known.prompts {
        assert!(open.iter().any(|open| session.ends_with(open["sessionId"].as_str().expect("id"))));
        let events = events(server, session);
        let kept = events.iter().filter(|event| event["callback"] == "onUserPrompt");
        let kept: Vec<_> = kept.filter_map(|event| event["prompt"].as_str()).collect();
        for prompt in prompts {
            let times = kept.iter().filter(|kept| **kept == prompt).count();
            assert_eq!(times, 1, "{prompt} in {session}");
        }
        assert_whole(&events, session);
        for end in events.iter().filter(|event| event["callback"] == "onEndMessage") {
            let field = |name: &str| end[name].as_str().unwrap_or_default().to_owned();
            kept_messages.insert((session, field("messageId")), field("completeContent"));
        }
    }
    for (session, id, text) in &known.messages {
        assert_eq!(kept_messages.get(&(session, id.clone())), Some(text), "{id} in {session}");
    }
    let titles: BTreeMap<String, String> = history(server);
    for (session, title) in &known.titles {
        assert_eq!(titles.get(session), Some(title), "{session}");
    }
}

/// Every block has one start and one end, and nothing is open.
fn assert_whole(events: &[Value], session: &str) {
    for (start, end, id) in [
        ("onStartReasoning", "onEndReasoning", "reasoningId"),
        ("onStartMessage", "onEndMessage", "messageId"),
        ("onAgentStart", "onAgentEnd", "turnId"),
    ] {
        let ids = |callback: &str| {
            let found = events.iter().filter(|event| event["callback"] == callback);
            let mut ids: Vec<_> = found.map(|event| event[id].to_string()).collect();
            ids.sort_unstable();
            ids
        };
        let (starts, ends) = (ids(start), ids(end));
        assert_eq!(starts, ends, "in {session}");
        assert!(starts.windows(2).all(|pair| pair[0] != pair[1]), "{start} twice in {session}");
    }
    let last = events.iter().rfind(|event| event["callback"] != "onExtensionLog");
    assert!(last.is_none_or(|event| event["callback"] == "onIdle"), "{last:?} in {session}");
}

/// The titles of all sessions, by their paths.
fn history(server: &Running) -> BTreeMap<String, String> {
    let mut titles = BTreeMap::new();
    let mut before = String::new();
    loop {
        let page = server.get(&format!("/api/copilot/history?limit=200{before}"));
        for item in page["items"].as_array().expect("items") {
            let field = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            titles.insert(format!("/api/copilot/session/{}", field("id")), field("title"));
        }
        match page["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => return titles,
        }
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_in_a_kill() {
    let kills = number("KILLS").and_then(|kills| usize::try_from(kills).ok()).unwrap_or(KILLS);
    let seed = number("SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    println!("SEED={seed} KILLS={kills}");
    let mut random = Random::new(seed);
    let mut server = Program::new(&["--store", "sqlite", "--simulated-delta-ms", "1"]).start();
    let known = Mutex::<Acknowledged>::default();
    for kill in 0..kills {
        let moment = Duration::from_millis(random.below(400));
        let seeds: Vec<u64> = (0..WRITERS).map(|_| random.below(u64::MAX)).collect();
        let port = server.port;
        thread::scope(|scope| {
            for seed in seeds {
                let known = &known;
                scope.spawn(move || use_program(port, &mut Random::new(seed), known));
            }
            thread::sleep(moment);
            server.child.kill().expect("it runs");
        });
        server.kill_and_restart();
        println!("kill {kill} after {moment:?}");
        check(&mut server, &known.lock().expect("whole"));
    }
    let known = known.lock().expect("whole");
    assert!(known.prompts.values().flatten().count() > kills, "it was used");
    drop(server);
}
