//! Random operations: both journals must have the same contents after them.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

/// An operation on one of a few entities.
#[derive(Clone, Debug)]
enum Step {
    /// Adds facts and notes, with the right numbers or with a wrong one.
    Append {
        entity: u8,
        facts: u8,
        notes: u8,
        replaces_notes: bool,
        is_wrong: bool,
        ends: bool,
    },
    /// Writes two appends in one batch, the second of which may conflict.
    Both {
        entity: u8,
        other: u8,
        is_wrong: bool,
    },
    Delete(u8),
    Expire(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let entity = || 0_u8..5;
    let seldom = || prop::bool::weighted(0.2);
    let step = prop_oneof![
        6 => (entity(), 0_u8..4, 0_u8..3, seldom(), seldom(), seldom()).prop_map(
            |(entity, facts, notes, replaces_notes, is_wrong, ends)| Step::Append {
                entity, facts, notes, replaces_notes, is_wrong, ends
            }
        ),
        3 => (entity(), entity(), seldom())
            .prop_map(|(entity, other, is_wrong)| Step::Both { entity, other, is_wrong }),
        1 => entity().prop_map(Step::Delete),
        1 => (0_u64..60).prop_map(Step::Expire),
    ];
    prop::collection::vec(step, 1..40)
}

/// The first is an independent session; each other may belong to the one before it.
fn entity(index: u8) -> (Entity, Option<Entity>) {
    let name = |index: u8| Entity::from(TaskId::from_uuid(Uuid::from_u128(index.into())));
    (name(index), (index % 2 == 1).then(|| name(index - 1)))
}

async fn append(journal: &dyn Journal, index: u8, time: u64, is_wrong: bool) -> Append {
    let (entity, parent) = entity(index);
    let stored = journal.record(entity).await.expect("read");
    let (facts, notes) = stored.as_ref().map_or((0, 0), |(_, facts, notes)| (*facts, *notes));
    let parent_is_known = match parent {
        Some(parent) => journal.record(parent).await.expect("read").is_some(),
        None => false,
    };
    let parent = match stored {
        Some((record, ..)) => record.parent,
        None => parent.filter(|_| parent_is_known),
    };
    Append {
        facts: vec![fact(time, &format!("[{time}]"))],
        record: Some(Record { parent, started_at: time, ..record(&index.to_string()) }),
        ..Append::new(entity, facts + u64::from(is_wrong), notes)
    }
}

async fn apply(journal: &dyn Journal, time: u64, step: &Step) -> String {
    match *step {
        Step::Append { entity, facts, notes, replaces_notes, is_wrong, ends } => {
            let mut append = append(journal, entity, time, is_wrong).await;
            append.facts = vec![append.facts[0].clone(); facts.into()];
            append.notes = vec![fact(time, "{}"); notes.into()];
            append.replaces_notes = replaces_notes;
            if let Some(record) = &mut append.record {
                record.ended_at = ends.then_some(time);
            }
            format!("{:?}", journal.submit(append.into()).durable().await)
        }
        Step::Both { entity, other, is_wrong } if entity != other => {
            let appends = vec![
                append(journal, entity, time, false).await,
                append(journal, other, time, is_wrong).await,
            ];
            let batch = Batch { appends, ..Batch::default() };
            format!("{:?}", journal.submit(batch).durable().await)
        }
        Step::Both { .. } => String::new(),
        Step::Delete(index) => format!("{:?}", journal.delete(entity(index).0).await),
        Step::Expire(before) => format!("{:?}", journal.expire(before).await),
    }
}

/// Everything that can be read.
async fn contents(journal: &dyn Journal) -> String {
    let mut all = Vec::new();
    for index in 0..5 {
        let (entity, _) = entity(index);
        let facts = read_all(journal, entity).await;
        assert_eq!(numbers(&facts), (1..=facts.len() as u64).collect::<Vec<_>>(), "no gaps");
        let facts: Vec<_> = facts.into_iter().map(|(_, fact)| (fact.at, fact.json)).collect();
        let notes = journal.notes(entity).await.expect("notes").len();
        all.push(format!("{facts:?} {notes} {:?}", journal.record(entity).await));
    }
    all.push(format!("{:?}", journal.history(query()).await.expect("a page").items));
    all.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn both_journals_do_the_same(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let (memory, sqlite) = (memory(), sqlite());
            for (time, step) in (1..).zip(&steps) {
                let expected = apply(&*memory, time, step).await;
                assert_eq!(apply(&*sqlite, time, step).await, expected, "{step:?}");
            }
            assert_eq!(contents(&*sqlite).await, contents(&*memory).await);
        });
    }
}
