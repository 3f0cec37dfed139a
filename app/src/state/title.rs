//! Titles of pages and tabs, and short names of folders.

/// How many characters of a prompt name a session.
const LONGEST_NAME: usize = 60;

/// The title of a page whose tab counts what waits for a person: `(2) Fix login redirect`.
pub(crate) fn page_title(title: &str, waiting: usize) -> String {
    match waiting {
        0 => title.to_owned(),
        waiting => format!("({waiting}) {title}").trim_end().to_owned(),
    }
}

/// The name of a session without a title: the first words of its prompt.
pub(crate) fn name_of_prompt(prompt: &str) -> String {
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(LONGEST_NAME) else { return line.to_owned() };
    // Not in the middle of a word, unless that is all there is.
    let cut = line[..end].rfind(' ').filter(|cut| *cut > end / 2).unwrap_or(end);
    format!("{}…", line[..cut].trim_end())
}

/// A folder as people know it: from their home on if it is known and the folder is in it, otherwise
/// its last two names.
pub(crate) fn short_folder(folder: &str, home: Option<&str>) -> String {
    let folder = if folder.len() > 1 { folder.trim_end_matches('/') } else { folder };
    let home = home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
    if let Some(below) = home.and_then(|home| folder.strip_prefix(home))
        && (below.is_empty() || below.starts_with('/'))
    {
        return format!("~{below}");
    }
    // Windows has other separators; there, too, the last names are what counts.
    let separator = |c: char| matches!(c, '/' | '\\');
    let start = folder.rmatch_indices(separator).nth(1).map_or(0, |(at, _)| at + 1);
    // What stands for the rest must not be longer than it.
    if start > "…/".len() { format!("…/{}", &folder[start..]) } else { folder.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_counts_what_waits() {
        assert_eq!(page_title("Inbox", 0), "Inbox");
        assert_eq!(page_title("Fix login redirect", 2), "(2) Fix login redirect");
        assert_eq!(page_title("", 2), "(2)");
    }

    #[test]
    fn a_session_is_named_by_the_first_words_of_its_prompt() {
        let long = "word ".repeat(20);
        let name = name_of_prompt(&long);
        assert_eq!(name, format!("{}…", "word ".repeat(12).trim_end()));
        assert_eq!(name_of_prompt(&"ä".repeat(61)), format!("{}…", "ä".repeat(60)));
        assert_eq!(name_of_prompt("\n  Fix it. \nPlease."), "Fix it.");
        assert_eq!(name_of_prompt(" \n"), "");
    }

    #[test]
    fn a_folder_is_shortened_from_home_or_to_its_last_names() {
        for (folder, home, short) in [
            ("/home/me/src/x", Some("/home/me"), "~/src/x"),
            ("/home/me/src/x/", Some("/home/me/"), "~/src/x"),
            ("/home/me", Some("/home/me"), "~"),
            ("/home/mert/src", Some("/home/me"), "…/mert/src"),
            ("/home/me/src/x", None, "…/src/x"),
            ("/home/me/src/x", Some("/"), "…/src/x"),
            ("/srv/x", None, "/srv/x"),
            ("/x", None, "/x"),
            ("/", None, "/"),
            ("", None, ""),
            (r"C:\Users\me\src", None, r"…/me\src"),
        ] {
            assert_eq!(short_folder(folder, home), short, "{folder}");
        }
    }
}
