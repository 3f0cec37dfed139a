//! Files with content hashes in their names, next to their compressed variants.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

use super::{MANIFEST, PACKAGE_PATH};
use crate::encoding::accepts;
use crate::hex::hex;

/// Names below `pkg` change with their content, so browsers never need to ask again.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Other names are stable: browsers ask each time, and get "not modified".
const ASK_AGAIN: &str = "no-cache";

/// A file of the site.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) data: Bytes,
    /// SHA-256 of the data.
    pub(super) hash: [u8; 32],
}

impl File {
    pub(super) fn new(data: Cow<'static, [u8]>, hash: [u8; 32]) -> Self {
        let data = match data {
            Cow::Borrowed(data) => Bytes::from_static(data),
            Cow::Owned(data) => Bytes::from(data),
        };
        Self { data, hash }
    }

    fn entity_tag(&self) -> HeaderValue {
        let tag = format!("\"{}\"", hex(&self.hash[..16]));
        HeaderValue::try_from(tag).expect("hexadecimal digits in quotes")
    }
}

/// Answers with files that `get` looks up by their path in the site.
pub(super) fn answer(
    request: &Request<Body>,
    get: impl Fn(&str) -> Option<File>,
) -> Option<Response<Body>> {
    let path = request.uri().path();
    let name = path.strip_prefix('/')?;
    if name == MANIFEST || is_compressed(name) {
        return None;
    }
    let plain = get(name)?;
    let cache = if path.starts_with(PACKAGE_PATH) { FOR_EVER } else { ASK_AGAIN };
    let (encoding, file) = best_encoding(name, plain, request.headers(), get);

    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    let tag = file.entity_tag();
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

const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

fn is_compressed(name: &str) -> bool {
    ENCODINGS.iter().any(|(_, ending)| name.ends_with(ending))
}

/// The smallest variant that the client accepts.
fn best_encoding(
    name: &str,
    plain: File,
    headers: &HeaderMap,
    get: impl Fn(&str) -> Option<File>,
) -> (Option<&'static str>, File) {
    for (encoding, ending) in ENCODINGS {
        if accepts(headers, encoding)
            && let Some(file) = get(&format!("{name}{ending}"))
        {
            return (Some(encoding), file);
        }
    }
    (None, plain)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
