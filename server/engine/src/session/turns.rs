//! The turns that a task had in a session, read from the store: what became of a prompt whose task
//! did not learn of it, because the server stopped.

use agents::read_arguments;
use store::fold::{Fold, SessionFold, SessionNote, load};
use store::journal::{Record, StoreError};
use wire::entry::JOB_TOOLS;
use wire::{SessionId, SessionResponse, TaskId, TurnEnding, Usage};

use super::{CalledTool, SessionManager, TurnEnd, TurnOutcome};

/// What became of a prompt of a task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PastTurn {
    /// The agent never saw it.
    NotBegun,
    /// Its turn was over before the server stopped.
    Ended(TurnOutcome),
    /// Its turn was cut off; these tools had been started.
    CutOff(TurnOutcome),
}

impl SessionManager {
    /// What became of the prompt that a task sent to a session after so many others.
    pub(crate) async fn past_turn(
        &self,
        session: SessionId,
        task: TaskId,
        earlier: usize,
    ) -> Result<PastTurn, StoreError> {
        let journal = &**self.live().shared().journal();
        let stored = load::<SessionResponse, PastTurns>(journal, session.into()).await?;
        let turns = stored.map(|stored| stored.fold).unwrap_or_default();
        Ok(turns.of_task(task, earlier))
    }
}

impl SessionManager {
    /// Whether one of these tools, called by an agent of this model, can change something.
    pub(crate) async fn may_change(&self, model: &str, tools: &[CalledTool]) -> bool {
        if tools.is_empty() {
            return false;
        }
        let found = self.catalog().find(model).await;
        tools.iter().any(|tool| match &found {
            Some(found) => !found.backend.is_read_only(&tool.name),
            None => !JOB_TOOLS.contains(&tool.name.as_str()),
        })
    }
}

/// All turns of a session.
#[derive(Default)]
struct PastTurns {
    session: SessionFold,
    all: Vec<Turn>,
}

#[derive(Default)]
struct Turn {
    task: Option<TaskId>,
    /// The tools that were started, with the ids of their calls.
    tools: Vec<(String, CalledTool)>,
    usage: Usage,
    last_message: Option<String>,
    /// The last error that was reported in it, or after it.
    error: Option<String>,
    ending: Option<TurnEnding>,
    is_over: bool,
}

impl PastTurns {
    fn of_task(self, task: TaskId, earlier: usize) -> PastTurn {
        let is_crashed = self.session.is_crashed();
        let count = self.all.len();
        let mut turns = self.all.into_iter().zip(1..);
        let turn = turns.by_ref().filter(|(turn, _)| turn.task == Some(task)).nth(earlier);
        let Some((turn, number)) = turn else { return PastTurn::NotBegun };
        let is_last = number == count;
        let error = turn.error.unwrap_or_default();
        let ended = match turn.ending {
            Some(TurnEnding::Completed) => TurnEnd::Idle,
            Some(TurnEnding::Failed) if is_last && is_crashed => TurnEnd::Crashed(error),
            Some(TurnEnding::Failed) => TurnEnd::Failed(error),
            Some(TurnEnding::Aborted | TurnEnding::Interrupted) | None => TurnEnd::Aborted,
        };
        let is_cut_off = matches!(turn.ending, Some(TurnEnding::Interrupted) | None);
        let outcome = TurnOutcome {
            tools: turn.tools.into_iter().map(|(_, tool)| tool).collect(),
            usage: turn.usage,
            last_message: turn.last_message,
            ended,
        };
        if is_cut_off { PastTurn::CutOff(outcome) } else { PastTurn::Ended(outcome) }
    }

    fn begin(&mut self, prompt: &str) {
        // It leaves the queue when the session's fold takes it, which comes after this.
        let next = self.session.queue().next().filter(|queued| queued.prompt == prompt);
        let task = next.and_then(|queued| queued.task);
        // A prompt that comes in a running turn steers it.
        if task.is_none() && self.all.last().is_some_and(|turn| !turn.is_over) {
            return;
        }
        self.all.push(Turn { task, ..Turn::default() });
    }
}

impl Fold<SessionResponse> for PastTurns {
    type Note = SessionNote;

    fn apply(&mut self, at: u64, fact: &SessionResponse) -> bool {
        use SessionResponse as R;
        match fact {
            R::UserPrompt { prompt } | R::GeneratedUserPrompt { prompt } => self.begin(prompt),
            _ => {
                if let Some(turn) = self.all.last_mut() {
                    turn.take(fact);
                }
            }
        }
        self.session.apply(at, fact)
    }

    fn note(&mut self, at: u64, note: &SessionNote) {
        self.session.note(at, note);
    }

    fn record(&self) -> Record {
        self.session.record()
    }
}

impl Turn {
    fn take(&mut self, fact: &SessionResponse) {
        use SessionResponse as R;
        match fact {
            R::StartToolExecution { tool_call_id, tool_name, tool_arguments, .. } => {
                let tool = CalledTool {
                    name: tool_name.clone(),
                    arguments: read_arguments(tool_arguments),
                    succeeded: false,
                };
                self.tools.push((tool_call_id.clone(), tool));
            }
            R::EndToolExecution { tool_call_id, error, .. } => {
                let tool = self.tools.iter_mut().find(|(id, _)| id == tool_call_id);
                if let Some((_, tool)) = tool {
                    tool.succeeded = error.is_none();
                }
            }
            R::EndMessage { complete_content, .. } => {
                self.last_message = Some(complete_content.clone());
            }
            R::Usage { usage, .. } if self.ending.is_none() => self.usage += *usage,
            R::Error { message } => self.error = Some(message.clone()),
            R::TurnEnd { outcome, .. } => {
                self.ending = Some(*outcome);
                self.is_over = true;
            }
            R::Idle => self.is_over = true,
            _ => {}
        }
    }
}
