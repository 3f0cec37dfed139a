//! Nobody acts by accident: what a browser sends on its own must not start or stop anything.

use std::io::Read;

use tests::program::{Program, Running};

const KEY: &str = "correct-horse-battery";

/// A server that is reached under another name than localhost.
fn named() -> Running {
    Program::new(&["--allowed-host", "portal.lan"]).start()
}

/// `GET /api/stop` with these header lines; returns the status.
fn stop(server: &Running, head: &str) -> u16 {
    let request = format!("GET /api/stop HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
    let mut answer = String::new();
    server.send(&request).read_to_string(&mut answer).expect("an answer");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[test]
fn an_image_on_a_plain_http_name_does_not_stop_the_server() {
    let server = named();
    // What Chromium sends for a picture where it trusts neither side: no Sec-Fetch at all.
    let picture = "Host: portal.lan\r\nAccept: image/avif,image/webp,*/*;q=0.8\r\n";
    assert_eq!(stop(&server, picture), 403);
    assert_eq!(stop(&server, "Host: portal.lan\r\nAccept: text/html,*/*\r\n"), 403, "a link");
    assert_eq!(stop(&server, "Host: portal.lan\r\n"), 403, "not even a script");
    assert!(server.is_alive());
}

#[test]
fn a_get_with_traces_of_a_browser_does_not_act_on_loopback() {
    let server = named();
    for trace in [
        "Origin: http://localhost\r\n",
        "Referer: http://localhost/\r\n",
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
        "Sec-Fetch-Site: none\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        assert_eq!(stop(&server, &format!("Host: localhost\r\n{trace}")), 403, "{trace}");
    }
    let went = "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(stop(&server, &format!("Host: localhost\r\n{went}")), 200, "a page that asks");
    assert!(server.is_alive());
}

#[test]
fn a_script_on_loopback_still_acts_by_get() {
    for head in ["", "Sec-Fetch-Mode: cors\r\nAccept: */*\r\nUser-Agent: node\r\n"] {
        let mut server = named();
        assert_eq!(stop(&server, &format!("Host: localhost\r\n{head}")), 200);
        server.wait_for("the end", |server| {
            server.child.try_wait().expect("our child").is_some_and(|status| status.success())
        });
    }
}

#[test]
fn who_shows_the_key_acts_by_get_under_any_name() {
    let mut server = Program::new(&["--allowed-host", "portal.lan", "--access-key", KEY]).start();
    assert_eq!(stop(&server, "Host: portal.lan\r\n"), 401);
    let wrong = "Host: portal.lan\r\nAuthorization: Bearer wrong-horse-battery\r\n";
    assert_eq!(stop(&server, wrong), 401);
    let right = format!("Host: portal.lan\r\nAuthorization: Bearer {KEY}\r\n");
    assert_eq!(stop(&server, &right), 200);
    server.wait_for("the end", |server| {
        server.child.try_wait().expect("our child").is_some_and(|status| status.success())
    });
}

#[test]
fn ambiguous_heads_are_refused() {
    let server = named();
    let twice = |line: &str| stop(&server, &format!("Host: localhost\r\n{line}{line}"));
    assert_eq!(twice("Origin: http://localhost\r\n"), 400);
    assert_eq!(twice("Authorization: Bearer x\r\n"), 400);
    assert_eq!(twice("Host: localhost\r\n"), 403);
    assert!(server.is_alive());
}
