//! Builds and serves the portal with cargo-leptos, which developers use to see their edits at once.
//!
//! ```text
//! xtask ── cargo leptos build                     its exit code can be trusted
//!       ── cargo leptos serve ── copilot-portal   in a process group of their own
//!       ── Playwright ── http://127.0.0.1:PORT    does the page hydrate?
//!       ── GET /api/stop, then the whole group is ended
//! ```

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, bail};
use xtask::build;
use xtask::report::Counts;

use crate::process::{self, Group};
use crate::workspace::Workspace;
use crate::{browser, toolchain};

/// The test that only checks whether the page hydrates.
const HYDRATION_TEST: &str = "tests/hydration.spec.ts";
const START_LIMIT: Duration = Duration::from_mins(5);
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// Installs what is missing, builds with cargo-leptos and checks in a browser whether the served
/// page hydrates.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<ExitCode> {
    toolchain::ensure_wasm_target(workspace)?;
    let tools = Tools::install(workspace)?;
    // `serve` succeeds even if it could not compile, hence the separate build.
    process::run(tools.allow(&mut workspace.cargo(["leptos", "build"])))?;
    let Counts { passed, failed } = test_hydration(workspace, &tools)?;
    println!("\n{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A program from the registry, in a matching version.
struct Tool {
    package: &'static str,
    version: &'static str,
    /// The command that prints its version.
    ask: &'static [&'static str],
    /// Additional options for `cargo install`.
    options: &'static [&'static str],
    /// How long it takes to compile on two cores.
    time: Duration,
}

/// Its lock file requires a newer compiler than ours, but it compiles with ours.
const CARGO_LEPTOS: Tool = Tool {
    package: "cargo-leptos",
    version: "0.3.11",
    ask: &["cargo-leptos", "leptos"],
    options: &["--ignore-rust-version"],
    time: Duration::from_mins(6),
};

/// Must have exactly the version of the library. Without it cargo-leptos would download one.
const WASM_BINDGEN: Tool = Tool {
    package: "wasm-bindgen-cli",
    version: "0.2.129",
    ask: &["wasm-bindgen"],
    options: &["--no-default-features", "--bin", "wasm-bindgen"],
    time: Duration::from_mins(2),
};

impl Tool {
    /// Whether a program with the right version is on this search path.
    fn is_on(&self, search_path: &OsStr) -> bool {
        let [program, arguments @ ..] = self.ask else { return false };
        let mut ask = process::command(program);
        ask.args(arguments).arg("--version").env("PATH", search_path);
        process::capture(&mut ask)
            .is_ok_and(|answer| answer.split_whitespace().any(|word| word == self.version))
    }
}

/// cargo-leptos and the programs it calls.
struct Tools {
    /// The search path with their folder in front.
    search_path: OsString,
}

impl Tools {
    /// Those on the search path, else those below the target folder, else they are compiled.
    fn install(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.target.join("tools");
        let ours = std::iter::once(folder.join("bin"));
        let path = env::var_os("PATH").unwrap_or_default();
        let search_path = env::join_paths(ours.chain(env::split_paths(&path)))?;
        for tool in [CARGO_LEPTOS, WASM_BINDGEN] {
            if tool.is_on(&search_path) {
                continue;
            }
            let Tool { package, version, options, time, .. } = tool;
            eprintln!("Installing {package} {version} in {}", folder.display());
            let mut install = workspace.cargo(["install", package, "--version", version]);
            install.args(["--locked", "--root"]).arg(&folder).args(options);
            // Programs that run for seconds need not be optimised for minutes.
            install
                .env("CARGO_TARGET_DIR", folder.join("build"))
                .env("CARGO_PROFILE_RELEASE_LTO", "off")
                .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
                .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
                .env("CARGO_PROFILE_RELEASE_DEBUG", "false");
            let status = build::run(&mut install, time, |_| {})?;
            process::check(&install, status)?;
        }
        // Half a gigabyte that is no longer needed.
        let _ = fs::remove_dir_all(folder.join("build"));
        Ok(Self { search_path })
    }

    /// Puts them on a command's search path.
    fn allow<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PATH", &self.search_path)
    }
}

fn test_hydration(workspace: &Workspace, tools: &Tools) -> anyhow::Result<Counts> {
    let browser = browser::install(workspace)?;
    let port = free_port()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut server = Group::spawn(
        tools
            .allow(&mut workspace.cargo(["leptos", "serve", "--", "--port", &port.to_string()]))
            // The default reload port may be taken by a developer's session, and so may the data
            // folder.
            .env("LEPTOS_RELOAD_PORT", free_port()?.to_string())
            .env("COPILOT_PORTAL_STORE", "memory"),
    )?;
    wait_until_ready(&mut server, address)?;
    let url = format!("http://{address}");
    let counts = browser.test(&[HYDRATION_TEST], [("PORTAL_URL", OsStr::new(&url))])?;
    // Whatever cargo-leptos does when its server ends, dropping the group ends the rest.
    if get(address, "/api/stop").is_ok() {
        server.wait(STOP_LIMIT);
    }
    Ok(counts)
}

fn wait_until_ready(server: &mut Group, address: SocketAddr) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while !get(address, "/api/test").is_ok_and(|status| is_success(&status)) {
        if server.has_ended() {
            bail!("`cargo leptos serve` ended before its server answered");
        }
        if Instant::now() >= deadline {
            bail!("`cargo leptos serve` did not answer in {} s", START_LIMIT.as_secs());
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// A port that is free at the moment.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// Requests a path and returns the first line of the response.
pub(crate) fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let limit = Duration::from_secs(5);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    // The first line fits into the first read; the rest does not matter.
    let mut answer = [0; 64];
    let length = stream.read(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer[..length]);
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

fn is_success(status_line: &str) -> bool {
    status_line.split(' ').nth(1).is_some_and(|code| code.len() == 3 && code.starts_with('2'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_of_the_version_that_is_locked() {
        let lock = include_str!("../../../Cargo.lock");
        let package = format!("name = \"wasm-bindgen\"\nversion = \"{}\"", WASM_BINDGEN.version);
        assert!(lock.contains(&package), "{package}");
    }

    #[test]
    fn status_lines_are_read() {
        for (line, expected) in [
            ("HTTP/1.1 200 OK", true),
            ("HTTP/1.1 204", true),
            ("HTTP/1.1 503 Service Unavailable", false),
            ("", false),
        ] {
            assert_eq!(is_success(line), expected, "{line}");
        }
    }

    #[test]
    fn the_first_line_of_an_answer_is_returned() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one visitor");
            let mut request = [0; 256];
            let length = stream.read(&mut request).expect("a request");
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{}").expect("writable");
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        assert_eq!(get(address, "/api/test").expect("answered"), "HTTP/1.1 200 OK");
        assert!(server.join().expect("no panic").starts_with("GET /api/test HTTP/1.1\r\n"));
    }
}
