//! `cargo xtask bench [WHAT…]`: what the release costs, measured.

mod load;
mod size;

use crate::workspace::Workspace;
use crate::{process, release};

/// Something to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Benchmark {
    /// What a first visit downloads.
    Size,
    /// What a push to a live log costs.
    LiveLog,
    /// What the server does under load: every scenario, or those whose names begin so.
    Load(String),
}

impl Benchmark {
    /// Everything, in the order of the report.
    fn all() -> Vec<Self> {
        vec![Self::Size, Self::LiveLog, Self::Load(String::new())]
    }

    /// By its name on the command line.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "size" => Some(Self::Size),
            "live-log" => Some(Self::LiveLog),
            "load" => Some(Self::Load(String::new())),
            _ => {
                let scenario = name.strip_prefix("load:")?;
                load::has_scenario(scenario).then(|| Self::Load(scenario.to_owned()))
            }
        }
    }
}

/// Builds what is to be measured and prints the reports; nothing chosen means everything.
pub(crate) fn run(workspace: &Workspace, chosen: &[Benchmark]) -> anyhow::Result<()> {
    let all = Benchmark::all();
    let chosen = if chosen.is_empty() { &all } else { chosen };
    let needs_release = chosen.iter().any(|benchmark| *benchmark != Benchmark::LiveLog);
    let release = if needs_release { Some(release::build(workspace)?) } else { None };
    for benchmark in chosen {
        match (benchmark, &release) {
            (Benchmark::Size, Some(release)) => {
                println!("\nDownload of a first visit\n{}", size::measure(release)?);
            }
            (Benchmark::Load(scenario), Some(release)) => {
                println!("\nThe server under load");
                load::run(&release.binary, scenario)?;
            }
            _ => {
                println!("\nPushing to a live log");
                let example = ["run", "--release", "-p", "engine", "--example", "live_log"];
                process::run(&mut workspace.cargo(example))?;
            }
        }
    }
    Ok(())
}
