//! The agent of a session: started anew, or resumed where an earlier one left off.

use agents::{
    AgentBackend, AgentError, AgentSession, AgentSettings, Capabilities, Fact, PastConversation,
    ResumeError,
};

use super::stream::{Speaker, Stream};

/// How much of an earlier conversation a new agent gets, in bytes; the latest part.
const MAX_SUMMARY: usize = 16 * 1024;

/// An agent that is ready for prompts.
pub(super) struct SessionAgent {
    pub(super) agent: Box<dyn AgentSession>,
    /// The model as the client named it.
    pub(super) model: String,
    pub(super) capabilities: Capabilities,
    /// As whom the stream knows it.
    pub(super) speaker: Speaker,
    /// Why an earlier conversation could not be resumed, if so.
    refusal: Option<String>,
    /// Summary of an earlier conversation, which is sent with the first prompt.
    preamble: Option<String>,
}

/// Resumes the past conversation if there is one and the backend is able to, else starts a new one.
/// `model` is the client's name for it.
pub(super) async fn start(
    backend: &dyn AgentBackend,
    model: String,
    settings: AgentSettings,
    speaker: Speaker,
    past: Option<PastConversation>,
) -> Result<SessionAgent, AgentError> {
    let capabilities = backend.capabilities();
    let ready =
        |agent| SessionAgent { agent, model, capabilities, speaker, refusal: None, preamble: None };
    let Some(past) = past else {
        return Ok(ready(backend.start_session(settings).await?));
    };
    let summary = summary(&past.facts);
    match backend.resume_session(past, settings.clone()).await {
        Ok(agent) => Ok(ready(agent)),
        Err(ResumeError::Refused(reason)) => {
            let agent = ready(backend.start_session(settings).await?);
            let preamble = Some(summary).filter(|summary| !summary.is_empty());
            Ok(SessionAgent { refusal: Some(reason), preamble, ..agent })
        }
        Err(ResumeError::Agent(error)) => Err(error),
    }
}

impl SessionAgent {
    /// Whether the earlier conversation goes on, if there was one.
    pub(super) fn is_resumed(&self) -> bool {
        self.refusal.is_none()
    }

    /// Notes the handle by which the conversation can be resumed, and reports an error if a new one
    /// had to be started.
    pub(super) fn announce(&self, stream: &Stream) {
        if let Some(reason) = &self.refusal {
            stream.next_generation();
            stream.note_handle(None);
            stream.error(&format!(
                "the conversation could not be resumed ({reason}): it goes on in a new one, which \
                 is told what was said"
            ));
        }
        self.introduce(stream);
    }

    /// Notes that the session goes on with this agent, in place of another.
    pub(super) fn take_over(&self, stream: &Stream) {
        stream.switch_model(&self.model);
        self.introduce(stream);
    }

    fn introduce(&self, stream: &Stream) {
        stream.set_capabilities(self.capabilities);
        if let Some(handle) = self.agent.handle() {
            stream.note_handle(Some(handle.as_str().to_owned()));
        }
    }

    /// The summary that goes with the first prompt, once.
    pub(super) fn take_preamble(&mut self) -> Option<String> {
        self.preamble.take()
    }
}

/// The latest part of what was said, as text for an agent that took no part in it. Earlier facts are
/// not even looked at: there can be many, and most conversations are resumed without this.
fn summary(facts: &[Fact]) -> String {
    let mut latest = Vec::new();
    let mut length = 0;
    for line in facts.iter().rev().filter_map(line) {
        length += line.len();
        latest.push(line);
        if length >= MAX_SUMMARY {
            break;
        }
    }
    if latest.is_empty() {
        return String::new();
    }
    latest.reverse();
    let said = latest.concat();
    let start = said.ceil_char_boundary(said.len().saturating_sub(MAX_SUMMARY));
    format!("This continues an earlier conversation, whose latest part was:\n\n{}", &said[start..])
}

fn line(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Prompt(text) => Some(format!("User: {text}\n")),
        Fact::Message(text) => Some(format!("Assistant: {text}\n")),
        Fact::ToolCall { name, arguments, .. } => {
            Some(format!("Assistant called the tool {name} with {arguments}\n"))
        }
        Fact::Round => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_latest_part_of_what_was_said() {
        assert_eq!(summary(&[]), "");
        assert_eq!(summary(&[Fact::Round]), "");
        let facts = [Fact::Prompt("ä".repeat(MAX_SUMMARY)), Fact::Message("Done.".to_owned())];
        let told = summary(&facts);
        assert!(told.ends_with("ä\nAssistant: Done.\n"));
        assert!(told.len() < MAX_SUMMARY + 200 && told.contains("earlier conversation"));
        let both = [Fact::Prompt("a".to_owned()), Fact::Round, Fact::Message("b".to_owned())];
        assert!(summary(&both).ends_with(":\n\nUser: a\nAssistant: b\n"));
    }
}
