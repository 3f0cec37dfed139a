//! The built browser side: styles, scripts, WASM and static files.
//!
//! ```text
//!  release           the files are inside the binary (feature `embed-site`)   ─┐
//!  cargo xtask serve a folder with a manifest, read once at the start          ├─ `files`
//!  cargo leptos      a folder without, whose files change while it runs        ─── `ServeDir`
//! ```

#[cfg(feature = "embed-site")]
mod embedded;
mod files;
#[cfg(not(feature = "embed-site"))]
mod folder;

use app::shell::AssetPaths;
use axum::body::Body;
use axum::http::{Request, Response};
use leptos::config::LeptosOptions;

#[cfg(feature = "embed-site")]
use embedded::Source;
#[cfg(not(feature = "embed-site"))]
use folder::Source;

/// The folder of scripts and styles in the site; every file below it belongs to the app itself.
pub const PACKAGE_PATH: &str = "/pkg/";
/// Names the files of the script, the app and the style. Not served.
const MANIFEST: &str = "assets.json";

/// Why there is no site to serve.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The settings passed by `cargo leptos` are invalid.
    #[error("the settings from cargo-leptos can't be read: {0}")]
    Options(String),
    /// The manifest of the site is missing or broken.
    #[error("the built site is broken: {0}; build again with `cargo xtask build`")]
    Manifest(String),
}

/// The site of one server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Site {
    source: Source,
    assets: AssetPaths,
    options: LeptosOptions,
}

impl Site {
    /// The site embedded in this binary, or the configured folder.
    pub fn find() -> Result<Self, SiteError> {
        let options = leptos::config::get_configuration(None)
            .map_err(|error| SiteError::Options(error.to_string()))?
            .leptos_options;
        let (source, assets) = Source::open(&options)?;
        Ok(Self { source, assets, options })
    }

    /// The paths of the page's scripts and styles.
    pub fn assets(&self) -> &AssetPaths {
        &self.assets
    }

    /// The settings that Leptos needs.
    pub fn options(&self) -> &LeptosOptions {
        &self.options
    }

    /// Answers a GET or HEAD request for a file; `None` if there is no such file.
    pub async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        self.source.answer(request).await
    }
}

fn read_manifest(manifest: &[u8]) -> Result<AssetPaths, SiteError> {
    serde_json::from_slice(manifest).map_err(|error| SiteError::Manifest(error.to_string()))
}
