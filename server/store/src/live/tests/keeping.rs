//! What readers see of a stored log, and when.

use async_trait::async_trait;
use parking_lot::Mutex;
use wire::{EntityState, ToolResult};

use super::*;
use crate::fold::{SessionFold, refold};
use crate::journal::{
    Batch, Chunk, Cursor, Entity, Fact, HistoryPage, HistoryQuery, Journal, MemoryJournal,
    OnSettled, Page, Record, StoreError,
};

/// A journal that writes only on request.
#[derive(Default)]
struct SlowJournal {
    kept: MemoryJournal,
    waiting: Mutex<Vec<(Batch, OnSettled)>>,
}

impl SlowJournal {
    fn write_all(&self) {
        for (batch, settled) in std::mem::take(&mut *self.waiting.lock()) {
            self.kept.submit_then(batch, settled);
        }
    }

    fn refuse_all(&self) {
        for (_, settled) in std::mem::take(&mut *self.waiting.lock()) {
            settled(Err(StoreError::Unavailable("on purpose".to_owned())));
        }
    }
}

#[async_trait]
impl Journal for SlowJournal {
    fn submit_then(&self, batch: Batch, settled: OnSettled) {
        self.waiting.lock().push((batch, settled));
    }

    async fn read(
        &self,
        entity: Entity,
        after: u64,
        max_facts: usize,
        max_bytes: usize,
    ) -> Result<Option<Page>, StoreError> {
        self.kept.read(entity, after, max_facts, max_bytes).await
    }

    async fn notes(&self, entity: Entity) -> Result<Vec<Fact>, StoreError> {
        self.kept.notes(entity).await
    }

    async fn record(&self, entity: Entity) -> Result<Option<(Record, u64, u64)>, StoreError> {
        self.kept.record(entity).await
    }

    async fn chunks(&self, entity: Entity) -> Result<Vec<Chunk>, StoreError> {
        self.kept.chunks(entity).await
    }

    async fn cursors(&self, entity: Entity) -> Result<Vec<Cursor>, StoreError> {
        self.kept.cursors(entity).await
    }

    async fn history(&self, query: HistoryQuery) -> Result<HistoryPage, StoreError> {
        self.kept.history(query).await
    }

    async fn delete(&self, entity: Entity) -> Result<(), StoreError> {
        self.kept.delete(entity).await
    }

    async fn expire(&self, ended_before: u64) -> Result<u64, StoreError> {
        self.kept.expire(ended_before).await
    }
}

fn slow_log() -> (Arc<SlowJournal>, Entity, Log) {
    let journal = Arc::<SlowJournal>::default();
    let shared = LiveShared::with_journal(LiveSettings::default(), journal.clone());
    let entity = Entity::from(SessionId::generate());
    let log = LiveLog::prepare(shared, entity);
    log.begin(&started());
    (journal, entity, log)
}

async fn is_durable(log: &Log) -> bool {
    tokio::time::timeout(Duration::ZERO, log.durable()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_fact_is_shown_once_it_is_durable() {
    let (journal, _, log) = slow_log();
    let reader = token("t");
    push_all(&log, &[prompt("a"), start("1"), delta("1", "x")]);
    assert_eq!(poll_error(&log, &reader).await, PollError::Timeout, "nothing is durable");
    assert!(!is_durable(&log).await);
    journal.write_all();
    assert!(is_durable(&log).await);
    assert_eq!(read(&log, &reader).await, Some(vec![prompt("a"), start("1"), delta("1", "x")]));

    // What is added to a block whose start is shown is shown at once.
    log.push(&delta("1", "y"));
    assert_eq!(read(&log, &reader).await, Some(vec![delta("1", "y")]));
    // Its end is a fact again.
    log.push(&end("1", "xy"));
    assert_eq!(poll_error(&log, &reader).await, PollError::Timeout);
    journal.write_all();
    assert_eq!(read(&log, &reader).await, Some(vec![end("1", "xy")]));
}

#[tokio::test(start_paused = true)]
async fn the_end_is_told_once_it_is_durable() {
    let (journal, _, log) = slow_log();
    let reader = token("t");
    journal.write_all();
    log.note(&SessionNote::Closed { crashed: false });
    log.close();
    assert_eq!(poll_error(&log, &reader).await, PollError::Timeout);
    journal.write_all();
    assert_eq!(read(&log, &reader).await, None);
}

#[tokio::test(start_paused = true)]
async fn what_can_t_be_kept_is_still_shown_but_not_acknowledged() {
    let (journal, _, log) = slow_log();
    log.push(&prompt("a"));
    journal.refuse_all();
    let refused = log.durable().await;
    assert_eq!(refused, Err(StoreError::Unavailable("on purpose".to_owned())));
    log.push(&prompt("b"));
    assert_eq!(read(&log, &token("t")).await, Some(vec![prompt("a"), prompt("b")]));
    log.close();
    assert_eq!(read(&log, &token("t")).await, None, "the end is not held up");
}

#[tokio::test(start_paused = true)]
async fn stored_blocks_are_whole_and_have_no_deltas() {
    let (journal, entity, log) = slow_log();
    let call = |name: &str| name.to_owned();
    let tool_end = SessionResponse::EndToolExecution {
        tool_call_id: call("2"),
        result: Some(ToolResult { content: "done".to_owned(), detailed_content: None }),
        error: None,
    };
    let output = |delta: &str| SessionResponse::ToolExecution {
        tool_call_id: call("2"),
        delta: delta.to_owned(),
    };
    let tool_start = SessionResponse::StartToolExecution {
        tool_call_id: call("2"),
        parent_tool_call_id: None,
        tool_name: "t".to_owned(),
        tool_arguments: String::new(),
    };
    push_all(&log, &[start("1"), delta("1", "a"), delta("1", "b"), end("1", "ab")]);
    push_all(&log, &[tool_start.clone(), output("c"), output("d"), tool_end.clone()]);
    journal.write_all();
    let page = journal.read(entity, 0, 99, usize::MAX).await.expect("read").expect("known");
    let stored = page.facts.iter().map(|(_, fact)| serde_json::from_str(&fact.json).expect("json"));
    let expected = [start("1"), end("1", "ab"), tool_start.clone(), output("cd"), tool_end.clone()];
    assert_eq!(stored.collect::<Vec<SessionResponse>>(), expected);
    assert!(page.facts.iter().map(|(seq, _)| *seq).eq(1..=5));
    // A late reader gets the same, a stored text not twice.
    assert_eq!(read(&log, &token("late")).await, Some(expected.to_vec()));
}

#[tokio::test(start_paused = true)]
async fn the_stored_record_is_the_fold_of_what_is_stored() {
    let (journal, entity, log) = slow_log();
    log.note(&SessionNote::Renamed { title: "A title".to_owned() });
    push_all(&log, &[prompt("first"), start("1"), end("1", "x")]);
    journal.write_all();
    let (stored, facts, notes) = journal.record(entity).await.expect("read").expect("known");
    assert_eq!((facts, notes), (3, 2));
    assert_eq!((&*stored.title, stored.state), ("A title", EntityState::Running));
    let again = refold::<SessionResponse, SessionFold>(&*journal, entity).await.expect("read");
    assert_eq!(crate::fold::Fold::record(&again.expect("known")), stored);
}

#[tokio::test]
async fn an_entity_that_never_begins_is_not_kept() {
    let journal = Arc::<SlowJournal>::default();
    let shared = LiveShared::with_journal(LiveSettings::default(), journal.clone());
    let log = LiveLog::<SessionResponse>::prepare(shared, SessionId::generate().into());
    log.push(&prompt("a"));
    assert!(journal.waiting.lock().is_empty());
    log.begin(&started());
    assert_eq!(journal.waiting.lock().len(), 1, "together with what happened before");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_many_threads_push_is_kept_in_the_order_in_which_it_is_shown() {
    let shared = LiveShared::new(LiveSettings::default());
    let entity = Entity::from(SessionId::generate());
    let log: Log = LiveLog::prepare(shared.clone(), entity);
    log.begin(&started());
    let pushers = (0..4).map(|pusher| {
        let log = log.clone();
        tokio::spawn(async move {
            for index in 0..500 {
                log.push(&prompt(&format!("{pusher}-{index}")));
            }
        })
    });
    for pusher in pushers.collect::<Vec<_>>() {
        pusher.await.expect("no panic");
    }
    log.durable().await.expect("kept");
    let page = shared.journal().read(entity, 0, 9_999, usize::MAX).await.expect("read");
    let stored: Vec<_> =
        page.expect("known").facts.into_iter().map(|(_, fact)| fact.json).collect();
    let shown = log.poll(token("t")).await.expect("an answer").entries();
    assert_eq!(shown, stored);
    assert_eq!(shown.len(), 2_000);
}

#[tokio::test]
async fn the_text_of_an_open_block_is_stored_piece_by_piece_until_it_ends() {
    let journal = Arc::new(MemoryJournal::default());
    let shared = LiveShared::with_journal(LiveSettings::default(), journal.clone());
    let lifecycle = Lifecycle::new();
    let registry = LiveRegistry::<SessionId, SessionResponse>::new(shared, &lifecycle);
    let id = SessionId::generate();
    let log = registry.open(id, &started());
    let stored = async || {
        let chunks = journal.chunks(id.into()).await.expect("read");
        chunks.into_iter().map(|chunk| (chunk.block, chunk.from, chunk.text)).collect::<Vec<_>>()
    };
    push_all(&log, &[prompt("a"), start("1"), delta("1", "one ")]);
    registry.save();
    push_all(&log, &[delta("1", "two "), delta("1", "three")]);
    registry.save();
    registry.save();
    let expected = [(2, 0, "one ".to_owned()), (2, 4, "two three".to_owned())];
    assert_eq!(stored().await, expected);
    log.push(&end("1", "one two three"));
    registry.save();
    assert_eq!(stored().await, [], "the end has the whole text");
    lifecycle.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_the_end_of_a_block_that_is_complete_but_not_durable() {
    let (journal, _, log) = slow_log();
    push_all(&log, &[prompt("p"), start("m")]);
    journal.write_all();
    push_all(&log, &[delta("m", "text"), end("m", "text")]);
    let reader = token("late");
    assert_eq!(read(&log, &reader).await, Some(vec![prompt("p"), start("m")]));
    // Its text is in the end, which is not shown yet: this is no reason to answer at once.
    let mut waiting = std::pin::pin!(log.poll(reader.clone()));
    settle().await;
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    journal.write_all();
    assert_eq!(parse(&waiting.await.expect("an answer")), [end("m", "text")]);
}

#[tokio::test(start_paused = true)]
async fn what_is_appended_together_is_stored_together() {
    let (journal, entity, log) = slow_log();
    journal.write_all();
    let reader = token("t");
    log.append(&[
        LiveItem::Note(SessionNote::DroppedPrompts),
        LiveItem::Entry(prompt("b")),
        LiveItem::Entry(prompt("c")),
    ]);
    let sizes: Vec<_> = {
        let waiting = journal.waiting.lock();
        let appends = waiting.iter().flat_map(|(batch, _)| &batch.appends);
        appends.map(|append| (append.facts.len(), append.notes.len())).collect()
    };
    assert_eq!(sizes, [(2, 1)], "in one batch");
    assert_eq!(poll_error(&log, &reader).await, PollError::Timeout, "nothing is durable");
    journal.write_all();
    assert_eq!(read(&log, &reader).await, Some(vec![prompt("b"), prompt("c")]));
    assert_eq!(journal.notes(entity).await.expect("read").len(), 2);

    // After the end, notes are taken and entries are not.
    log.close();
    log.append(&[LiveItem::Entry(prompt("d")), LiveItem::Note(SessionNote::DroppedPrompts)]);
    journal.write_all();
    assert_eq!(journal.notes(entity).await.expect("read").len(), 3);
    let facts = journal.read(entity, 0, 9, 999).await.expect("read").expect("known").facts;
    assert_eq!(facts.len(), 2);
}
