//! Short names of folders.

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
