//! The API about the server itself.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use uuid::Uuid;
use wire::server::{ConfigReply, TestReply, TokenReply};

use super::AppState;

/// `api/test`
pub(super) async fn test() -> Json<TestReply> {
    Json(TestReply { message: "Hello, world!".into() })
}

/// `api/config`
pub(super) async fn config(State(state): State<AppState>) -> Json<ConfigReply> {
    Json(config_reply(&state))
}

/// What `api/config` tells, also to pages that are rendered here.
pub(super) fn config_reply(state: &AppState) -> ConfigReply {
    ConfigReply {
        repo_root: state.repo_root.display().to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

/// `api/token`
pub(super) async fn token() -> Json<TokenReply> {
    Json(TokenReply { token: Uuid::new_v4().to_string() })
}

/// `api/stop`: the answer still goes out, because the shutdown lets running calls finish.
pub(super) async fn stop(State(state): State<AppState>) -> Json<Value> {
    tracing::info!("api/stop: stopping");
    state.lifecycle.begin_shutdown();
    Json(json!({}))
}
