//! Readers that go on elsewhere: with another token, or after a restart.

use proptest::prelude::*;
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::journal::{Batch, Journal, Position, SqliteJournal};

type Registry = Arc<LiveRegistry<SessionId, SessionResponse>>;

fn tool_start(id: &str) -> SessionResponse {
    SessionResponse::StartToolExecution {
        tool_call_id: id.to_owned(),
        parent_tool_call_id: None,
        tool_name: "tool".to_owned(),
        tool_arguments: String::new(),
    }
}

fn output(id: &str, delta: &str) -> SessionResponse {
    SessionResponse::ToolExecution { tool_call_id: id.to_owned(), delta: delta.to_owned() }
}

fn tool_end(id: &str) -> SessionResponse {
    SessionResponse::EndToolExecution { tool_call_id: id.to_owned(), result: None, error: None }
}

/// What comes after a position, for a reader that nobody knows yet, and where that ends.
async fn read_after(log: &Log, position: &str) -> (Vec<SessionResponse>, String) {
    let position: Position = position.parse().expect("a position");
    let source = log.source().after(Some(position));
    let delivery = source.poll(LiveToken::generate().into()).await.expect("an answer");
    let next = delivery.position().expect("a position").to_string();
    (parse(&delivery), next)
}

#[tokio::test(start_paused = true)]
async fn a_new_token_begins_where_another_one_was() {
    let log = new_log();
    push_all(&log, &[prompt("a"), start("1"), delta("1", "häl")]);
    let (seen, there) = read_after(&log, "0").await;
    assert_eq!(seen, [prompt("a"), start("1"), delta("1", "häl")]);
    assert_eq!(there, "2.2-4");

    push_all(&log, &[delta("1", "lo"), prompt("b")]);
    let (seen, next) = read_after(&log, &there).await;
    assert_eq!(seen, [delta("1", "lo"), prompt("b")]);
    assert_eq!(next, "3.2-6");
    push_all(&log, &[delta("1", " you"), end("1", "hällo you")]);
    let (seen, next) = read_after(&log, &next).await;
    assert_eq!(seen, [delta("1", " you"), end("1", "hällo you")]);
    assert_eq!(next, "4");
    // Once the readers are forgotten, the text is not in memory any more, but its end repeats it.
    tokio::time::advance(LiveSettings::default().forget_after).await;
    log.sweep(Instant::now(), &mut Batch::default());
    assert_eq!(log.delta_bytes(), 0);
    let (seen, next) = read_after(&log, &there).await;
    assert_eq!(seen, [prompt("b"), delta("1", "lo you"), end("1", "hällo you")]);
    assert_eq!(next, "4");
    assert_eq!(read_after(&log, "2").await.0, [prompt("b"), end("1", "hällo you")]);
}

#[tokio::test(start_paused = true)]
async fn the_output_of_a_tool_is_read_on_as_well() {
    let log = new_log();
    push_all(&log, &[tool_start("t"), output("t", "one ")]);
    let (_, there) = read_after(&log, "0").await;
    assert_eq!(there, "1.1-4");
    push_all(&log, &[output("t", "two"), tool_end("t")]);
    let (seen, next) = read_after(&log, &there).await;
    assert_eq!(seen, [output("t", "two"), tool_end("t")]);
    assert_eq!(next, "3", "the whole output is a fact, too");
    assert_eq!(read_after(&log, "1").await.0, [output("t", "one two"), tool_end("t")]);
}

#[tokio::test(start_paused = true)]
async fn a_position_does_not_move_a_reader_that_is_known() {
    let log = new_log();
    push_all(&log, &[prompt("a"), prompt("b")]);
    assert_eq!(read(&log, &token("t")).await, Some(vec![prompt("a"), prompt("b")]));
    push_all(&log, &[prompt("c")]);
    let position = "1".parse().expect("a position");
    let delivery = log.source().after(Some(position)).poll(token("t")).await.expect("an answer");
    assert_eq!(parse(&delivery), [prompt("c")]);
}

#[tokio::test(start_paused = true)]
async fn positions_that_nobody_was_given_do_no_harm() {
    let log = new_log();
    push_all(&log, &[prompt("a"), start("1"), delta("1", "ä"), end("1", "ä")]);
    for position in ["99", "3.1-5", "3.3-1", "99.98-1"] {
        let source = log.source().after(Some(position.parse().expect("a position")));
        let polled = source.poll(LiveToken::generate().into()).await;
        assert_eq!(polled.expect_err(position), PollError::Timeout);
    }
    assert_eq!(read_after(&log, "2.2-1").await.0, [delta("1", "ä"), end("1", "ä")]);
    assert_eq!(read_after(&log, "2.2-99").await.0, [end("1", "ä")]);
}

/// A server that keeps one session in a folder.
struct Kept {
    registry: Registry,
    journal: Arc<SqliteJournal>,
    lifecycle: Lifecycle,
}

impl Kept {
    fn open(folder: &TempDir) -> Self {
        let journal = Arc::new(SqliteJournal::open(folder.path()).expect("a store"));
        let shared = LiveShared::with_journal(LiveSettings::default(), journal.clone());
        let lifecycle = Lifecycle::new();
        let registry = LiveRegistry::new(shared, &lifecycle);
        Self { registry, journal, lifecycle }
    }

    async fn log(&self, id: SessionId) -> Log {
        self.registry.load(id).await.expect("it is kept")
    }

    /// Ends without saving anything more than what is due.
    async fn end(self) {
        self.lifecycle.shutdown(Duration::from_secs(1)).await;
        self.journal.close();
    }
}

#[tokio::test]
async fn a_known_token_goes_on_after_a_restart_where_it_was_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = SessionId::generate();
    let kept = Kept::open(&folder);
    let log = kept.registry.open(id, &started());
    push_all(&log, &[prompt("a"), start("1"), delta("1", "one "), tool_start("t")]);
    push_all(&log, &[output("t", "out")]);
    log.durable().await.expect("kept");
    read(&log, &token("reader")).await;
    kept.registry.save();
    // What was answered after that is repeated.
    push_all(&log, &[delta("1", "two"), end("1", "one two"), output("t", "put"), tool_end("t")]);
    log.durable().await.expect("kept");
    read(&log, &token("reader")).await;
    kept.end().await;

    let kept = Kept::open(&folder);
    let log = kept.log(id).await;
    let expected = vec![delta("1", "two"), end("1", "one two"), output("t", "put"), tool_end("t")];
    assert_eq!(read(&log, &token("reader")).await, Some(expected));
    let all = read(&log, &token("new")).await.expect("everything");
    assert_eq!(all.len(), 6, "{all:?}");
    kept.end().await;
}

#[tokio::test]
async fn who_was_told_of_the_end_stays_told_and_others_drain_what_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = SessionId::generate();
    let kept = Kept::open(&folder);
    let log = kept.registry.open(id, &started());
    push_all(&log, &[prompt("a")]);
    log.durable().await.expect("kept");
    read(&log, &token("slow")).await;
    read(&log, &token("quick")).await;
    push_all(&log, &[prompt("b")]);
    log.note(&SessionNote::Closed { crashed: false });
    log.close();
    log.durable().await.expect("kept");
    read(&log, &token("quick")).await;
    assert_eq!(read(&log, &token("quick")).await, None, "told");
    kept.registry.save();
    kept.end().await;

    let kept = Kept::open(&folder);
    let log = kept.log(id).await;
    assert_eq!(poll_error(&log, &token("quick")).await, PollError::NotFound);
    assert_eq!(read(&log, &token("slow")).await, Some(vec![prompt("b")]));
    assert_eq!(read(&log, &token("slow")).await, None);
    kept.end().await;
}

#[tokio::test]
async fn forgotten_readers_are_forgotten_in_the_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Kept::open(&folder);
    let id = SessionId::generate();
    let log = kept.registry.open(id, &started());
    push_all(&log, &[prompt("a")]);
    log.durable().await.expect("kept");
    read(&log, &token("t")).await;
    kept.registry.save();
    log.note(&SessionNote::Renamed { title: "t".to_owned() });
    log.durable().await.expect("what was submitted before is written, too");
    assert_eq!(kept.journal.cursors(id.into()).await.expect("read").len(), 1);
    tokio::time::pause();
    tokio::time::advance(LiveSettings::default().forget_after).await;
    tokio::time::resume();
    kept.registry.sweep();
    log.note(&SessionNote::Renamed { title: "u".to_owned() });
    log.durable().await.expect("kept");
    assert_eq!(kept.journal.cursors(id.into()).await, Ok(Vec::new()));
    kept.end().await;
}

/// What happens next: a kind of step, a choice, and whether a reader looks after it.
type Step = (u8, usize, bool);

/// Pushes a random stream, whose blocks are in each other, to a reader that changes its token after
/// every answer and goes on at its position; returns what it has seen, and what one has seen that
/// came late.
async fn read_in_hops(steps: Vec<Step>) -> [Vec<SessionResponse>; 2] {
    let log = new_log();
    let mut open: Vec<(String, String)> = Vec::new();
    let (mut seen, mut position) = (Vec::new(), "0".to_owned());
    for (number, (kind, choice, looks)) in steps.into_iter().enumerate() {
        let id = number.to_string();
        match kind {
            0 => {
                log.push(&start(&id));
                open.push((id, String::new()));
            }
            1 if !open.is_empty() => {
                let (id, text) = open.remove(choice % open.len());
                log.push(&end(&id, &text));
            }
            2 => assert!(log.push(&prompt(&id))),
            _ if !open.is_empty() => {
                let index = choice % open.len();
                let (id, text) = &mut open[index];
                let more = ["a", "ß", "日本", "🦀"][choice % 4];
                text.push_str(more);
                log.push(&delta(id, more));
            }
            _ => {}
        }
        if looks {
            let source = log.source().after(Some(position.parse().expect("a position")));
            if let Ok(delivery) = source.poll(LiveToken::generate().into()).await {
                seen.extend(parse(&delivery));
                position = delivery.position().expect("a position").to_string();
            }
        }
    }
    for (id, text) in open.drain(..) {
        log.push(&end(&id, &text));
    }
    log.push(&SessionResponse::Idle);
    seen.extend(read_after(&log, &position).await.0);
    [seen, read_after(&log, "0").await.0]
}

fn is_delta(response: &SessionResponse) -> bool {
    matches!(response, SessionResponse::Message { .. })
}

proptest! {
    #[test]
    fn going_on_by_position_loses_and_repeats_nothing(
        steps in proptest::collection::vec((0_u8..6, any::<usize>(), any::<bool>()), 0..80)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().expect("a runtime");
        let [seen, late] = runtime.block_on(read_in_hops(steps));
        let without_deltas = |all: &[SessionResponse]| -> Vec<SessionResponse> {
            all.iter().filter(|one| !is_delta(one)).cloned().collect()
        };
        prop_assert_eq!(without_deltas(&seen), without_deltas(&late));
        for response in &late {
            let SessionResponse::EndMessage { message_id, complete_content } = response else {
                continue;
            };
            let told = seen.iter().filter_map(|one| match one {
                SessionResponse::Message { message_id: id, delta } => {
                    (id == message_id).then_some(delta.as_str())
                }
                _ => None,
            });
            let told: String = told.collect();
            prop_assert!(told.is_empty() || told == *complete_content, "{told}");
        }
    }
}
