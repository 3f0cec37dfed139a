//! The steps of `cargo xtask test`.

/// One line of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `cargo fmt --check`.
    Format,
    /// Clippy on the server's side.
    Clippy,
    /// Clippy on the browser's side.
    ClippyWasm,
    /// `cargo doc` without warnings.
    Documentation,
    /// Unit and API tests, and those of the real program.
    Test,
    /// The licences of all dependencies.
    Licences,
    /// Playwright against what `cargo xtask serve` serves.
    Browser,
    /// The release, and the browser tests of how it is delivered.
    Release,
}

impl Step {
    /// In the order they run: the quick ones first.
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

    /// The name that `--only` takes.
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

    /// The step of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// What it does, for a headline.
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
