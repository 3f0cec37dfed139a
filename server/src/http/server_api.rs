//! The API about the server itself.

use axum::Json;
use axum::extract::State;
use wire::server::{ConfigReply, TestReply};
use wire::{Done, LiveToken, TokenReply};

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
        permissions: state.sessions.policy().rights().permissions,
        locked: state.policy.access.is_locked(),
        notices: state.notices.all(),
    }
}

/// `api/token`
pub(super) async fn token() -> Json<TokenReply> {
    Json(TokenReply { token: LiveToken::generate() })
}

/// `api/stop`: all work first, so that their readers hear of the end; the answer itself still
/// goes out, because the shutdown lets running calls finish.
pub(super) async fn stop(State(state): State<AppState>) -> Json<Done> {
    tracing::info!("api/stop: stopping");
    state.stop_work().await;
    state.lifecycle.begin_shutdown();
    Json(Done {})
}
