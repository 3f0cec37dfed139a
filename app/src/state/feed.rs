//! What was said, as signals: of a session and the task that runs in it, or in a tab of a job's task.

use leptos::prelude::*;
use wire::{SessionId, SessionResponse, TaskId, TaskResponse};

use super::blocks::{Block, BlockCell, BlockKey};
use super::job::Tab;
use super::spending::Spending;
use super::transcript::{Changes, Remark, Transcript};
use crate::api::ApiError;
use crate::poll::{self, Connection, Event};

impl BlockCell for ArcRwSignal<Block> {
    fn new(block: Block) -> Self {
        Self::new(block)
    }

    fn update(&self, change: impl FnOnce(&mut Block)) {
        Update::update(self, change);
    }
}

/// A block and whoever draws it.
pub(crate) type BlockEntry = (BlockKey, ArcRwSignal<Block>);

/// A session that has a feed for itself, and its tasks.
const ONLY: usize = 0;

/// What a page shows of a session.
#[derive(Clone, Copy)]
pub(crate) struct Feed {
    transcript: StoredValue<Transcript<ArcRwSignal<Block>>>,
    /// The end of the task, which came before the end of its last turn.
    early_end: StoredValue<Vec<(TaskId, TaskResponse)>>,
    /// Which session a source is: whom an answer is for.
    sessions: StoredValue<Vec<(usize, SessionId)>>,
    /// The blocks in their order.
    pub(crate) blocks: RwSignal<Vec<BlockEntry>>,
    /// The agent is at work on a prompt.
    pub(crate) session_works: RwSignal<bool>,
    /// A task is under way, also between two of its prompts.
    pub(crate) task_runs: RwSignal<bool>,
    /// How the connection to the session is.
    pub(crate) connection: RwSignal<Connection>,
    /// Why nothing arrives from the task, if nothing does.
    pub(crate) task_lost: RwSignal<Option<ApiError>>,
    /// Counts the answers, for those who must do something after each.
    pub(crate) answers: RwSignal<u64>,
    /// How many questions wait for an answer.
    pub(crate) waiting: RwSignal<usize>,
    /// What was used.
    pub(crate) spent: RwSignal<Spending>,
    /// What an extension says for the moment.
    pub(crate) remark: RwSignal<Option<Remark>>,
}

impl Feed {
    /// Nothing said yet; a task may run already.
    pub(crate) fn new(task_runs: bool) -> Self {
        Self {
            transcript: StoredValue::new(Transcript::default()),
            early_end: StoredValue::new(Vec::new()),
            sessions: StoredValue::new(Vec::new()),
            blocks: RwSignal::new(Vec::new()),
            session_works: RwSignal::new(false),
            task_runs: RwSignal::new(task_runs),
            connection: RwSignal::new(Connection::Connecting),
            task_lost: RwSignal::new(None),
            answers: RwSignal::new(0),
            waiting: RwSignal::new(0),
            spent: RwSignal::new(Spending::default()),
            remark: RwSignal::new(None),
        }
    }

    /// Something is being worked on.
    pub(crate) fn is_working(self) -> bool {
        // Both are asked, so that whoever draws this hears of both.
        self.session_works.get() | self.task_runs.get()
    }

    /// The session that a block is of.
    pub(crate) fn session(self, source: usize) -> Option<SessionId> {
        self.sessions.with_value(|sessions| {
            sessions.iter().find(|(known, _)| *known == source).map(|(_, id)| *id)
        })
    }

    /// Follows a session until it ends or the calling component is gone. In the browser only.
    pub(crate) fn follow(self, id: SessionId) {
        self.name_session(ONLY, id);
        poll::follow(&id, move |event| self.hear(event));
    }

    /// Follows a task in the session in the same way.
    pub(crate) fn follow_task(self, id: TaskId) {
        self.task_runs.set(true);
        poll::follow(&id, move |event| self.hear_task(id, event));
    }

    fn hear(self, event: Event<SessionResponse>) {
        match event {
            Event::Rewind => self.rewind_session(ONLY),
            Event::Connection(connection) => {
                if matches!(connection, Connection::Ended | Connection::NotFound) {
                    self.end_session(ONLY);
                }
                if self.connection.get_untracked() != connection {
                    self.connection.set(connection);
                }
            }
            Event::Responses(responses) => self.take_session(ONLY, responses),
        }
    }

    fn hear_task(self, id: TaskId, event: Event<TaskResponse>) {
        match event {
            Event::Rewind => {
                self.early_end.set_value(Vec::new());
                self.rewind_task();
            }
            Event::Connection(connection) => {
                if matches!(connection, Connection::Ended | Connection::NotFound) {
                    self.end_task();
                }
                let lost = match connection {
                    Connection::Lost(error) => Some(error),
                    _ => None,
                };
                if self.task_lost.get_untracked() != lost {
                    self.task_lost.set(lost);
                }
            }
            Event::Responses(responses) => {
                // The two streams come by separate calls. What is decided in the end is said after
                // the last turn, so it waits for that; before the end, nobody waits.
                let early = responses.iter().any(is_end) && self.session_works.get_untracked();
                let responses = responses.into_iter().map(|response| (id, response));
                if early {
                    self.early_end.update_value(|held| held.extend(responses));
                } else {
                    self.hear_decisions(responses.collect());
                }
            }
        }
    }

    fn hear_decisions(self, responses: Vec<(TaskId, TaskResponse)>) {
        let working = self.apply(responses, |transcript, (id, response)| {
            transcript.apply_task(ONLY, id, response)
        });
        if let Some(working) = working {
            self.task_runs.set(working);
        }
    }

    /// The last turn is over: what came before its end can be said now.
    fn hear_early_end(self) {
        let held = self.early_end.try_update_value(std::mem::take).unwrap_or_default();
        if !held.is_empty() {
            self.hear_decisions(held);
        }
    }

    /// Takes in an answer. Returns whether its sender is at work, if it said so.
    fn apply<R>(
        self,
        responses: Vec<R>,
        apply: impl Fn(&mut Transcript<ArcRwSignal<Block>>, R) -> Changes,
    ) -> Option<bool> {
        let (mut opened, mut working) = (false, None);
        self.transcript.update_value(|transcript| {
            for response in responses {
                let changes = apply(transcript, response);
                opened |= changes.opened;
                working = changes.working.or(working);
            }
        });
        if opened {
            self.blocks.set(self.transcript.with_value(|all| all.blocks().to_vec()));
        }
        self.tell_aside();
        self.answers.update(|answers| *answers += 1);
        working
    }

    /// Tells what is not in blocks, if it is new.
    fn tell_aside(self) {
        let (waiting, spent, remark) =
            self.transcript.with_value(|all| (all.waiting(), all.spent(), all.remark().cloned()));
        set_if_new(self.waiting, waiting);
        set_if_new(self.spent, spent);
        set_if_new(self.remark, remark);
    }

    fn set_working(self, source: usize, works: bool) {
        let works = self.transcript.try_update_value(|all| all.set_working(source, works));
        let works = works.unwrap_or_default();
        self.session_works.set(works);
        if !works {
            self.hear_early_end();
        }
    }
}

pub(super) fn set_if_new<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: T) {
    if signal.with_untracked(|known| *known != value) {
        signal.set(value);
    }
}

fn is_end(response: &TaskResponse) -> bool {
    matches!(response, TaskResponse::TaskSucceeded | TaskResponse::TaskFailed)
}

impl Tab for Feed {
    fn new(task_runs: bool) -> Self {
        Self::new(task_runs)
    }

    fn name_session(&self, source: usize, id: SessionId) {
        self.sessions.update_value(|sessions| {
            sessions.retain(|(known, _)| *known != source);
            sessions.push((source, id));
        });
    }

    fn take_session(&self, source: usize, responses: Vec<SessionResponse>) {
        let working =
            self.apply(responses, move |transcript, response| transcript.apply(source, response));
        if let Some(working) = working {
            self.set_working(source, working);
        }
    }

    fn end_session(&self, source: usize) {
        self.transcript.update_value(|transcript| transcript.end(source));
        self.tell_aside();
        self.set_working(source, false);
    }

    fn rewind_session(&self, source: usize) {
        self.transcript.update_value(|transcript| transcript.rewind(source));
    }

    fn take_task(&self, source: usize, id: TaskId, response: TaskResponse) {
        self.apply(vec![response], move |transcript, response| {
            transcript.apply_task(source, id, response)
        });
    }

    fn end_task(&self) {
        self.task_runs.set(false);
    }

    fn rewind_task(&self) {
        self.transcript.update_value(Transcript::rewind_task);
    }

    fn forget(&self) {
        self.transcript.set_value(Transcript::default());
        self.blocks.set(Vec::new());
        self.tell_aside();
    }
}

#[cfg(test)]
mod tests {
    use wire::Decision;

    use super::*;

    #[test]
    fn the_end_of_a_task_is_said_after_its_last_turn_whatever_comes_first() {
        let owner = Owner::new();
        owner.set();
        let id: TaskId = "task-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11".parse().expect("an id");
        let turn = || {
            vec![
                SessionResponse::StartMessage { message_id: "m".to_owned() },
                SessionResponse::EndMessage {
                    message_id: "m".to_owned(),
                    complete_content: "done".to_owned(),
                },
                SessionResponse::Idle,
            ]
        };
        let decided = || vec![Decision::Succeeded.into(), TaskResponse::TaskSucceeded];
        for early in [false, true] {
            let feed = Feed::new(true);
            let prompt = SessionResponse::GeneratedUserPrompt { prompt: "do it".to_owned() };
            feed.hear(Event::Responses(vec![prompt]));
            if early {
                feed.hear_task(id, Event::Responses(decided()));
                assert!(feed.task_runs.get_untracked(), "its last turn still runs");
            }
            feed.hear(Event::Responses(turn()));
            if !early {
                feed.hear_task(id, Event::Responses(decided()));
            }
            let blocks = feed.blocks.get_untracked();
            let blocks: Vec<_> = blocks.iter().map(|(_, block)| block.get_untracked()).collect();
            let texts: Vec<_> = blocks.iter().map(|block| block.body.as_str()).collect();
            assert_eq!(texts, ["do it", "done", "[TASK SUCCEEDED] the task succeeded"]);
            assert!(!untrack(|| feed.is_working()));
        }
    }
}
