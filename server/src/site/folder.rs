//! The site as a folder: what `cargo leptos` builds and names in `LEPTOS_SITE_ROOT`.

use app::shell::AssetPaths;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use leptos::config::LeptosOptions;
use tower_http::services::ServeDir;

use super::SiteError;

#[derive(Clone, Debug)]
pub(super) struct Files {
    directory: ServeDir,
}

impl Files {
    #[expect(clippy::unnecessary_wraps, reason = "the embedded site has the same signature")]
    pub(super) fn open(options: &LeptosOptions) -> Result<(Self, AssetPaths), SiteError> {
        let directory = ServeDir::new(options.site_root.as_ref())
            .append_index_html_on_directories(false)
            .precompressed_br()
            .precompressed_gzip();
        let path =
            |ending: &str| format!("/{}/{}.{ending}", options.site_pkg_dir, options.output_name);
        let assets = AssetPaths { js: path("js"), wasm: path("wasm"), css: path("css") };
        Ok((Self { directory }, assets))
    }

    pub(super) async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        // A file that can't be read is, to the caller, a file that is not there.
        let mut response = self.directory.clone().try_call(request).await.ok()?;
        if response.status() == StatusCode::NOT_FOUND {
            return None;
        }
        // These names stay when their content changes.
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        Some(response.map(Body::new))
    }
}
