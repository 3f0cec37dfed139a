//! The same portal through cargo-leptos, which developers use to see their edits at once.
//!
//! ```text
//! xtask ── cargo leptos build                     its exit code can be trusted
//!       ── cargo leptos serve ── copilot-portal   in a process group of their own
//!       ── Playwright ── http://127.0.0.1:PORT    does the page hydrate?
//!       ── GET /api/stop, then the whole group is ended
//! ```

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::process::{self, Group};
use crate::report::Counts;
use crate::workspace::Workspace;
use crate::{browser, toolchain};

/// The test that only looks whether the page comes to life.
const HYDRATION_TEST: &str = "tests/hydration.spec.ts";
const START_LIMIT: Duration = Duration::from_mins(5);
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// Whether cargo-leptos can be run.
pub(crate) fn is_installed(workspace: &Workspace) -> bool {
    process::succeeds(&mut workspace.cargo(["leptos", "--version"]))
}

/// Builds with cargo-leptos and, if asked, tests what it serves.
pub(crate) fn check(workspace: &Workspace, with_browser: bool) -> anyhow::Result<Counts> {
    toolchain::ensure_wasm_target(workspace)?;
    // `serve` succeeds even if it could not compile, hence the build of its own.
    process::run(&mut workspace.cargo(["leptos", "build"]))?;
    let mut counts = Counts::PASSED;
    if with_browser {
        counts += test_hydration(workspace)?;
    }
    Ok(counts)
}

fn test_hydration(workspace: &Workspace) -> anyhow::Result<Counts> {
    let browser = browser::install(workspace)?;
    let port = free_port()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut server = Group::spawn(
        workspace
            .cargo(["leptos", "serve", "--", "--port", &port.to_string()])
            // Its own port for reloading the page may be taken by a developer's session.
            .env("LEPTOS_RELOAD_PORT", free_port()?.to_string()),
    )?;
    wait_until_ready(&mut server, address)?;
    let url = format!("http://{address}");
    let counts = browser.test(Some(HYDRATION_TEST), ("PORTAL_URL", OsStr::new(&url)))?;
    // What cargo-leptos does when its server ends is its own affair; dropping the group ends
    // whatever is left.
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

/// A port that is free now.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// Asks for a page and returns the first line of the answer.
fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let limit = Duration::from_secs(5);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    // The first line fits into what arrives first; the rest is of no interest.
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
