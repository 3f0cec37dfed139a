//! Readers at different positions of the ring.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use wire::bridge::HistoryCleared;

use super::*;

fn event(session: &str, at: u32) -> Event {
    Event::HistoryCleared(HistoryCleared { session_id: session.to_owned(), at: at.to_string() })
}

fn place() -> OwnedSemaphorePermit {
    Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a place")
}

fn reader(bus: &Arc<Bus>, session: Option<&str>, start: Start) -> Subscription {
    bus.subscribe(session.map(str::to_owned), start, place())
}

/// The numbers of the events that a reader has not read.
async fn unread(reader: &mut Subscription) -> (Option<u64>, Vec<u64>) {
    let (mut missed, mut ids) = (None, Vec::new());
    while let Ok(Some(batch)) = timeout(Duration::from_millis(1), reader.next()).await {
        missed = missed.or(batch.missed);
        ids.extend(batch.events.iter().map(|event| event.id));
    }
    (missed, ids)
}

#[tokio::test(start_paused = true)]
async fn readers_get_what_concerns_them_and_go_on_where_they_were() {
    let bus = Bus::new(100);
    let mut all = reader(&bus, None, Start::Now);
    let mut one = reader(&bus, Some("a"), Start::Now);
    assert_eq!(one.read_up_to(), 99);
    for number in 0..4 {
        bus.push(&event(if number % 2 == 0 { "a" } else { "b" }, number));
    }
    assert_eq!(unread(&mut all).await, (None, vec![100, 101, 102, 103]));
    assert_eq!(unread(&mut one).await, (None, vec![100, 102]));
    assert_eq!(one.read_up_to(), 103, "what does not concern it is read, too");
    for (start, expected) in [
        (Start::After(103), vec![]),
        (Start::After(101), vec![102, 103]),
        (Start::After(99), vec![100, 101, 102, 103]),
        (Start::Now, vec![]),
    ] {
        assert_eq!(unread(&mut reader(&bus, None, start)).await, (None, expected), "{start:?}");
    }
    assert_eq!(bus.last_id(), 103);
}

#[tokio::test(start_paused = true)]
async fn who_comes_from_another_life_is_told_and_gets_what_there_is() {
    let bus = Bus::new(100);
    for start in [Start::After(7), Start::After(100), Start::AfterUnknown] {
        assert_eq!(unread(&mut reader(&bus, None, start)).await, (Some(100), vec![]), "{start:?}");
    }
    bus.push(&event("a", 0));
    for start in [Start::After(7), Start::After(500), Start::AfterUnknown] {
        let read = unread(&mut reader(&bus, None, start)).await;
        assert_eq!(read, (Some(100), vec![100]), "{start:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_told_what_it_missed_and_nothing_grows() {
    let bus = Bus::with_limits(1, 10, 1_000_000);
    let (mut slow, mut quick) = (reader(&bus, None, Start::Now), reader(&bus, None, Start::Now));
    for number in 1..=25 {
        bus.push(&event("a", number));
        assert_eq!(unread(&mut quick).await, (None, vec![u64::from(number)]));
    }
    assert_eq!(bus.ring.lock().events.len(), 10);
    assert_eq!(unread(&mut slow).await, (Some(16), (16..=25).collect()));

    let bus = Bus::with_limits(1, 1_000, 100);
    for number in 0..50 {
        bus.push(&event("a", number));
    }
    assert!(bus.ring.lock().bytes <= 100);
}

#[tokio::test(start_paused = true)]
async fn much_is_read_in_batches_without_loss() {
    let bus = Bus::new(1);
    let mut reader = reader(&bus, None, Start::Now);
    for number in 0..1_000 {
        bus.push(&event("a", number));
    }
    let first = reader.next().await.expect("events");
    assert_eq!(first.events.len(), BATCH_EVENTS);
    assert_eq!(first.read_up_to, BATCH_EVENTS as u64);
    let (missed, rest) = unread(&mut reader).await;
    assert_eq!((missed, rest), (None, (BATCH_EVENTS as u64 + 1..=1_000).collect()));
}

#[tokio::test(start_paused = true)]
async fn after_the_end_readers_get_what_is_left() {
    let bus = Bus::new(1);
    let mut reader = reader(&bus, Some("a"), Start::Now);
    bus.push(&event("a", 0));
    bus.push(&event("b", 1));
    bus.close();
    assert_eq!(reader.next().await.expect("what is left").events.len(), 1);
    assert!(reader.next().await.is_none());
    assert!(reader.next().await.is_none());
}
