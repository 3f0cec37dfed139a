//! The measured server: its start, its end, and its resource usage.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, bail};
use tokio::time::{Instant, sleep, timeout};

use super::client::{Client, Target};
use crate::process;

/// Time limit of a clean shutdown.
const STOP_DEADLINE: Duration = Duration::from_secs(6);
/// The unit of CPU times in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// A running server; killed on drop unless it was stopped.
pub(in crate::bench) struct Server {
    child: Child,
    /// Kept open: a server that cannot write its start-up lines exits.
    output: BufReader<ChildStdout>,
    pub(in crate::bench) target: Target,
}

impl Server {
    pub(in crate::bench) fn start(binary: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = process::command(binary);
        command.args(["--test", "--port", "0"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        // A folder without settings of the user.
        command.current_dir(env::temp_dir()).env_remove("RUST_LOG");
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("COPILOT_PORTAL_") {
                command.env_remove(&name);
            }
        }
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        let output = child.stdout.take().context("the server has no output")?;
        let target = Target::new((Ipv4Addr::LOCALHOST, 0).into());
        // From here on it is killed on drop.
        let mut server = Self { child, output: BufReader::new(output), target };
        let mut line = String::new();
        server.output.read_line(&mut line)?;
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port: u16 = port.with_context(|| format!("the server says no port: `{line}`"))?;
        server.target = Target::new((Ipv4Addr::LOCALHOST, port).into());
        Ok(server)
    }

    /// Stops it as a client would. If it does not end in time, it is killed and an error returned.
    pub(in crate::bench) async fn stop(&mut self) -> anyhow::Result<()> {
        let asked = async { Client::connect(&self.target).await?.post("stop", "").await.map(drop) };
        let asked = timeout(STOP_DEADLINE, asked).await;
        let deadline = Instant::now() + STOP_DEADLINE;
        while self.child.try_wait()?.is_none() {
            if asked.is_err() || Instant::now() >= deadline {
                bail!("the server did not stop when asked");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// CPU time so far in seconds, if the system provides it.
    pub(in crate::bench) fn cpu_seconds(&self) -> Option<f64> {
        cpu_seconds(&self.read("stat")?)
    }

    /// Memory in use in MB, if the system provides it.
    pub(in crate::bench) fn memory(&self) -> Option<f64> {
        megabytes(&self.read("status")?, "VmRSS:")
    }

    /// Peak memory in MB, if the system provides it.
    pub(in crate::bench) fn peak_memory(&self) -> Option<f64> {
        megabytes(&self.read("status")?, "VmHWM:")
    }

    /// Its usage since `cpu_before`, as text.
    pub(in crate::bench) fn usage(&self, cpu_before: Option<f64>) -> String {
        let cpu = self.cpu_seconds().zip(cpu_before);
        match (cpu, self.peak_memory()) {
            (Some((now, before)), Some(peak)) => {
                format!("{:.2} CPU s, peak {peak:.1} MB", now - before)
            }
            _ => "CPU and memory not measured".to_owned(),
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// User and system time from `/proc/PID/stat`. The name in brackets may contain anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(|ticks| ticks.parse::<u32>().ok());
    let ticks = times.next()?? + times.next()??;
    Some(f64::from(ticks) / TICKS_PER_SECOND)
}

/// A line of `/proc/PID/status`, which uses units of 1024 bytes.
fn megabytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u32 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kibibytes) * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "42 (a) 7 b) S 1 42 42 0 -1 4194560 900 0 0 0 150 50 0 0 20 0 3 0 99 1 2";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("42 (x) S 1"), None);
    }

    #[test]
    fn memory_is_read_by_name() {
        let status = "Name:\tx\nVmHWM:\t    2000 kB\nVmRSS:\t    1000 kB\n";
        assert_eq!(megabytes(status, "VmRSS:"), Some(1.024));
        assert_eq!(megabytes(status, "VmHWM:"), Some(2.048));
        assert_eq!(megabytes(status, "VmSwap:"), None);
    }
}
