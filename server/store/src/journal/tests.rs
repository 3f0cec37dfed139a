//! What every journal must guarantee. Each test runs on all of them.

mod parts;
mod random;
mod since;

use std::sync::Arc;
use std::time::Duration;

use wire::{EntityKind, EntityState, JobId, PermissionId, SessionId, TaskId, Usage};

use super::{
    Append, Batch, Chunk, Cursor, Entity, Fact, HistoryQuery, Journal, MemoryJournal, OpenEntities,
    Position, Record, SqliteJournal, StoreError,
};
use parts::parts_are_left_out_on_every_page;
use since::history_begins_where_it_is_told_to;

/// A journal, and the folder it is in.
struct Kept {
    journal: Arc<dyn Journal>,
    _folder: Option<tempfile::TempDir>,
}

impl std::ops::Deref for Kept {
    type Target = dyn Journal;

    fn deref(&self) -> &Self::Target {
        &*self.journal
    }
}

fn memory() -> Kept {
    Kept { journal: Arc::new(MemoryJournal::default()), _folder: None }
}

fn sqlite() -> Kept {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = SqliteJournal::open(folder.path()).expect("a store");
    Kept { journal: Arc::new(journal), _folder: Some(folder) }
}

/// One test for each kind of journal.
macro_rules! conformance {
    ($($name:ident,)*) => {
        mod in_memory {
            $(#[tokio::test] async fn $name() { super::$name(super::memory()).await; })*
        }
        mod in_sqlite {
            $(#[tokio::test] async fn $name() { super::$name(super::sqlite()).await; })*
        }
    };
}

conformance! {
    facts_are_numbered_without_gaps_and_read_in_parts,
    an_append_that_expects_something_else_is_refused,
    a_batch_is_atomic_over_entities,
    of_appenders_that_race_one_wins,
    readers_follow_while_others_append,
    notes_and_records_stand_beside_the_facts,
    what_is_open_is_gone_through_page_by_page,
    history_is_listed_newest_first_page_by_page,
    history_is_filtered,
    parts_are_left_out_on_every_page,
    history_begins_where_it_is_told_to,
    texts_and_titles_are_searched,
    a_search_goes_page_by_page,
    what_belongs_to_something_is_deleted_with_it,
    what_ended_long_ago_expires,
    open_blocks_and_cursors_are_kept,
    notes_can_be_replaced_by_fewer,
    the_portal_is_in_no_list_and_stays,
    questions_have_lists_of_their_own_and_go_with_their_session,
}

fn fact(at: u64, json: &str) -> Fact {
    Fact { at, json: json.into(), is_searchable: true }
}

fn prompt(at: u64, text: &str) -> Fact {
    fact(at, &format!(r#"{{"callback":"onUserPrompt","prompt":"{text}"}}"#))
}

fn record(title: &str) -> Record {
    Record {
        parent: None,
        title: title.to_owned(),
        folder: "/src".to_owned(),
        model: Some("m".to_owned()),
        state: EntityState::Idle,
        started_at: 1,
        ended_at: None,
        usage: Usage::default(),
        detail: "{}".to_owned(),
    }
}

fn session() -> Entity {
    SessionId::generate().into()
}

/// A new entity with these facts.
fn begin(entity: Entity, title: &str, facts: Vec<Fact>) -> Append {
    Append { facts, record: Some(record(title)), ..Append::new(entity, 0, 0) }
}

async fn keep(journal: &dyn Journal, append: Append) {
    journal.submit(append.into()).durable().await.expect("kept");
}

async fn read_all(journal: &dyn Journal, entity: Entity) -> Vec<(u64, Fact)> {
    let page = journal.read(entity, 0, usize::MAX, usize::MAX).await.expect("read");
    page.map(|page| page.facts).unwrap_or_default()
}

fn numbers(facts: &[(u64, Fact)]) -> Vec<u64> {
    facts.iter().map(|(seq, _)| *seq).collect()
}

fn query() -> HistoryQuery {
    HistoryQuery { limit: 10, ..HistoryQuery::default() }
}

async fn titles(journal: &dyn Journal, query: HistoryQuery) -> Vec<String> {
    let page = journal.history(query).await.expect("a page");
    page.items.into_iter().map(|item| item.record.title).collect()
}

/// What a search finds once the index, which lags behind, has caught up.
async fn search_until(journal: &dyn Journal, words: &str, expected: &[&str]) {
    let query = || HistoryQuery { words: Some(words.to_owned()), ..query() };
    let found = tokio::time::timeout(Duration::from_secs(20), async {
        while titles(journal, query()).await != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    if found.await.is_err() {
        assert_eq!(titles(journal, query()).await, expected, "searched for {words}");
    }
}

async fn facts_are_numbered_without_gaps_and_read_in_parts(journal: Kept) {
    let entity = session();
    assert_eq!(journal.read(entity, 0, 1, 1).await, Ok(None), "unknown");
    let facts: Vec<_> = (1..=10).map(|at| fact(at, &format!("[{at}]"))).collect();
    keep(&*journal, begin(entity, "s", facts[..4].to_vec())).await;
    keep(&*journal, Append { facts: facts[4..].to_vec(), ..Append::new(entity, 4, 0) }).await;

    let all = read_all(&*journal, entity).await;
    assert_eq!(numbers(&all), (1..=10).collect::<Vec<_>>());
    assert!(
        all.iter()
            .zip(&facts)
            .all(|((_, stored), fact)| { (stored.at, &stored.json) == (fact.at, &fact.json) })
    );
    for (after, max_facts, max_bytes, expected, is_end) in [
        (0, 3, usize::MAX, vec![1, 2, 3], false),
        (3, 100, 4, vec![4, 5], false),
        (3, 100, 1, vec![4], false),
        (7, 3, usize::MAX, vec![8, 9, 10], true),
        (10, 3, usize::MAX, vec![], true),
        (99, 3, usize::MAX, vec![], true),
    ] {
        let page = journal.read(entity, after, max_facts, max_bytes).await.expect("read");
        let page = page.expect("known");
        assert_eq!((numbers(&page.facts), page.is_end), (expected, is_end), "after {after}");
    }
}

async fn an_append_that_expects_something_else_is_refused(journal: Kept) {
    let entity = session();
    keep(&*journal, begin(entity, "s", vec![fact(1, "1"), fact(2, "2")])).await;
    for expected in [0, 1, 3] {
        let append = Append { facts: vec![fact(3, "3")], ..Append::new(entity, expected, 0) };
        let refused = journal.submit(append.into()).durable().await;
        assert_eq!(refused, Err(StoreError::Conflict { entity, expected, found: 2 }));
    }
    let append = Append { notes: vec![fact(3, "3")], ..Append::new(entity, 2, 1) };
    assert!(journal.submit(append.into()).durable().await.is_err(), "there is no note");
    let unknown = Append { facts: vec![fact(3, "3")], ..Append::new(session(), 0, 0) };
    assert!(journal.submit(unknown.into()).durable().await.is_err(), "no record");
    assert_eq!(read_all(&*journal, entity).await.len(), 2);
    // The next one that fits is accepted.
    keep(&*journal, Append { facts: vec![fact(3, "3")], ..Append::new(entity, 2, 0) }).await;
}

async fn a_batch_is_atomic_over_entities(journal: Kept) {
    let (one, other) = (session(), session());
    keep(&*journal, begin(other, "other", vec![fact(1, "1")])).await;
    let batch = |expected| Batch {
        appends: vec![
            begin(one, "one", vec![fact(2, "2")]),
            Append { facts: vec![fact(3, "3")], ..Append::new(other, expected, 0) },
        ],
        ..Batch::default()
    };
    assert!(journal.submit(batch(7)).durable().await.is_err());
    assert_eq!(journal.read(one, 0, 9, 9).await, Ok(None), "nothing of it was written");
    assert_eq!(read_all(&*journal, other).await.len(), 1);
    journal.submit(batch(1)).durable().await.expect("kept");
    assert_eq!(read_all(&*journal, one).await.len(), 1);
    assert_eq!(read_all(&*journal, other).await.len(), 2);
}

async fn of_appenders_that_race_one_wins(journal: Kept) {
    let entity = session();
    keep(&*journal, begin(entity, "s", Vec::new())).await;
    for round in 0..20 {
        let tickets: Vec<_> = (0..8)
            .map(|writer| {
                let fact = fact(round + 2, &format!("[{writer}]"));
                let append = Append { facts: vec![fact], ..Append::new(entity, round, 0) };
                journal.submit(append.into())
            })
            .collect();
        let mut won = 0;
        for ticket in tickets {
            won += usize::from(ticket.durable().await.is_ok());
        }
        assert_eq!(won, 1);
    }
    assert_eq!(numbers(&read_all(&*journal, entity).await), (1..=20).collect::<Vec<_>>());
}

async fn readers_follow_while_others_append(kept: Kept) {
    const FACTS: u64 = 300;
    let entities: Vec<_> = (0..4).map(|_| session()).collect();
    for entity in &entities {
        keep(&*kept, begin(*entity, "s", Vec::new())).await;
    }
    let writers = entities.iter().map(|entity| {
        let (journal, entity) = (kept.journal.clone(), *entity);
        tokio::spawn(async move {
            for seq in 0..FACTS {
                let facts = vec![fact(seq + 1, &format!("[{seq}]"))];
                keep(&*journal, Append { facts, ..Append::new(entity, seq, 0) }).await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let readers = entities.iter().map(|entity| {
        let (journal, entity) = (kept.journal.clone(), *entity);
        tokio::spawn(async move {
            let mut seen = 0;
            while seen < FACTS {
                let page = journal.read(entity, seen, 50, usize::MAX).await.expect("read");
                for (seq, fact) in page.expect("known").facts {
                    assert_eq!(seq, seen + 1, "no gap, nothing twice");
                    assert_eq!(&*fact.json, format!("[{seen}]"));
                    seen = seq;
                }
                tokio::task::yield_now().await;
            }
        })
    });
    for task in readers.collect::<Vec<_>>().into_iter().chain(writers) {
        task.await.expect("no panic");
    }
}

async fn notes_and_records_stand_beside_the_facts(journal: Kept) {
    let entity = session();
    let mut first = begin(entity, "first", vec![fact(1, "1")]);
    first.notes = vec![fact(2, "[2]"), fact(3, "[3]")];
    keep(&*journal, first).await;
    let changed = Record {
        state: EntityState::Closed,
        ended_at: Some(9),
        usage: Usage { input_tokens: 3, cost: Some(0.5), ..Usage::default() },
        detail: r#"{"more":1}"#.to_owned(),
        model: None,
        ..record("second")
    };
    let append = Append {
        notes: vec![fact(4, "[4]")],
        record: Some(changed.clone()),
        ..Append::new(entity, 1, 2)
    };
    keep(&*journal, append).await;
    assert_eq!(journal.record(entity).await, Ok(Some((changed, 1, 3))));
    let notes = journal.notes(entity).await.expect("notes");
    let notes: Vec<_> = notes.iter().map(|note| (note.at, &*note.json)).collect();
    assert_eq!(notes, [(2, "[2]"), (3, "[3]"), (4, "[4]")]);
    assert_eq!(journal.record(session()).await, Ok(None));
    assert_eq!(journal.notes(session()).await, Ok(Vec::new()));
}

async fn what_is_open_is_gone_through_page_by_page(journal: Kept) {
    let entities: Vec<_> = (0..502).map(|_| session()).collect();
    for (index, entity) in entities.iter().enumerate() {
        keep(&*journal, begin(*entity, &index.to_string(), Vec::new())).await;
    }
    keep(&*journal, begin(JobId::generate().into(), "job", Vec::new())).await;
    let ended = Record { ended_at: Some(5), ..record("1") };
    keep(&*journal, Append { record: Some(ended), ..Append::new(entities[1], 0, 0) }).await;
    let mut pages = OpenEntities::new(&*journal, EntityKind::Session);
    let (mut open, mut sizes) = (Vec::new(), Vec::new());
    while let Some(page) = pages.next().await.expect("a page") {
        sizes.push(page.len());
        open.extend(page.into_iter().map(|(entity, _)| entity));
    }
    open.reverse();
    assert_eq!(open, [&entities[..1], &entities[2..]].concat());
    assert_eq!(sizes, [500, 1]);
    let mut pages = OpenEntities::new(&*journal, EntityKind::Task);
    assert_eq!(pages.next().await, Ok(Some(Vec::new())));
    assert_eq!(pages.next().await, Ok(None));
}

async fn history_is_listed_newest_first_page_by_page(journal: Kept) {
    for index in 0..7 {
        keep(&*journal, begin(session(), &index.to_string(), Vec::new())).await;
    }
    let own = Append { record: Some(record("own")), ..Append::new(Entity::Portal, 0, 0) };
    keep(&*journal, own).await;
    let mut pages = Vec::new();
    let mut before = None;
    loop {
        let query = HistoryQuery { limit: 3, before, ..query() };
        let page = journal.history(query).await.expect("a page");
        pages.push(page.items.into_iter().map(|item| item.record.title).collect::<Vec<_>>());
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(pages, [vec!["6", "5", "4"], vec!["3", "2", "1"], vec!["0"]]);
}

async fn history_is_filtered(journal: Kept) {
    let job = Entity::from(JobId::generate());
    keep(&*journal, begin(session(), "a", Vec::new())).await;
    keep(&*journal, begin(job, "b", Vec::new())).await;
    let failed = Record { state: EntityState::Failed, folder: "/other".to_owned(), ..record("c") };
    keep(&*journal, Append { record: Some(failed), ..Append::new(session(), 0, 0) }).await;
    for (wanted, expected) in [
        (HistoryQuery { kind: Some(EntityKind::Job), ..query() }, vec!["b"]),
        (HistoryQuery { kind: Some(EntityKind::Session), ..query() }, vec!["c", "a"]),
        (HistoryQuery { kind: Some(EntityKind::Task), ..query() }, vec![]),
        (HistoryQuery { state: Some(EntityState::Failed), ..query() }, vec!["c"]),
        (HistoryQuery { folder: Some("/src".to_owned()), ..query() }, vec!["b", "a"]),
        (
            HistoryQuery {
                folder: Some("/other".to_owned()),
                kind: Some(EntityKind::Job),
                ..query()
            },
            vec![],
        ),
    ] {
        assert_eq!(titles(&*journal, wanted.clone()).await, expected, "{wanted:?}");
    }
}

async fn texts_and_titles_are_searched(journal: Kept) {
    let entity = session();
    let message =
        r#"{"callback":"onEndMessage","messageId":"1","completeContent":"a Banana, ripe"}"#;
    let silent = Fact { is_searchable: false, ..prompt(4, "unsearchable") };
    let facts = vec![prompt(1, "peel the apple"), fact(2, message), fact(3, "[]"), silent];
    keep(&*journal, begin(entity, "fruit", facts)).await;
    keep(&*journal, begin(session(), "other", vec![prompt(5, "the apple falls")])).await;

    search_until(&*journal, "apple", &["other", "fruit"]).await;
    search_until(&*journal, "banana ri", &["fruit"]).await;
    search_until(&*journal, "FRUIT", &["fruit"]).await;
    search_until(&*journal, "apple banana", &[]).await;
    for nothing in ["unsearchable", "onEndMessage", "appl e", "-", "\"", "a*b OR (", "NEAR("] {
        let query = HistoryQuery { words: Some(nothing.to_owned()), ..query() };
        assert_eq!(titles(&*journal, query).await, Vec::<String>::new(), "{nothing}");
    }
    let query = HistoryQuery { words: Some("ripe".to_owned()), ..query() };
    let page = journal.history(query).await.expect("a page");
    assert_eq!(page.items[0].snippet.as_deref(), Some("a Banana, «ripe»"));

    keep(&*journal, Append { record: Some(record("vegetable")), ..Append::new(entity, 4, 0) })
        .await;
    search_until(&*journal, "vegetable", &["vegetable"]).await;
    search_until(&*journal, "fruit", &[]).await;
    journal.delete(entity).await.expect("deleted");
    search_until(&*journal, "apple", &["other"]).await;
    search_until(&*journal, "vegetable", &[]).await;
}

async fn a_search_goes_page_by_page(journal: Kept) {
    for index in 0..7 {
        let facts = (0..5).map(|at| prompt(at, "the same word")).collect();
        keep(&*journal, begin(session(), &index.to_string(), facts)).await;
    }
    let all = ["6", "5", "4", "3", "2", "1", "0"];
    search_until(&*journal, "word", &all).await;
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let words = Some("word".to_owned());
        let page = journal.history(HistoryQuery { words, limit: 2, before, ..query() }).await;
        let page = page.expect("a page");
        found.extend(page.items.into_iter().map(|item| item.record.title));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(found, all);
}

/// A job with a task that has a session, and an independent session.
async fn family(journal: &dyn Journal, ended_at: Option<u64>) -> [Entity; 4] {
    let job = Entity::from(JobId::generate());
    let task = Entity::from(TaskId::generate());
    let (child, other) = (session(), session());
    for (entity, parent) in [(job, None), (task, Some(job)), (child, Some(task)), (other, None)] {
        let ended_at = ended_at.filter(|_| entity != other);
        let record = Record { parent, ended_at, ..record("one") };
        let facts = vec![prompt(1, "searched")];
        keep(journal, Append { facts, record: Some(record), ..Append::new(entity, 0, 0) }).await;
    }
    [job, task, child, other]
}

async fn assert_gone(journal: &dyn Journal, entities: &[Entity]) {
    for entity in entities {
        assert_eq!(journal.record(*entity).await, Ok(None));
        assert_eq!(journal.read(*entity, 0, 9, 9).await, Ok(None));
    }
}

async fn what_belongs_to_something_is_deleted_with_it(journal: Kept) {
    let [job, task, child, other] = family(&*journal, None).await;
    search_until(&*journal, "searched", &["one"; 4]).await;
    let (stored, ..) = journal.record(child).await.expect("read").expect("known");
    assert_eq!(stored.parent, Some(task));
    journal.delete(job).await.expect("deleted");
    assert_gone(&*journal, &[job, task, child]).await;
    search_until(&*journal, "searched", &["one"]).await;
    assert_eq!(read_all(&*journal, other).await.len(), 1);
    journal.delete(job).await.expect("gone already");
}

async fn what_ended_long_ago_expires(journal: Kept) {
    let [job, task, child, _] = family(&*journal, Some(100)).await;
    assert_eq!(journal.expire(100).await, Ok(0), "not before");
    assert_eq!(journal.expire(101).await, Ok(1), "one, with what belongs to it");
    assert_gone(&*journal, &[job, task, child]).await;
    assert_eq!(titles(&*journal, query()).await, ["one"], "what has not ended stays");
}

async fn open_blocks_and_cursors_are_kept(journal: Kept) {
    let entity = session();
    keep(&*journal, begin(entity, "s", vec![fact(1, "1"), fact(2, "2")])).await;
    let chunk = |block, from, text: &str| Chunk { entity, block, from, text: text.to_owned() };
    let chunks = vec![chunk(1, 0, "one "), chunk(1, 4, "two"), chunk(2, 0, "other")];
    let cursor = |seq, is_finished| Cursor {
        entity,
        reader: "token".parse().expect("a token"),
        position: Position { seq, inside: vec![(1, 4)] },
        is_finished,
    };
    let batch =
        Batch { chunks: chunks.clone(), cursors: vec![cursor(1, false)], ..Batch::default() };
    journal.submit(batch).durable().await.expect("kept");
    assert_eq!(journal.chunks(entity).await, Ok(chunks.clone()));
    assert_eq!(journal.cursors(entity).await, Ok(vec![cursor(1, false)]));

    let batch = Batch {
        appends: vec![Append {
            facts: vec![fact(3, "3")],
            closed_blocks: vec![1],
            ..Append::new(entity, 2, 0)
        }],
        cursors: vec![cursor(3, true)],
        ..Batch::default()
    };
    journal.submit(batch).durable().await.expect("kept");
    assert_eq!(journal.chunks(entity).await, Ok(chunks[2..].to_vec()));
    assert_eq!(journal.cursors(entity).await, Ok(vec![cursor(3, true)]));

    let forget = |name: &str| Batch {
        forgotten: vec![(entity, name.parse().expect("a token"))],
        ..Batch::default()
    };
    journal.submit(forget("other")).durable().await.expect("nothing to forget");
    assert_eq!(journal.cursors(entity).await, Ok(vec![cursor(3, true)]));
    journal.submit(forget("token")).durable().await.expect("forgotten");
    assert_eq!(journal.cursors(entity).await, Ok(Vec::new()));
    let again = Batch { cursors: vec![cursor(3, true)], ..Batch::default() };
    journal.submit(again).durable().await.expect("kept");
    journal.delete(entity).await.expect("deleted");
    assert_eq!(journal.chunks(entity).await, Ok(Vec::new()));
    assert_eq!(journal.cursors(entity).await, Ok(Vec::new()));
}

async fn notes_can_be_replaced_by_fewer(journal: Kept) {
    let (entity, other) = (session(), session());
    let notes: Vec<_> = (1..=5).map(|at| fact(at, &format!("[{at}]"))).collect();
    for entity in [entity, other] {
        let begun = begin(entity, "s", vec![fact(1, "1")]);
        keep(&*journal, Append { notes: notes.clone(), ..begun }).await;
    }
    let shorter = |after_note| Append {
        notes: vec![fact(6, "[6]"), fact(7, "[7]")],
        replaces_notes: true,
        ..Append::new(entity, 1, after_note)
    };
    let late = journal.submit(shorter(4).into()).durable().await;
    assert_eq!(late, Err(StoreError::Conflict { entity, expected: 4, found: 5 }));
    keep(&*journal, shorter(5)).await;
    keep(&*journal, Append { notes: vec![fact(8, "[8]")], ..Append::new(entity, 1, 2) }).await;
    let texts = |notes: Vec<Fact>| notes.into_iter().map(|note| note.json).collect::<Vec<_>>();
    let stored = journal.notes(entity).await.expect("notes");
    assert_eq!(texts(stored), ["[6]", "[7]", "[8]"].map(Arc::from));
    let (_, facts, count) = journal.record(entity).await.expect("read").expect("known");
    assert_eq!((facts, count), (1, 3));
    assert_eq!(journal.notes(other).await.expect("notes").len(), 5, "only its own");
}

async fn the_portal_is_in_no_list_and_stays(journal: Kept) {
    let portal = Append { notes: vec![fact(1, "{}")], ..begin(Entity::Portal, "word", Vec::new()) };
    keep(&*journal, portal).await;
    keep(&*journal, begin(session(), "word", Vec::new())).await;
    search_until(&*journal, "word", &["word"]).await;
    assert_eq!(titles(&*journal, query()).await, ["word"], "the session");
    assert_eq!(journal.expire(u64::MAX).await, Ok(0));
    journal.delete(Entity::Portal).await.expect("no error");
    assert_eq!(journal.notes(Entity::Portal).await.expect("notes").len(), 1);
}

async fn questions_have_lists_of_their_own_and_go_with_their_session(journal: Kept) {
    let asking = session();
    keep(&*journal, begin(asking, "word", Vec::new())).await;
    let questions: Vec<_> = (0..3).map(|_| Entity::from(PermissionId::generate())).collect();
    for (index, question) in questions.iter().enumerate() {
        let ended_at = (index == 1).then_some(9);
        let title = format!("word {index}");
        let record = Record { parent: Some(asking), ended_at, ..record(&title) };
        keep(&*journal, Append { record: Some(record), ..Append::new(*question, 0, 0) }).await;
    }
    assert_eq!(titles(&*journal, query()).await, ["word"]);
    let kinds = HistoryQuery { kind: Some(EntityKind::Session), ..query() };
    assert_eq!(titles(&*journal, kinds).await, ["word"]);
    search_until(&*journal, "word", &["word"]).await;
    let all = HistoryQuery { questions: true, ..query() };
    assert_eq!(titles(&*journal, all).await, ["word 2", "word 1", "word 0"]);
    let mut open = OpenEntities::questions(&*journal);
    let page = open.next().await.expect("read").expect("a page");
    let open: Vec<_> = page.into_iter().map(|(entity, _)| entity).collect();
    assert_eq!(open, [questions[2], questions[0]]);
    journal.delete(asking).await.expect("deleted");
    assert_gone(&*journal, &questions).await;
}
