//! Those who read: each keeps its token over the kills, and must not miss anything.
//!
//! What a reader gets between two kills is one uninterrupted part of the stream. After a restart it
//! may begin earlier than it was, or with the very first response, but never later.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::program::Running;

use super::acknowledged::Acknowledged;
use super::{Random, try_get, try_post};

/// How much of an open block a kill may take: its last second, and another one for a machine that
/// is busy with other tests.
const MAX_LOSS: Duration = Duration::from_secs(2);
/// Responses that are pieces of blocks. They are merged as it happens, and not stored one by one.
const DELTAS: [&str; 3] = ["onReasoning", "onMessage", "onToolExecution"];
/// The blocks whose ends repeat their texts: callbacks of start, delta and end, and the id.
const BLOCKS: [(&str, &str, &str, &str); 2] = [
    ("onStartReasoning", "onReasoning", "onEndReasoning", "reasoningId"),
    ("onStartMessage", "onMessage", "onEndMessage", "messageId"),
];

/// A reader of all sessions.
pub(super) struct Reader {
    token: String,
    /// Whether it follows all sessions with one call, or one after the other.
    follows_all: bool,
    /// By the path of the session.
    seen: BTreeMap<String, Seen>,
}

/// What one reader has seen of one session.
#[derive(Default)]
struct Seen {
    /// Since the last check.
    responses: Vec<(Instant, Value)>,
    /// How many facts it had read before those.
    position: usize,
    /// It was told that the session is closed.
    is_finished: bool,
}

impl Reader {
    pub(super) fn new(index: usize) -> Self {
        let token = format!("reader-{index}");
        Self { token, follows_all: index.is_multiple_of(2), seen: BTreeMap::new() }
    }

    /// Reads until the program is gone.
    pub(super) fn follow(&mut self, port: u16, random: &mut Random, known: &Acknowledged) {
        loop {
            let is_finished =
                |path: &String| self.seen.get(path).is_some_and(|seen| seen.is_finished);
            let mut open = known.open_sessions();
            open.retain(|path| !is_finished(path));
            let answered = match random.choose(&open) {
                _ if self.follows_all && !open.is_empty() => self.read_all(port, &open, known),
                Some(path) => self.read_one(port, path, known),
                // Until there is a session. Also notices that the program is gone.
                None => try_get(port, "/api/test").map(drop),
            };
            if answered.is_none() {
                return;
            }
        }
    }

    fn read_one(&mut self, port: u16, path: &str, known: &Acknowledged) -> Option<()> {
        let answer = try_get(port, &format!("{path}/live/{}", self.token))?;
        self.take(path, &answer, known);
        Some(())
    }

    fn read_all(&mut self, port: u16, paths: &[String], known: &Acknowledged) -> Option<()> {
        let ids: Vec<_> = paths.iter().map(|path| id_of(path)).collect();
        let path = format!("/api/copilot/live/{}", self.token);
        let answer = try_post(port, &path, &ids.join("\n"))?;
        for item in answer["live"].as_array().into_iter().flatten() {
            let id = item["id"].as_str().expect("an id");
            self.take(&format!("/api/copilot/session/{id}"), item, known);
        }
        Some(())
    }

    fn take(&mut self, path: &str, answer: &Value, known: &Acknowledged) {
        let seen = self.seen.entry(path.to_owned()).or_default();
        let Some(responses) = answer["responses"].as_array() else {
            seen.is_finished |= answer["error"] == "SessionClosed";
            return;
        };
        known.note(path, |_| {});
        let now = Instant::now();
        for response in responses {
            if response["callback"] == "onPermissionRequest" {
                let id = response["requestId"].as_str().expect("an id").to_owned();
                known.state().questions.push((path.to_owned(), id));
            }
            seen.responses.push((now, response.clone()));
        }
    }

    /// Checks what it saw of a session before the kill, and that it misses nothing afterwards if
    /// the session goes on.
    pub(super) fn check(
        &mut self,
        server: &Running,
        path: &str,
        events: &[Value],
        killed: Instant,
        known: &Acknowledged,
    ) {
        let name = format!("{} of {path}", self.token);
        let stored: Vec<Value> =
            events.iter().filter(|event| !is_delta(event)).map(without_number).collect();
        let Some(seen) = self.seen.get_mut(path) else { return };
        seen.position = place(&seen.responses, &stored, seen.position, &name);
        check_blocks(&seen.responses, &stored, killed, &name);
        if seen.is_finished {
            assert_eq!(seen.position, stored.len(), "{name} was told that it is closed");
        }
        seen.responses.clear();
        if !known.open_sessions().iter().any(|open| open == path) {
            return;
        }
        // One that has read everything may have to wait for more.
        let before = seen.position;
        let mut end = before;
        while end < stored.len() {
            let answered = self.read_one(server.port, path, known);
            answered.expect("the program runs");
            let seen = &self.seen[path];
            assert!(!seen.responses.is_empty(), "{name} got nothing after {end} of {events:?}");
            end = place(&seen.responses, &stored, before, &name);
        }
        let seen = self.seen.get_mut(path).expect("it reads it");
        check_blocks(&seen.responses, &stored, killed, &name);
        seen.responses.clear();
        seen.position = end;
    }
}

fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn is_delta(response: &Value) -> bool {
    DELTAS.iter().any(|delta| response["callback"] == *delta)
}

/// A stored response as live readers get it.
fn without_number(event: &Value) -> Value {
    let mut response = event.clone();
    let fields = response.as_object_mut().expect("an object");
    fields.remove("seq");
    fields.remove("at");
    response
}

/// Finds the part of the stream that was read, which begins at `latest` or before. Returns its end.
fn place(read: &[(Instant, Value)], stored: &[Value], latest: usize, name: &str) -> usize {
    let facts: Vec<_> =
        read.iter().map(|(_, response)| response).filter(|response| !is_delta(response)).collect();
    let is_at = |from: usize| {
        let part = stored.get(from..from + facts.len());
        part.is_some_and(|part| part.iter().zip(&facts).all(|(stored, read)| stored == *read))
    };
    let from = (0..=latest).rev().find(|from| is_at(*from));
    let from = from.unwrap_or_else(|| {
        panic!("{name} misses something after {latest} facts, or saw what is not kept: {facts:#?}")
    });
    from + facts.len()
}

/// Blocks end with what was shown of them, or, if they were cut off, with all but the end of it.
fn check_blocks(read: &[(Instant, Value)], stored: &[Value], killed: Instant, name: &str) {
    for (start, delta, end, id) in BLOCKS {
        let of = |callback: &'static str| {
            read.iter().filter(move |(_, response)| response["callback"] == callback)
        };
        let mut shown = BTreeMap::<&str, Block>::new();
        for (time, response) in of(delta) {
            let block = response[id].as_str().expect("an id");
            let text = response["delta"].as_str().expect("a text");
            shown.entry(block).or_default().add(text, killed.duration_since(*time));
        }
        for (block, shown) in shown {
            let is_it = |response: &Value| response[id] == json!(block);
            let ended = stored.iter().find(|fact| fact["callback"] == end && is_it(fact));
            let ended = ended.unwrap_or_else(|| panic!("{name}: {block} has not ended"));
            let kept = ended["completeContent"].as_str().expect("a text");
            let saw_all = of(end).any(|(_, response)| is_it(response));
            let saw_start = of(start).any(|(_, response)| is_it(response));
            if saw_start {
                shown.check(kept, saw_all, &format!("{name}: {block}"));
            } else if saw_all {
                assert!(kept.ends_with(&shown.text), "{name}: {block}");
            }
        }
    }
}

/// What was shown of a block.
#[derive(Default)]
struct Block {
    text: String,
    /// How much of that was shown so long before the kill that it must have been saved.
    saved: usize,
}

impl Block {
    fn add(&mut self, text: &str, before_kill: Duration) {
        self.text.push_str(text);
        if before_kill > MAX_LOSS {
            self.saved = self.text.len();
        }
    }

    fn check(&self, kept: &str, saw_all: bool, name: &str) {
        if saw_all {
            assert_eq!(self.text, kept, "{name}");
            return;
        }
        let is_begun = kept.starts_with(&self.text) || self.text.starts_with(kept);
        assert!(is_begun, "{name} has another text than was shown: {kept}");
        let (kept, saved) = (kept.len(), self.saved);
        assert!(
            kept >= saved,
            "{name} has lost more than its end: {kept} bytes of {saved} are kept"
        );
    }
}
