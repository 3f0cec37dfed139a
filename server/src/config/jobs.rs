//! What is decided about jobs that the server's end cuts off.

use serde::Deserialize;
use wire::entry::OnInterrupted;

/// `[jobs]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct JobsTable {
    pub(super) on_interrupted: Option<OnInterrupted>,
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder_with, message, planted, run};
    use super::*;

    #[test]
    fn what_happens_to_interrupted_works_comes_from_wherever_it_is_set() {
        let folder = folder_with("[jobs]\nonInterrupted = 'ask'\n");
        let read = |arguments: &[&str]| run(arguments, folder.path()).expect("valid");
        assert_eq!(read(&[]).on_interrupted, OnInterrupted::Ask);
        let given = read(&["--on-interrupted", "resume"]).on_interrupted;
        assert_eq!(given, OnInterrupted::Resume, "the command line wins over the file");
        let empty = tempfile::tempdir().expect("temporary folder");
        let settings = run(&[], empty.path()).expect("defaults");
        assert_eq!(settings.on_interrupted, OnInterrupted::Resume);
    }

    #[test]
    fn mistakes_say_what_is_accepted() {
        for (file, problem) in [
            ("[jobs]\nonInterrupted = 'retry'\n", "portal.toml:2: unknown variant `retry`"),
            ("[jobs]\nonInterrupted = true\n", "portal.toml:2: "),
            ("[jobs]\ninterrupted = 'ask'\n", "portal.toml:2: unknown field `interrupted`"),
        ] {
            let error = message(&[], folder_with(file).path());
            assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
        }
        let empty = tempfile::tempdir().expect("temporary folder");
        let error = message(&["--on-interrupted", "retry"], empty.path());
        assert!(error.contains("resume, ask and fail are accepted"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }

    #[test]
    fn a_file_in_the_working_directory_can_only_make_the_server_more_careful() {
        use OnInterrupted::{Ask, Fail, Resume};
        for (own, found, expected, is_ignored) in [
            ("resume", "resume", Resume, false),
            ("resume", "ask", Ask, false),
            ("resume", "fail", Fail, false),
            ("ask", "resume", Ask, true),
            ("ask", "ask", Ask, false),
            ("ask", "fail", Fail, false),
            ("fail", "resume", Fail, true),
            ("fail", "ask", Fail, true),
            ("fail", "fail", Fail, false),
        ] {
            let folder = folder_with(&format!("[jobs]\nonInterrupted = '{found}'\n"));
            let settings = planted(&["--on-interrupted", own], folder.path());
            assert_eq!(settings.on_interrupted, expected, "{own} {found}");
            let notices = settings.notices.concat();
            assert_eq!(notices.contains("jobs.onInterrupted"), is_ignored, "{notices}");
        }
    }
}
