//! Files that are attached to prompts.

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tests::transcript::messages;
use tests::{MODEL, Options, TestApp, TestSession};

const GIF: &[u8] = b"GIF89a\x01";
const LIMIT: usize = 10 * 1024 * 1024;

async fn attach(app: &TestApp, session: &TestSession<'_>, name: &str, bytes: &[u8]) -> Value {
    app.post(&session.path(&format!("attach/{name}")), bytes.to_vec()).await.json()
}

/// The path of an attachment.
fn path_of(session: &TestSession<'_>, attached: &Value) -> String {
    let id = attached["attachmentId"].as_str().unwrap_or_else(|| panic!("{attached}"));
    session.path(&format!("attachment/{id}"))
}

#[tokio::test(start_paused = true)]
async fn a_prompt_has_its_attachments_and_its_text_says_so() {
    let app = TestApp::new();
    let session = app.start().await;
    let image = attach(&app, &session, "sh%5Bo%5Dt.gif", GIF).await;
    let text = attach(&app, &session, "notes.txt", "so dass".as_bytes()).await;
    assert_eq!((&image["kind"], &text["kind"]), (&json!("image"), &json!("text")));
    let id = image["attachmentId"].as_str().expect("an id");
    assert_eq!(image["reference"], format!("![sh_o_t.gif](attachment:{id})"));
    let prompt = format!(
        "describe the attachments: {} {}",
        image["reference"].as_str().expect("text"),
        text["reference"].as_str().expect("text"),
    );
    session.query(&prompt).await;
    let seen = session.read_until_idle("t").await;
    assert_eq!(seen[0]["prompt"], prompt, "readers see what was sent");
    let title = &app.open_sessions().await[0]["title"];
    assert_eq!(title, "describe the attachments: sh_o_t.gif notes.txt", "for people");
    let described = "image/gif, 7 B, sh_o_t.gif\ntext/plain, 7 B, notes.txt";
    assert_eq!(messages(&seen), [described]);
    app.finish().await;
}

#[tokio::test]
async fn what_is_attached_is_shown_as_what_it_is_and_never_as_a_page() {
    let app = TestApp::new();
    let session = app.start().await;
    let page = b"<script>alert(1)</script>";
    for (name, bytes, media_type, disposition) in [
        ("a.html", GIF, "image/gif", "inline"),
        ("b.html", &page[..], "text/plain; charset=utf-8", "attachment"),
        ("c.svg", b"<svg/>", "text/plain; charset=utf-8", "attachment"),
    ] {
        let attached = attach(&app, &session, name, bytes).await;
        let reply = app.get(&path_of(&session, &attached)).await;
        assert_eq!(reply.text.as_bytes(), bytes, "{name}");
        assert_eq!(reply.header("content-type"), media_type, "{name}");
        assert_eq!(reply.header("content-disposition"), disposition, "{name}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        let policy = reply.header("content-security-policy");
        assert!(policy.contains("sandbox") && policy.contains("default-src 'none'"), "{policy}");
    }
    app.finish().await;
}

#[tokio::test]
async fn attachments_belong_to_one_session_and_go_with_it() {
    let app = TestApp::new();
    let (session, other) = (app.start().await, app.start().await);
    let attached = attach(&app, &session, "a.gif", GIF).await;
    let foreign = app.get(&path_of(&other, &attached)).await;
    assert_eq!(foreign.json(), json!({ "error": "AttachmentNotFound" }));
    session.stop().await;
    assert_eq!(app.get(&path_of(&session, &attached)).await.status, 200, "it has only ended");
    app.post(&session.path("delete"), "").await;
    let deleted = app.get(&path_of(&session, &attached)).await;
    assert_eq!(deleted.json(), json!({ "error": "SessionNotFound" }));
    app.finish().await;
}

#[tokio::test]
async fn no_attachment_is_larger_than_the_limit() {
    let app = TestApp::new();
    let session = app.start().await;
    let path = session.path("attach/large.txt");
    let largest = app.post(&path, "a".repeat(LIMIT)).await;
    assert_eq!(largest.json()["kind"], "text");
    let refused = (413, "AttachmentTooLarge".to_owned());
    let declared = app.post(&path, "a".repeat(LIMIT + 1)).await;
    assert_eq!(declared.refusal(), refused);
    // What is changed on its way has no known length.
    let undeclared = Body::new(Body::from("a".repeat(LIMIT + 1)).map_frame(|frame| frame));
    assert_eq!(app.post(&path, undeclared).await.refusal(), refused);
    app.finish().await;
    let app = TestApp::with(Options { max_body_bytes: 100, ..Options::default() });
    let session = app.start().await;
    let reply = app.post(&session.path("attach/a"), "a".repeat(101)).await;
    assert_eq!(reply.refusal(), refused, "the operator's limit counts, too");
    app.finish().await;
}

#[tokio::test]
async fn images_are_for_models_that_take_them() {
    let app = TestApp::with(Options { further_models: &["blind"], ..Options::default() });
    let (seeing, blind) = (app.start_model(MODEL).await, app.start_model("blind").await);
    for (session, takes_images) in [(&seeing, json!(true)), (&blind, Value::Null)] {
        let info = app.get(&session.path("info")).await.json();
        assert_eq!(info["takesImages"], takes_images);
        let open = app.open_sessions().await;
        let listed = open.iter().find(|open| open["sessionId"] == session.id).expect("open");
        assert_eq!(listed["takesImages"], takes_images);
    }
    let refused = app.post(&blind.path("attach/a.gif"), GIF).await;
    assert_eq!(refused.json(), json!({ "error": "AttachmentNotSupported" }));
    assert_eq!(refused.header("portal-message"), "the session's model takes no images");
    assert_eq!(attach(&app, &blind, "a.txt", b"text").await["kind"], "text");
    let refused = app.post(&seeing.path("attach/a.pdf"), &b"%PDF-1.7\xff"[..]).await;
    assert_eq!(refused.json(), json!({ "error": "AttachmentNotSupported" }));
    app.finish().await;
}

#[tokio::test]
async fn attaching_takes_a_post() {
    let app = TestApp::new();
    let session = app.start().await;
    assert_eq!(app.get(&session.path("attach/a.txt")).await.status, 405);
    let headers = [("origin", "https://example.com")];
    let path = session.path("attach/a.txt");
    let foreign = app.call("POST", &path, &headers, Body::from("x")).await;
    assert_eq!(foreign.refusal(), (403, "CrossSiteRequest".into()));
    app.finish().await;
}
