//! The steps of `cargo xtask test`.

/// One line of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Checks the formatting with `cargo fmt --check`.
    Format,
    /// Clippy for the server side.
    Clippy,
    /// Clippy for the browser side.
    ClippyWasm,
    /// `cargo doc` without warnings.
    Documentation,
    /// Unit and API tests, and tests of the real program.
    Test,
    /// Checks the licences of all dependencies.
    Licences,
    /// Playwright against what `cargo xtask serve` serves.
    Browser,
    /// The release, and the browser tests of its delivery.
    Release,
}

impl Step {
    /// In the order in which they run: the quick ones first.
    pub const ALL: [Self; 8] = [
        Self::Format,
        Self::Clippy,
        Self::ClippyWasm,
        Self::Documentation,
        Self::Test,
        Self::Licences,
        Self::Browser,
        Self::Release,
    ];

    /// The name accepted by `--only`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Format => "fmt",
            Self::Clippy => "clippy",
            Self::ClippyWasm => "clippy-wasm",
            Self::Documentation => "doc",
            Self::Test => "test",
            Self::Licences => "licences",
            Self::Browser => "browser",
            Self::Release => "release",
        }
    }

    /// Looks up a step by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// A headline that says what it does.
    pub fn title(self) -> &'static str {
        match self {
            Self::Format => "Formatting",
            Self::Clippy => "Lints of the server's side",
            Self::ClippyWasm => "Lints of the browser's side",
            Self::Documentation => "Documentation",
            Self::Test => "Unit and API tests",
            Self::Licences => "Licences of the dependencies",
            Self::Browser => "Browser tests",
            Self::Release => "Release build and its delivery",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_found_by_its_name() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()), Some(step));
        }
        assert_eq!(Step::named("all"), None);
    }
}
