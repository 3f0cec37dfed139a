//! The session of a project, read as the events of the bridge.
//!
//! A [`Reading`] is a fold: the same responses give the same events, live or from the store.

use std::collections::VecDeque;
use std::fmt::Write;

use platform::clock::iso_8601_of_micros;
use store::journal::Position;
use wire::bridge::{
    ApprovalDecision, ApprovalRequest, Done, Draft, DraftTaken, Event, Fragment, HistoryCleared,
    Inbound, ProjectMessage,
};
use wire::{MessageId, PendingPermission, PermissionId, PermissionOutcome, SessionResponse};

/// The `source` of messages, for clients that show it.
const SOURCE: &str = "http";
const PARAGRAPH: &str = "\n\n";

/// The state of a session at some place.
#[derive(Debug)]
pub(super) struct Reading {
    project: String,
    /// The model of runs whose messages name none.
    model: String,
    responses: u64,
    open: Vec<OpenMessage>,
    waiting: VecDeque<ProjectMessage>,
    running: Option<Run>,
    /// Ids and names of the tools that run.
    tools: Vec<(String, String)>,
    /// The questions that wait, with their runs.
    asked: Vec<(PermissionId, MessageId)>,
}

#[derive(Debug)]
struct OpenMessage {
    id: String,
    start: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Run {
    id: MessageId,
    model: String,
    /// Whether text that follows has to begin a new paragraph.
    needs_paragraph: bool,
}

impl Reading {
    /// The beginning of a session of a project.
    pub(super) fn new(project: &str, model: &str) -> Self {
        Self {
            project: project.to_owned(),
            model: model.to_owned(),
            responses: 0,
            open: Vec::new(),
            waiting: VecDeque::new(),
            running: None,
            tools: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// The place after everything that was taken.
    pub(super) fn place(&self) -> Position {
        let inside = self.open.iter().filter(|message| message.bytes > 0);
        Position {
            seq: self.responses,
            inside: inside.map(|message| (message.start, message.bytes as u64)).collect(),
        }
    }

    /// Takes the next response, and returns what of it is new for a client at the place `since`.
    pub(super) fn take(
        &mut self,
        at: u64,
        response: &SessionResponse,
        since: &Position,
    ) -> Option<Event> {
        use SessionResponse as R;
        match response {
            R::Reasoning { .. } | R::ToolExecution { .. } => return None,
            R::Message { message_id, delta } => {
                let is_new = self.responses >= since.seq;
                return self.add_text(message_id, delta, since, is_new);
            }
            _ => self.responses += 1,
        }
        let is_new = self.responses > since.seq;
        match response {
            R::StartMessage { message_id } => {
                let message =
                    OpenMessage { id: message_id.clone(), start: self.responses, bytes: 0 };
                self.open.push(message);
                None
            }
            R::EndMessage { message_id, complete_content } => {
                let open = self.open.iter().find(|message| message.id == *message_id);
                let rest = complete_content.get(open.map_or(0, |message| message.bytes)..);
                let event = self.add_text(message_id, rest.unwrap_or_default(), since, is_new);
                self.open.retain(|message| message.id != *message_id);
                event
            }
            R::StartToolExecution { tool_call_id, tool_name, .. } => {
                self.tools.push((tool_call_id.clone(), tool_name.clone()));
                None
            }
            R::EndToolExecution { tool_call_id, .. } => {
                self.tools.retain(|(id, _)| id != tool_call_id);
                None
            }
            R::GeneratedUserPrompt { .. } => {
                self.running = None;
                None
            }
            R::UserPrompt { .. } => {
                self.running = self.waiting.pop_front().map(|message| Run {
                    id: message.id,
                    model: message.model.unwrap_or_else(|| self.model.clone()),
                    needs_paragraph: false,
                });
                None
            }
            response => self.report(at, response).filter(|_| is_new),
        }
    }

    /// What is an event by itself.
    fn report(&mut self, at: u64, response: &SessionResponse) -> Option<Event> {
        use SessionResponse as R;
        match response {
            R::ProjectMessage(message) => {
                self.waiting.push_back(message.clone());
                Some(Event::Inbound(Inbound {
                    id: message.id,
                    text: message.text.clone(),
                    source: SOURCE.to_owned(),
                    session_id: self.project.clone(),
                    mode: message.mode,
                    at: iso_8601_of_micros(at),
                }))
            }
            R::ProjectMessageEnd(end) => {
                self.waiting.retain(|message| message.id != end.id);
                let run = self.running.take_if(|run| run.id == end.id);
                Some(Event::Done(Done {
                    id: end.id,
                    model: run.map(|run| run.model),
                    session_id: self.project.clone(),
                    reason: end.reason,
                    error: end.error.clone(),
                }))
            }
            R::ProjectCleared => {
                let (session_id, at) = (self.project.clone(), iso_8601_of_micros(at));
                Some(Event::HistoryCleared(HistoryCleared { session_id, at }))
            }
            R::ProjectDraft(draft) => Some(Event::Draft(Draft {
                id: draft.id,
                text: draft.text.clone(),
                source: draft.source.clone(),
                session_id: self.project.clone(),
                mode: draft.mode,
                at: iso_8601_of_micros(at),
            })),
            R::ProjectDraftTaken(taken) => Some(Event::DraftTaken(DraftTaken {
                id: taken.id,
                session_id: self.project.clone(),
            })),
            R::PermissionRequest(question) => self.ask(question),
            R::PermissionResolved { request_id, decision } => self.settle(*request_id, *decision),
            _ => None,
        }
    }

    fn ask(&mut self, question: &PendingPermission) -> Option<Event> {
        let run = self.running.as_ref()?;
        self.asked.push((question.id, run.id));
        let request = question.request.clone();
        Some(Event::ApprovalRequest(ApprovalRequest {
            approval_id: question.id,
            id: run.id,
            session_id: self.project.clone(),
            model: run.model.clone(),
            // Actions run one after the other.
            action: self.tools.last().map(|(_, name)| name.clone()).unwrap_or_default(),
            kind: request.kind,
            title: request.title,
            path: request.path.unwrap_or_default(),
            diff: request.diff,
            content_preview: request.detail,
            each_time: request.each_time,
        }))
    }

    fn settle(&mut self, question: PermissionId, outcome: PermissionOutcome) -> Option<Event> {
        let place = self.asked.iter().position(|(asked, _)| *asked == question)?;
        let (_, run) = self.asked.swap_remove(place);
        Some(Event::ApprovalDecision(ApprovalDecision {
            approval_id: question,
            approved: outcome.is_approved(),
            outcome,
            id: run,
            session_id: self.project.clone(),
        }))
    }

    /// Adds text to a message of the run, and returns the part that a client has not read.
    fn add_text(
        &mut self,
        message_id: &str,
        text: &str,
        since: &Position,
        is_new: bool,
    ) -> Option<Event> {
        let message = self.open.iter_mut().find(|message| message.id == message_id)?;
        let from = message.bytes;
        message.bytes += text.len();
        let run = self.running.as_mut()?;
        if text.is_empty() {
            return None;
        }
        let begins_paragraph = from == 0 && run.needs_paragraph;
        run.needs_paragraph = !text.ends_with(PARAGRAPH);
        let read = usize::try_from(since.read_of(message.start)).unwrap_or(usize::MAX);
        let unread = text.get(read.saturating_sub(from)..).filter(|unread| !unread.is_empty());
        let unread = unread.filter(|_| is_new)?;
        let mut fragment = String::new();
        if begins_paragraph && read == 0 {
            fragment.push_str(PARAGRAPH);
        }
        // Writing into a string can't fail.
        let _ = fragment.write_str(unread);
        Some(Event::Fragment(Fragment {
            id: run.id,
            fragment,
            model: run.model.clone(),
            session_id: self.project.clone(),
        }))
    }
}

#[cfg(test)]
mod tests;
