//! The site inside the binary. `cargo xtask build` fills the folder and passes its path at compile
//! time.

use app::shell::AssetPaths;
use axum::body::Body;
use axum::http::{Request, Response};
use leptos::config::LeptosOptions;
use rust_embed::RustEmbed;

use super::files::{self, File};
use super::{MANIFEST, SiteError, read_manifest};

#[derive(RustEmbed)]
#[folder = "$PORTAL_SITE_DIR"]
struct SiteFiles;

#[derive(Clone, Debug)]
pub(super) struct Source;

impl Source {
    pub(super) fn open(_: &LeptosOptions) -> Result<(Self, AssetPaths), SiteError> {
        let manifest = SiteFiles::get(MANIFEST)
            .ok_or_else(|| SiteError::Manifest(format!("it has no {MANIFEST}")))?;
        Ok((Self, read_manifest(&manifest.data)?))
    }

    #[expect(clippy::unused_async, reason = "the folder's site has the same signature")]
    pub(super) async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        files::answer(&request, |name| {
            let file = SiteFiles::get(name)?;
            Some(File::new(file.data, file.metadata.sha256_hash()))
        })
    }
}
