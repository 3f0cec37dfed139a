//! Proof of intent. Acting endpoints are meant to be called by POST, which other sites cannot do
//! unnoticed. Scripts also use GET; but so does a browser for any picture or link in a text or on a
//! foreign page, and over plain HTTP to anything but loopback it does not tell the two apart.

use axum::http::request::Parts;
use axum::http::{Method, header};

use super::origin::{SEC_FETCH_SITE, is_navigation};
use super::peer::Peer;
use super::{Refusal, host};

/// Refuses a GET that a browser may have sent on its own. `host` is the name by which the caller
/// addresses us.
///
/// Not used for callers who authenticate with `Authorization`: no browser adds that on its own.
pub fn check(head: &Parts, host: &str) -> Result<(), Refusal> {
    if head.method != Method::GET {
        return Ok(());
    }
    if is_navigation(&head.headers) {
        return Err(Refusal::MustBeAsked);
    }
    // Node's `fetch` sends only Sec-Fetch-Mode.
    let has_traces = [header::ORIGIN, header::REFERER, SEC_FETCH_SITE]
        .iter()
        .any(|trace| head.headers.contains_key(trace));
    let from_here = head.extensions.get::<Peer>().is_none_or(|peer| peer.address().is_loopback());
    if has_traces || !from_here || !host::is_loopback(host) {
        return Err(Refusal::PostRequired);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn judge(host: &str, peer: &str, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::get("/api/stop");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (mut head, ()) = request.body(()).expect("a request").into_parts();
        let own = "127.0.0.1:8888".parse().expect("an address");
        head.extensions.insert(Peer::new(peer.parse().expect("an address"), own));
        check(&head, host)
    }

    #[test]
    fn scripts_on_this_machine_act_by_get() {
        for host in ["localhost:8888", "127.0.0.1", "[::1]:8888"] {
            assert_eq!(judge(host, "127.0.0.1:5", &[]), Ok(()));
            assert_eq!(judge(host, "[::ffff:127.0.0.1]:5", &[]), Ok(()));
            assert_eq!(judge(host, "[::1]:5", &[("sec-fetch-mode", "cors")]), Ok(()));
        }
    }

    #[test]
    fn what_a_browser_may_have_caused_does_not() {
        let refused = Err(Refusal::PostRequired);
        for trace in [
            ("origin", "http://localhost:8888"),
            ("referer", "http://localhost:8888/"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "none"),
        ] {
            assert_eq!(judge("localhost:8888", "127.0.0.1:5", &[trace]), refused, "{trace:?}");
        }
        assert_eq!(judge("portal.lan", "127.0.0.1:5", &[]), refused);
        assert_eq!(judge("192.168.1.5:8888", "127.0.0.1:5", &[]), refused);
        assert_eq!(judge("localhost:8888", "192.168.1.7:5", &[]), refused, "a forged Host");
    }

    #[test]
    fn a_person_who_went_there_is_asked() {
        let went = [("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")];
        assert_eq!(judge("localhost", "127.0.0.1:5", &went), Err(Refusal::MustBeAsked));
        assert_eq!(judge("portal.lan", "10.0.0.1:5", &went), Err(Refusal::MustBeAsked));
    }
}
