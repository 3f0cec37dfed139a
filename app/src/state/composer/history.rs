//! Earlier prompts, which the arrow keys bring back.

/// How many prompts are kept.
const MOST: usize = 100;
/// Between prompts in the browser's storage. Nobody types it.
const SEPARATOR: char = '\u{1e}';

/// The prompts that were sent, the oldest first, and which of them is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptHistory {
    prompts: Vec<String>,
    /// The index of the one in the box, until it is changed there.
    shown: Option<usize>,
}

impl PromptHistory {
    /// What the browser has kept.
    pub(crate) fn read(stored: &str) -> Self {
        let mut history = Self::default();
        stored.split(SEPARATOR).for_each(|prompt| history.add(prompt));
        history
    }

    /// What the browser is to keep.
    pub(crate) fn store(&self) -> String {
        self.prompts.join(SEPARATOR.encode_utf8(&mut [0; 4]))
    }

    /// Adds a prompt that was sent. One that was sent before moves to the end.
    pub(crate) fn add(&mut self, prompt: &str) {
        self.shown = None;
        if prompt.trim().is_empty() || prompt.contains(SEPARATOR) {
            return;
        }
        self.prompts.retain(|other| other != prompt);
        if self.prompts.len() == MOST {
            self.prompts.remove(0);
        }
        self.prompts.push(prompt.to_owned());
    }

    /// Arrow up in a box with this text: the prompt before the one in it, the last one if it is
    /// empty. `None` if the key moves the caret, as in any text.
    pub(crate) fn earlier(&mut self, text: &str) -> Option<&str> {
        let next = match self.place(text) {
            Some(shown) => shown.checked_sub(1)?,
            None if text.is_empty() => self.prompts.len().checked_sub(1)?,
            None => return None,
        };
        self.shown = Some(next);
        Some(&self.prompts[next])
    }

    /// Arrow down: the prompt after the one in the box, nothing after the last one.
    pub(crate) fn later(&mut self, text: &str) -> Option<&str> {
        let next = self.place(text)? + 1;
        self.shown = (next < self.prompts.len()).then_some(next);
        Some(self.prompts.get(next).map_or("", String::as_str))
    }

    /// The index of the prompt in the box, if the text is still that one.
    fn place(&self, text: &str) -> Option<usize> {
        self.shown.filter(|shown| self.prompts.get(*shown).is_some_and(|prompt| prompt == text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(prompts: &[&str]) -> PromptHistory {
        let mut history = PromptHistory::default();
        for prompt in prompts {
            history.add(prompt);
        }
        history
    }

    #[test]
    fn arrows_walk_through_earlier_prompts_and_back() {
        let mut history = history(&["a", "b\nb", "c"]);
        assert_eq!(history.later(""), None);
        assert_eq!(history.earlier(""), Some("c"));
        assert_eq!(history.earlier("c"), Some("b\nb"));
        assert_eq!(history.earlier("b\nb"), Some("a"));
        assert_eq!(history.earlier("a"), None);
        assert_eq!(history.later("a"), Some("b\nb"));
        assert_eq!(history.later("b\nb"), Some("c"));
        assert_eq!(history.later("c"), Some(""));
        assert_eq!(history.later(""), None);
        assert_eq!(history.earlier(""), Some("c"));
    }

    #[test]
    fn what_was_typed_is_never_replaced() {
        let mut history = history(&["a", "b"]);
        assert_eq!(history.earlier("text"), None);
        assert_eq!(history.earlier(""), Some("b"));
        assert_eq!(history.earlier("b, changed"), None);
        assert_eq!(history.later("b, changed"), None);
        assert_eq!(PromptHistory::default().earlier(""), None);
    }

    #[test]
    fn a_prompt_is_kept_once_and_a_hundred_of_them() {
        let mut history = history(&["a", "b", "a", " ", "x\u{1e}y"]);
        assert_eq!(history.prompts, ["b", "a"]);
        for number in 0..150 {
            history.add(&number.to_string());
        }
        assert_eq!(history.prompts.len(), MOST);
        assert_eq!(history.prompts[0], "50");
    }

    #[test]
    fn prompts_survive_the_storage() {
        for prompts in [&[][..], &["a"], &["a\nb", "", "ä"]] {
            let history = history(prompts);
            assert_eq!(PromptHistory::read(&history.store()), history);
        }
    }
}
