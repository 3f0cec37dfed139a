//! The access key of a server that others can reach.

use axum::body::Body;
use server::security::access::{AccessKey, Rights, Role};
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

/// Logs in; returns the cookie and the secret of the login.
async fn log_in(app: &TestApp, key: &str) -> (String, String) {
    let reply = app.get(&format!("/login?key={key}")).await;
    assert_eq!((reply.status.as_u16(), reply.header("location")), (303, "/login/done"));
    let cookie = reply.header("set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(key), "the cookie must not tell the key");
    let pair = cookie.split(';').next().expect("name and value").to_owned();
    let told = app.call("POST", "/login/secret", &[("cookie", &pair)], Body::empty()).await;
    let secret = told.json()["secret"].as_str().expect("a secret").to_owned();
    assert!(!cookie.contains(&secret));
    (pair, secret)
}

#[tokio::test]
async fn the_login_url_sets_a_cookie_that_reads_everything() {
    let app = locked();
    let (cookie, _) = log_in(&app, KEY).await;
    assert_eq!(app.get_with("/api/test", &[("cookie", &cookie)]).await.status, 200);
    assert_eq!(app.get_with("/", &[("cookie", &cookie)]).await.status, 200);
}

#[tokio::test]
async fn a_cookie_acts_only_together_with_its_secret() {
    let app = locked();
    let (cookie, secret) = log_in(&app, KEY).await;
    let (other, _) = log_in(&app, KEY).await;
    let stop = async |cookie: &str, secret: &str| {
        let headers = [("cookie", cookie), ("portal-login", secret)];
        app.call("POST", "/api/stop", &headers, Body::empty()).await.refusal()
    };
    let refused = (403, "LoginSecretRequired".to_owned());
    assert_eq!(stop(&cookie, "").await, refused);
    assert_eq!(stop(&cookie, "wrong").await, refused);
    assert_eq!(stop(&other, &secret).await, refused, "the secret of another login");
    let get = app.get_with("/api/stop", &[("cookie", &cookie)]).await;
    assert_eq!(get.refusal(), refused, "not by GET either");
    assert!(!app.is_stopping());
    let headers = [("cookie", &*cookie), ("portal-login", &*secret)];
    assert_eq!(app.call("POST", "/api/stop", &headers, Body::empty()).await.status, 200);
    assert!(app.is_stopping());
}

#[tokio::test]
async fn the_secret_is_told_once_and_never_in_html() {
    let app = locked();
    let (cookie, secret) = log_in(&app, KEY).await;
    let again = app.call("POST", "/login/secret", &[("cookie", &cookie)], Body::empty()).await;
    assert_eq!(again.refusal(), (403, "LoginSecretTold".into()));
    let stranger = app.call("POST", "/login/secret", &[], Body::empty()).await;
    assert_eq!(stranger.status, 403);
    for path in ["/", "/login/done", "/logins"] {
        let page = app.get_with(path, &[("cookie", &cookie)]).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.text.contains(&secret), "{path}");
        assert!(!page.text.contains(KEY), "{path}");
    }
    let done = app.get("/login/done").await;
    assert!(done.header("content-security-policy").contains("script-src 'nonce-"));
}

#[tokio::test]
async fn who_logs_out_is_a_stranger_again() {
    let app = locked();
    let (cookie, _) = log_in(&app, KEY).await;
    let (other, _) = log_in(&app, KEY).await;
    let reply = app.call("POST", "/logout", &[("cookie", &cookie)], Body::empty()).await;
    assert!(reply.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(app.get_with("/api/test", &[("cookie", &cookie)]).await.status, 401);
    assert_eq!(app.get_with("/api/test", &[("cookie", &other)]).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn events_end_with_the_login_that_opened_them() {
    let app = locked();
    let (cookie, _) = log_in(&app, KEY).await;
    let (other, _) = log_in(&app, KEY).await;
    let open = async |cookie| app.events_with("", &[("cookie", cookie)]).await;
    let (mut events, mut others) = (open(&cookie).await, open(&other).await);
    for stream in [&mut events, &mut others] {
        stream.next_block().await.expect("it is connected");
    }
    app.call("POST", "/logout", &[("cookie", &cookie)], Body::empty()).await;
    assert_eq!(events.next().await, None);
    assert!(others.next_block().await.is_some(), "those of others go on");
}

#[tokio::test]
async fn logins_are_listed_and_end_all_at_once() {
    let app = locked();
    let agent = [("user-agent", "Browser <1>")];
    app.get_with(&format!("/login?key={KEY}"), &agent).await;
    let (cookie, _) = log_in(&app, KEY).await;
    let own = [("cookie", &*cookie)];
    let list = app.get_with("/api/logins", &own).await.json();
    let list = list["logins"].as_array().expect("a list").clone();
    assert_eq!(list.len(), 2);
    assert_eq!(list.iter().filter(|login| login["current"] == true).count(), 1);
    let page = app.get_with("/logins", &own).await;
    assert!(page.text.contains("Browser &lt;1&gt;"), "{}", page.text);
    assert!(page.text.contains("End all logins") && page.text.contains("Log out"));

    let foreign = [own[0], ("origin", "http://localhost:3000")];
    let ended = app.call("POST", "/logins/end", &foreign, Body::empty()).await;
    assert_eq!(ended.status, 403);
    let ended = app.call("POST", "/logins/end", &own, Body::empty()).await;
    assert_eq!(ended.status, 303);
    assert_eq!(app.get_with("/api/test", &own).await.status, 401);
}

#[tokio::test]
async fn a_viewer_reads_and_does_nothing_else() {
    const VIEWER: &str = "wall-screen-battery";
    const ANSWERS: &str = "answering-machine";
    let key = |name, may_answer, key| {
        AccessKey::named(name, Rights { role: Role::Viewer, may_answer }, key)
    };
    let app = TestApp::with(Options {
        access_key: Some(KEY),
        further_keys: vec![key("screen", false, VIEWER), key("desk", true, ANSWERS)],
        ..Options::default()
    });
    let id = "session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";
    let question = format!("/api/copilot/session/{id}/permission/{}", &id[8..]);
    let retry = "/api/copilot/job/job-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11/retry";
    let (cookie, secret) = log_in(&app, VIEWER).await;
    for path in [
        "/api/stop".to_owned(),
        "/message".to_owned(),
        "/approval".to_owned(),
        question.clone(),
        format!("/api/copilot/session/{id}/attach/a.txt"),
        format!("/api/copilot/session/{id}/permissions"),
        format!("/api/copilot/session/{id}/fallback"),
        format!("/api/copilot/session/{id}/extensions/trust"),
        "/api/copilot/session/start/gpt-5-mini".to_owned(),
        retry.to_owned(),
        "/logins/end".to_owned(),
    ] {
        let refused = (403, "RoleNotAllowed".to_owned());
        let headers = [("authorization", "Bearer wall-screen-battery")];
        let reply = app.call("POST", &path, &headers, Body::from("{}")).await;
        assert_eq!(reply.refusal(), refused, "{path}");
        let headers = [("cookie", &*cookie), ("portal-login", &*secret)];
        let reply = app.call("POST", &path, &headers, Body::from("{}")).await;
        assert_eq!(reply.refusal(), refused, "{path}");
    }
    assert_eq!(app.get_with("/api/config", &[("cookie", &cookie)]).await.status, 200);

    let answers = [("authorization", "Bearer answering-machine")];
    let reply = app.call("POST", &question, &answers, Body::from("deny")).await;
    assert_eq!(reply.json()["error"], "PermissionNotPending", "it was looked for");
    let mode = format!("/api/copilot/session/{id}/permissions");
    for path in [&*mode, retry, "/api/stop"] {
        let reply = app.call("POST", path, &answers, Body::from("approve-all")).await;
        assert_eq!(reply.status, 403, "{path}");
    }
    assert!(!app.is_stopping());
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
