//! Keys cannot be tried without limit, and a cookie seen by another port is of little use.

use std::fs;
use std::io::Read;

use tests::program::{Program, Running};

const KEY: &str = "correct-horse-battery";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// Logs in with the form; returns the head of the response.
fn log_in(server: &Running, key: &str) -> String {
    let body = format!("key={key}");
    let length = body.len();
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{FORM}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    let mut answer = String::new();
    server.send(&request).read_to_string(&mut answer).expect("an answer");
    answer
}

/// The `Cookie` line of a new login.
fn cookie(server: &Running, key: &str) -> String {
    let answer = log_in(server, key);
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let pair = line.and_then(|line| line.split(';').next()).unwrap_or_else(|| panic!("{answer}"));
    format!("Cookie: {pair}\r\n")
}

#[test]
fn wrong_keys_are_slowed_down() {
    let server = Program::new(&["--access-key", KEY]).start();
    let statuses: Vec<_> =
        (0..20).map(|_| server.call("POST", "/login", FORM, "key=wrong").0).collect();
    assert_eq!(statuses[0], 401, "people mistype");
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    let answer = log_in(&server, KEY);
    assert!(answer.starts_with("HTTP/1.1 429 "), "not even the right one now: {answer}");
    assert!(answer.to_ascii_lowercase().contains("\r\nretry-after: "), "{answer}");

    let guess = "Authorization: Bearer wrong-horse-battery\r\n";
    assert_eq!(server.call("GET", "/api/test", guess, "").0, 429);
    // A caller with the key does not suffer from a neighbour without it.
    let bearer = format!("Authorization: Bearer {KEY}\r\n");
    assert_eq!(server.call("GET", "/api/test", &bearer, "").0, 200);
}

#[test]
fn a_cookie_that_another_port_has_seen_does_not_act() {
    let server = Program::new(&["--access-key", KEY]).start();
    let cookie = cookie(&server, KEY);
    assert!(!cookie.contains(KEY));
    let told = server.call("POST", "/login/secret", &cookie, "");
    assert_eq!(told.0, 200, "{}", told.1);
    // From here on a thief has only the cookie.
    assert_eq!(server.call("POST", "/login/secret", &cookie, "").0, 403);
    for method in ["GET", "POST"] {
        let (status, answer) = server.call(method, "/api/stop", &cookie, "");
        assert_eq!(status, 403, "{answer}");
    }
    let bearer = format!("Authorization: Bearer {KEY}\r\n");
    assert_eq!(server.call("GET", "/api/test", &bearer, "").0, 200, "it still runs");
}

#[test]
fn a_login_can_be_revoked() {
    let server = Program::new(&["--access-key", KEY]).start();
    let [stolen, own] = [cookie(&server, KEY), cookie(&server, KEY)];
    assert_eq!(server.call("GET", "/api/test", &stolen, "").0, 200);
    assert_eq!(server.call("POST", "/logins/end", &own, "").0, 303);
    assert_eq!(server.call("GET", "/api/test", &stolen, "").0, 401);
}

#[test]
fn a_login_outlives_a_kill_until_it_is_ended_for_good() {
    let mut server = Program::new(&["--access-key", KEY, "--store", "sqlite"]).start();
    let [kept, ended] = [cookie(&server, KEY), cookie(&server, KEY)];
    assert_eq!(server.call("POST", "/logout", &ended, "").0, 303);
    server.kill_and_restart();
    assert_eq!(server.call("GET", "/api/test", &ended, "").0, 401);
    assert_eq!(server.call("GET", "/api/test", &kept, "").0, 200);
    assert_eq!(server.call("POST", "/logins/end", &kept, "").0, 303);
    server.kill_and_restart();
    assert_eq!(server.call("GET", "/api/test", &kept, "").0, 401);
}

#[test]
fn a_viewer_of_the_settings_does_not_act() {
    let program = Program::new(&["--access-key", KEY, "--config", "keys.toml"]);
    fs::write(program.work().join("screen.key"), "wall-screen-battery\n").expect("a key file");
    let settings = "[[keys]]\nname = \"screen\"\nrole = \"viewer\"\nkeyFile = \"screen.key\"\n\
                    [[keys]]\nname = \"desk\"\nrole = \"viewer\"\nmayAnswer = true\nkeyEnv = \"DESK\"\n";
    fs::write(program.work().join("keys.toml"), settings).expect("settings");
    let server = program.env("DESK", "answering-machine").start();
    let screen = "Authorization: Bearer wall-screen-battery\r\n";
    assert_eq!(server.call("GET", "/api/config", screen, "").0, 200);
    assert_eq!(server.call("GET", "/api/stop", screen, "").0, 403);
    assert_eq!(server.call("POST", "/approval", screen, "{}").0, 403);
    let desk = "Authorization: Bearer answering-machine\r\n";
    assert_eq!(server.call("POST", "/approval", desk, "{}").0, 400, "allowed, but no answer");
    assert_eq!(server.call("POST", "/api/stop", desk, "").0, 403);
}
