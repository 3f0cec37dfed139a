//! The pages as the server renders them, before any script runs.

use axum::body::Body;
use tests::{Options, TestApp};

#[tokio::test]
async fn every_page_has_both_spellings() {
    let app = TestApp::new();
    for (path, mark) in [
        ("/", "id=\"setup-ui\""),
        ("/index", "id=\"setup-ui\""),
        ("/index.html", "id=\"setup-ui\""),
        ("/jobs?wb=/x", "id=\"matrix-part\""),
        ("/jobs.html?wb=/x", "id=\"matrix-part\""),
        ("/jobTracking?jobName=j", "id=\"job-part\""),
        ("/jobTracking.html?jobName=j", "id=\"job-part\""),
        ("/history", "id=\"history-ui\""),
        ("/history.html?q=x", "id=\"history-ui\""),
        ("/test", "<title>Test · Copilot Portal</title>"),
        ("/test.html", "<title>Test · Copilot Portal</title>"),
    ] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.header("content-type").starts_with("text/html"), "{path}");
        assert!(reply.text.contains(mark), "{path}: {}", reply.text);
        assert!(!reply.text.contains("style=\""), "{path}: {}", reply.text);
    }
}

#[tokio::test]
async fn the_index_page_has_both_parts_from_the_start() {
    let app = TestApp::new();
    let session = "session-00000000-0000-4000-8000-000000000000";
    for (path, hidden) in [
        ("/index.html".to_owned(), "session-ui"),
        (format!("/index.html?session={session}"), "setup-ui"),
    ] {
        let page = app.get(&path).await.text;
        for id in ["setup-ui", "session-ui"] {
            assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{path}: {page}");
            let tag = page.split('<').find(|tag| tag.contains(&format!("id=\"{id}\"")));
            let tag = tag.expect("counted above").split('>').next().expect("a tag");
            assert_eq!(tag.contains("hidden"), id == hidden, "{path}: {tag}");
        }
    }
}

#[tokio::test]
async fn the_test_page_has_no_frame() {
    let app = TestApp::new();
    for (path, bars) in [("/index.html", 1), ("/test", 0), ("/test.html", 0)] {
        let page = app.get(path).await.text;
        assert_eq!(page.matches("id=\"sidebar\"").count(), bars, "{path}: {page}");
    }
}

#[tokio::test]
async fn the_page_of_jobs_takes_the_default_folder_unless_one_is_named() {
    let app = TestApp::new();
    let default =
        app.get("/api/config").await.json()["repoRoot"].as_str().expect("a folder").to_owned();
    for (path, folder) in [
        ("/jobs", &*default),
        ("/jobs.html", &default),
        ("/jobs?wb=", &default),
        ("/jobs?wb=/x", "/x"),
    ] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        let field = reply.text.split('<').find(|tag| tag.contains("id=\"working-dir\""));
        let field = field.expect("a field for the folder");
        assert!(field.contains(&format!("value=\"{folder}\"")), "{path}: {field}");
    }
}

#[tokio::test]
async fn the_page_of_a_job_says_that_its_name_is_missing() {
    let app = TestApp::new();
    for path in ["/jobTracking", "/jobTracking.html?jobId=1", "/jobTracking?jobName="] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.text.contains("jobName is missing"), "{path}");
    }
}

#[tokio::test]
async fn the_working_directory_is_the_repository_or_the_project_beside_it() {
    let app = TestApp::with(Options { repo_root: "/home/me/portal", ..Options::default() });
    assert!(app.get("/").await.text.contains("value=\"/home/me/portal\""));
    let page = app.get("/?project=other").await.text;
    assert!(page.contains("value=\"/home/me/other\""), "{page}");
}

#[tokio::test]
async fn arguments_are_escaped() {
    let app = TestApp::new();
    let page = app.get("/jobs?wb=%3Cscript%3Ealert(1)%3C/script%3E").await.text;
    assert!(!page.contains("<script>alert"), "{page}");
}

#[tokio::test]
async fn an_unknown_page_is_a_page_with_status_404() {
    let app = TestApp::new();
    for path in ["/nothing", "/nothing.html", "/index.htm", "/INDEX"] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.text.contains("Page not found"), "{path}");
    }
    let reply = app.call("POST", "/nothing", &[], Body::empty()).await;
    assert_eq!(reply.refusal(), (404, "NotFound".into()));
}

#[tokio::test]
async fn inline_scripts_carry_the_nonce_of_the_policy() {
    let app = TestApp::new();
    let reply = app.get("/").await;
    let policy = reply.header("content-security-policy");
    let nonce = policy
        .split_once("'nonce-")
        .and_then(|(_, rest)| rest.split_once('\''))
        .map(|(nonce, _)| nonce)
        .expect("a nonce in the policy");
    assert!(nonce.len() >= 16, "{nonce}");
    for script in reply.text.split("<script").skip(1) {
        let tag = script.split('>').next().unwrap_or_default();
        assert!(tag.contains(&format!("nonce=\"{nonce}\"")), "<script{tag}>");
    }
    assert!(!reply.text.contains(" style=\""), "inline styles are refused by the policy");
    let again = app.get("/").await;
    assert_ne!(again.header("content-security-policy"), policy, "a nonce is used once");
}

#[tokio::test]
async fn pages_name_no_other_host() {
    let page = TestApp::new().get("/").await.text;
    for marker in ["src=\"http", "href=\"http", "src=\"//", "href=\"//", "from \"http"] {
        assert!(!page.contains(marker), "{marker} in {page}");
    }
}
