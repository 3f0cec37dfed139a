use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::*;

fn places(in_all: u16, per_job: u16) -> Places {
    let bound = |bound| NonZeroU16::new(bound).expect("not zero");
    Places::new(bound(in_all), bound(per_job))
}

fn queue_of(places: &Places, items: impl IntoIterator<Item = u32>) -> PlaceQueue<u32> {
    let mut queue = places.queue();
    items.into_iter().for_each(|item| queue.push(item));
    queue
}

/// Polls once, then cancels.
async fn ask(queue: &mut PlaceQueue<u32>) -> Option<(u32, Place)> {
    tokio::select! {
        biased;
        next = queue.next() => Some(next),
        () = std::future::ready(()) => None,
    }
}

async fn ask_for(queue: &mut PlaceQueue<u32>, item: u32) -> Place {
    let (next, place) = ask(queue).await.expect("there is a place");
    assert_eq!(next, item);
    place
}

#[tokio::test(start_paused = true)]
async fn a_job_gets_no_more_places_than_it_may_have_and_in_order() {
    let mut queue = queue_of(&places(9, 2), 0..4);
    let (first, _second) = (ask_for(&mut queue, 0).await, ask_for(&mut queue, 1).await);
    assert!(ask(&mut queue).await.is_none());
    drop(first);
    let _third = ask_for(&mut queue, 2).await;
    assert!(ask(&mut queue).await.is_none());
    assert_eq!(queue.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_jobs_share_the_places_of_the_server() {
    let places = places(2, 2);
    let (mut one, mut other) = (queue_of(&places, 0..1), queue_of(&places, 10..12));
    let (first, _second) = (ask_for(&mut one, 0).await, ask_for(&mut other, 10).await);
    assert!(ask(&mut other).await.is_none());
    drop(first);
    let _third = ask_for(&mut other, 11).await;
    assert!(other.is_empty());
}

#[tokio::test(start_paused = true)]
async fn jobs_take_turns_however_much_waits_in_one() {
    let places = places(2, 2);
    let mut huge = queue_of(&places, 0..100);
    let running = [ask_for(&mut huge, 0).await, ask_for(&mut huge, 1).await];
    assert!(ask(&mut huge).await.is_none());
    let mut small = queue_of(&places, 100..102);
    assert!(ask(&mut small).await.is_none());

    // The huge job is not in the server's line: it already has all the places it may have.
    let [one, _other] = running;
    drop(one);
    let small_place = ask_for(&mut small, 100).await;
    assert!(ask(&mut huge).await.is_none());
    assert!(ask(&mut small).await.is_none());
    drop(small_place);
    let huge_place = ask_for(&mut huge, 2).await;
    assert!(ask(&mut huge).await.is_none());
    drop(huge_place);
    ask_for(&mut small, 101).await;
}

#[tokio::test(start_paused = true)]
async fn hanging_up_loses_neither_the_item_nor_the_turn() {
    let places = places(1, 1);
    let mut busy = queue_of(&places, 0..1);
    let place = ask_for(&mut busy, 0).await;
    let (mut first, mut second) = (queue_of(&places, 10..11), queue_of(&places, 20..21));
    assert!(ask(&mut first).await.is_none());
    assert!(ask(&mut second).await.is_none());
    assert!(ask(&mut first).await.is_none());
    drop(place);
    assert!(ask(&mut second).await.is_none());
    drop(ask_for(&mut first, 10).await);
    ask_for(&mut second, 20).await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_dropped_holds_up_nobody() {
    let places = places(1, 1);
    let mut busy = queue_of(&places, 0..1);
    let place = ask_for(&mut busy, 0).await;
    let (mut given, mut waiting) = (queue_of(&places, 10..11), queue_of(&places, 20..21));
    let mut last = queue_of(&places, 30..31);
    assert!(ask(&mut given).await.is_none());
    assert!(ask(&mut waiting).await.is_none());
    assert!(ask(&mut last).await.is_none());
    drop(waiting);
    // The place goes to a queue that never picks it up.
    drop(place);
    assert!(ask(&mut last).await.is_none());
    drop(given);
    ask_for(&mut last, 30).await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_waits_and_takes_no_place() {
    let places = places(1, 1);
    let mut queue = queue_of(&places, []);
    timeout(Duration::from_mins(1), queue.next()).await.expect_err("nothing waits");
    ask_for(&mut queue_of(&places, 0..1), 0).await;
    queue.push(1);
    ask_for(&mut queue, 1).await;
}

/// A task that takes a second, and counts itself in its job and in total.
async fn run_task(place: Place, running: [Arc<AtomicUsize>; 2]) {
    let bounds = [4, 2];
    for (running, bound) in running.iter().zip(bounds) {
        assert!(running.fetch_add(1, Ordering::SeqCst) < bound);
    }
    sleep(Duration::from_secs(1)).await;
    for running in running {
        running.fetch_sub(1, Ordering::SeqCst);
    }
    drop(place);
}

#[tokio::test(start_paused = true)]
async fn many_jobs_get_through_within_the_bounds_and_evenly() {
    let places = places(4, 2);
    let in_all = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let mut jobs = JoinSet::new();
    for count in [400, 200, 100, 10, 1] {
        let mut queue = queue_of(&places, 0..count);
        let in_all = Arc::clone(&in_all);
        jobs.spawn(async move {
            let in_job = Arc::new(AtomicUsize::new(0));
            let mut tasks = JoinSet::new();
            let mut started = Vec::new();
            while !(queue.is_empty() && tasks.is_empty()) {
                tokio::select! {
                    (item, place) = queue.next() => {
                        started.push(item);
                        tasks.spawn(run_task(place, [&in_all, &in_job].map(Arc::clone)));
                    }
                    Some(ended) = tasks.join_next() => ended.expect("it keeps the bounds"),
                }
            }
            assert!(started.iter().copied().eq(0..count), "{started:?}");
            (count, begun.elapsed().as_secs())
        });
    }
    let mut ends = Vec::new();
    while let Some(job) = jobs.join_next().await {
        ends.push(job.expect("it ends in order"));
    }
    assert!(ends.is_sorted(), "small jobs end first: {ends:?}");
    // Five jobs on four places: each gets a place at least every other second.
    for (count, seconds) in ends {
        assert!(seconds <= u64::from(2 * count), "{count} tasks in {seconds} s");
    }
}
