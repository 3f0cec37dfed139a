//! Models, and the life cycle of sessions: start, list, stop, and calls about unknown ones.

use axum::body::Body;
use serde_json::{Value, json};
use tests::transcript::{assert_grammar, count, messages, outline, texts};
use tests::{MODEL, Options, TestApp, unknown_session};
use tokio::time::{Duration, Instant};

const START: &str = "/api/copilot/session/start";

/// Ids that name no session: never assigned, of another kind, in another spelling, not ids at all.
const NO_SESSIONS: [&str; 6] = [
    "session-00000000-0000-4000-8000-000000000000",
    "task-00000000-0000-4000-8000-000000000000",
    "session-00000000-0000-4000-8000-00000000000",
    "SESSION-00000000-0000-4000-8000-000000000000",
    "session-",
    "nonsense%20%E2%82%AC",
];

#[tokio::test]
async fn models_are_listed_by_name() {
    let app = TestApp::with(Options { further_models: &["Hotel/1"], ..Options::default() });
    let reply = app.get("/api/copilot/models").await;
    assert_eq!(reply.status, 200);
    let simulated = |name: &str, id: &str, multiplier: u32| json!({"name": name, "id": id, "multiplier": multiplier, "provider": "simulated"});
    assert_eq!(
        reply.json(),
        json!({"models": [
            simulated("GPT-5 mini (simulated)", "gpt-5-mini", 0),
            simulated("GPT-5.2 (simulated)", "gpt-5.2", 1),
            {"name": "Hotel/1", "id": "Hotel/1", "multiplier": 0.33},
            simulated("Simulated Premium", "simulated-premium", 1),
            simulated("Simulated Quick", "simulated-quick", 0),
            simulated("Simulated Standard", "simulated-standard", 0),
        ]})
    );
}

#[tokio::test]
async fn only_test_mode_has_the_ids_that_tests_use() {
    let app = TestApp::with(Options { test_models: false, ..Options::default() });
    let models = app.get("/api/copilot/models").await.json();
    let models = models["models"].as_array().expect("a list");
    assert!(!models.is_empty());
    for model in models {
        let id = model["id"].as_str().expect("an id");
        assert!(id.starts_with("simulated-"), "{id}");
        assert!(model["name"].as_str().expect("a name").contains("Simulated"), "{model}");
    }
    let reply = app.get(&format!("{START}/{MODEL}")).await;
    assert_eq!(reply.refusal(), (200, "ModelIdNotFound".into()));
}

#[tokio::test(start_paused = true)]
async fn a_session_starts_in_a_folder_or_without_one() {
    let app = TestApp::new();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("text").to_owned();
    let mut ids: Vec<String> = Vec::new();
    for (method, body) in [("POST", folder.as_str()), ("POST", ""), ("GET", ""), ("GET", &folder)] {
        let reply =
            app.call(method, &format!("{START}/{MODEL}"), &[], Body::from(body.to_owned())).await;
        assert_eq!(reply.status, 200);
        let reply = reply.json();
        let id = reply["sessionId"].as_str().unwrap_or_else(|| panic!("{method} {body}: {reply}"));
        assert_eq!(reply, json!({"sessionId": id}));
        assert!(id.starts_with("session-") && id.len() == "session-".len() + 36, "{id}");
        assert!(!ids.contains(&id.to_owned()), "ids are unique");
        ids.push(id.to_owned());
    }
    app.finish().await;
}

#[tokio::test]
async fn a_start_is_refused_in_the_stated_order() {
    let app = TestApp::with(Options { max_sessions: 0, ..Options::default() });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let file = file.to_str().expect("text");
    let missing = folder.path().join("missing");
    let missing = missing.to_str().expect("text");
    for (model, directory, error) in [
        ("unknown", "relative", "ModelIdNotFound"),
        ("unknown", missing, "ModelIdNotFound"),
        ("unknown", "", "ModelIdNotFound"),
        ("GPT-5-MINI", "", "ModelIdNotFound"),
        (MODEL, "relative", "WorkingDirectoryNotAbsolutePath"),
        (MODEL, "./", "WorkingDirectoryNotAbsolutePath"),
        (MODEL, "~/x", "WorkingDirectoryNotAbsolutePath"),
        (MODEL, missing, "WorkingDirectoryNotExists"),
        (MODEL, file, "WorkingDirectoryNotExists"),
        // The missing room is only reported if everything else is fine.
        (MODEL, "", "TooManySessions"),
    ] {
        let reply = app.post(&format!("{START}/{model}"), directory.to_owned()).await;
        assert_eq!(reply.refusal(), (200, error.into()), "{model} in {directory:?}");
    }
    assert_eq!(app.open_sessions().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_model_id_is_the_whole_rest_of_the_path_decoded() {
    let ids = &["vendor/family/model-1", "with space & ü", "100%"];
    let app = TestApp::with(Options { further_models: ids, ..Options::default() });
    for (path, id) in [
        ("vendor/family/model-1", ids[0]),
        ("vendor%2Ffamily%2fmodel-1", ids[0]),
        ("vendor/family/model%2D1?ignored=yes", ids[0]),
        ("with%20space%20&%20%C3%BC", ids[1]),
        ("100%25", ids[2]),
    ] {
        app.get(&format!("{START}/{path}")).await.json();
        let open = app.open_sessions().await;
        assert_eq!(open.len(), 1, "{path}");
        assert_eq!(open[0]["modelId"], id, "{path}");
        let id = open[0]["sessionId"].as_str().expect("an id");
        app.get(&format!("/api/copilot/session/{id}/stop")).await.json();
    }
    for path in ["vendor/family/model-1/", "vendor/family", "live", "stop"] {
        let reply = app.get(&format!("{START}/{path}")).await;
        assert_eq!(reply.refusal(), (200, "ModelIdNotFound".into()), "{path}");
    }
    for path in [START.to_owned(), format!("{START}/")] {
        assert_eq!(app.get(&path).await.status, 404, "{path}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn open_sessions_are_listed() {
    let app = TestApp::new();
    assert_eq!(app.get("/api/copilot/session").await.json(), json!({"sessions": []}));
    let quiet = app.start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("text");
    let busy = app.post(&format!("{START}/gpt-5.2"), folder.to_owned()).await.json();
    let busy = busy["sessionId"].as_str().expect("an id").to_owned();
    for _ in 0..3 {
        let path = format!("/api/copilot/session/{busy}/query");
        assert_eq!(app.post(&path, "wait 60 seconds").await.json(), json!({}));
    }
    // Until the first prompt has been taken up.
    tokio::time::sleep(Duration::from_millis(1)).await;

    let mut expected = vec![
        json!({"sessionId": quiet.id, "modelId": MODEL, "workingDirectory": "/", "permissions": "ask",
               "busy": false, "queued": 0, "canSteer": true, "takesImages": true}),
        json!({"sessionId": busy, "title": "wait 60 seconds", "modelId": "gpt-5.2", "workingDirectory": folder, "permissions": "ask",
               "busy": true, "queued": 2, "canSteer": true, "takesImages": true}),
    ];
    expected.sort_by_key(|session| session["sessionId"].to_string());
    assert_eq!(app.open_sessions().await, expected);

    quiet.stop().await;
    let left = app.open_sessions().await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["sessionId"], busy);
    app.finish().await;
}

#[tokio::test]
async fn an_id_that_names_nothing_is_not_found_whatever_is_asked() {
    let app = TestApp::new();
    for id in NO_SESSIONS {
        for action in ["query", "abort", "stop", "live", "live/token"] {
            let reply = app.get(&format!("/api/copilot/session/{id}/{action}")).await;
            assert_eq!(reply.json(), json!({"error": "SessionNotFound"}), "{id} {action}");
            assert_eq!(reply.status, 200, "{id} {action}");
        }
        for action in ["query", "stop", "live"] {
            let reply = app.get(&format!("/api/copilot/session/{action}/{id}")).await;
            assert_eq!(reply.json(), json!({"error": "SessionNotFound"}), "{action} {id}");
        }
    }
}

#[tokio::test]
async fn paths_that_are_nearly_right_are_unknown() {
    let app = TestApp::new();
    for path in [
        unknown_session(""),
        unknown_session("query/"),
        unknown_session("live/"),
        unknown_session("live/token/more"),
        unknown_session("start"),
        unknown_session("Live"),
        "/api/copilot".to_owned(),
        "/api/copilot/models/".to_owned(),
        "/api/copilot/session/".to_owned(),
        "/api/copilot/sessions".to_owned(),
    ] {
        let reply = app.get(&path).await;
        assert_eq!(reply.refusal(), (404, "Unknown API endpoint".into()), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn acting_endpoints_take_get_and_post_and_reading_ones_only_get() {
    let app = TestApp::new();
    let session = app.start().await;
    for action in ["query", "abort"] {
        for method in ["GET", "POST"] {
            let reply = app.call(method, &session.path(action), &[], Body::empty()).await;
            assert_eq!(reply.json(), json!({}), "{method} {action}");
        }
    }
    for path in ["/api/copilot/models", "/api/copilot/session"]
        .map(str::to_owned)
        .into_iter()
        .chain(["live", "live/token"].map(|action| session.path(action)))
    {
        let reply = app.post(&path, "").await;
        assert_eq!(reply.refusal(), (405, "MethodNotAllowed".into()), "{path}");
    }
    let reply = app.post(&session.path("stop"), "").await;
    assert_eq!(reply.json(), json!({"result": "Closed"}));
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn stop_aborts_the_turn_at_once_and_only_once() {
    let app = TestApp::new();
    let session = app.start_with(&["wait 60 seconds, then say never", "say neither"]).await;
    session.responses("reader").await;
    let begun = Instant::now();
    assert_eq!(session.stop().await, json!({"result": "Closed"}));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(app.open_sessions().await, Vec::<Value>::new());

    assert_eq!(session.stop().await, json!({"error": "SessionNotFound"}));
    assert_eq!(session.abort().await, json!({"error": "SessionNotFound"}));
    assert_eq!(session.try_query("say hello").await, json!({"error": "SessionNotFound"}));

    let history = session.read_to_the_end("late").await;
    assert_grammar(&history);
    assert_eq!(messages(&history), Vec::<&str>::new());
    let prompts = texts(&history, "onUserPrompt", "prompt");
    assert_eq!(prompts, ["wait 60 seconds, then say never"], "queued prompts are dropped");
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_run_in_parallel() {
    let app = TestApp::new();
    let begun = Instant::now();
    let first = app.start_with(&["wait 2 seconds, then say one"]).await;
    let second = app.start_with(&["wait 2 seconds, then say two"]).await;
    assert_eq!(messages(&first.read_until_idle("reader").await), ["one"]);
    assert_eq!(messages(&second.read_until_idle("reader").await), ["two"]);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_earliest_spelling_does_the_same() {
    let app = TestApp::new();
    let session = app.start().await;
    let old = |action: &str| format!("/api/copilot/session/{action}/{}", session.id);
    for method in ["GET", "POST"] {
        let reply = app.call(method, &old("query"), &[], Body::from("say hello")).await;
        assert_eq!(reply.json(), json!({}), "{method}");
    }
    // Both spellings are the one reader without a token.
    let mut seen = Vec::new();
    while count(&seen, "onIdle") < 2 {
        seen.push(app.get(&old("live")).await.json());
        seen.push(session.poll_one().await);
    }
    let begun = Instant::now();
    let reply = app.get(&old("live")).await.json();
    assert_eq!(reply, json!({"error": "HttpRequestTimeout"}));
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    assert_eq!(messages(&seen), ["hello", "hello"]);
    assert_eq!(outline(&seen), outline(&session.responses("other").await));

    assert_eq!(app.post(&old("stop"), "").await.json(), json!({"result": "Closed"}));
    assert_eq!(app.get(&old("live")).await.json(), json!({"error": "SessionClosed"}));
    for action in ["live", "stop", "query"] {
        let reply = app.get(&old(action)).await.json();
        assert_eq!(reply, json!({"error": "SessionNotFound"}), "{action}");
    }
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_over_the_cap_are_refused_until_one_ends() {
    let app = TestApp::with(Options { max_sessions: 2, ..Options::default() });
    let first = app.start().await;
    let second = app.start_with(&["wait 60 seconds"]).await;
    for _ in 0..2 {
        let reply = app.get(&format!("{START}/{MODEL}")).await;
        assert_eq!(reply.refusal(), (200, "TooManySessions".into()));
    }
    second.stop().await;
    let third = app.start_with(&["crash"]).await;
    third.read_to_the_end("reader").await;
    let fourth = app.start_with(&["say hello"]).await;
    assert_eq!(messages(&fourth.read_until_idle("reader").await), ["hello"]);
    let reply = app.get(&format!("{START}/{MODEL}")).await;
    assert_eq!(reply.refusal(), (200, "TooManySessions".into()));
    first.stop().await;
    app.finish().await;
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_no_text_or_too_long_do_nothing() {
    let app = TestApp::with(Options { max_body_bytes: 1000, ..Options::default() });
    let session = app.start().await;
    let start = format!("{START}/{MODEL}");
    let old = format!("/api/copilot/session/query/{}", session.id);
    for path in [session.path("query"), old, start] {
        let reply = app.post(&path, vec![b's', 0xff, 0xfe]).await;
        assert_eq!(reply.refusal(), (400, "UnreadableRequest".into()), "{path}");
        assert!(reply.json()["message"].as_str().expect("a message").contains("UTF-8"));
        let reply = app.post(&path, "x".repeat(1001)).await;
        assert_eq!(reply.refusal(), (413, "BodyTooLarge".into()), "{path}");
        let declared = [("content-length", "1001")];
        let reply = app.call("POST", &path, &declared, Body::empty()).await;
        assert_eq!(reply.refusal(), (413, "BodyTooLarge".into()), "{path}");
    }
    assert_eq!(app.open_sessions().await.len(), 1);
    let edge = format!("say {:x<996}", "");
    session.query(&edge).await;
    let seen = session.read_until_idle("reader").await;
    assert_eq!(texts(&seen, "onUserPrompt", "prompt"), [edge]);
    app.finish().await;
}
