//! The pages of the app, rendered by Leptos, and the files beside them.

use any_spawner::Executor;
use app::shell::shell;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use leptos::prelude::provide_context;
use wire::server::ConfigReply;

use super::{AppState, error, server_api};

/// True if the path is a page, in any of its spellings.
pub(super) fn is_page(path: &str) -> bool {
    app::is_page(path)
}

/// The routes of all pages.
pub(super) fn routes(state: &AppState) -> Router<AppState> {
    // Fails if another server of this process has done it already.
    let _ = Executor::init_tokio();
    app::paths().fold(Router::new(), |router, path| {
        let render =
            leptos_axum::render_app_to_stream_with_context(context(state), document(state));
        router.route(path, get(render))
    })
}

/// A file of the site, or else the "not found" page.
pub(super) async fn file_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return error::not_found();
    }
    let (head, _) = request.into_parts();
    let again = Request::from_parts(head.clone(), Body::empty());
    if let Some(response) = state.site.answer(again).await {
        return response;
    }
    let render = leptos_axum::render_app_to_stream_with_context(context(&state), document(&state));
    render(Request::from_parts(head, Body::empty())).await.into_response()
}

/// What components may use while the server renders them.
fn context(state: &AppState) -> impl Fn() + Clone + Send + Sync + 'static {
    let config: ConfigReply = server_api::config_reply(state);
    move || provide_context(app::Config(config.clone()))
}

fn document(
    state: &AppState,
) -> impl Fn() -> leptos::prelude::AnyView + Clone + Send + Sync + 'static {
    use leptos::prelude::IntoAny;
    let (assets, options) = (state.site.assets().clone(), state.site.options().clone());
    move || shell(assets.clone(), options.clone()).into_any()
}
