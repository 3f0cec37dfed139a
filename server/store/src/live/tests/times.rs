//! The times of entries: one order for all logs.

use super::*;

async fn times(log: &Log, reader: &str) -> Vec<u64> {
    let delivery = log.poll(token(reader)).await.expect("an answer");
    let times = delivery.times();
    assert_eq!(times.len(), delivery.entries().len());
    delivery.commit();
    times
}

#[tokio::test(start_paused = true)]
async fn times_order_the_entries_of_all_logs() {
    let shared = LiveShared::new(LiveSettings::default());
    let logs: [Log; 2] = [LiveLog::new(shared.clone()), LiveLog::new(shared)];
    for number in 0..10 {
        logs[number % 2].push(&prompt("x"));
    }
    let (even, odd) = (times(&logs[0], "t").await, times(&logs[1], "t").await);
    let all: Vec<u64> = even.iter().zip(&odd).flat_map(|(one, other)| [*one, *other]).collect();
    assert_eq!(all.len(), 10);
    assert!(all.is_sorted_by(|one, other| one < other), "{all:?}");
    // Another reader gets the same times.
    assert_eq!(times(&logs[0], "u").await, even);
}

#[tokio::test(start_paused = true)]
async fn merged_deltas_have_the_time_of_the_first() {
    let log = new_log();
    push_all(&log, &[start("m"), delta("m", "a"), delta("m", "b")]);
    let first = times(&log, "t").await;
    assert_eq!(first.len(), 2);
    assert!(first[0] < first[1]);
    push_all(&log, &[delta("m", "c"), prompt("x"), delta("m", "d")]);
    let second = times(&log, "t").await;
    assert_eq!(second.len(), 3);
    assert_eq!(second[0], first[1], "the rest of what was read before");
    assert!(second.is_sorted_by(|one, other| one < other), "{second:?}");
}
