//! Foreign hosts and foreign pages: refused on every path, and nothing happens.

use axum::body::Body;
use tests::{Options, TestApp};

/// One path of every kind.
const PATHS: [&str; 6] =
    ["/api/stop", "/api/test", "/api/nothing", "/", "/pkg/copilot-portal.js", "/nothing"];

const LINK: [(&str, &str); 3] = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

#[tokio::test]
async fn foreign_pages_reach_nothing() {
    let app = TestApp::new();
    for headers in [
        [("origin", "http://evil.example")],
        [("origin", "null")],
        [("origin", "http://localhost:3000")],
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
    ] {
        for path in PATHS {
            for method in ["GET", "POST"] {
                let reply = app.call(method, path, &headers, Body::empty()).await;
                let expected = (403, "CrossSiteRequest".to_owned());
                assert_eq!(reply.refusal(), expected, "{method} {path} {headers:?}");
            }
        }
    }
    assert!(!app.is_stopping(), "api/stop was called from elsewhere");
}

#[tokio::test]
async fn foreign_hosts_reach_nothing() {
    let app = TestApp::new();
    for host in ["evil.example", "evil.example:8888", "192.168.1.5:8888", ""] {
        for path in PATHS {
            let reply = app.get_with(path, &[("host", host)]).await;
            assert_eq!(reply.refusal(), (403, "HostNotAllowed".into()), "{path} {host:?}");
        }
    }
    assert!(!app.is_stopping(), "api/stop was called under another name");
}

#[tokio::test]
async fn an_absolute_target_must_name_the_same_host() {
    let app = TestApp::new();
    assert_eq!(app.get("http://localhost:8888/api/test").await.status, 200);
    let reply = app.get("http://evil.example/api/stop").await;
    assert_eq!(reply.refusal(), (403, "HostNotAllowed".into()));
    assert!(!app.is_stopping());
}

#[tokio::test]
async fn further_names_are_allowed_when_told() {
    let options = Options { allowed_hosts: vec!["portal.lan".into()], ..Options::default() };
    let app = TestApp::with(options);
    assert_eq!(app.get_with("/api/test", &[("host", "portal.lan:80")]).await.status, 200);
    let own = [("host", "portal.lan"), ("origin", "https://portal.lan")];
    assert_eq!(app.get_with("/api/test", &own).await.status, 200);
    let mixed = [("host", "portal.lan"), ("origin", "http://localhost:8888")];
    assert_eq!(app.get_with("/api/test", &mixed).await.status, 403);
}

#[tokio::test]
async fn own_pages_and_scripts_pass() {
    for headers in [
        &[][..],
        &[("origin", "http://localhost:8888")],
        &[("origin", "http://localhost:8888"), ("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
        &[("host", "127.0.0.1:8888"), ("origin", "http://127.0.0.1:8888")],
        &[("host", "[::1]:8888")],
    ] {
        let app = TestApp::new();
        let reply = app.call("POST", "/api/stop", headers, Body::empty()).await;
        assert_eq!(reply.status, 200, "{headers:?}");
        assert!(app.is_stopping(), "{headers:?}");
    }
}

#[tokio::test]
async fn links_from_elsewhere_open_pages_but_not_the_api() {
    let app = TestApp::new();
    for page in ["/", "/index.html", "/jobs?wb=/x", "/jobTracking.html?jobName=j", "/test"] {
        assert_eq!(app.get_with(page, &LINK).await.status, 200, "{page}");
    }
    for path in ["/api/stop", "/api/test"] {
        assert_eq!(app.get_with(path, &LINK).await.status, 403, "{path}");
    }
    let own_link = [("sec-fetch-site", "same-origin"), LINK[1], LINK[2]];
    assert_eq!(app.get_with("/api/test", &own_link).await.status, 403, "a link a model wrote");
    assert_eq!(app.get_with("/jobs?wb=/x", &own_link).await.status, 200);
    let form = app.call("POST", "/", &LINK, Body::empty()).await;
    assert_eq!(form.status, 403, "a form that posts from elsewhere");
    assert!(!app.is_stopping());
}

#[tokio::test]
async fn who_goes_to_an_acting_path_is_asked_and_then_posts() {
    let app = TestApp::new();
    for site in ["none", "same-origin"] {
        let went = [("sec-fetch-site", site), LINK[1], LINK[2], ("accept", "text/html")];
        let asked = app.get_with("/api/stop?x=1", &went).await;
        assert_eq!(asked.status, 200);
        assert!(asked.header("content-type").starts_with("text/html"));
        assert!(asked.header("content-security-policy").contains("form-action 'self'"));
        assert!(!asked.header("content-security-policy").contains("script-src"));
        assert!(asked.text.contains("Stop the server?"), "{}", asked.text);
        assert!(asked.text.contains("method=\"post\" action=\"/api/stop\""), "{}", asked.text);
        assert!(!asked.text.contains("<script"));
    }
    let other = app.get_with("/api/copilot/job/start/a%22%3E", &[LINK[1]]).await;
    assert!(other.text.contains("<code>/api/copilot/job/start/a%22%3E</code>"), "{}", other.text);
    assert_eq!(app.get_with("/message", &[LINK[1]]).await.status, 405, "takes POST only");
    assert!(!app.is_stopping());

    let own = [("sec-fetch-site", "same-origin"), LINK[1], ("origin", "http://localhost:8888")];
    assert_eq!(app.call("POST", "/api/stop", &own, Body::empty()).await.status, 200);
    assert!(app.is_stopping());
}

#[tokio::test]
async fn a_security_header_that_comes_twice_is_refused() {
    let app = TestApp::new();
    for (name, value) in [
        ("origin", "http://localhost:8888"),
        ("referer", "http://localhost:8888/"),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-dest", "empty"),
        ("authorization", "Bearer x"),
        ("cookie", "a=b"),
        ("content-length", "0"),
    ] {
        let headers = [(name, value), (name, value)];
        let reply = app.call("POST", "/api/stop", &headers, Body::empty()).await;
        assert_eq!(reply.refusal(), (400, "DuplicateHeader".into()), "{name}");
    }
    assert!(!app.is_stopping());
}

#[tokio::test]
async fn a_body_over_the_cap_is_refused() {
    let app = TestApp::new();
    let large = [("content-length", "67108864")];
    for path in ["/api/stop", "/api/test", "/login"] {
        let reply = app.call("POST", path, &large, Body::empty()).await;
        assert_eq!(reply.refusal(), (413, "BodyTooLarge".into()), "{path}");
    }
    assert!(!app.is_stopping());

    let edge = [("content-length", "16777216")];
    assert_eq!(app.call("POST", "/api/stop", &edge, Body::empty()).await.status, 200);
}

#[tokio::test]
async fn a_body_of_unknown_length_is_cut_off_at_the_cap() {
    let app = TestApp::with(Options {
        max_body_bytes: 100,
        access_key: Some("0123456789abcdef"),
        ..Options::default()
    });
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let reply = app.call("POST", "/login", &form, Body::from("key=".repeat(100))).await;
    assert_eq!(reply.refusal(), (413, "BodyTooLarge".into()));
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let app = TestApp::new();
    for path in ["/", "/api/test", "/api/nothing", "/nothing", "//"] {
        let reply = app.get(path).await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(reply.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(reply.header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert_eq!(reply.header("cross-origin-resource-policy"), "same-origin", "{path}");
        let policy = reply.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe-inline"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn api_answers_are_not_stored_by_caches() {
    assert_eq!(TestApp::new().get("/api/token").await.header("cache-control"), "no-store");
}
