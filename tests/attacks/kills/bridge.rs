//! Messages to the bridge: what was accepted is in the history of its project, once.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tests::program::{Program, Running, try_call};

use super::{Random, WRITERS, begin};

/// The messages that were accepted: project, id and text.
type Accepted = Mutex<Vec<(String, String, String)>>;

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
            let field = |name: &str| reply[name].as_str().expect("a text").to_owned();
            accepted.lock().expect("whole").push((field("sessionId"), field("id"), text));
        }
    }
}

fn check(server: &Running, accepted: &Accepted) {
    for (project, id, text) in &*accepted.lock().expect("whole") {
        let history = server.get(&format!("/sessions/{project}"));
        let messages = history["messages"].as_array().expect("messages").iter();
        let found =
            messages.filter(|message| message["role"] == "user" && message["text"] == **text);
        let ids: Vec<_> = found.map(|message| &message["id"]).collect();
        assert_eq!(ids, [id], "{text}");
    }
}

#[test]
fn no_message_that_was_accepted_is_lost_in_a_kill() {
    let (kills, mut random) = begin();
    let mut server = Program::new(&["--store", "sqlite", "--simulated-delta-ms", "1"]).start();
    let accepted = Accepted::default();
    for kill in 1..=kills {
        let life = Duration::from_millis(random.below(400));
        let seeds: Vec<u64> = (0..WRITERS).map(|_| random.below(u64::MAX)).collect();
        let port = server.port;
        thread::scope(|scope| {
            for (writer, seed) in (0..).zip(seeds) {
                let accepted = &accepted;
                scope.spawn(move || {
                    send_messages(port, writer, &mut Random::new(seed), accepted);
                });
            }
            thread::sleep(life);
            server.child.kill().expect("it runs");
        });
        server.kill_and_restart();
        println!("kill {kill} after {life:?}");
        check(&server, &accepted);
    }
    assert!(!accepted.lock().expect("whole").is_empty(), "it was used");
}
