//! What the palette (Ctrl+K) offers for what was typed, the best first.

/// The distance of a word in the detail: what is scattered over a title is still closer.
const BESIDE: u32 = 100;

/// Something that the palette can open or start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer<K> {
    /// What it is, which decides what picking it does.
    pub(crate) kind: K,
    pub(crate) title: String,
    /// What else can be typed to find it, such as its folder.
    pub(crate) detail: String,
}

/// Indices of the offers that match all words of a query, the best first; of equal ones the one
/// that stands first in the list. Everything matches an empty query.
pub(crate) fn rank<K>(query: &str, offers: &[Offer<K>]) -> Vec<usize> {
    let texts = offers.iter().map(|offer| (&*offer.title, &*offer.detail));
    rank_texts(&query.to_lowercase(), texts)
}

/// The same for titles and details.
fn rank_texts<'a>(query: &str, texts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<usize> {
    let mut ranked: Vec<(u32, usize)> = Vec::new();
    for (index, (title, detail)) in texts.enumerate() {
        let (title, detail) = (title.to_lowercase(), detail.to_lowercase());
        let ratings = query.split_whitespace().map(|word| rate(word, &title, &detail));
        if let Some(sum) = ratings.sum::<Option<u32>>() {
            ranked.push((sum, index));
        }
    }
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, index)| index).collect()
}

/// How far a word is from what it stands for: 0 is best, `None` is no match.
fn rate(word: &str, title: &str, detail: &str) -> Option<u32> {
    if title.starts_with(word) {
        return Some(0);
    }
    let is_word = |at: usize| title[..at].ends_with(|before: char| !before.is_alphanumeric());
    if title.match_indices(word).any(|(at, _)| is_word(at)) {
        return Some(1);
    }
    if title.contains(word) {
        return Some(2);
    }
    if let Some(gaps) = count_gaps(word, title) {
        return Some(3 + gaps);
    }
    detail.contains(word).then_some(BESIDE)
}

/// How often characters of a text are left out between those of a word that is scattered over it;
/// `None` if it is not all there.
fn count_gaps(word: &str, text: &str) -> Option<u32> {
    let mut gaps = 0;
    let mut rest = text;
    for (index, letter) in word.chars().enumerate() {
        let at = rest.find(letter)?;
        gaps += u32::from(index > 0 && at > 0);
        rest = &rest[at + letter.len_utf8()..];
    }
    Some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles<'a>(query: &str, offers: &'a [Offer<()>]) -> Vec<&'a str> {
        rank(query, offers).into_iter().map(|index| &*offers[index].title).collect()
    }

    #[test]
    fn the_best_match_comes_first() {
        let offers = [
            ("History", "page"),
            ("Fix login redirect", "~/src/portal"),
            ("Reflow the log", "~/src/site"),
            ("Login page", "~/src/site"),
            ("Blogging", "~/src/ÄPFEL"),
        ]
        .map(|(title, detail)| Offer {
            kind: (),
            title: title.into(),
            detail: detail.into(),
        });
        for (query, found) in [
            ("log", &["Login page", "Fix login redirect", "Reflow the log", "Blogging"][..]),
            ("LOGIN", &["Login page", "Fix login redirect", "Blogging"]),
            ("page", &["Login page", "History"]),
            ("flr", &["Fix login redirect"]),
            ("rfl", &["Reflow the log"]),
            ("src log", &["Login page", "Fix login redirect", "Reflow the log", "Blogging"]),
            ("site log", &["Login page", "Reflow the log"]),
            ("äpf", &["Blogging"]),
            ("xyz", &[]),
            (" ", &["History", "Fix login redirect", "Reflow the log", "Login page", "Blogging"]),
        ] {
            assert_eq!(titles(query, &offers), found, "{query}");
        }
    }

    #[test]
    fn letters_must_come_in_their_order() {
        for (word, text, gaps) in [
            ("abc", "abc", Some(0)),
            ("abc", "xabxc", Some(1)),
            ("abc", "a-b-c", Some(2)),
            ("äc", "ä c", Some(1)),
            ("ba", "ab", None),
            ("", "ab", Some(0)),
        ] {
            assert_eq!(count_gaps(word, text), gaps, "{word} in {text}");
        }
    }
}
