//! Requests caused by another site. Browsers say so in `Sec-Fetch-Site` and `Origin`; scripts send
//! neither and pass. Another port of this machine is another site, too.

use axum::http::{HeaderMap, HeaderName, Method, Uri, header};

use super::{Audience, Refusal, text};

pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
pub(super) const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
pub(super) const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Refuses a request caused by another site than `host`, unless a person follows a link to a page.
pub fn check(
    method: &Method,
    headers: &HeaderMap,
    host: &str,
    audience: Audience,
) -> Result<(), Refusal> {
    let for_programs = matches!(audience, Audience::Api | Audience::Act);
    if !for_programs && follows_link(method, headers) {
        return Ok(());
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("(not text)");
        if !is_same_origin(origin, host) {
            return Err(Refusal::CrossSite(format!("Origin `{origin}`")));
        }
    }
    if let Some(site) = headers.get(&SEC_FETCH_SITE) {
        let site = site.to_str().unwrap_or("(not text)");
        // Our pages call the API but never navigate to it: this is a link in a model's text. Acting
        // paths ask first, and their form does navigate.
        if audience == Audience::Api && site != "none" && is_navigation(headers) {
            return Err(Refusal::CrossSite("a link must not call the API".into()));
        }
        // "none" is the person: the address bar, a bookmark, a link in a terminal.
        if site != "same-origin" && site != "none" {
            return Err(Refusal::CrossSite(format!("Sec-Fetch-Site `{site}`")));
        }
    } else if for_programs
        && !headers.contains_key(header::ORIGIN)
        && let Some(referer) = headers.get(header::REFERER)
    {
        // Over plain HTTP to another machine, browsers omit Sec-Fetch-Site.
        let referer = referer.to_str().unwrap_or("(not text)");
        if !is_same_origin(referer, host) {
            return Err(Refusal::CrossSite("foreign Referer".into()));
        }
    }
    Ok(())
}

/// Whether a whole window navigates, as opposed to framing or fetching a page.
fn follows_link(method: &Method, headers: &HeaderMap) -> bool {
    (method == Method::GET || method == Method::HEAD)
        && is_navigation(headers)
        && text(headers, &SEC_FETCH_DEST) == Some("document")
}

/// Whether a browser navigates there, as opposed to a page's own requests.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    text(headers, &SEC_FETCH_MODE) == Some("navigate")
}

/// Whether `url` (an origin, or any URL below one) belongs to the server addressed as `host`.
fn is_same_origin(url: &str, host: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return false;
    };
    // Behind a TLS proxy the page's scheme is https while ours is http.
    matches!(scheme, "http" | "https") && authority.as_str().eq_ignore_ascii_case(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "localhost:8888";

    fn passes(audience: Audience, method: &Method, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_static(name), value.parse().expect("a header value"))
            })
            .collect();
        check(method, &headers, HOST, audience).is_ok()
    }

    #[test]
    fn own_pages_scripts_and_the_person_pass() {
        for headers in [
            &[][..],
            &[("origin", "http://localhost:8888")],
            &[("origin", "http://localhost:8888"), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
            &[("referer", "http://localhost:8888/jobs?wb=/x")],
        ] {
            assert!(passes(Audience::Api, &Method::GET, headers), "{headers:?}");
            assert!(passes(Audience::Api, &Method::POST, headers), "{headers:?}");
            assert!(passes(Audience::Page, &Method::GET, headers), "{headers:?}");
            assert!(passes(Audience::Act, &Method::POST, headers), "{headers:?}");
        }
    }

    #[test]
    fn other_sites_are_refused() {
        for headers in [
            &[("origin", "http://evil.example")][..],
            &[("origin", "null")],
            &[("origin", "http://localhost:3000")],
            &[("origin", "http://localhost")],
            &[("origin", "file://")],
            &[("origin", "http://user@localhost:8888")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "anything")],
            &[("origin", "http://localhost:8888"), ("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "iframe"),
            ],
        ] {
            assert!(!passes(Audience::Api, &Method::GET, headers), "{headers:?}");
            assert!(!passes(Audience::Page, &Method::GET, headers), "{headers:?}");
            assert!(!passes(Audience::Act, &Method::GET, headers), "{headers:?}");
            assert!(!passes(Audience::Act, &Method::POST, headers), "{headers:?}");
        }
        assert!(!passes(Audience::Api, &Method::GET, &[("referer", "http://evil.example/")]));
    }

    #[test]
    fn a_link_from_elsewhere_opens_pages_only() {
        let link = &[
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert!(passes(Audience::Page, &Method::GET, link));
        assert!(!passes(Audience::Page, &Method::POST, link), "a form from elsewhere");
        assert!(!passes(Audience::Api, &Method::GET, link));
    }

    #[test]
    fn not_even_a_link_in_our_own_page_calls_the_api() {
        let link = &[
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert!(!passes(Audience::Api, &Method::GET, link));
        assert!(passes(Audience::Page, &Method::GET, link));
    }

    #[test]
    fn the_form_that_asks_posts_from_our_own_page_only() {
        let form = |site, origin| {
            [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("origin", origin)]
        };
        let own = form("same-origin", "http://localhost:8888");
        assert!(passes(Audience::Act, &Method::POST, &own));
        assert!(!passes(Audience::Api, &Method::POST, &own));
        let foreign = form("cross-site", "http://evil.example");
        assert!(!passes(Audience::Act, &Method::POST, &foreign));
    }
}
