//! The agent of a session: started anew, or resumed where an earlier one left off.

use std::sync::Arc;

use agents::{
    AgentBackend, AgentError, AgentSession, AgentSettings, Fact, PastConversation, ResumeError,
};
use extensions::SessionExtensions;
use parking_lot::Mutex;

use super::conversation::{Conversation, EndOfSession};
use super::stream::Stream;
use crate::running::Ending;

/// How much of an earlier conversation a new agent gets, in bytes; the latest part.
const MAX_SUMMARY: usize = 16 * 1024;

/// An agent that is ready for its first prompt.
pub(super) struct StartedAgent {
    agent: Box<dyn AgentSession>,
    /// If an earlier conversation could not be resumed: the reason, and a summary of it.
    replaced: Option<(String, String)>,
}

/// Resumes the past conversation if there is one and the backend is able to, else starts a new one.
pub(super) async fn start(
    backend: &dyn AgentBackend,
    settings: AgentSettings,
    past: Option<PastConversation>,
) -> Result<StartedAgent, AgentError> {
    let Some(past) = past else {
        let agent = backend.start_session(settings).await?;
        return Ok(StartedAgent { agent, replaced: None });
    };
    let summary = summary(&past.facts);
    match backend.resume_session(past, settings.clone()).await {
        Ok(agent) => Ok(StartedAgent { agent, replaced: None }),
        Err(ResumeError::Refused(reason)) => {
            let agent = backend.start_session(settings).await?;
            Ok(StartedAgent { agent, replaced: Some((reason, summary)) })
        }
        Err(ResumeError::Agent(error)) => Err(error),
    }
}

impl StartedAgent {
    /// Notes the handle by which the conversation can be resumed, and reports an error if a new one
    /// had to be started.
    pub(super) fn announce(&self, stream: &Stream) {
        if let Some((reason, _)) = &self.replaced {
            stream.next_generation();
            stream.note_handle(None);
            stream.error(&format!(
                "the conversation could not be resumed ({reason}): it goes on in a new one, which \
                 is told what was said"
            ));
        }
        if let Some(handle) = self.agent.handle() {
            stream.note_handle(Some(handle.as_str().to_owned()));
        }
    }

    /// Turns the agent into the conversation of a session.
    pub(super) fn converse(
        self,
        extensions: Arc<SessionExtensions>,
        end: Ending<EndOfSession>,
    ) -> Conversation {
        let preamble = self.replaced.map(|(_, summary)| summary);
        let preamble = preamble.filter(|summary| !summary.is_empty());
        Conversation { agent: self.agent, extensions, preamble: Mutex::new(preamble), end }
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
