//! A message as it comes, and what it asks for.

use wire::bridge::{MessageRequest, Mode};

use super::error::BridgeError;
use super::settings::{AgentRules, MAX_TEXT, MOST_STEPS};

/// A message that has been validated.
pub(super) struct ValidMessage {
    pub(super) text: String,
    pub(super) mode: Mode,
    pub(super) max_steps: u32,
}

impl ValidMessage {
    pub(super) fn read(request: &MessageRequest, rules: &AgentRules) -> Result<Self, BridgeError> {
        let text = check_text(request)?;
        let mode = match request.mode.as_deref() {
            // Other clients call a prompt "chat".
            None | Some("chat") => Mode::Prompt,
            Some(mode) => mode.parse().map_err(|_| BridgeError::UnknownMode(mode.to_owned()))?,
        };
        let (mode, text) = match text.strip_prefix(&*rules.prefix) {
            Some(goal) if !rules.prefix.is_empty() => (Mode::Agent, goal.trim_start()),
            _ => (mode, text),
        };
        if text.is_empty() {
            return Err(BridgeError::TextMissing);
        }
        if mode == Mode::Agent && !rules.enabled {
            return Err(BridgeError::AgentDisabled);
        }
        let max_steps = request.max_steps.unwrap_or(rules.max_steps);
        if !(1..=MOST_STEPS).contains(&max_steps) {
            return Err(BridgeError::StepsOutOfRange(max_steps));
        }
        Ok(Self { text: text.to_owned(), mode, max_steps })
    }
}

/// The text of a message, without the blanks around it.
pub(super) fn check_text(request: &MessageRequest) -> Result<&str, BridgeError> {
    let text = request.text.as_deref().unwrap_or_default().trim();
    match text.len() {
        0 => Err(BridgeError::TextMissing),
        1..=MAX_TEXT => Ok(text),
        _ => Err(BridgeError::TextTooLong),
    }
}
