//! What becomes of the box for a message when drafts come and go: messages that others posted, for a
//! person to edit and send.

use wire::MessageId;
use wire::bridge::{Draft, Mode};

/// The box, and the drafts whose text is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftBox {
    pub(crate) text: String,
    /// Sent or discarded with the text.
    pub(crate) from: Vec<MessageId>,
}

impl DraftBox {
    /// Follows the drafts that wait; `before` are those that waited last, if they are known. Fills an
    /// empty box with the oldest one, and returns how that is to be handled, if it says so.
    ///
    /// What somebody typed stays, whatever happens elsewhere. Only the text of a draft that was
    /// taken elsewhere, and that nobody has changed here, goes with it.
    pub(crate) fn follow(&mut self, before: &[Draft], now: &[Draft]) -> Option<Mode> {
        let waits = |id: &MessageId| now.iter().any(|draft| draft.id == *id);
        if let [id] = *self.from
            && !waits(&id)
            && before.iter().any(|draft| draft.id == id && draft.text == self.text)
        {
            self.text.clear();
        }
        self.from.retain(waits);
        if !self.from.is_empty() || !self.text.trim().is_empty() {
            return None;
        }
        let next = now.first()?;
        self.insert(next);
        next.mode
    }

    /// Adds a draft below what is there.
    pub(crate) fn insert(&mut self, draft: &Draft) {
        if self.text.trim().is_empty() {
            self.text.clone_from(&draft.text);
        } else {
            self.text = format!("{}\n\n{}", self.text.trim_end(), draft.text);
        }
        self.from.push(draft.id);
    }

    /// The text was sent with its drafts. What was typed meanwhile stays.
    pub(crate) fn sent(&mut self, text: &str) {
        if self.text == text {
            *self = Self::default();
        }
    }
}

/// The beginning of a draft, in one line.
pub(crate) fn first_words(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(number: u32, text: &str, mode: Option<Mode>) -> Draft {
        Draft {
            id: id(number),
            text: text.to_owned(),
            source: "editor".to_owned(),
            session_id: "s".to_owned(),
            mode,
            at: String::new(),
        }
    }

    fn id(number: u32) -> MessageId {
        format!("message-00000000-0000-4000-8000-{number:012}").parse().expect("an id")
    }

    fn filled(text: &str, from: &[u32]) -> DraftBox {
        DraftBox { text: text.to_owned(), from: from.iter().map(|number| id(*number)).collect() }
    }

    #[test]
    fn the_oldest_draft_fills_an_empty_box() {
        let drafts = [draft(1, "one", Some(Mode::Prompt)), draft(2, "two", None)];
        let mut composer = filled(" \n", &[]);
        assert_eq!(composer.follow(&[], &drafts), Some(Mode::Prompt));
        assert_eq!(composer, filled("one", &[1]));
        // Another one does not displace it, even if all of it was deleted.
        composer.text.clear();
        assert_eq!(composer.follow(&drafts[..1], &drafts), None);
        assert_eq!(composer, filled("", &[1]));
    }

    #[test]
    fn what_was_typed_stays() {
        let drafts = [draft(1, "one", None)];
        let mut composer = filled("mine", &[]);
        assert_eq!(composer.follow(&[], &drafts), None);
        assert_eq!(composer, filled("mine", &[]));
        composer.insert(&drafts[0]);
        assert_eq!(composer, filled("mine\n\none", &[1]));
        // Sent from another window: the text is no draft any more, but it was changed here.
        composer.follow(&drafts, &[]);
        assert_eq!(composer, filled("mine\n\none", &[]));
    }

    #[test]
    fn what_was_taken_elsewhere_makes_room_for_the_next_one() {
        let drafts = [draft(1, "one", None), draft(2, "two", None)];
        let mut composer = filled("one", &[1]);
        composer.follow(&drafts, &drafts[1..]);
        assert_eq!(composer, filled("two", &[2]));
        // Restored after a reload, before which it was taken: nobody knows whether it was changed.
        let mut composer = filled("one", &[1]);
        composer.follow(&[], &drafts[1..]);
        assert_eq!(composer, filled("one", &[]));
    }

    #[test]
    fn what_is_typed_while_a_message_is_sent_stays() {
        let mut composer = filled("one", &[1]);
        composer.sent("one");
        assert_eq!(composer, filled("", &[]));
        let mut composer = filled("one more", &[1]);
        composer.sent("one");
        assert_eq!(composer, filled("one more", &[1]));
    }

    #[test]
    fn a_draft_is_named_by_its_first_words() {
        assert_eq!(first_words("\n  fix it  \nplease"), "fix it");
        assert_eq!(first_words(" "), "");
    }
}
