//! The API about the server itself.

use axum::Json;
use axum::extract::State;
use wire::server::{ConfigReply, TestReply};
use wire::{Done, LiveToken, TokenReply};

use super::AppState;

/// `api/test`: tells that the server runs.
pub(super) async fn test() -> Json<TestReply> {
    Json(TestReply { message: "Hello, world!".into() })
}

/// `api/config`: what pages need to know about the server.
pub(super) async fn config(State(state): State<AppState>) -> Json<ConfigReply> {
    Json(config_reply(&state))
}

/// The reply of `api/config`, also for pages that are rendered here.
pub(super) fn config_reply(state: &AppState) -> ConfigReply {
    ConfigReply {
        repo_root: state.repo_root.display().to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        permissions: state.sessions.policy().rights().permissions,
        locked: state.policy.access.is_locked(),
        lasting: state.sessions.live().shared().journal().is_lasting(),
        notices: state.notices.all(),
    }
}

/// `api/token`: a new token for live calls.
pub(super) async fn token() -> Json<TokenReply> {
    Json(TokenReply { token: LiveToken::generate() })
}

/// `api/stop`: ends all work first, so that its readers learn about it. The answer itself is still
/// sent, because the shutdown lets running calls finish.
pub(super) async fn stop(State(state): State<AppState>) -> Json<Done> {
    tracing::info!("api/stop: stopping");
    state.stop_work().await;
    state.lifecycle.begin_shutdown();
    Json(Done {})
}
