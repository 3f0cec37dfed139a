//! `cargo xtask bench [WHAT…]`: runs benchmarks and prints one table at the end.

mod browser;
mod build;
mod figures;
mod live_log;
mod load;
mod size;
mod store;
mod table;

use std::process::ExitCode;

use anyhow::bail;
use xtask::arguments::{BenchOptions, Benchmark};

use crate::kept::Kept;
use crate::product::{self, Kind};
use crate::workspace::Workspace;
use figures::Goal;

/// Builds what is to be measured, measures it, and prints the table. A missed limit is reported but
/// is not a failure: figures depend on the machine.
pub(crate) fn run(workspace: &Workspace, options: &BenchOptions) -> anyhow::Result<ExitCode> {
    let every = String::new;
    let all = [
        Benchmark::Size,
        Benchmark::LiveLog,
        Benchmark::Load(every()),
        Benchmark::Store(every()),
        Benchmark::Browser(every()),
    ];
    let chosen = if options.chosen.is_empty() { &all[..] } else { &options.chosen };
    for benchmark in chosen {
        match benchmark {
            Benchmark::Load(scenario) if !load::has_scenario(scenario) => {
                bail!("unknown benchmark: `load:{scenario}`");
            }
            Benchmark::Store(scenario) if !store::has_scenario(scenario) => {
                bail!("unknown benchmark: `store:{scenario}`");
            }
            _ => {}
        }
    }
    let mut goals = Vec::new();
    for benchmark in chosen {
        goals.extend(measure(workspace, benchmark)?);
    }
    let mut kept = Kept::read(workspace)?;
    println!("\n{}", table::table(&kept, &goals));
    if options.keep {
        table::keep(&mut kept, workspace, &goals)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(workspace: &Workspace, benchmark: &Benchmark) -> anyhow::Result<Vec<Goal>> {
    let release = || product::build(workspace, Kind::Small);
    match benchmark {
        Benchmark::Size => {
            let release = release()?;
            println!("\nDownload of a first visit");
            size::measure(&release)
        }
        Benchmark::LiveLog => {
            println!("\nPushing to a live log");
            live_log::measure(workspace)
        }
        Benchmark::Load(scenario) => {
            let release = release()?;
            println!("\nThe server under load");
            load::run(&release.binary, scenario)
        }
        Benchmark::Store(scenario) => {
            let release = release()?;
            println!("\nThe store");
            store::run(workspace, &release.binary, scenario)
        }
        Benchmark::Browser(script) => {
            let release = release()?;
            println!("\nThe pages, in a browser");
            browser::run(workspace, &release, script)
        }
        Benchmark::Build => {
            println!("\nBuilds from a fresh clone of the last commit");
            build::measure(workspace)
        }
    }
}
