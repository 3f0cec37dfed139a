//! Full-text search: which words are searched for, in which texts, and how a hit is shown.

use serde::Deserialize;

/// How many characters are shown before and after a hit.
const CONTEXT: usize = 60;
/// Enclose the hit. They are removed from the text around it.
const MARKS: [char; 2] = ['«', '»'];

/// The fields of a fact that can be searched.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Texts {
    callback: Option<String>,
    prompt: Option<String>,
    complete_content: Option<String>,
    reason: Option<String>,
    #[serde(rename = "sessionError")]
    error: Option<String>,
}

/// The searchable text of a fact: a prompt, a message, a decision or an error. Reasoning is not
/// searchable.
pub(super) fn text_of(json: &str) -> Option<String> {
    let texts: Texts = serde_json::from_str(json).ok()?;
    let message = match texts.callback.as_deref() {
        Some("onEndMessage") => texts.complete_content,
        _ => None,
    };
    texts.prompt.or(message).or(texts.reason).or(texts.error)
}

/// The words of a search.
#[derive(Clone, Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// `None` if there is nothing to search for.
    pub(super) fn new(text: &str) -> Option<Self> {
        // A word without letters or digits, such as a dash, is never indexed.
        let has_token = |word: &&str| word.chars().any(char::is_alphanumeric);
        let words: Vec<_> = text.split_whitespace().filter(has_token).map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// As an FTS5 query: all of the words, the last one as a prefix.
    pub(super) fn to_match(&self) -> String {
        let quoted: Vec<_> =
            self.0.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
        format!("{}*", quoted.join(" "))
    }

    /// Whether all of the words are in a text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let tokens = tokens(text);
        let wanted: Vec<_> = self.0.iter().flat_map(|word| self::tokens(word)).collect();
        let Some((last, others)) = wanted.split_last() else { return false };
        others.iter().all(|word| tokens.contains(word))
            && tokens.iter().any(|token| token.starts_with(last))
    }

    /// The part of a text around the first hit, on one line, with the hit between `«` and `»`.
    pub(super) fn snippet(&self, text: &str) -> String {
        let characters: Vec<char> = text
            .split_whitespace()
            .flat_map(|word| word.chars().chain([' ']))
            .filter(|character| !MARKS.contains(character))
            .collect();
        let hit = self.0.iter().filter_map(|word| find(&characters, word)).min();
        let (start, end) = hit.unwrap_or((0, 0));
        let (from, to) = (start.saturating_sub(CONTEXT), (end + CONTEXT).min(characters.len()));
        let part = |from: usize, to: usize| characters[from..to].iter().collect::<String>();
        let before = format!("{}{}", if from > 0 { "…" } else { "" }, part(from, start));
        let after = format!("{}{}", part(end, to), if to < characters.len() { "…" } else { "" });
        if hit.is_none() {
            return after.trim().to_owned();
        }
        let [open, close] = MARKS;
        format!("{}{open}{}{close}{}", before.trim_start(), part(start, end), after.trim_end())
    }
}

fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Start and end of a word, ignoring case; where a word begins, if there is such a place. Only the
/// first character of a longer lower-case form is compared.
fn find(text: &[char], word: &str) -> Option<(usize, usize)> {
    let fold = |character: char| character.to_lowercase().next().unwrap_or(character);
    let word: Vec<char> = word.chars().map(fold).collect();
    let is_here = |part: &[char]| {
        part.iter().zip(&word).all(|(character, wanted)| fold(*character) == *wanted)
    };
    let mut hits = text
        .windows(word.len().max(1))
        .enumerate()
        .filter(|(_, part)| is_here(part))
        .map(|it| it.0);
    let first = hits.next()?;
    let begins = |start: usize| start == 0 || !text[start - 1].is_alphanumeric();
    let start =
        if begins(first) { first } else { hits.find(|start| begins(*start)).unwrap_or(first) };
    Some((start, start + word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_messages_decisions_and_errors_are_searched() {
        for (json, text) in [
            (r#"{"callback":"onUserPrompt","prompt":"p"}"#, Some("p")),
            (r#"{"callback":"onEndMessage","messageId":"1","completeContent":"m"}"#, Some("m")),
            (r#"{"callback":"onEndReasoning","reasoningId":"1","completeContent":"r"}"#, None),
            (r#"{"callback":"taskDecision","reason":"d","kind":"Misc"}"#, Some("d")),
            (r#"{"sessionError":"e"}"#, Some("e")),
            (r#"{"callback":"onIdle"}"#, None),
            ("[]", None),
        ] {
            assert_eq!(text_of(json).as_deref(), text, "{json}");
        }
    }

    #[test]
    fn a_hit_is_shown_with_what_is_around_it() {
        let snippet = |words: &str, text: &str| Words::new(words).expect("words").snippet(text);
        assert_eq!(snippet("world", "hello\n  World, «all»"), "hello «World», all");
        assert_eq!(snippet("nowhere", "some text"), "some text");
        assert_eq!(snippet("r", "for a river"), "for a «r»iver", "where a word begins");
        assert_eq!(snippet("iver", "for a river"), "for a r«iver»", "or else anywhere");
        let long = format!("{} needle {}", "a".repeat(200), "b".repeat(200));
        let shown = snippet("needle", &long);
        assert!(shown.starts_with("…a") && shown.ends_with("b…"), "{shown}");
        assert!(shown.contains("a «needle» b"), "{shown}");
        assert_eq!(shown.chars().count(), 2 * CONTEXT + "needle".len() + 4);
    }

    #[test]
    fn words_are_found_whole_and_the_last_one_by_its_beginning() {
        let are_in = |words: &str, text: &str| Words::new(words).expect("words").are_in(text);
        assert!(are_in("Build fail", "the build has failed"));
        assert!(!are_in("fail build", "the build has failed"));
        assert!(are_in("src/main.rs", "look at src/main.rs, please"));
        assert!(Words::new(" - ").is_none());
        assert_eq!(Words::new("a \"b").expect("words").to_match(), "\"a\" \"\"\"b\"*");
    }
}
