//! `bench build`: build times for newcomers and developers, from a fresh clone with its own cargo
//! home. Takes half an hour on two cores, and is only meaningful if nothing else runs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, process as this};

use anyhow::{Context, bail};
use xtask::step::Step;

use super::figures::{Goal, Unit};
use crate::leptos::get;
use crate::process::{self, Group};
use crate::workspace::Workspace;

/// The source file of a page, a text in it, and its replacement.
const PAGE: (&str, &str, &str) = (
    "app/src/pages/not_found.rs",
    "There is nothing at this address.",
    "Nothing is at this address.",
);

pub(super) fn measure(workspace: &Workspace) -> anyhow::Result<Vec<Goal>> {
    let clone = Clone::make(workspace)?;
    let mut goals = Vec::new();
    let mut note = |name: &str, limit: Option<f64>, time: Duration| {
        let goal = match limit {
            Some(limit) => Goal::new(name, Unit::Seconds, limit),
            None => Goal::unlimited(name, Unit::Seconds),
        };
        let goal = goal.measured(time.as_secs_f64());
        println!("{name}: {}", goal.value());
        goals.push(goal);
    };
    note("first serve from a fresh clone", Some(420.0), clone.serve()?);
    note("second serve", Some(5.0), clone.serve()?);
    clone.change_page()?;
    note("serve after a change in a page", Some(60.0), clone.serve()?);
    note("server alone, without Copilot", None, clone.build_server(&["--no-default-features"])?);
    note("server alone, with Copilot", None, clone.build_server(&[])?);

    // From scratch, as in CI.
    let clone = Clone::make(workspace)?;
    let steps: Vec<&str> = Step::ALL.iter().flat_map(|step| ["--only", step.name()]).collect();
    note("every check from a fresh clone", Some(1200.0), clone.test(&steps)?);
    clone.change_page()?;
    note("every check after a change in a page", Some(240.0), clone.test(&[])?);
    Ok(goals)
}

/// A clone with its own caches; removed on drop.
struct Clone {
    folder: PathBuf,
}

impl Clone {
    fn make(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = env::temp_dir().join(format!("copilot-portal-bench-{}", this::id()));
        // Left by an earlier clone.
        let _ = fs::remove_dir_all(&folder);
        let clone = Self { folder };
        fs::create_dir_all(clone.cargo_home())?;
        let mut git = process::command("git");
        git.args(["clone", "--quiet"]).arg(&workspace.root).arg(clone.repository());
        process::run(&mut git)?;
        // The user's choice of a registry applies here, too.
        if let Some(home) = env::home_dir() {
            let settings = home.join(".cargo/config.toml");
            if settings.exists() {
                fs::copy(settings, clone.cargo_home().join("config.toml"))?;
            }
        }
        Ok(clone)
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    fn cargo_home(&self) -> PathBuf {
        self.folder.join("cargo")
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = process::command("cargo");
        command.args(arguments).current_dir(self.repository());
        command.env("CARGO_HOME", self.cargo_home()).env_remove("CARGO_TARGET_DIR");
        // Set by the cargo that runs this program: the clone is another repository.
        command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        command
    }

    /// The time until the server announces that it serves; then it is stopped.
    fn serve(&self) -> anyhow::Result<Duration> {
        let mut command = self.cargo(&["xtask", "serve", "--", "--port", "0", "--test"]);
        let start = Instant::now();
        let mut server = Group::spawn(command.stdout(Stdio::piped()))?;
        let output = server.output().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let time = start.elapsed();
        let Some(address) = line.trim().strip_prefix("http://localhost:") else {
            bail!("it did not serve: `{line}`");
        };
        get(([127, 0, 0, 1], address.parse()?).into(), "/api/stop")?;
        server.wait(Duration::from_secs(15));
        Ok(time)
    }

    /// Compiles the server as `serve` does, into a separate folder.
    fn build_server(&self, options: &[&str]) -> anyhow::Result<Duration> {
        let target = self.folder.join("target");
        let mut command = self.cargo(&["build", "--quiet", "-p", "server"]);
        let start = Instant::now();
        process::run(command.args(options).env("CARGO_TARGET_DIR", &target))?;
        let time = start.elapsed();
        fs::remove_dir_all(target)?;
        Ok(time)
    }

    fn test(&self, options: &[&str]) -> anyhow::Result<Duration> {
        let start = Instant::now();
        process::run(self.cargo(&["xtask", "test"]).args(options).env_remove("CI"))?;
        Ok(start.elapsed())
    }

    fn change_page(&self) -> anyhow::Result<()> {
        let (file, old, new) = PAGE;
        let path: &Path = &self.repository().join(file);
        let text = fs::read_to_string(path)?;
        let changed = text.replacen(old, new, 1);
        if changed == text {
            bail!("{file} has no `{old}` to change");
        }
        Ok(fs::write(path, changed)?)
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        // If this fails, the system's clean-up of temporary files removes it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
