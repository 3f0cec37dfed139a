//! The pages of the app, rendered by Leptos, and the files beside them.

use app::App;
use app::shell::shell;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use leptos::prelude::provide_context;
use leptos_axum::LeptosRoutes;
use wire::server::ConfigReply;

use super::{AppState, error, server_api};

/// Every page in each of its spellings; `app::App` declares the same routes.
const PAGES: [&str; 13] = [
    "/",
    "/index",
    "/index.html",
    "/jobs",
    "/jobs.html",
    "/jobTracking",
    "/jobTracking.html",
    "/inbox",
    "/inbox.html",
    "/bridge",
    "/bridge.html",
    "/test",
    "/test.html",
];

/// True if the path is a page, in any of its spellings.
pub(super) fn is_page(path: &str) -> bool {
    PAGES.contains(&path)
}

/// The routes that the app itself declares.
pub(super) fn routes(state: &AppState) -> Router<AppState> {
    let (routes, _) = leptos_axum::generate_route_list_with_exclusions_and_ssg_and_context(
        App,
        None,
        context(state),
    );
    Router::new().leptos_routes_with_context(state, routes, context(state), document(state))
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
