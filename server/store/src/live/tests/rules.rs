use tokio::time::{Instant, advance, sleep};

use super::*;
use crate::journal::Batch;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_token_gets_everything_at_once_if_there_is_anything() {
    let log = new_log();
    push_all(&log, &[prompt("a"), prompt("b")]);
    let begun = Instant::now();
    let delivery = log.poll(token("t")).await.expect("an answer");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(parse(&delivery), [prompt("a"), prompt("b")]);
    assert!(matches!(delivery.into_parts(), (Said::Batch(_), _)));
}

#[tokio::test(start_paused = true)]
async fn a_token_waits_for_what_is_new() {
    let log = new_log();
    let reader = token("t");
    push_all(&log, &[prompt("a")]);
    assert_eq!(read(&log, &reader).await, Some(vec![prompt("a")]));
    let pushed = log.clone();
    let later = tokio::spawn(async move {
        sleep(SECOND).await;
        pushed.push(&prompt("b"));
    });
    let begun = Instant::now();
    assert_eq!(read(&log, &reader).await, Some(vec![prompt("b")]));
    assert_eq!(begun.elapsed(), SECOND);
    later.await.expect("pushed");
}

#[tokio::test(start_paused = true)]
async fn nothing_for_five_seconds_is_a_timeout() {
    let log = new_log();
    let begun = Instant::now();
    assert_eq!(poll_error(&log, &token("t")).await, PollError::Timeout);
    assert_eq!(begun.elapsed(), 5 * SECOND);
    assert_eq!(PollError::Timeout.name::<SessionId>(), ErrorName::HttpRequestTimeout);
    // And it is no longer pending.
    log.push(&prompt("a"));
    assert_eq!(read(&log, &token("t")).await, Some(vec![prompt("a")]));
}

#[tokio::test(start_paused = true)]
async fn several_tokens_see_everything_whenever_they_join() {
    let log = new_log();
    push_all(&log, &[prompt("a")]);
    assert_eq!(read(&log, &token("one")).await, Some(vec![prompt("a")]));
    push_all(&log, &[prompt("b")]);
    assert_eq!(read(&log, &token("one")).await, Some(vec![prompt("b")]));
    let both = vec![prompt("a"), prompt("b")];
    assert_eq!(read(&log, &token("two")).await, Some(both));
}

#[tokio::test(start_paused = true)]
async fn the_reader_without_a_token_gets_one_bare_response_a_call() {
    let log = new_log();
    push_all(&log, &[SessionResponse::Idle, prompt("b")]);
    let delivery = log.poll(ReaderKey::Implicit).await.expect("an answer");
    let (Said::Single(mut said), receipt) = delivery.into_parts() else { panic!("several") };
    assert_eq!(said.next().as_deref(), Some(r#"{"callback":"onIdle"}"#));
    assert_eq!(said.next(), None);
    receipt.commit();
    let next = read(&log, &ReaderKey::Implicit).await;
    assert_eq!(next, Some(vec![prompt("b")]));
    let error = poll_error(&log, &ReaderKey::Implicit).await;
    assert_eq!(error, PollError::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_second_parallel_call_is_refused_and_the_first_survives() {
    for reader in [token("t"), ReaderKey::Implicit] {
        let log = new_log();
        let first = tokio::spawn({
            let (log, reader) = (log.clone(), reader.clone());
            async move { read(&log, &reader).await }
        });
        settle().await;
        let begun = Instant::now();
        assert_eq!(poll_error(&log, &reader).await, PollError::Parallel);
        assert_eq!(begun.elapsed(), Duration::ZERO);
        log.push(&prompt("a"));
        assert_eq!(first.await.expect("an answer"), Some(vec![prompt("a")]));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_different_readers_do_not_exclude_each_other() {
    let log = new_log();
    let other = LiveLog::<SessionResponse>::new(log_shared());
    let (one, two, none, elsewhere) = tokio::join!(
        log.poll(token("one")),
        log.poll(token("two")),
        log.poll(ReaderKey::Implicit),
        other.poll(token("one")),
    );
    for answer in [one, two, none, elsewhere] {
        assert_eq!(answer.expect_err("nothing"), PollError::Timeout);
    }
}

fn log_shared() -> Arc<LiveShared> {
    LiveShared::new(LiveSettings::default())
}

#[tokio::test(start_paused = true)]
async fn a_dropped_poll_frees_the_token_at_once() {
    let log = new_log();
    let hung_up = tokio::time::timeout(SECOND, log.poll(token("t"))).await;
    assert!(hung_up.is_err());
    assert_eq!(log.shared().pending_calls(), 0);
    log.push(&prompt("a"));
    let begun = Instant::now();
    assert_eq!(read(&log, &token("t")).await, Some(vec![prompt("a")]));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_written_is_given_again() {
    for reader in [token("t"), ReaderKey::Implicit] {
        let log = new_log();
        log.push(&prompt("a"));
        drop(log.poll(reader.clone()).await.expect("lost on the way"));
        let begun = Instant::now();
        assert_eq!(read(&log, &reader).await, Some(vec![prompt("a")]));
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_closed_is_given_again() {
    let log = new_log();
    log.close();
    let lost = log.poll(token("t")).await.expect("closed");
    assert!(lost.is_closed());
    drop(lost);
    let again = log.poll(token("t")).await.expect("closed");
    let (said, receipt) = again.into_parts();
    assert!(matches!(said, Said::Closed), "{said:?}");
    receipt.commit();
    assert_eq!(poll_error(&log, &token("t")).await, PollError::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_reader_is_pending_while_its_answer_is_being_written() {
    let log = new_log();
    log.push(&prompt("a"));
    let delivery = log.poll(token("t")).await.expect("an answer");
    assert_eq!(log.shared().pending_calls(), 1);
    assert_eq!(poll_error(&log, &token("t")).await, PollError::Parallel);
    delivery.commit();
    assert_eq!(log.shared().pending_calls(), 0);
    assert_eq!(poll_error(&log, &token("t")).await, PollError::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_quicker_than_the_servers_bookkeeping_is_not_refused() {
    let log = new_log();
    push_all(&log, &[prompt("a")]);
    let delivery = log.poll(token("t")).await.expect("an answer");
    let next = tokio::spawn({
        let log = log.clone();
        async move { read(&log, &token("t")).await }
    });
    settle().await;
    delivery.commit();
    log.push(&prompt("b"));
    assert_eq!(next.await.expect("an answer"), Some(vec![prompt("b")]));
}

#[tokio::test(start_paused = true)]
async fn after_the_end_readers_drain_then_closed_once_then_not_found() {
    let log = new_log();
    push_all(&log, &[prompt("a"), prompt("b")]);
    for reader in [token("t"), ReaderKey::Implicit] {
        read(&log, &reader).await;
    }
    log.push(&prompt("c"));
    log.close();
    assert!(!log.push(&prompt("too late")));
    assert_eq!(read(&log, &token("t")).await, Some(vec![prompt("c")]));
    for text in ["b", "c"] {
        let next = read(&log, &ReaderKey::Implicit).await;
        assert_eq!(next, Some(vec![prompt(text)]));
    }
    for reader in [token("t"), ReaderKey::Implicit] {
        assert_eq!(read(&log, &reader).await, None);
        assert_eq!(poll_error(&log, &reader).await, PollError::NotFound);
        assert_eq!(poll_error(&log, &reader).await, PollError::NotFound);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_answers_pending_calls() {
    let log = new_log();
    let pending = tokio::spawn({
        let log = log.clone();
        async move { read(&log, &token("t")).await }
    });
    settle().await;
    log.close();
    assert_eq!(pending.await.expect("an answer"), None);
}

#[tokio::test(start_paused = true)]
async fn new_tokens_may_join_until_the_count_down_is_over() {
    let log = new_log();
    log.push(&prompt("a"));
    let known = token("known");
    read(&log, &known).await;
    log.close();
    advance(59 * SECOND).await;
    assert_eq!(read(&log, &token("late")).await, Some(vec![prompt("a")]));
    advance(SECOND).await;
    assert_eq!(poll_error(&log, &token("too late")).await, PollError::NotFound);
    let implicit = poll_error(&log, &ReaderKey::Implicit).await;
    assert_eq!(implicit, PollError::NotFound);
    assert_eq!(read(&log, &token("late")).await, None);
    assert_eq!(read(&log, &known).await, None);
    assert_eq!(poll_error(&log, &known).await, PollError::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_comes_back_is_forgotten() {
    let log = new_log();
    log.push(&prompt("a"));
    read(&log, &token("gone")).await;
    read(&log, &token("here")).await;
    advance(599 * SECOND).await;
    log.sweep(Instant::now(), &mut Batch::default());
    assert_eq!(log.readers(), 2);
    assert_eq!(poll_error(&log, &token("here")).await, PollError::Timeout);
    log.sweep(Instant::now(), &mut Batch::default());
    assert_eq!(log.readers(), 1);
    // A reader that comes back after that counts as new.
    assert_eq!(read(&log, &token("gone")).await, Some(vec![prompt("a")]));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_reader_is_new_even_before_the_sweep() {
    let log = new_log();
    log.push(&prompt("a"));
    read(&log, &token("gone")).await;
    advance(600 * SECOND).await;
    assert_eq!(read(&log, &token("gone")).await, Some(vec![prompt("a")]));
}

#[tokio::test(start_paused = true)]
async fn an_open_log_is_freed_while_nobody_holds_or_reads_it_and_loaded_again() {
    let lifecycle = Lifecycle::new();
    let settings = LiveSettings::for_tests();
    let forget_after = settings.forget_after;
    let shared = LiveShared::new(settings);
    let registry = LiveRegistry::<SessionId, SessionResponse>::new(shared, &lifecycle);
    let id = SessionId::generate();
    let log = registry.open(id, &started());
    log.push(&prompt("a"));
    read(&log, &token("t")).await;
    sleep(2 * forget_after).await;
    assert_eq!(registry.len(), 1, "somebody holds it");
    read(&log, &token("u")).await;
    drop(log);
    sleep(forget_after / 2).await;
    assert_eq!(registry.len(), 1, "its reader may come again");
    sleep(forget_after).await;
    assert_eq!(registry.len(), 0);

    let (first, second) = tokio::join!(registry.load(id), registry.load(id));
    let (first, second) = (first.expect("kept"), second.expect("kept"));
    assert!(Arc::ptr_eq(&first, &second), "an entity has one log");
    first.push(&prompt("b"));
    assert_eq!(read(&second, &token("t")).await, Some(vec![prompt("a"), prompt("b")]));
    assert_eq!(lifecycle.shutdown(SECOND).await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_ended_log_is_freed_when_nobody_can_read_it() {
    let lifecycle = Lifecycle::new();
    let shared = LiveShared::new(LiveSettings::for_tests());
    let registry = LiveRegistry::<SessionId, SessionResponse>::new(shared, &lifecycle);
    let (read_to_the_end, abandoned, unread) =
        (SessionId::generate(), SessionId::generate(), SessionId::generate());
    let running = SessionId::generate();
    let _writer = registry.open(running, &started());
    for id in [read_to_the_end, abandoned, unread] {
        let log = registry.open(id, &started());
        log.push(&prompt("a"));
        if id != unread {
            read(&log, &token("t")).await;
        }
        log.note(&SessionNote::Closed { crashed: false });
        log.close();
    }
    let log = registry.get(read_to_the_end).expect("kept");
    assert_eq!(read(&log, &token("t")).await, None);
    sleep(4 * SECOND).await;
    assert_eq!(registry.len(), 4);
    sleep(2 * SECOND).await;
    assert_eq!(registry.len(), 2);
    assert!(registry.get(abandoned).is_some());
    assert!(registry.source(unread).await.is_none(), "freed");
    sleep(600 * SECOND).await;
    assert_eq!(registry.len(), 1);
    assert!(registry.get(running).is_some());
    assert_eq!(lifecycle.shutdown(SECOND).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_gets_start_and_end_of_a_complete_block() {
    let log = new_log();
    push_all(&log, &[start("m"), delta("m", "a"), delta("m", "b"), end("m", "ab"), prompt("p")]);
    let expected = vec![start("m"), end("m", "ab"), prompt("p")];
    assert_eq!(read(&log, &token("t")).await, Some(expected.clone()));
    for entry in expected {
        assert_eq!(read(&log, &ReaderKey::Implicit).await, Some(vec![entry]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_gets_the_deltas_of_an_open_block_merged() {
    let log = new_log();
    push_all(&log, &[start("m"), delta("m", "a"), delta("m", "b")]);
    let merged = vec![start("m"), delta("m", "ab")];
    assert_eq!(read(&log, &token("t")).await, Some(merged));
    push_all(&log, &[delta("m", "c"), delta("m", "d"), end("m", "abcd")]);
    // It is in the middle of the block: it gets the rest, then the end.
    let rest = vec![delta("m", "cd"), end("m", "abcd")];
    assert_eq!(read(&log, &token("t")).await, Some(rest));
}

#[tokio::test(start_paused = true)]
async fn a_reader_in_step_gets_each_delta_as_it_happens() {
    let log = new_log();
    let reader = token("t");
    log.push(&start("m"));
    read(&log, &reader).await;
    for text in ["a", "b", "c"] {
        let pushed = log.clone();
        let push = tokio::spawn(async move {
            sleep(Duration::from_millis(20)).await;
            pushed.push(&delta("m", text));
            Instant::now()
        });
        assert_eq!(read(&log, &reader).await, Some(vec![delta("m", text)]));
        assert_eq!(push.await.expect("pushed"), Instant::now());
    }
}

#[tokio::test(start_paused = true)]
async fn deltas_in_quick_succession_share_an_answer() {
    let log = new_log();
    let reader = token("t");
    push_all(&log, &[start("m"), delta("m", "a")]);
    read(&log, &reader).await;
    let begun = Instant::now();
    let pushed = log.clone();
    tokio::spawn(async move {
        for text in ["b", "c", "d"] {
            pushed.push(&delta("m", text));
            sleep(Duration::from_millis(1)).await;
        }
    });
    assert_eq!(read(&log, &reader).await, Some(vec![delta("m", "bcd")]));
    assert_eq!(begun.elapsed(), Duration::from_millis(5));
}

#[tokio::test(start_paused = true)]
async fn interleaved_blocks_keep_their_order() {
    let log = new_log();
    let entries = [
        start("m"),
        delta("m", "1"),
        start("n"),
        delta("n", "x"),
        delta("m", "2"),
        prompt("p"),
        delta("m", "3"),
    ];
    push_all(&log, &entries);
    assert_eq!(read(&log, &token("t")).await, Some(entries.to_vec()));
    push_all(&log, &[end("m", "123")]);
    let compact = vec![start("m"), start("n"), delta("n", "x"), prompt("p"), end("m", "123")];
    assert_eq!(read(&log, &token("late")).await, Some(compact));
    assert_eq!(read(&log, &token("t")).await, Some(vec![end("m", "123")]));
}

#[tokio::test(start_paused = true)]
async fn the_output_of_a_tool_is_merged_but_not_dropped() {
    let log = new_log();
    let start = SessionResponse::StartToolExecution {
        tool_call_id: "t".to_owned(),
        parent_tool_call_id: None,
        tool_name: "n".to_owned(),
        tool_arguments: String::new(),
    };
    let output = |text: &str| SessionResponse::ToolExecution {
        tool_call_id: "t".to_owned(),
        delta: text.to_owned(),
    };
    let end = SessionResponse::EndToolExecution {
        tool_call_id: "t".to_owned(),
        result: None,
        error: None,
    };
    push_all(&log, &[start.clone(), output("a"), output("b"), end.clone()]);
    let expected = vec![start, output("ab"), end];
    assert_eq!(read(&log, &token("t")).await, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn the_deltas_of_a_complete_block_are_kept_only_for_readers_inside_it() {
    let log = new_log();
    push_all(&log, &[start("m"), delta("m", "abc")]);
    read(&log, &token("inside")).await;
    log.push(&end("m", "abc"));
    assert_eq!(log.delta_bytes(), 3);
    read(&log, &token("late")).await;
    read(&log, &token("inside")).await;
    assert_eq!(log.delta_bytes(), 0);
    // No reader is inside the block, so its deltas go with its end.
    push_all(&log, &[start("n"), delta("n", "abc"), end("n", "abc")]);
    assert_eq!(log.delta_bytes(), 0);
    // A reader inside that never comes back doesn't hold the deltas forever.
    push_all(&log, &[start("o"), delta("o", "abc")]);
    read(&log, &token("inside")).await;
    log.push(&end("o", "abc"));
    advance(600 * SECOND).await;
    log.sweep(Instant::now(), &mut Batch::default());
    assert_eq!(log.delta_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_under_way_keeps_the_text_of_its_block() {
    let log = new_log();
    push_all(&log, &[start("m"), delta("m", "a")]);
    let under_way = log.poll(token("t")).await.expect("an answer");
    push_all(&log, &[delta("m", "b"), end("m", "ab")]);
    under_way.commit();
    let rest = vec![delta("m", "b"), end("m", "ab")];
    assert_eq!(read(&log, &token("t")).await, Some(rest));
}

#[tokio::test(start_paused = true)]
async fn what_fits_no_block_is_kept_as_it_is() {
    let log = new_log();
    let entries = [
        delta("m", "before the start"),
        end("m", "twice"),
        start("m"),
        start("m"),
        delta("m", "x"),
    ];
    push_all(&log, &entries);
    assert_eq!(read(&log, &token("t")).await, Some(entries.to_vec()));
}

#[tokio::test(start_paused = true)]
async fn readers_and_pending_calls_are_capped() {
    let settings = LiveSettings { max_readers: 2, max_pending_calls: 1, ..LiveSettings::default() };
    let log: Log = LiveLog::new(LiveShared::new(settings));
    let pending = tokio::spawn({
        let log = log.clone();
        async move { log.poll(token("one")).await.map(Delivery::commit) }
    });
    settle().await;
    let error = poll_error(&log, &token("two")).await;
    assert_eq!(error, PollError::TooManyPendingCalls);
    log.push(&prompt("a"));
    pending.await.expect("ended").expect("an answer");
    read(&log, &token("two")).await;
    let error = poll_error(&log, &token("three")).await;
    assert_eq!(error, PollError::TooManyReaders);
    assert_eq!(poll_error(&log, &token("two")).await, PollError::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_pending_call_is_small() {
    let log = new_log();
    let call = log.poll(token("t"));
    let bytes = std::mem::size_of_val(&call);
    assert!(bytes <= 1024, "{bytes} bytes");
}

#[tokio::test(start_paused = true)]
async fn five_hundred_readers_are_answered_less_often_but_in_time() {
    let shared = LiveShared::new(LiveSettings::default());
    let origin = Instant::now();
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..500 {
        let log: Log = LiveLog::new(shared.clone());
        let pushed = log.clone();
        tokio::spawn(async move {
            pushed.push(&start("m"));
            for _ in 0..200 {
                sleep(Duration::from_millis(10)).await;
                let now = origin.elapsed().as_millis();
                pushed.push(&delta("m", &format!("{now} ")));
            }
            pushed.close();
        });
        readers.spawn(async move {
            let mut answers = 0;
            let mut oldest = 0;
            while let Some(responses) = read(&log, &token("t")).await {
                answers += 1;
                for response in responses {
                    let SessionResponse::Message { delta, .. } = response else {
                        continue;
                    };
                    for time in delta.split_whitespace() {
                        let time: u128 = time.parse().expect("milliseconds");
                        oldest = oldest.max(origin.elapsed().as_millis() - time);
                    }
                }
            }
            (answers, oldest)
        });
    }
    let seen = readers.join_all().await;
    let answers: usize = seen.iter().map(|(answers, _)| answers).sum();
    let oldest = seen.iter().map(|(_, oldest)| *oldest).max();
    assert!((12_000..18_000).contains(&answers), "{answers} answers");
    assert!(oldest < Some(75), "{oldest:?} ms old");
}

/// What the next answers hold, until nothing is new.
async fn answers(log: &Log, reader: &ReaderKey) -> Vec<Vec<SessionResponse>> {
    let mut all = Vec::new();
    while let Ok(delivery) = log.poll(reader.clone()).await {
        all.push(parse(&delivery));
        delivery.commit();
    }
    all
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_at_about_a_megabyte_and_the_next_one_goes_on() {
    let log = new_log();
    let filler = "x".repeat(300_000);
    let prompts: Vec<_> = (0..10).map(|number| prompt(&format!("{number} {filler}"))).collect();
    push_all(&log, &prompts);
    let answers = answers(&log, &token("t")).await;
    assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
    assert_eq!(answers.concat(), prompts);

    push_all(&log, &[prompt(&filler.repeat(10))]);
    assert_eq!(read(&log, &token("t")).await.map(|one| one.len()), Some(1), "one, however long");
}

#[tokio::test(start_paused = true)]
async fn many_small_responses_come_in_several_answers() {
    let log = new_log();
    let prompts: Vec<_> = (0..10_000).map(|number| prompt(&number.to_string())).collect();
    push_all(&log, &prompts);
    let answers = answers(&log, &token("t")).await;
    assert!(answers.len() > 1 && answers.iter().all(|answer| answer.len() <= 4096));
    assert_eq!(answers.concat(), prompts);
}

#[tokio::test(start_paused = true)]
async fn the_text_of_an_open_block_comes_in_parts_of_whole_characters() {
    let log = new_log();
    let id = || "m".to_owned();
    let start = SessionResponse::StartMessage { message_id: id() };
    push_all(&log, &[start]);
    let text = "äx€".repeat(500_000);
    for (index, delta) in [&text[..1_000_002], &text[1_000_002..]].into_iter().enumerate() {
        push_all(&log, &[SessionResponse::Message { message_id: id(), delta: delta.into() }]);
        push_all(&log, &[prompt(&index.to_string())]);
    }
    let answers = answers(&log, &token("t")).await;
    assert!(answers.len() > 2, "{}", answers.len());
    let deltas = answers.concat().into_iter().filter_map(|response| match response {
        SessionResponse::Message { delta, .. } => Some(delta),
        _ => None,
    });
    assert!(deltas.collect::<String>() == text, "nothing is lost or comes twice");
}
