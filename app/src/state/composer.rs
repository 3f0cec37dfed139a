//! The box in which prompts are written: what its keys do, which earlier prompts come back, what it
//! completes. Plain functions; the page only carries out what they say.

pub(crate) mod attachments;
pub(crate) mod completion;
pub(crate) mod history;
pub(crate) mod intent;
pub(crate) mod keys;

/// Where the browser keeps the draft of a session, or of a page that has none yet.
pub(crate) fn draft_key(owner: &str) -> String {
    format!("draft:{owner}")
}

/// Where the browser keeps earlier prompts.
pub(crate) const HISTORY_KEY: &str = "prompts";

/// Puts a text that was not taken in front of what was typed meanwhile.
pub(crate) fn join_texts(refused: &str, since: &str) -> String {
    let between = if refused.is_empty() || since.is_empty() { "" } else { "\n" };
    format!("{refused}{between}{since}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_a_draft_of_its_own() {
        assert_ne!(draft_key("session-1"), draft_key("session-2"));
        assert_ne!(draft_key("session-1"), HISTORY_KEY);
    }

    #[test]
    fn nothing_typed_is_lost() {
        assert_eq!(join_texts("a", ""), "a");
        assert_eq!(join_texts("", "b"), "b");
        assert_eq!(join_texts("a", "b"), "a\nb");
    }
}
