//! The site inside the binary. `cargo xtask build` fills the folder and names it at compile time.

use app::shell::AssetPaths;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use leptos::config::LeptosOptions;
use rust_embed::{EmbeddedFile, RustEmbed};

use super::{PACKAGE_PATH, SiteError};
use crate::hex::hex;
use crate::http::encoding::accepts;

/// Which file is the script, the app and the style. Not served.
const MANIFEST: &str = "assets.json";
/// Names below `pkg` change with their content, so browsers need never ask again.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Other names stay: ask each time, and be told "not modified".
const ASK_AGAIN: &str = "no-cache";

#[derive(RustEmbed)]
#[folder = "$PORTAL_SITE_DIR"]
struct SiteFiles;

#[derive(Clone, Debug)]
pub(super) struct Files;

impl Files {
    pub(super) fn open(_: &LeptosOptions) -> Result<(Self, AssetPaths), SiteError> {
        let manifest = SiteFiles::get(MANIFEST)
            .ok_or_else(|| SiteError::Manifest(format!("it has no {MANIFEST}")))?;
        let assets = serde_json::from_slice(&manifest.data)
            .map_err(|error| SiteError::Manifest(error.to_string()))?;
        Ok((Self, assets))
    }

    #[expect(clippy::unused_async, reason = "the folder's site has the same signature")]
    pub(super) async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        let path = request.uri().path();
        let name = path.strip_prefix('/')?;
        if name == MANIFEST || is_compressed(name) {
            return None;
        }
        let plain = SiteFiles::get(name)?;
        let cache = if path.starts_with(PACKAGE_PATH) { FOR_EVER } else { ASK_AGAIN };
        let (encoding, file) = best_encoding(name, plain, request.headers());

        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        let tag = entity_tag(&file);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(header::ETAG, tag.clone());
        if request.headers().get(header::IF_NONE_MATCH) == Some(&tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return Some(response);
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
        headers.insert(header::CONTENT_LENGTH, file.data.len().into());
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        if request.method() != Method::HEAD {
            *response.body_mut() = Body::from(file.data);
        }
        Some(response)
    }
}

const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

fn is_compressed(name: &str) -> bool {
    ENCODINGS.iter().any(|(_, ending)| name.ends_with(ending))
}

/// The smallest form that the client takes.
fn best_encoding(
    name: &str,
    plain: EmbeddedFile,
    headers: &HeaderMap,
) -> (Option<&'static str>, EmbeddedFile) {
    for (encoding, ending) in ENCODINGS {
        if accepts(headers, encoding)
            && let Some(file) = SiteFiles::get(&format!("{name}{ending}"))
        {
            return (Some(encoding), file);
        }
    }
    (None, plain)
}

fn entity_tag(file: &EmbeddedFile) -> HeaderValue {
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()[..16]));
    HeaderValue::try_from(tag).expect("hexadecimal digits in quotes")
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
