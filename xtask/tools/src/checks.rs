//! `cargo xtask test`: runs every check in order and counts them, whatever fails on the way.

use std::env;
use std::ffi::OsStr;
use std::process::{Child, ExitCode, Stdio};
use std::time::Instant;

use xtask::arguments::TestOptions;
use xtask::report::{Counts, Outcome, Summary};
use xtask::step::Step;

use crate::product::{self, Kind, Product};
use crate::toolchain::{self, WASM_TARGET};
use crate::workspace::Workspace;
use crate::{browser, download, licences, packages, process};

/// This program and its front end. Tested separately from the workspace's default members:
/// together, everything would be compiled again with the features of both.
const TOOLS: [&str; 6] = [
    "-p",
    "xtask",
    "-p",
    "xtask-tools",
    "--features",
    "xtask-tools/bench,xtask-tools/checks,xtask-tools/small",
];
/// The browser tests of what differs between the two kinds of products.
const DELIVERY_TESTS: [&str; 2] = ["tests/delivery.spec.ts", "tests/hydration.spec.ts"];

/// Runs the steps and prints the summary. Fails if any check did.
pub(crate) fn run(workspace: &Workspace, options: &TestOptions) -> ExitCode {
    let run = Run { workspace, options };
    let mut summary = Summary::default();
    let steps = chosen(options);
    let mut ahead = compile_ahead(workspace, &steps);
    for step in steps {
        if matches!(step, Step::Test | Step::Browser | Step::Release)
            && let Some(mut release) = ahead.take()
        {
            println!("\n== Waiting for the release, which is compiled beside the lints");
            if step == Step::Test {
                run.compile_tests();
            }
            // If it failed, its own step reports why.
            let _ = release.wait();
        }
        println!("\n== {} ({})", step.title(), step.name());
        let start = Instant::now();
        let outcome = run.step(step).unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            Outcome::Counted(Counts::FAILED)
        });
        if let Outcome::Skipped(reason) = &outcome {
            println!("{reason}");
        }
        summary.add(step.name(), outcome, start.elapsed());
    }
    println!("\n{}", summary.table());
    if summary.total().failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Compiles the release while the lints run, if both are chosen: each leaves a core idle for a
/// minute while it checks the Copilot SDK. They write to different folders. Tests are also compiled
/// at the same time, but run later, because some of them would be disturbed.
fn compile_ahead(workspace: &Workspace, steps: &[Step]) -> Option<Child> {
    if !steps.contains(&Step::Release) || !steps.contains(&Step::Clippy) {
        return None;
    }
    // Two processes must not do this concurrently.
    toolchain::ensure_wasm_target(workspace).ok()?;
    let mut build = process::command(env::current_exe().ok()?);
    build.arg("build").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    build.spawn().ok()
}

/// The steps to run, in order: the chosen ones, or else all. The release compiles everything once
/// more, so it is left to CI.
fn chosen(options: &TestOptions) -> Vec<Step> {
    let is_wanted = |step: Step| match step {
        _ if !options.only.is_empty() => options.only.contains(&step),
        Step::Release => is_set("CI"),
        _ => true,
    };
    Step::ALL.into_iter().filter(|step| is_wanted(*step)).collect()
}

struct Run<'a> {
    workspace: &'a Workspace,
    options: &'a TestOptions,
}

impl Run<'_> {
    fn step(&self, step: Step) -> anyhow::Result<Outcome> {
        let counts = match step {
            Step::Format => {
                toolchain::ensure_components(self.workspace)?;
                self.cargo(["fmt", "--all", "--check"])?
            }
            Step::Clippy => {
                toolchain::ensure_components(self.workspace)?;
                let lint = ["clippy", "--all-targets"];
                let deny = ["--", "-D", "warnings"];
                self.cargo(words(&lint, &[], &deny))?;
                if is_set("CI") {
                    // The code must also compile without the optional backends. Not for tests,
                    // which declare what they need.
                    self.cargo(words(&["clippy", "--no-default-features"], &[], &deny))?;
                }
                self.cargo(words(&lint, &TOOLS, &deny))?
            }
            Step::ClippyWasm => {
                toolchain::ensure_components(self.workspace)?;
                toolchain::ensure_wasm_target(self.workspace)?;
                let packages = ["-p", "frontend", "-p", "app", "--features", "app/hydrate"];
                let target = ["--target", WASM_TARGET, "--", "-D", "warnings"];
                self.cargo(words(&["clippy"], &packages, &target))?
            }
            Step::Documentation => {
                for packages in [&[][..], &TOOLS] {
                    let document = words(&["doc", "--no-deps"], packages, &[]);
                    let mut command = self.workspace.cargo(document);
                    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
                }
                Counts::PASSED
            }
            Step::Test => self.test()?,
            Step::Licences => {
                licences::check(self.workspace)?;
                Counts::PASSED
            }
            Step::Browser => return self.test_browser(Kind::Quick, &[]),
            Step::Release => return self.test_browser(Kind::Small, &DELIVERY_TESTS),
        };
        Ok(Outcome::Counted(counts))
    }

    fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Counts> {
        process::run(&mut self.workspace.cargo(arguments))?;
        Ok(Counts::PASSED)
    }

    fn test(&self) -> anyhow::Result<Counts> {
        // Some tests use the real Copilot CLI, and fail without it.
        packages::install_by_npm(&self.workspace.root.join("tests/copilot-cli"))?;
        // Others use extensions, which run on Node.
        packages::install_by_npm(&self.workspace.root.join("tests/extensions"))?;
        let mut counts = self.count_tests(&[])?;
        counts += self.count_tests(&TOOLS)?;
        Ok(counts)
    }

    /// Compiles the tests. If that fails, the step that runs them reports why.
    fn compile_tests(&self) {
        for packages in [&[][..], &TOOLS] {
            let compile = words(&["test", "--no-run", "--quiet"], packages, &[]);
            process::succeeds(&mut self.workspace.cargo(compile));
        }
    }

    /// Runs the tests of some packages: with nextest, which runs those of all crates concurrently,
    /// or with cargo where it is not installed.
    fn count_tests(&self, packages: &[&str]) -> anyhow::Result<Counts> {
        let mut counts = Counts::default();
        let mut note = |line: &str, result: fn(&str) -> Option<Counts>| {
            process::echo(line);
            counts += result(line).unwrap_or_default();
        };
        let status = if process::succeeds(&mut self.workspace.cargo(["nextest", "--version"])) {
            let test = words(&["nextest", "run", "--no-fail-fast"], packages, &[]);
            process::run_error_lines(&mut self.workspace.cargo(test), |line| {
                note(line, nextest_result);
            })?
        } else {
            let test = words(&["test", "--no-fail-fast"], packages, &[]);
            process::run_lines(&mut self.workspace.cargo(test), |line| note(line, test_result))?
        };
        if !status.success() && counts.failed == 0 {
            // It did not compile, or a test ended its process.
            counts += Counts::FAILED;
        }
        Ok(counts)
    }

    fn test_browser(&self, kind: Kind, files: &[&str]) -> anyhow::Result<Outcome> {
        let product = product::build(self.workspace, kind)?;
        if kind == Kind::Small {
            download::check(self.workspace, &product)?;
        }
        let mut counts = Counts::PASSED;
        if self.options.no_browser {
            return Ok(Outcome::Counted(counts));
        }
        counts += self.browse(&product, files)?;
        Ok(Outcome::Counted(counts))
    }

    fn browse(&self, product: &Product, files: &[&str]) -> anyhow::Result<Counts> {
        let site = product.environment();
        let site = site.as_ref().map(|(name, folder)| (*name, folder.as_os_str()));
        let kind = if site.is_some() { "quick" } else { "small" };
        let server =
            [("PORTAL_BINARY", product.binary.as_os_str()), ("PORTAL_KIND", OsStr::new(kind))];
        browser::install(self.workspace)?.test(files, site.into_iter().chain(server))
    }
}

fn words<'a>(first: &[&'a str], second: &[&'a str], third: &[&'a str]) -> Vec<&'a str> {
    [first, second, third].concat()
}

fn is_set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// The counts in a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn test_result(line: &str) -> Option<Counts> {
    let (_, result) = line.split_once("test result: ")?;
    let (_, numbers) = result.split_once(". ")?;
    let mut counts = Counts::default();
    for part in numbers.split("; ") {
        match part.trim().split_once(' ') {
            Some((number, "passed")) => counts.passed = number.parse().ok()?,
            Some((number, "failed")) => counts.failed = number.parse().ok()?,
            _ => {}
        }
    }
    Some(counts)
}

/// The counts in nextest's last line, such as
/// `Summary [  12.3s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 0 skipped`.
fn nextest_result(line: &str) -> Option<Counts> {
    let (_, result) = line.trim_start().strip_prefix("Summary ")?.split_once(" run: ")?;
    let mut counts = Counts::default();
    for part in result.split(", ") {
        let (number, outcome) = part.trim().split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match outcome.split(' ').next() {
            Some("passed") => counts.passed += number,
            Some("skipped") => {}
            _ => counts.failed += number,
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_cargo_test_are_counted() {
        let counts = |passed, failed| Some(Counts { passed, failed });
        for (line, expected) in [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                counts(3, 0),
            ),
            ("test result: FAILED. 12 passed; 2 failed; 0 ignored", counts(12, 2)),
            ("test result: \u{1b}[32mok\u{1b}[m. 3 passed; 0 failed; 0 ignored", counts(3, 0)),
            ("test tests::result ... ok", None),
        ] {
            assert_eq!(test_result(line), expected, "{line}");
        }
    }

    #[test]
    fn the_summary_of_nextest_is_counted() {
        let counts = |passed, failed| Some(Counts { passed, failed });
        for (line, expected) in [
            ("     Summary [  12.345s] 9 tests run: 9 passed, 0 skipped", counts(9, 0)),
            (
                "     Summary [ 90.0s] 9/12 tests run: 5 passed (2 slow), 3 failed, 1 timed out, 2 skipped",
                counts(5, 4),
            ),
            ("        PASS [   0.012s] engine live::tests::one", None),
        ] {
            assert_eq!(nextest_result(line), expected, "{line}");
        }
    }

    #[test]
    fn chosen_steps_run_in_order_and_alone() {
        let only = |only: &[Step]| TestOptions { no_browser: false, only: only.to_vec() };
        assert_eq!(chosen(&only(&[Step::Release])), [Step::Release]);
        assert_eq!(chosen(&only(&[Step::Test, Step::Format])), [Step::Format, Step::Test]);
        let all = chosen(&only(&[]));
        assert_eq!(all[..7], Step::ALL[..7]);
    }
}
