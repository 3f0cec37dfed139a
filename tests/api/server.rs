//! `api/test`, `api/config`, `api/token`, `api/stop`, and what is none of them.

use axum::body::Body;
use serde_json::json;
use tests::{Options, TestApp};

#[tokio::test]
async fn test_says_hello() {
    let reply = TestApp::new().get("/api/test").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json(), json!({"message": "Hello, world!"}));
}

#[tokio::test]
async fn config_tells_the_repository() {
    let app = TestApp::with(Options { repo_root: "/home/me/project", ..Options::default() });
    assert_eq!(app.get("/api/config").await.json()["repoRoot"], "/home/me/project");
}

#[tokio::test]
async fn every_token_is_new() {
    let app = TestApp::new();
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let reply = app.get("/api/token").await.json();
        let token = reply["token"].as_str().expect("a string").to_owned();
        assert_eq!(token.len(), 36, "{token}");
        assert!(!tokens.contains(&token));
        tokens.push(token);
    }
}

#[tokio::test]
async fn stop_answers_and_begins_the_shutdown() {
    for method in ["GET", "POST"] {
        let app = TestApp::new();
        assert!(!app.is_stopping());
        let reply = app.call(method, "/api/stop", &[], Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.json()), (200, json!({})), "{method}");
        assert!(app.is_stopping(), "{method}");
    }
}

#[tokio::test]
async fn unknown_endpoints_are_named_as_such() {
    let app = TestApp::new();
    for path in
        ["/api", "/api/", "/api/nothing", "/api/test/", "/api/test/more", "/api/Test", "/api/stop/"]
    {
        let reply = app.get(path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.json(), json!({"error": "Unknown API endpoint"}), "{path}");
    }
    let reply = app.call("POST", "/api/nothing", &[], Body::empty()).await;
    assert_eq!(reply.refusal(), (404, "Unknown API endpoint".into()));
    assert!(!app.is_stopping());
}

#[tokio::test]
async fn query_strings_are_ignored() {
    let reply = TestApp::new().get("/api/test?anything=goes&x=%zz").await;
    assert_eq!(reply.json()["message"], "Hello, world!");
}

#[tokio::test]
async fn other_methods_are_refused_and_the_right_ones_named() {
    let app = TestApp::new();
    let reply = app.call("DELETE", "/api/stop", &[], Body::empty()).await;
    assert_eq!(reply.refusal(), (405, "MethodNotAllowed".into()));
    assert_eq!(reply.header("allow"), "GET,HEAD,POST");
    assert!(!app.is_stopping());
    let reply = app.call("POST", "/api/test", &[], Body::empty()).await;
    assert_eq!(reply.refusal(), (405, "MethodNotAllowed".into()));
}
