//! The access key of a server that others can reach.

use axum::body::Body;
use tests::{Options, TestApp};

const KEY: &str = "correct-horse-battery";
const BEARER: &str = "Bearer correct-horse-battery";

fn locked() -> TestApp {
    TestApp::with(Options { bound_to: "0.0.0.0", access_key: Some(KEY), ..Options::default() })
}

#[tokio::test]
async fn without_the_key_nothing_but_the_login_is_reached() {
    let app = locked();
    for path in ["/api/stop", "/api/test", "/api/nothing", "/", "/nothing"] {
        let reply = app.get(path).await;
        assert_eq!(reply.refusal(), (401, "AccessKeyRequired".into()), "{path}");
        assert!(reply.header("www-authenticate").starts_with("Bearer"), "{path}");
    }
    for wrong in ["Bearer wrong-key-wrong-key", "Basic correct-horse-battery", "Bearer "] {
        let reply = app.get_with("/api/stop", &[("authorization", wrong)]).await;
        assert_eq!(reply.status, 401, "{wrong}");
    }
    assert!(!app.is_stopping());
}

#[tokio::test]
async fn scripts_show_the_key_as_a_bearer_token() {
    let app = locked();
    assert_eq!(app.get_with("/api/test", &[("authorization", BEARER)]).await.status, 200);
}

#[tokio::test]
async fn the_login_url_sets_a_cookie_that_opens_everything() {
    let app = locked();
    let reply = app.get(&format!("/login?key={KEY}")).await;
    assert_eq!((reply.status.as_u16(), reply.header("location")), (303, "/"));
    let cookie = reply.header("set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(KEY), "the cookie must not tell the key");
    let pair = cookie.split(';').next().expect("name and value");
    assert_eq!(app.get_with("/api/test", &[("cookie", pair)]).await.status, 200);
    assert_eq!(app.get_with("/", &[("cookie", pair)]).await.status, 200);
}

#[tokio::test]
async fn the_form_logs_in_too() {
    let app = locked();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let reply = app.call("POST", "/login", &form, Body::from(format!("key={KEY}"))).await;
    assert_eq!(reply.status, 303);
    assert!(!reply.header("set-cookie").is_empty());

    for (headers, body) in [(&form[..], "key=wrong"), (&form, ""), (&[], "key=wrong")] {
        let reply = app.call("POST", "/login", headers, Body::from(body)).await;
        assert!(reply.status.is_client_error(), "{body:?}: {}", reply.status);
        assert!(reply.header("set-cookie").is_empty());
    }
}

#[tokio::test]
async fn a_browser_without_the_key_gets_the_form() {
    let app = locked();
    let reply = app.get_with("/jobs?wb=/x", &[("accept", "text/html,*/*")]).await;
    assert_eq!(reply.status, 401);
    assert!(reply.header("content-type").starts_with("text/html"));
    assert!(reply.text.contains("action=\"/login\""));
    let wrong = app.get("/login?key=wrong").await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.text.contains("not the access key"));
    assert!(!wrong.text.contains(KEY));
}

#[tokio::test]
async fn the_key_does_not_open_the_door_for_foreign_pages() {
    let app = locked();
    let headers = [("authorization", BEARER), ("origin", "http://evil.example")];
    assert_eq!(app.get_with("/api/stop", &headers).await.status, 403);
    let headers = [("authorization", BEARER), ("host", "evil.example")];
    assert_eq!(app.get_with("/api/stop", &headers).await.status, 403);
    assert!(!app.is_stopping());
}

#[tokio::test]
async fn other_machines_call_it_by_its_address() {
    let headers = [("authorization", BEARER), ("host", "192.168.1.5:8888")];
    assert_eq!(locked().get_with("/api/test", &headers).await.status, 200);
}

#[tokio::test]
async fn without_a_key_the_login_leads_to_the_start() {
    let reply = TestApp::new().get("/login?key=anything").await;
    assert_eq!((reply.status.as_u16(), reply.header("location")), (303, "/"));
    assert!(reply.header("set-cookie").is_empty());
}
