//! The built browser half: styles, scripts, WASM and static files.
//!
//! A release carries them inside the binary (feature `embed-site`); under `cargo leptos` they lie
//! in the site folder that it names.

#[cfg(feature = "embed-site")]
mod embedded;
#[cfg(not(feature = "embed-site"))]
mod folder;

use app::shell::AssetPaths;
use axum::body::Body;
use axum::http::{Request, Response};
use leptos::config::LeptosOptions;

#[cfg(feature = "embed-site")]
use embedded::Files;
#[cfg(not(feature = "embed-site"))]
use folder::Files;

/// Where the scripts and styles lie in the site; every file below it belongs to the app itself.
pub const PACKAGE_PATH: &str = "/pkg/";

/// Why there is no site to serve.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// `cargo leptos` handed over settings that make no sense.
    #[error("the settings from cargo-leptos can't be read: {0}")]
    Options(String),
    /// The list of the site's files is missing or broken.
    #[error("the built site is broken: {0}; build again with `cargo xtask build`")]
    Manifest(String),
}

/// The site of one server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Site {
    files: Files,
    assets: AssetPaths,
    options: LeptosOptions,
}

impl Site {
    /// The site that this binary carries, or the folder it was told of.
    pub fn find() -> Result<Self, SiteError> {
        let options = leptos::config::get_configuration(None)
            .map_err(|error| SiteError::Options(error.to_string()))?
            .leptos_options;
        let (files, assets) = Files::open(&options)?;
        Ok(Self { files, assets, options })
    }

    /// Where the page finds its scripts and styles.
    pub fn assets(&self) -> &AssetPaths {
        &self.assets
    }

    /// What Leptos wants to know of its surroundings.
    pub fn options(&self) -> &LeptosOptions {
        &self.options
    }

    /// Answers a GET or HEAD request for a file; `None` if there is no such file.
    pub async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        self.files.answer(request).await
    }
}
