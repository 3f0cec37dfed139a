//! Request targets: only plain absolute paths pass.
//!
//! Routers, URL parsers and file systems disagree about `//`, `.`, `..` and broken escapes, so none
//! of ours gets to see them.

use axum::http::Uri;

use super::Refusal;

/// Refuses targets whose path is not a plain absolute one.
pub fn check(uri: &Uri) -> Result<(), Refusal> {
    let path = uri.path();
    let Some(rest) = path.strip_prefix('/') else {
        return Err(Refusal::Target("the path must begin with a slash"));
    };
    // A single trailing slash is an ordinary path without a route.
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return if path == "/" { Ok(()) } else { Err(EMPTY_SEGMENT) };
    }
    rest.split('/').try_for_each(check_segment)
}

const EMPTY_SEGMENT: Refusal = Refusal::Target("the path has an empty segment");

fn check_segment(segment: &str) -> Result<(), Refusal> {
    if segment.is_empty() {
        return Err(EMPTY_SEGMENT);
    }
    // Nearly all segments: nothing to decode, nothing special.
    if segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        return Ok(());
    }
    let decoded = decode(segment)?;
    if decoded == "." || decoded == ".." {
        return Err(Refusal::Target("the path has a dot segment"));
    }
    if decoded.chars().any(char::is_control) {
        return Err(Refusal::Target("the path has a control character"));
    }
    Ok(())
}

/// Decodes percent escapes; broken ones and bytes that are not UTF-8 are refused.
fn decode(segment: &str) -> Result<String, Refusal> {
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(Refusal::Target("the path has a broken percent escape"));
        };
        decoded.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits fit a byte"));
    }
    String::from_utf8(decoded).map_err(|_| Refusal::Target("the path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(path: &str) -> bool {
        check(&path.parse().expect("a URI")).is_ok()
    }

    #[test]
    fn plain_paths_pass() {
        for path in [
            "/",
            "/index.html",
            "/api/test",
            "/api/test/",
            "/api/test?x=//",
            "/api/copilot/session/start/vendor/model-1.5",
            "/a%20b/%C3%A4",
            "/...",
            "http://localhost/api/test",
        ] {
            assert!(passes(path), "{path}");
        }
    }

    #[test]
    fn odd_paths_are_refused() {
        for path in [
            "//",
            "//[",
            "/.//",
            "/a//b",
            "///",
            "/.",
            "/..",
            "/a/../b",
            "/a/./b",
            "/%2e%2e/a",
            "/%2E",
            "/%ff",
            "/%",
            "/%4",
            "/%zz",
            "/a%00",
            "/a%0a",
            "*",
        ] {
            assert!(!passes(path), "{path}");
        }
    }
}
