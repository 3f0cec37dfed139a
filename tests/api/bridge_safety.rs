//! The bridge is for our own page and for scripts, not for other sites.

use axum::body::Body;
use serde_json::json;
use tests::{Options, TestApp};

const PATHS: [(&str, &str); 8] = [
    ("GET", "/sessions"),
    ("GET", "/sessions/src/project"),
    ("GET", "/events"),
    ("POST", "/message"),
    ("POST", "/approval"),
    ("POST", "/cancel"),
    ("POST", "/clear"),
    ("POST", "/discard"),
];

async fn statuses(app: &TestApp, headers: &[(&str, &str)]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for (method, path) in PATHS {
        let body = json!({ "text": "say x", "sessionId": "/src/project" }).to_string();
        // Not read: an accepted connection to the events never ends.
        let response = app.send(method, path, headers, Body::from(body)).await;
        statuses.push(response.status().as_u16());
    }
    statuses
}

#[tokio::test(start_paused = true)]
async fn other_sites_reach_none_of_it() {
    let app = TestApp::new();
    for headers in [
        &[("origin", "http://evil.example")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")],
        &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")],
        &[("referer", "http://evil.example/")],
        &[("host", "evil.example")],
        // Not even by a link on our own page.
        &[
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ],
        &[
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ],
    ] {
        assert_eq!(statuses(&app, headers).await, [403; 8], "{headers:?}");
    }
    assert_eq!(app.get("/sessions").await.json()[0]["count"], 0);
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn our_own_page_and_scripts_reach_all_of_it() {
    for headers in [
        &[][..],
        &[
            ("origin", "http://localhost:8888"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "cors"),
        ],
        // The request of an EventSource on our page.
        &[
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "cors"),
            ("sec-fetch-dest", "empty"),
            ("accept", "text/event-stream"),
        ],
    ] {
        let app = TestApp::new();
        assert_eq!(
            statuses(&app, headers).await,
            [200, 200, 200, 202, 400, 400, 200, 400],
            "{headers:?}"
        );
        app.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_need_the_key() {
    let app = TestApp::with(Options { access_key: Some("0123456789abcdef"), ..Options::default() });
    assert_eq!(statuses(&app, &[]).await, [401; 8]);
    let key = [("authorization", "Bearer 0123456789abcdef")];
    assert_eq!(statuses(&app, &key).await, [200, 200, 200, 202, 400, 400, 200, 400]);
    app.stop_work().await;
}
