//! Which encodings a client accepts, and JSON that is compressed if it is large.

use std::io::Write;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

/// Smaller answers are sent as quickly as they are compressed. In bytes.
const WORTH_IT: usize = 4 * 1024;

/// A JSON answer, compressed with gzip if that is worth it. Slow for large values, so call it on a
/// blocking thread.
pub(crate) fn json(value: &impl Serialize, accepts_gzip: bool) -> Response {
    let plain = serde_json::to_vec(value).expect("plain structs serialise");
    let packed = if accepts_gzip && plain.len() >= WORTH_IT { gzip(&plain) } else { None };
    let is_packed = packed.is_some();
    let mut response = Response::new(Body::from(packed.unwrap_or(plain)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn gzip(plain: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).ok()?;
    encoder.finish().ok()
}

/// True if `Accept-Encoding` names the encoding without refusing it (`;q=0`).
pub(crate) fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|item| item.split_once(';').unwrap_or((item, "")))
        .any(|(name, weight)| {
            let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
            name.trim().eq_ignore_ascii_case(encoding) && !refused
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_taken_only_if_accepted() {
        for (value, br, gzip) in [
            ("gzip, deflate, br", true, true),
            ("gzip;q=1.0, br;q=0", false, true),
            ("identity", false, false),
            ("BR", true, false),
        ] {
            let headers =
                [(header::ACCEPT_ENCODING, HeaderValue::from_static(value))].into_iter().collect();
            assert_eq!(accepts(&headers, "br"), br, "{value}");
            assert_eq!(accepts(&headers, "gzip"), gzip, "{value}");
        }
    }
}
