//! Takes over the histories that earlier versions kept in files, each as a closed session.
//!
//! The files stay where they are. A project that has a session was taken over before.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use store::fold::{Fold, ProjectLink, SessionFold, SessionNote};
use store::journal::{Append, Fact, Journal, StoreError};
use wire::bridge::{HistoryMessage, ProjectMessage, ProjectMessageEnd, Role, RunEnd};
use wire::{Budget, PermissionMode, SessionId, SessionResponse};

use super::project::Project;

/// A project's history as it was stored.
#[derive(Deserialize)]
struct Document {
    /// When the project was first seen, in ISO 8601.
    created: String,
    /// The history's messages, oldest first.
    messages: Vec<HistoryMessage>,
}

/// The stored history of a project. A file that can't be read is reported and left alone. Blocks.
fn read(folder: &Path, project: &str) -> Option<Document> {
    let file = folder.join(format!("{project}.json"));
    let problem = match fs::read(&file) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(document) => return Some(document),
            Err(error) => error.to_string(),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
    };
    tracing::warn!(%problem, file = %file.display(), "a history can't be taken over");
    None
}

/// Takes over the history of a project that has no session yet.
pub(super) async fn take_over(
    journal: &dyn Journal,
    now: u64,
    folder: &Path,
    project: &Project,
) -> Result<(), StoreError> {
    let (folder, id) = (folder.to_owned(), project.id.clone());
    let reading = tokio::task::spawn_blocking(move || read(&folder, &id));
    let Ok(Some(document)) = reading.await else { return Ok(()) };
    if document.messages.is_empty() {
        return Ok(());
    }
    let session = SessionId::generate();
    let append = session_of(session, project, document, now);
    journal.submit(append.into()).durable().await?;
    tracing::info!(project = project.id, %session, "took over a history");
    Ok(())
}

/// The stream of a closed session with these messages.
fn session_of(session: SessionId, project: &Project, document: Document, now: u64) -> Append {
    let Document { created, messages } = document;
    let mut stream = OldStream::new(session);
    let model = messages.iter().rev().find_map(|message| message.model.clone());
    let first = messages.first().map_or(0, |message| micros(&message.at));
    stream.note(
        first,
        &SessionNote::Started {
            model: model.unwrap_or_default(),
            folder: project.path.to_string_lossy().into_owned(),
            permissions: PermissionMode::Ask,
            task: None,
            continued_from: None,
            replaced: 0,
            budget: Budget::default(),
            project: Some(ProjectLink { id: project.id.clone(), created, previous: None }),
        },
    );
    for (index, asked) in messages.iter().enumerate() {
        if asked.role == Role::User {
            let later = messages[index..].iter();
            let mut answers = later.filter(|it| it.id == asked.id && it.role == Role::Assistant);
            stream.add_run(asked, answers.next());
        }
    }
    // Closed now: it is kept as long as what is closed today.
    stream.note(now, &SessionNote::Closed { crashed: false });
    stream.append.record = Some(stream.fold.record());
    stream.append
}

/// A stream that is written after the event.
struct OldStream {
    append: Append,
    fold: SessionFold,
    /// Time of the last fact or note: times increase.
    at: u64,
    runs: u32,
}

impl OldStream {
    fn new(session: SessionId) -> Self {
        let append = Append::new(session, 0, 0);
        Self { append, fold: SessionFold::default(), at: 0, runs: 0 }
    }

    fn next_time(&mut self, at: u64) -> u64 {
        self.at = at.max(self.at + 1);
        self.at
    }

    fn note(&mut self, at: u64, note: &SessionNote) {
        let at = self.next_time(at);
        self.fold.note(at, note);
        let json = serde_json::to_string(note).unwrap_or_default().into();
        self.append.notes.push(Fact { at, json, is_searchable: false });
    }

    fn push(&mut self, at: u64, response: &SessionResponse) {
        let at = self.next_time(at);
        self.fold.apply(at, response);
        let json = serde_json::to_string(response).unwrap_or_default().into();
        let is_searchable = store::live::LiveEntry::is_searchable(response);
        self.append.facts.push(Fact { at, json, is_searchable });
    }

    fn add_run(&mut self, asked: &HistoryMessage, answer: Option<&HistoryMessage>) {
        let (id, at) = (asked.id, micros(&asked.at));
        self.runs += 1;
        let turn_id = self.runs.to_string();
        let message = ProjectMessage {
            id,
            text: asked.text.clone(),
            mode: asked.mode,
            max_steps: None,
            model: answer.and_then(|answer| answer.model.clone()),
        };
        self.push(at, &SessionResponse::ProjectMessage(message));
        self.push(at, &SessionResponse::UserPrompt { prompt: asked.text.clone() });
        self.push(at, &SessionResponse::AgentStart { turn_id: turn_id.clone() });
        let said = answer.map(|answer| answer.text.clone()).filter(|text| !text.is_empty());
        if let Some(complete_content) = said {
            let message_id = turn_id.clone();
            self.push(at, &SessionResponse::StartMessage { message_id: message_id.clone() });
            self.push(at, &SessionResponse::EndMessage { message_id, complete_content });
        }
        self.push(at, &SessionResponse::AgentEnd { turn_id });
        let end = ProjectMessageEnd {
            id,
            // One without an end was cut off with its server.
            reason: answer.and_then(|answer| answer.reason).unwrap_or(RunEnd::Cancelled),
            error: answer.and_then(|answer| answer.error.clone()),
        };
        self.push(at, &SessionResponse::ProjectMessageEnd(end));
        self.push(at, &SessionResponse::Idle);
    }
}

fn micros(at: &str) -> u64 {
    platform::clock::micros_of_iso_8601(at).unwrap_or_default()
}
