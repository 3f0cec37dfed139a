//! What the field for a folder offers while somebody types, and what its keys do.

/// How many folders are remembered.
const MOST: usize = 8;

/// A folder that can be picked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Offer {
    pub(crate) path: String,
    /// Whether it was used before, and is not only what the path can be completed to.
    pub(crate) is_recent: bool,
}

/// What is offered for a text: folders that were used before, then those that complete it. Until
/// something is typed, all that were used before.
pub(crate) fn offers(
    typed: &str,
    is_typing: bool,
    recent: &[String],
    found: &[String],
) -> Vec<Offer> {
    let query = typed.trim().to_lowercase();
    let fits = |path: &&String| !is_typing || path.to_lowercase().contains(&query);
    let is_other = |path: &&String| **path != typed;
    let recent = recent.iter().filter(fits).filter(is_other);
    let mut offers: Vec<_> =
        recent.map(|path| Offer { path: path.clone(), is_recent: true }).collect();
    for path in found.iter().filter(is_other) {
        if !offers.iter().any(|offer| offer.path == *path) {
            offers.push(Offer { path: path.clone(), is_recent: false });
        }
    }
    offers
}

/// The remembered folders after one was used: the last one first.
pub(crate) fn remember(recent: Vec<String>, folder: &str) -> Vec<String> {
    let others = recent.into_iter().filter(|other| other != folder);
    std::iter::once(folder.to_owned()).chain(others).take(MOST).collect()
}

/// The folder that is meant: blanks around it and a separator behind it are none of its name.
pub(crate) fn tidy(typed: &str) -> &str {
    let typed = typed.trim();
    if typed.trim_end_matches('/').is_empty() { typed } else { typed.trim_end_matches('/') }
}

/// A folder as what is inside of it is typed.
pub(crate) fn enter(folder: &str) -> String {
    let separator = if folder.contains('\\') { '\\' } else { '/' };
    format!("{}{separator}", folder.trim_end_matches(separator))
}

/// What the field shows when a key is pressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    /// What is offered; nothing while the list is closed.
    pub(crate) offers: &'a [Offer],
    /// Which of them is marked.
    pub(crate) marked: Option<usize>,
    pub(crate) typed: &'a str,
}

/// What a key does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Shows the list.
    Open,
    Close,
    Mark(usize),
    /// Takes an offer.
    Pick(usize),
    /// Goes on typing with this text.
    Type(String),
}

/// What a key does; `None` if the browser is to handle it.
pub(crate) fn act(key: &str, moment: Moment<'_>) -> Option<Act> {
    let Moment { offers, marked, typed } = moment;
    let last = offers.len().checked_sub(1);
    match (key, last, marked) {
        ("ArrowDown", None, _) => Some(Act::Open),
        ("ArrowDown", Some(last), Some(marked)) if marked < last => Some(Act::Mark(marked + 1)),
        ("ArrowDown", Some(_), _) => Some(Act::Mark(0)),
        ("ArrowUp", Some(_), Some(marked)) if marked > 0 => Some(Act::Mark(marked - 1)),
        ("ArrowUp", Some(last), _) => Some(Act::Mark(last)),
        ("Enter", Some(_), Some(marked)) => Some(Act::Pick(marked)),
        ("Tab", Some(_), Some(marked)) => Some(Act::Type(enter(&offers.get(marked)?.path))),
        // As in a shell. Where there is nothing to add, the key leaves the field as always.
        ("Tab", Some(_), None) => common_start(offers, typed).map(Act::Type),
        ("Escape", Some(_), _) => Some(Act::Close),
        _ => None,
    }
}

/// What all completions of a text begin with, if that is more than the text.
fn common_start(offers: &[Offer], typed: &str) -> Option<String> {
    let mut completions =
        offers.iter().map(|offer| &*offer.path).filter(|path| path.starts_with(typed));
    let first = completions.next().filter(|_| !typed.is_empty())?;
    let mut is_only = true;
    let common = completions.fold(first, |common, path| {
        is_only = false;
        let same = common.char_indices().zip(path.chars()).find(|((_, a), b)| a != b);
        let end = same.map_or(common.len().min(path.len()), |((at, _), _)| at);
        &common[..end]
    });
    if is_only {
        return Some(enter(common));
    }
    (common.len() > typed.len()).then(|| common.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn found(paths: &[&str]) -> Vec<Offer> {
        paths.iter().map(|path| Offer { path: (*path).to_owned(), is_recent: false }).collect()
    }

    #[test]
    fn recent_folders_come_first_and_nothing_comes_twice() {
        let recent = texts(&["/home/me/portal", "/srv/site"]);
        let completions = texts(&["/home/me/play", "/home/me/portal"]);
        let paths = |typed, is_typing| {
            let offers = offers(typed, is_typing, &recent, &completions);
            let marks = offers.into_iter().map(|offer| (offer.path, offer.is_recent));
            marks.collect::<Vec<_>>()
        };
        let of = |list: &[(&str, bool)]| {
            list.iter().map(|(path, recent)| ((*path).to_owned(), *recent)).collect::<Vec<_>>()
        };
        assert_eq!(
            paths("/home/me/p", true),
            of(&[("/home/me/portal", true), ("/home/me/play", false)])
        );
        assert_eq!(
            paths("SITE", true),
            of(&[("/srv/site", true), ("/home/me/play", false), ("/home/me/portal", false)])
        );
        // What is in the field already is no offer; all others are, until something is typed.
        assert_eq!(
            paths("/home/me/portal", false),
            of(&[("/srv/site", true), ("/home/me/play", false)])
        );
    }

    #[test]
    fn the_last_folders_are_remembered_once_each() {
        let mut recent = Vec::new();
        for folder in ["/a", "/b", "/a"] {
            recent = remember(recent, folder);
        }
        assert_eq!(recent, ["/a", "/b"]);
        for number in 0..20 {
            recent = remember(recent, &format!("/{number}"));
        }
        assert_eq!((recent.len(), &*recent[0]), (MOST, "/19"));
    }

    #[test]
    fn blanks_and_separators_at_the_end_are_no_part_of_a_folder() {
        for (typed, folder) in
            [(" /a/b// ", "/a/b"), ("/", "/"), ("", ""), ("a", "a"), (r"C:\", r"C:\")]
        {
            assert_eq!(tidy(typed), folder);
        }
        assert_eq!(
            (enter("/a"), enter("/"), enter(r"C:\x")),
            ("/a/".to_owned(), "/".to_owned(), r"C:\x\".to_owned())
        );
    }

    #[test]
    fn keys_walk_through_the_list_and_take_from_it() {
        let offers = found(&["/a/one", "/a/other"]);
        let act = |key, marked| act(key, Moment { offers: &offers, marked, typed: "/a/" });
        for (key, marked, done) in [
            ("ArrowDown", None, Some(Act::Mark(0))),
            ("ArrowDown", Some(0), Some(Act::Mark(1))),
            ("ArrowDown", Some(1), Some(Act::Mark(0))),
            ("ArrowUp", None, Some(Act::Mark(1))),
            ("ArrowUp", Some(1), Some(Act::Mark(0))),
            ("Enter", Some(1), Some(Act::Pick(1))),
            // Nothing is chosen: the form is sent.
            ("Enter", None, None),
            ("Tab", Some(1), Some(Act::Type("/a/other/".to_owned()))),
            ("Tab", None, Some(Act::Type("/a/o".to_owned()))),
            ("Escape", None, Some(Act::Close)),
            ("x", Some(0), None),
        ] {
            assert_eq!(act(key, marked), done, "{key} {marked:?}");
        }
    }

    #[test]
    fn a_closed_list_leaves_the_keys_alone() {
        let act = |key| act(key, Moment { offers: &[], marked: None, typed: "/a" });
        assert_eq!(act("ArrowDown"), Some(Act::Open));
        for key in ["ArrowUp", "Enter", "Tab", "Escape"] {
            assert_eq!(act(key), None, "{key}");
        }
    }

    #[test]
    fn tab_completes_what_is_certain() {
        for (paths, typed, done) in [
            (&["/home"][..], "/ho", Some("/home/")),
            (&["/home/a", "/home/ab"], "/home/", Some("/home/a")),
            (&["/home/a", "/home/ab"], "/home/a", None),
            (&["/hä", "/hö"], "/h", None),
            // A folder that was used before, found by a word in it.
            (&["/srv/site"], "site", None),
            (&["/srv/site"], "", None),
        ] {
            assert_eq!(common_start(&found(paths), typed).as_deref(), done, "{typed}");
        }
    }
}
