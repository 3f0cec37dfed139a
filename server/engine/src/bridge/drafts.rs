//! Messages that wait until a person sends them. They are kept in the newest session of their
//! project, as messages are.

use wire::bridge::{MessageRequest, Mode, ProjectDraft, ProjectDraftTaken};
use wire::{MessageId, SessionId, SessionResponse};

use super::error::BridgeError;
use super::inner::Inner;
use super::project::Project;
use super::request::check_text;

/// How many drafts of one project may wait.
const MAX_DRAFTS: usize = 100;
/// The `source` of messages that name none.
const SOURCE: &str = "http";
/// The longest source, in characters.
const MAX_SOURCE: usize = 100;

/// The draft that a message asks for, or that the settings make of it.
pub(super) fn read_draft(request: &MessageRequest) -> Result<ProjectDraft, BridgeError> {
    let text = check_text(request)?;
    let mode = match request.mode.as_deref() {
        None | Some(wire::bridge::DRAFT_MODE) => None,
        Some("chat") => Some(Mode::Prompt),
        Some(mode) => Some(mode.parse().map_err(|_| BridgeError::UnknownMode(mode.to_owned()))?),
    };
    let source = request.source.as_deref().map(one_line).filter(|source| !source.is_empty());
    let source = source.unwrap_or_else(|| SOURCE.to_owned());
    Ok(ProjectDraft { id: MessageId::generate(), text: text.to_owned(), source, mode })
}

/// A name of a client as people can read it.
fn one_line(source: &str) -> String {
    let words: Vec<_> = source.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    words.join(" ").trim().chars().take(MAX_SOURCE).collect()
}

impl Inner {
    /// Keeps a draft. Returns when it is durable.
    pub(super) async fn keep_draft(
        &self,
        project: &Project,
        draft: ProjectDraft,
    ) -> Result<(), BridgeError> {
        let _one_at_a_time = project.changing.lock().await;
        if self.drafts(project).await?.len() >= MAX_DRAFTS {
            return Err(BridgeError::TooManyDrafts);
        }
        let session = self.open_session(project, None).await?;
        let fact = SessionResponse::ProjectDraft(draft);
        Ok(self.sessions.keep_of_project(session.id(), [fact]).await?)
    }

    /// Discards a draft, if it is one of the project's. False if it is not.
    pub(super) async fn discard_draft(
        &self,
        project: &Project,
        id: MessageId,
    ) -> Result<bool, BridgeError> {
        let _one_at_a_time = project.changing.lock().await;
        match self.check_draft(project, id).await {
            Err(BridgeError::DraftNotFound(_)) => return Ok(false),
            checked => checked?,
        }
        let session = self.open_session(project, None).await?;
        self.take_draft(session.id(), id).await?;
        Ok(true)
    }

    /// The drafts of a project that wait, the oldest first.
    pub(super) async fn drafts(&self, project: &Project) -> Result<Vec<ProjectDraft>, BridgeError> {
        let (history, _) = self.history(project).await?;
        let drafts = history.drafts.into_iter().map(|draft| ProjectDraft {
            id: draft.id,
            text: draft.text,
            source: draft.source,
            mode: draft.mode,
        });
        Ok(drafts.collect())
    }

    /// Checks that a draft waits. The caller keeps others from changing the project.
    pub(super) async fn check_draft(
        &self,
        project: &Project,
        id: MessageId,
    ) -> Result<(), BridgeError> {
        let is_waiting = self.drafts(project).await?.iter().any(|draft| draft.id == id);
        is_waiting.then_some(()).ok_or_else(|| BridgeError::DraftNotFound(id.to_string()))
    }

    /// Notes that a draft waits no longer. Returns when that is durable.
    pub(super) async fn take_draft(
        &self,
        session: SessionId,
        id: MessageId,
    ) -> Result<(), BridgeError> {
        let fact = SessionResponse::ProjectDraftTaken(ProjectDraftTaken { id });
        Ok(self.sessions.keep_of_project(session, [fact]).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_kept_as_it_was_posted() {
        let read = |text: &str, mode: Option<&str>, source: Option<&str>| {
            read_draft(&MessageRequest {
                text: Some(text.to_owned()),
                mode: mode.map(str::to_owned),
                source: source.map(str::to_owned),
                ..MessageRequest::default()
            })
        };
        let draft = read(" agent: go ", Some("draft"), Some("my\neditor ")).expect("a draft");
        // Whoever sends it decides; until then not even the prefix counts.
        assert_eq!((&*draft.text, &*draft.source, draft.mode), ("agent: go", "my editor", None));
        let draft = read("go", Some("agent"), Some(" \n ")).expect("a draft");
        assert_eq!((&*draft.source, draft.mode), (SOURCE, Some(Mode::Agent)));
        assert_eq!(read(" ", Some("draft"), None), Err(BridgeError::TextMissing));
        let unknown = read("x", Some("magic"), None);
        assert_eq!(unknown, Err(BridgeError::UnknownMode("magic".to_owned())));
    }
}
