//! Markdown as HTML, which pages ask for.

use serde_json::{Value, json};
use server::security::access::{AccessKey, Rights, Role};
use tests::{Options, TestApp};

const PATH: &str = "/api/markdown";

#[tokio::test]
async fn each_text_with_markup_becomes_html() {
    let app = TestApp::new();
    let texts = json!(["**a**", "plain prose", "", "- x\n- y", "```rust\nfn f() {}\n```"]);
    let reply = app.post_json(PATH, &texts).await;
    assert_eq!(reply.status, 200);
    let reply = reply.json();
    assert_eq!(reply["html"][0], "<p><strong>a</strong></p>\n");
    assert_eq!(reply["html"][1], Value::Null);
    assert_eq!(reply["html"][2], Value::Null);
    assert_eq!(reply["html"][3], "<ul>\n<li>x</li>\n<li>y</li>\n</ul>\n");
    let code = reply["html"][4].as_str().expect("html");
    assert!(code.contains("<span class=\"hl-keyword\">fn</span>"), "{code}");
    assert_eq!(reply["html"].as_array().map(Vec::len), Some(5));
    assert_eq!(app.post_json(PATH, &json!([])).await.json(), json!({"html": []}));
}

#[tokio::test]
async fn markup_of_the_text_is_shown_and_never_interpreted() {
    let app = TestApp::new();
    let text = "**a** <script>alert(1)</script> [b](javascript:alert(1)) <img src=x onerror=y>";
    let reply = app.post_json(PATH, &json!([text])).await.json();
    let html = reply["html"][0].as_str().expect("html");
    assert!(html.contains("&lt;script&gt;"), "{html}");
    for forbidden in ["<script", "<img", "href=\"javascript"] {
        assert!(!html.contains(forbidden), "{html}");
    }
}

#[tokio::test]
async fn what_is_no_list_of_texts_is_refused() {
    let app = TestApp::new();
    for body in ["", "nonsense", "{}", "\"text\"", "[1]", "[null]", "[\"a\"", "[\"a\"] x"] {
        assert_eq!(
            app.post(PATH, body).await.refusal(),
            (400, "UnreadableRequest".into()),
            "{body}"
        );
    }
    assert_eq!(app.get(PATH).await.refusal(), (405, "MethodNotAllowed".into()));
}

#[tokio::test]
async fn more_than_four_megabytes_are_refused() {
    let app = TestApp::new();
    let fits = json!(["a ".repeat(2 * 1024 * 1024 - 2)]);
    assert_eq!(app.post_json(PATH, &fits).await.json(), json!({"html": [null]}));
    let too_large = json!(["a ".repeat(2 * 1024 * 1024)]);
    let refusal = app.post_json(PATH, &too_large).await.refusal();
    assert_eq!(refusal, (413, "BodyTooLarge".into()));
}

#[tokio::test]
async fn viewers_may_have_texts_rendered_and_strangers_may_not() {
    let rights = Rights { role: Role::Viewer, may_answer: false };
    let app = TestApp::with(Options {
        access_key: Some("correct-horse-battery"),
        further_keys: vec![AccessKey::named("screen", rights, "wall-screen-battery")],
        ..Options::default()
    });
    let texts = || json!(["*a*"]).to_string().into();
    let viewer = [("authorization", "Bearer wall-screen-battery")];
    let reply = app.call("POST", PATH, &viewer, texts()).await;
    assert_eq!(reply.json(), json!({"html": ["<p><em>a</em></p>\n"]}));
    let stranger = app.call("POST", PATH, &[], texts()).await;
    assert_eq!(stranger.refusal(), (401, "AccessKeyRequired".into()));
}
