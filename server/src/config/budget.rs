//! How much tasks, jobs and sessions may use.

use serde::Deserialize;
use wire::Budget;

/// `[budget]`: how much one run of a task or of a job, and one session, may use if nothing else is
/// said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// Limits of tasks that their definition does not have.
    pub tasks: Budget,
    /// Limits of jobs that their definition does not have.
    pub jobs: Budget,
    /// Limits of sessions that users or the bridge open.
    pub sessions: Budget,
}

impl Budgets {
    /// Each of them with the name of its setting.
    pub(super) fn named(&mut self) -> [(&mut Budget, &'static str); 3] {
        [
            (&mut self.tasks, "budget.tasks"),
            (&mut self.jobs, "budget.jobs"),
            (&mut self.sessions, "budget.sessions"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder_with, message, planted, run};
    use super::*;

    fn budget(json: &str) -> Budget {
        serde_json::from_str(json).expect("a budget")
    }

    #[test]
    fn nothing_is_limited_unless_somebody_says_so() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert_eq!(run(&[], folder.path()).expect("defaults").budgets, Budgets::default());
        let folder = folder_with(
            "[budget]\ntasks = { minutes = 30, turns = 20 }\n\
             [budget.jobs]\nminutes = 90.5\ntokens = 2_000_000\n\
             [budget.sessions]\ncost = 10\n",
        );
        let budgets = run(&[], folder.path()).expect("settings").budgets;
        assert_eq!(budgets.tasks, budget(r#"{"minutes":30,"turns":20}"#));
        assert_eq!(budgets.jobs, budget(r#"{"minutes":90.5,"tokens":2000000}"#));
        assert_eq!(budgets.sessions, budget(r#"{"cost":10}"#));
    }

    #[test]
    fn mistakes_name_their_line() {
        for (file, problem) in [
            ("[budget]\ntask = { turns = 1 }\n", "portal.toml:2: unknown field `task`"),
            ("[budget.tasks]\nhours = 1\n", "portal.toml:2: unknown field `hours`"),
            ("[budget.jobs]\nturns = 2\nminutes = 0\n", "portal.toml:3: must be greater than 0"),
            ("[budget.jobs]\n\ncost = -1.5\n", "portal.toml:3: must be greater than 0"),
            ("[budget.jobs]\ncost = nan\n", "portal.toml:2: must be greater than 0"),
            ("[budget.sessions]\nturns = 0\n", "portal.toml:2: "),
            ("[budget.sessions]\ntokens = 1.5\n", "portal.toml:2: "),
            ("[budget.sessions]\ntokens = '1'\n", "portal.toml:2: "),
            ("[budget]\ntasks = [5]\n", "portal.toml:2: "),
        ] {
            let error = message(&[], folder_with(file).path());
            assert!(error.contains(problem), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn a_file_in_the_working_directory_can_only_lower_them() {
        let folder = folder_with(
            "[budget]\ntasks = { minutes = 10, turns = 5 }\njobs = { minutes = 60 }\n\
             sessions = { cost = 1 }\n",
        );
        let own = "[budget]\ntasks = { minutes = 30, tokens = 100 }\njobs = { minutes = 45 }\n";
        std::fs::write(folder.path().join("own.toml"), own).expect("a file");
        let settings = planted(&["--config", "own.toml"], folder.path());
        let tasks = budget(r#"{"minutes":10,"turns":5,"tokens":100}"#);
        assert_eq!(settings.budgets.tasks, tasks);
        assert_eq!(settings.budgets.jobs, budget(r#"{"minutes":45}"#));
        assert_eq!(settings.budgets.sessions, budget(r#"{"cost":1}"#));
        let [notice] = &*settings.notices else { panic!("{:?}", settings.notices) };
        assert!(notice.contains("budget.jobs") && !notice.contains("budget.tasks"), "{notice}");
    }
}
