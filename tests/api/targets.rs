//! Odd request targets. Each of them once crashed another server.

use tests::TestApp;

#[tokio::test]
async fn odd_targets_get_a_4xx_and_the_server_lives() {
    let app = TestApp::new();
    for target in [
        "//",
        "//[",
        "/.//",
        "/%ff",
        "///",
        "/..",
        "/../etc/passwd",
        "/%2e%2e/etc/passwd",
        "/a//b",
        "//api/test",
        "/api//test",
        "/%",
        "/%zz",
        "/api/%ff",
        "/pkg/../Cargo.toml",
        "/pkg//x",
        "/a%00b",
    ] {
        let reply = app.get(target).await;
        assert_eq!(reply.refusal(), (400, "BadRequestTarget".into()), "{target}");
        assert!(!reply.json()["message"].as_str().expect("a message").is_empty());
    }
    assert_eq!(app.get("/api/test").await.status, 200);
}
