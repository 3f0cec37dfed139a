//! Messages to the bridge: what was accepted is in the session of its project, once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tests::program::{Program, Running, try_call};

use super::{Random, WRITERS, begin, live_and_die};

/// The texts of the messages that were accepted, by their ids.
type Accepted = Mutex<BTreeMap<String, String>>;

/// What is stored of the sessions. Read on after each kill: histories of projects show the newest
/// messages only.
#[derive(Default)]
struct Stored {
    /// The number of the last event that was read of each session.
    read: BTreeMap<String, u64>,
    messages: BTreeMap<String, String>,
}

impl Stored {
    fn read_on(&mut self, server: &Running) {
        let list = server.get("/api/copilot/history?kind=session&limit=200");
        for item in list["items"].as_array().expect("items") {
            let id = item["id"].as_str().expect("an id");
            let after = self.read.entry(id.to_owned()).or_default();
            loop {
                let path = format!("/api/copilot/session/{id}/events?after={after}");
                let page = server.get(&path);
                for event in page["events"].as_array().expect("events") {
                    if event["callback"] == "onProjectMessage" {
                        let field = |name: &str| event[name].as_str().expect("a text").to_owned();
                        let before = self.messages.insert(field("id"), field("text"));
                        assert_eq!(before, None, "twice: {event}");
                    }
                }
                *after = page["next"].as_u64().expect("a number");
                if page["end"] == true {
                    break;
                }
            }
        }
    }
}

/// Sends messages until the program is gone.
fn send_messages(port: u16, writer: u64, random: &mut Random, accepted: &Accepted) {
    loop {
        let text = format!("say \"{writer} says {}\"", random.below(u64::MAX));
        let body = json!({ "text": text }).to_string();
        let head = "Content-Type: application/json\r\n";
        let Some((status, answer)) = try_call(port, "POST", "/message", head, &body) else {
            return;
        };
        let Ok(reply) = serde_json::from_str::<Value>(&answer) else { return };
        if status == 202 {
            let id = reply["id"].as_str().expect("an id").to_owned();
            accepted.lock().expect("whole").insert(id, text);
        }
    }
}

#[test]
fn no_message_that_was_accepted_is_lost_in_a_kill() {
    let (kills, mut random) = begin();
    let mut server = Program::new(&["--store", "sqlite", "--simulated-delta-ms", "1"]).start();
    let (accepted, mut stored) = (Accepted::default(), Stored::default());
    for kill in 1..=kills {
        let life = Duration::from_millis(random.below(400));
        let seeds: Vec<u64> = (0..WRITERS).map(|_| random.below(u64::MAX)).collect();
        let accepting = &accepted;
        live_and_die(&mut server, life, |scope, port| {
            for (writer, seed) in (0..).zip(seeds) {
                scope.spawn(move || {
                    send_messages(port, writer, &mut Random::new(seed), accepting);
                });
            }
        });
        println!("kill {kill} after {life:?}");
        stored.read_on(&server);
        for (id, text) in &*accepted.lock().expect("whole") {
            assert_eq!(stored.messages.get(id), Some(text), "{id}");
        }
    }
    assert!(!accepted.lock().expect("whole").is_empty(), "it was used");
}
