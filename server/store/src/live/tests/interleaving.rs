//! Whatever the order of pushes, polls, losses and the end: every reader gets every text, once.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Start(usize),
    Delta(usize, String),
    End(usize),
    Alone,
    /// A reader calls, and its answer is in flight from then on.
    Poll(usize),
    /// A reader's answer arrives, or not.
    Settle(usize, bool),
    HangUp(usize),
}

const BLOCKS: usize = 3;
const READERS: usize = 4;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0..BLOCKS).prop_map(Step::Start),
        6 => (0..BLOCKS, "[a-zü\"]{0,3}").prop_map(|(block, text)| Step::Delta(block, text)),
        2 => (0..BLOCKS).prop_map(Step::End),
        1 => Just(Step::Alone),
        5 => (0..READERS).prop_map(Step::Poll),
        5 => (0..READERS, any::<bool>()).prop_map(|(reader, arrives)| Step::Settle(reader, arrives)),
        1 => (0..READERS).prop_map(Step::HangUp),
    ];
    proptest::collection::vec(step, 0..80)
}

fn reader_key(reader: usize) -> ReaderKey {
    if reader == 0 { ReaderKey::Implicit } else { token(&reader.to_string()) }
}

/// What was pushed, as a reader who misses nothing must see it.
#[derive(Default)]
struct Truth {
    /// Everything but the deltas, in order.
    frame: Vec<SessionResponse>,
    /// The text of each block, by its id.
    texts: HashMap<String, String>,
    open: [Option<String>; BLOCKS],
    blocks: usize,
}

impl Truth {
    fn push(&mut self, log: &Log, step: &Step) {
        match step {
            Step::Start(slot) if self.open[*slot].is_none() => {
                self.blocks += 1;
                let id = format!("m{}", self.blocks);
                self.texts.insert(id.clone(), String::new());
                self.open[*slot] = Some(id.clone());
                self.push_frame(log, start(&id));
            }
            Step::Delta(slot, text) => {
                if let Some(id) = &self.open[*slot] {
                    log.push(&delta(id, text));
                    self.texts.entry(id.clone()).or_default().push_str(text);
                }
            }
            Step::End(slot) => {
                if let Some(id) = self.open[*slot].take() {
                    let text = self.texts[&id].clone();
                    self.push_frame(log, end(&id, &text));
                }
            }
            Step::Alone => {
                let text = self.frame.len().to_string();
                self.push_frame(log, prompt(&text));
            }
            _ => {}
        }
    }

    fn push_frame(&mut self, log: &Log, entry: SessionResponse) {
        log.push(&entry);
        self.frame.push(entry);
    }

    fn check(&self, seen: &[SessionResponse]) {
        let mut frame = Vec::new();
        let mut texts: HashMap<&str, String> = HashMap::new();
        let mut open = Vec::new();
        for response in seen {
            match response {
                SessionResponse::Message { message_id, delta } => {
                    assert!(open.contains(&message_id), "a delta outside its block");
                    texts.entry(message_id).or_default().push_str(delta);
                    continue;
                }
                SessionResponse::StartMessage { message_id } => open.push(message_id),
                SessionResponse::EndMessage { message_id, complete_content } => {
                    open.retain(|id| *id != message_id);
                    // Either all of the deltas or none of them.
                    if let Some(text) = texts.get(message_id.as_str()) {
                        assert_eq!(text, complete_content);
                    }
                }
                _ => {}
            }
            frame.push(response.clone());
        }
        assert_eq!(frame, self.frame);
        for id in open {
            let text = texts.get(id.as_str()).cloned().unwrap_or_default();
            assert_eq!(text, self.texts[id]);
        }
    }
}

#[derive(Default)]
struct Client {
    seen: Vec<SessionResponse>,
    under_way: Option<Delivery>,
}

impl Client {
    fn settle(&mut self, arrives: bool) {
        if let Some(delivery) = self.under_way.take()
            && arrives
        {
            self.seen.extend(parse(&delivery));
            delivery.commit();
        }
    }
}

async fn run(steps: Vec<Step>) {
    let log = new_log();
    let mut truth = Truth::default();
    let mut clients: [Client; READERS] = Default::default();
    for step in &steps {
        match step {
            Step::Poll(reader) => {
                let answer = log.poll(reader_key(*reader)).await;
                if clients[*reader].under_way.is_some() {
                    assert_eq!(answer.expect_err("refused"), PollError::Parallel);
                } else {
                    clients[*reader].under_way = answer.ok();
                }
            }
            Step::Settle(reader, arrives) => clients[*reader].settle(*arrives),
            Step::HangUp(reader) => {
                let poll = log.poll(reader_key(*reader));
                let _ = tokio::time::timeout(Duration::from_millis(1), poll).await;
            }
            push => truth.push(&log, push),
        }
    }
    log.close();
    for (reader, client) in clients.iter_mut().enumerate() {
        client.settle(reader % 2 == 0);
        while let Some(responses) = read(&log, &reader_key(reader)).await {
            client.seen.extend(responses);
        }
        truth.check(&client.seen);
        let error = poll_error(&log, &reader_key(reader)).await;
        assert_eq!(error, PollError::NotFound);
    }
    assert_eq!(log.shared().pending_calls(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn every_reader_gets_every_text_once(steps in steps()) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
            .block_on(run(steps));
    }
}
