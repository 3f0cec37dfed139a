//! The server's own names. A foreign page can make its own name resolve to this machine (DNS
//! rebinding); its requests then look same-origin to the browser, but carry that name in `Host`.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header};

use super::Refusal;

/// The names under which this server is reached. Ports are ignored: a forwarded port is still ours.
#[derive(Clone, Debug)]
pub struct OwnNames {
    /// Reachable from other machines, so every IP address may be ours. Rebinding needs a name, so
    /// an address in `Host` is never an attack.
    any_address: bool,
    /// Further names, in lower case.
    names: Vec<String>,
}

impl OwnNames {
    /// `localhost` and the loopback addresses; every address if `bound_to` is wider; and `further`
    /// names.
    pub fn new(bound_to: IpAddr, further: &[String]) -> Self {
        let names = further.iter().map(|name| name.trim().to_ascii_lowercase());
        Self { any_address: !bound_to.is_loopback(), names: names.collect() }
    }

    /// The authority that the request addresses, if it is ours.
    pub fn check<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
        let mut given = headers.get_all(header::HOST).iter();
        let host = match (given.next(), given.next()) {
            (Some(value), None) => value.to_str().unwrap_or("(not text)"),
            (None, _) => return Err(Refusal::Host("(none)".into())),
            (Some(_), Some(_)) => return Err(Refusal::Host("(several)".into())),
        };
        // A target in absolute form names a host, too; the two must agree.
        if let Some(authority) = uri.authority()
            && !authority.as_str().eq_ignore_ascii_case(host)
        {
            return Err(Refusal::Host(authority.to_string()));
        }
        if self.is_own(host) { Ok(host) } else { Err(Refusal::Host(host.to_owned())) }
    }

    fn is_own(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else { return false };
        if let Ok(address) = bare(name).parse::<IpAddr>() {
            return self.any_address || address.is_loopback();
        }
        name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// True if `host`, the value of a `Host` header, names this machine only.
pub fn is_loopback(host: &str) -> bool {
    without_port(host).is_some_and(|name| {
        name.eq_ignore_ascii_case("localhost")
            || bare(name).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// An IPv6 address without brackets.
fn bare(name: &str) -> &str {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

/// The name of `name:port`, `[v6]:port` or `name`; `None` if the port is not a number.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.rfind(':') {
        Some(colon) if !host.ends_with(']') => (&host[..colon], &host[colon + 1..]),
        _ => (host, "0"),
    };
    (!name.is_empty() && port.parse::<u16>().is_ok()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_to(bound_to: &str, host: &str) -> bool {
        let names = OwnNames::new(bound_to.parse().expect("an address"), &["Portal.lan".into()]);
        names.is_own(host)
    }

    #[test]
    fn loopback_names_are_ours() {
        for host in [
            "localhost",
            "localhost:8888",
            "LOCALHOST:1",
            "127.0.0.1:8888",
            "127.0.0.1",
            "[::1]:8888",
            "[::1]",
            "portal.lan",
            "portal.LAN:80",
        ] {
            assert!(answers_to("127.0.0.1", host), "{host}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for host in [
            "evil.example",
            "evil.example:8888",
            "localhost.evil.example",
            "192.168.1.5:8888",
            "127.0.0.1.evil.example",
            "",
            ":8888",
            "localhost:x",
            "localhost:99999",
            "localhost:8888:8888",
            "user@localhost",
        ] {
            assert!(!answers_to("127.0.0.1", host), "{host}");
        }
    }

    #[test]
    fn a_wide_server_answers_to_addresses_but_not_to_foreign_names() {
        assert!(answers_to("0.0.0.0", "192.168.1.5:8888"));
        assert!(answers_to("0.0.0.0", "localhost:8888"));
        assert!(!answers_to("0.0.0.0", "evil.example:8888"));
    }
}
