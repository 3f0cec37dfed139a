//! Which URLs a link may have.

/// The URL if it is one of the web or of a mailbox, without surrounding blanks.
///
/// Only what is known to be harmless is allowed. Browsers skip control characters within a URL, so
/// one that has any is not what it seems. And without `//` a web URL could point to this very
/// server.
pub(super) fn allowed(destination: &str) -> Option<&str> {
    let address = destination.trim_matches(|c: char| c.is_control() || c.is_whitespace());
    if address.contains(char::is_control) {
        return None;
    }
    let (scheme, rest) = address.split_once(':')?;
    let has_target = if is(scheme, "http") || is(scheme, "https") {
        rest.strip_prefix("//")
            .is_some_and(|host| !host.is_empty() && !host.starts_with(['/', '\\']))
    } else {
        is(scheme, "mailto") && !rest.is_empty()
    };
    has_target.then_some(address)
}

fn is(scheme: &str, name: &str) -> bool {
    scheme.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn addresses_of_the_web_and_of_mailboxes_are_allowed() {
        for address in ["http://a", "HTTPS://a.b/c?d=e&f#g", "mailto:a@b.c", "https://ü.example/"]
        {
            assert_eq!(allowed(address), Some(address));
            assert_eq!(allowed(&format!("\u{1} \n{address}\u{a0}\t")), Some(address));
        }
    }

    #[test]
    fn every_other_address_is_refused() {
        for address in [
            "",
            ":",
            "javascript:alert(1)",
            "\u{1}JaVaScRiPt:alert(1)",
            "java\nscript:alert(1)",
            "vbscript:x",
            "data:text/html,<script>",
            "file:///etc/passwd",
            "blob:https://a/b",
            "//a",
            "/api/stop",
            "a.html",
            "#a",
            "http:",
            "http:a",
            "http:/api/stop",
            "http://",
            "http:///a",
            "http:\\\\a",
            "https://\\a",
            "ht\ttp://a",
            "http://a\u{0}b",
            " http ://a",
            "mailto:",
            "\u{200b}javascript://a",
            "ｈttp://a",
        ] {
            assert_eq!(allowed(address), None, "{address:?}");
        }
    }
}
