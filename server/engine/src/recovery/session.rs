//! Closes turns that were cut off.

use std::collections::{BTreeMap, VecDeque};

use store::fold::{Addition, SessionFold, SessionNote, extend};
use store::journal::{Entity, StoreError};
use store::live::LiveShared;
use wire::bridge::{ProjectMessageEnd, RunEnd};
use wire::{MessageId, PermissionId, PermissionOutcome, SessionResponse, ToolError, TurnEnding};

use super::{INTERRUPTED, responses};

/// Closes what a turn left open, except questions, which can still be answered. With
/// `closes_session`, as for the sessions of tasks, closes the session and its questions as well.
/// False if nothing was left open.
pub(super) async fn close_turn(
    live: &LiveShared,
    entity: Entity,
    closes_session: bool,
) -> Result<bool, StoreError> {
    let journal = &**live.journal();
    let mut open = OpenTurn::default();
    for (seq, timed) in responses(journal, entity).await? {
        open.take(seq, &timed.response);
    }
    let mut texts = BTreeMap::<u64, String>::new();
    for chunk in journal.chunks(entity).await? {
        texts.entry(chunk.block).or_default().push_str(&chunk.text);
    }
    // A run of the bridge ends with its server, and nobody would wait for the answer.
    let is_withdrawn = closes_session || open.is_of_project;
    let withdrawn = if is_withdrawn { open.withdraw() } else { Vec::new() };
    let (facts, closed_blocks) = open.close(texts);
    if facts.is_empty() && withdrawn.is_empty() && !closes_session {
        return Ok(false);
    }
    let facts = withdrawn.into_iter().chain(facts).map(|fact| (live.next_time(), fact)).collect();
    add(live, entity, facts, closed_blocks, closes_session).await?;
    Ok(true)
}

/// Closes a session in which no turn was running.
pub(super) async fn close(live: &LiveShared, entity: Entity) -> Result<(), StoreError> {
    add(live, entity, Vec::new(), Vec::new(), true).await
}

async fn add(
    live: &LiveShared,
    entity: Entity,
    facts: Vec<(u64, SessionResponse)>,
    closed_blocks: Vec<u64>,
    closes_session: bool,
) -> Result<(), StoreError> {
    let closed = || (live.next_time(), SessionNote::Closed { crashed: false });
    let notes = closes_session.then(closed).into_iter().collect();
    let addition = Addition { facts, notes, closed_blocks };
    extend::<SessionResponse, SessionFold>(&**live.journal(), entity, addition).await?;
    Ok(())
}

/// What is still open in a turn.
#[derive(Debug, Default)]
struct OpenTurn {
    blocks: Vec<(u64, Block)>,
    turn: Option<String>,
    last_turn: Option<String>,
    questions: Vec<PermissionId>,
    is_running: bool,
    /// Whether it was reported how the turn ended.
    is_reported: bool,
    /// Messages to the session's project that wait, and the one that is being answered.
    is_of_project: bool,
    waiting: VecDeque<MessageId>,
    answering: Option<MessageId>,
}

#[derive(Debug, PartialEq)]
enum Block {
    Reasoning(String),
    Message(String),
    Tool(String),
}

impl OpenTurn {
    fn take(&mut self, seq: u64, response: &SessionResponse) {
        use SessionResponse as R;
        match response {
            R::UserPrompt { .. } | R::GeneratedUserPrompt { .. } => {
                self.is_running = true;
                self.is_reported = false;
                self.last_turn = None;
                if matches!(response, R::UserPrompt { .. }) {
                    self.answering = self.waiting.pop_front();
                }
            }
            R::TurnEnd { .. } => self.is_reported = true,
            R::ProjectMessage(message) => {
                self.is_of_project = true;
                self.waiting.push_back(message.id);
            }
            R::ProjectMessageEnd(end) => {
                self.waiting.retain(|id| *id != end.id);
                self.answering.take_if(|id| *id == end.id);
            }
            R::Idle => self.is_running = false,
            R::AgentStart { turn_id } => {
                self.turn = Some(turn_id.clone());
                self.last_turn = Some(turn_id.clone());
            }
            R::AgentEnd { .. } => self.turn = None,
            R::StartReasoning { reasoning_id } => {
                self.blocks.push((seq, Block::Reasoning(reasoning_id.clone())));
            }
            R::StartMessage { message_id } => {
                self.blocks.push((seq, Block::Message(message_id.clone())));
            }
            R::StartToolExecution { tool_call_id, .. } => {
                self.blocks.push((seq, Block::Tool(tool_call_id.clone())));
            }
            R::EndReasoning { reasoning_id, .. } => {
                self.end(&Block::Reasoning(reasoning_id.clone()));
            }
            R::EndMessage { message_id, .. } => self.end(&Block::Message(message_id.clone())),
            R::EndToolExecution { tool_call_id, .. } => {
                self.end(&Block::Tool(tool_call_id.clone()));
            }
            R::PermissionRequest(question) => self.questions.push(question.id),
            R::PermissionResolved { request_id, .. } => {
                self.questions.retain(|question| question != request_id);
            }
            R::Reasoning { .. }
            | R::Message { .. }
            | R::ToolExecution { .. }
            | R::Usage { .. }
            | R::ExtensionLog { .. }
            | R::QueueChanged(_)
            | R::ProjectCleared
            | R::ProjectDraft(_)
            | R::ProjectDraftTaken(_)
            | R::Error { .. } => {}
        }
    }

    fn end(&mut self, ended: &Block) {
        self.blocks.retain(|(_, block)| block != ended);
    }

    /// The facts that withdraw its questions.
    fn withdraw(&mut self) -> Vec<SessionResponse> {
        let questions = std::mem::take(&mut self.questions).into_iter();
        let withdrawn = questions.map(|request_id| SessionResponse::PermissionResolved {
            request_id,
            decision: PermissionOutcome::Withdrawn,
        });
        withdrawn.collect()
    }

    /// The facts that close the turn, and the blocks they close. `texts` and blocks go by the
    /// number of the fact that opened the block.
    fn close(self, mut texts: BTreeMap<u64, String>) -> (Vec<SessionResponse>, Vec<u64>) {
        let mut facts = Vec::new();
        let mut closed = Vec::new();
        for (seq, block) in self.blocks {
            let text = texts.remove(&seq).unwrap_or_default();
            closed.push(seq);
            match block {
                Block::Reasoning(reasoning_id) => facts
                    .push(SessionResponse::EndReasoning { reasoning_id, complete_content: text }),
                Block::Message(message_id) => {
                    facts.push(SessionResponse::EndMessage { message_id, complete_content: text });
                }
                Block::Tool(tool_call_id) => {
                    if !text.is_empty() {
                        let tool_call_id = tool_call_id.clone();
                        facts.push(SessionResponse::ToolExecution { tool_call_id, delta: text });
                    }
                    let error = ToolError::cut_off(INTERRUPTED);
                    facts.push(SessionResponse::EndToolExecution {
                        tool_call_id,
                        result: None,
                        error: Some(error),
                    });
                }
            }
        }
        let is_cut_off = self.is_running && !self.is_reported;
        if is_cut_off {
            facts.push(SessionResponse::Error { message: INTERRUPTED.to_owned() });
        }
        facts.extend(self.turn.map(|turn_id| SessionResponse::AgentEnd { turn_id }));
        facts.extend(self.answering.map(|id| {
            let (reason, error) = (RunEnd::Cancelled, Some(INTERRUPTED.to_owned()));
            SessionResponse::ProjectMessageEnd(ProjectMessageEnd { id, reason, error })
        }));
        if is_cut_off {
            let (turn_id, outcome) = (self.last_turn, TurnEnding::Interrupted);
            facts.push(SessionResponse::TurnEnd { turn_id, outcome });
        }
        if self.is_running {
            facts.push(SessionResponse::Idle);
        }
        (facts, closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> SessionResponse {
        serde_json::from_str(json).expect(json)
    }

    /// A turn with every kind of block, one nested in another.
    fn whole_turn() -> Vec<SessionResponse> {
        [
            r#"{"callback":"onUserPrompt","prompt":"p"}"#,
            r#"{"callback":"onAgentStart","turnId":"1"}"#,
            r#"{"callback":"onStartReasoning","reasoningId":"r"}"#,
            r#"{"callback":"onEndReasoning","reasoningId":"r","completeContent":"c"}"#,
            r#"{"callback":"onStartToolExecution","toolCallId":"t","toolName":"n","toolArguments":""}"#,
            r#"{"callback":"onPermissionRequest","requestId":"permission-00000000-0000-4000-8000-000000000001","kind":"write","title":"t"}"#,
            r#"{"callback":"onStartMessage","messageId":"m"}"#,
            r#"{"callback":"onPermissionResolved","requestId":"permission-00000000-0000-4000-8000-000000000001","decision":"approve"}"#,
            r#"{"callback":"onEndToolExecution","toolCallId":"t","result":{"content":"c"}}"#,
            r#"{"callback":"onEndMessage","messageId":"m","completeContent":"c"}"#,
            r#"{"callback":"onAgentEnd","turnId":"1"}"#,
            r#"{"callback":"onTurnEnd","turnId":"1","outcome":"completed"}"#,
            r#"{"callback":"onIdle"}"#,
        ]
        .map(parse)
        .into()
    }

    fn fold(responses: &[SessionResponse]) -> OpenTurn {
        let mut open = OpenTurn::default();
        for (seq, response) in (1..).zip(responses) {
            open.take(seq, response);
        }
        open
    }

    #[test]
    fn whatever_the_moment_nothing_stays_open() {
        let turn = whole_turn();
        for cut in 0..=turn.len() {
            let mut seen = turn[..cut].to_vec();
            let mut open = fold(&seen);
            seen.extend(open.withdraw());
            let (facts, _) = open.close(BTreeMap::new());
            let is_whole = cut == 0 || cut == turn.len();
            assert_eq!(facts.is_empty(), is_whole, "cut after {cut}");
            seen.extend(facts);
            let mut left = fold(&seen);
            assert_eq!(left.withdraw(), [], "cut after {cut}");
            assert_eq!(left.close(BTreeMap::new()).0, [], "cut after {cut}");
            assert_eq!(seen.last() == Some(&SessionResponse::Idle), cut > 0);
        }
    }

    #[test]
    fn an_open_block_ends_with_what_was_stored_of_it() {
        let turn = whole_turn();
        let texts = BTreeMap::from([(5, "output".to_owned()), (7, "half a mess".to_owned())]);
        let mut open = fold(&turn[..7]);
        let mut facts = open.withdraw();
        let (closing, closed) = open.close(texts);
        facts.extend(closing);
        let expected = [
            r#"{"callback":"onPermissionResolved","requestId":"permission-00000000-0000-4000-8000-000000000001","decision":"withdrawn"}"#,
            r#"{"callback":"onToolExecution","toolCallId":"t","delta":"output"}"#,
            r#"{"callback":"onEndToolExecution","toolCallId":"t","error":{"message":"interrupted: the server stopped","code":"cut-off"}}"#,
            r#"{"callback":"onEndMessage","messageId":"m","completeContent":"half a mess"}"#,
            r#"{"sessionError":"interrupted: the server stopped"}"#,
            r#"{"callback":"onAgentEnd","turnId":"1"}"#,
            r#"{"callback":"onTurnEnd","turnId":"1","outcome":"interrupted"}"#,
            r#"{"callback":"onIdle"}"#,
        ];
        assert_eq!(facts, expected.map(parse));
        assert_eq!(closed, [5, 7]);
    }
}
