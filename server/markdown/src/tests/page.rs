//! A strict parser of our HTML: it accepts nothing but what the renderer is meant to write.

const TAGS: [&str; 27] = [
    "a",
    "blockquote",
    "br",
    "button",
    "code",
    "del",
    "div",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "input",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Panics unless every tag and attribute is one of ours, tags are closed in order, and every link
/// is allowed. Returns the text.
pub(super) fn check(html: &str) -> String {
    let mut text = String::new();
    let mut open = Vec::new();
    let mut rest = html;
    while let Some((before, tag_and_rest)) = rest.split_once('<') {
        push_text(&mut text, before);
        let (tag, after) = tag_and_rest.split_once('>').expect("tags are closed");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "elements are closed in order");
        } else {
            let name = check_tag(tag);
            if !matches!(name, "br" | "hr" | "input") {
                open.push(name);
            }
            assert!(open.len() < 100, "elements don't nest without end");
            assert!(open.iter().filter(|name| **name == "a").count() < 2, "links don't nest");
        }
        rest = after;
    }
    push_text(&mut text, rest);
    assert!(open.is_empty(), "all elements are closed: {open:?}");
    text
}

fn check_tag(tag: &str) -> &str {
    let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(!name.is_empty() && TAGS.contains(&name), "unknown element: {tag}");
    while !attributes.is_empty() {
        if let Some(rest) = attributes.strip_prefix("disabled") {
            attributes = rest.trim_start().strip_prefix("checked").unwrap_or(rest);
            continue;
        }
        let (attribute, rest) = attributes.split_once("=\"").expect("attributes have values");
        let (value, rest) = rest.split_once('"').expect("values end");
        let known = match attribute {
            "class" => value.bytes().all(|b| b.is_ascii_lowercase() || b"-123456".contains(&b)),
            "href" => {
                let address = value.to_ascii_lowercase();
                ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
            }
            "title" => name == "a",
            "target" => value == "_blank",
            "rel" => value == "noopener noreferrer nofollow",
            "scope" => value == "col",
            "start" => value.bytes().all(|byte| byte.is_ascii_digit()),
            "type" => matches!(value, "button" | "checkbox"),
            "aria-label" => matches!(value, "Done" | "Open"),
            _ => false,
        };
        assert!(known, "unknown attribute: {tag}");
        assert!(!value.contains(['<', '>', '\'']), "unescaped value: {tag}");
        attributes = rest.trim_start();
    }
    name
}

fn push_text(text: &mut String, escaped: &str) {
    assert!(!escaped.contains(['"', '\'', '>']), "unescaped text: {escaped}");
    let mut pieces = escaped.split('&');
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (entity, rest) = piece.split_once(';').expect("entities end");
        text.push_str(match entity {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            "#39" => "'",
            _ => panic!("unknown entity: {entity}"),
        });
        text.push_str(rest);
    }
}
