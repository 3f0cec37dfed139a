//! The list of models, and where keys come from.

use serde_json::json;
use stub_provider::{Answer, MODELS};

use super::*;

fn asking(stub: &StubProvider) -> ProviderSettings {
    ProviderSettings { models: Vec::new(), ..settings(stub) }
}

#[tokio::test]
async fn models_that_are_set_up_are_not_asked_for() {
    let harness = Harness::new().await;
    let models = harness.backend.list_models().await.expect("a list");
    let model = &models[0];
    assert_eq!((&*model.id, &*model.name), (MODEL, MODEL));
    assert_eq!(model.provider.as_deref(), Some("stub"));
    assert_eq!(harness.stub.requests().len(), 0);
    let mut settings = settings(&harness.stub);
    assert_eq!(Some(model.multiplier), Some(1.0), "a key is paid for");
    settings.key = KeySource::None;
    let models = OpenAi::new(settings.clone()).list_models().await.expect("a list");
    assert_eq!(Some(models[0].multiplier), Some(0.0), "one's own machine is free");
    settings.models[0].multiplier = Some(0.5);
    settings.models[0].name = Some("Mine".to_owned());
    let models = OpenAi::new(settings).list_models().await.expect("a list");
    assert_eq!((models[0].multiplier, &*models[0].name), (0.5, "Mine"));
}

#[tokio::test]
async fn a_provider_is_asked_once_for_its_models() {
    let stub = stub().await;
    stub.push_to(MODELS, Answer::json(200, &json!({ "data": [{ "id": "a/b" }, { "id": "c" }] })));
    let backend = OpenAi::new(asking(&stub));
    let (one, two) = tokio::join!(backend.list_models(), backend.list_models());
    assert_eq!(one, two);
    let ids: Vec<_> = one.expect("a list").into_iter().map(|model| model.id).collect();
    assert_eq!(ids, ["a/b", "c"]);
    let requests = stub.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].method, "GET");
    assert_eq!(requests[0].header("authorization"), format!("Bearer {KEY}"));
}

#[tokio::test]
async fn a_list_is_asked_for_again_when_it_is_old() {
    let stub = stub().await;
    let mut settings = asking(&stub);
    settings.limits.model_list = Duration::ZERO;
    stub.push_to(MODELS, Answer::json(200, &json!({ "data": [{ "id": "a" }] })));
    stub.push_to(MODELS, Answer::json(200, &json!({ "data": [{ "id": "b" }] })));
    let backend = OpenAi::new(settings);
    for id in ["a", "b"] {
        assert_eq!(backend.list_models().await.expect("a list")[0].id, id);
    }
}

#[tokio::test]
async fn a_list_that_does_not_come_is_a_problem() {
    for (answer, words) in [
        (Answer::error(401, &format!("bad key {KEY}")), "HTTP 401: bad key …"),
        (Answer::json(200, &json!({ "hello": 1 })), "not a list of models"),
        (Answer::head(200, &[]).bytes("hello"), "not an answer"),
        (Answer::hang_up(), "connection was lost"),
    ] {
        let stub = stub().await;
        stub.push_to(MODELS, answer);
        let backend = OpenAi::new(asking(&stub));
        for _ in 0..2 {
            let error = backend.list_models().await.expect_err("no list");
            assert!(matches!(error, AgentError::Unavailable(_)));
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(stub.requests().len(), 1, "remembered for a moment");
    }
}

#[tokio::test]
async fn a_file_may_hold_the_key_and_change() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("key");
    let stub = stub().await;
    let mut settings = asking(&stub);
    settings.key = KeySource::File(file.clone());
    settings.key_header = Some(parse_key_header("api-key").expect("a name"));
    settings.headers.add("x-team", "one").expect("a header");
    settings.limits.model_list = Duration::ZERO;
    settings.base_url =
        BaseUrl::parse(&format!("{}/?api-version=7", stub.base_url())).expect("an address");
    stub.always(MODELS, Answer::json(200, &json!({ "data": [] })));
    for key in ["first", "second"] {
        std::fs::write(&file, format!("{key}\n")).expect("a file");
        let backend = OpenAi::new(settings.clone());
        assert_eq!(backend.list_models().await, Ok(Vec::new()));
        let request = stub.requests().pop().expect("a request");
        assert_eq!(request.header("api-key"), key);
        assert_eq!(request.header("x-team"), "one");
        assert_eq!(request.header("authorization"), "");
        assert_eq!(request.path, "/v1/models?api-version=7");
    }
    std::fs::remove_file(&file).expect("a file");
    settings.models = super::settings(&stub).models;
    let error = OpenAi::new(settings.clone()).list_models().await.expect_err("no key");
    assert!(error.to_string().contains("the key can't be read"), "{error}");
    settings.key = KeySource::Missing("the variable `X` is not set".to_owned());
    let error = OpenAi::new(settings).list_models().await.expect_err("no key");
    assert_eq!(error.to_string(), "the variable `X` is not set");
}

#[test]
fn addresses_are_checked() {
    for (text, words) in [
        ("localhost:1234", "not an http or https URL"),
        ("ftp://host/v1", "not an http or https URL"),
        ("v1", "not a URL"),
        ("", "not a URL"),
        ("http://", "not a URL"),
        ("http://user:pass@host/v1", "must not carry a password"),
        ("http://host/v1#x", "fragment"),
    ] {
        let error = BaseUrl::parse(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
        assert!(!error.contains("pass@"), "{error}");
    }
    for (text, local) in [
        ("http://localhost:11434/v1", true),
        ("http://127.0.0.1/v1/", true),
        ("http://[::1]:1/v1", true),
        ("https://models.example/v1", false),
    ] {
        let url = BaseUrl::parse(text).expect(text);
        assert_eq!(url.is_local(), local, "{text}");
        assert_eq!(url.join(&["chat", "completions"]).path(), "/v1/chat/completions", "{text}");
    }
}

#[tokio::test]
async fn a_session_needs_a_known_model() {
    let harness = Harness::new().await;
    let settings = AgentSettings::new("other", "/", AgentEvents::new(|_| {}));
    let Err(error) = harness.backend.start_session(settings).await else {
        panic!("there is no such model");
    };
    assert_eq!(error.to_string(), "unknown model: `other`");
    harness.session.stop().await;
    harness.backend.close().await;
}
