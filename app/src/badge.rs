//! How many items wait for a person, in the title and in the icon of the browser's tab.

use crate::reactive::prelude::*;

/// The title of a page with the number in front. A mark that the page has itself stays alone.
pub(crate) fn titled(title: String, count: usize) -> String {
    if count == 0 || title.starts_with('(') {
        return title;
    }
    format!("({count}) {title}")
}

/// Puts the number into the icon of the tab, whenever it changes.
pub(crate) fn mark_icon(count: Signal<usize>) {
    Effect::new(move |before: Option<usize>| {
        let count = count.get();
        // At first the icon has none.
        if count != before.unwrap_or_default() {
            set_icon(count);
        }
        count
    });
}

fn set_icon(count: usize) {
    if let Ok(Some(link)) = document().query_selector("link[rel=icon]") {
        // Setting an attribute with a valid name cannot fail.
        let _ = link.set_attribute("href", &icon(count));
    }
}

/// The address of an icon.
fn icon(count: usize) -> String {
    let number = match count {
        0 => return "/favicon.svg".to_owned(),
        1..=9 => count.to_string(),
        _ => "9+".to_owned(),
    };
    // The picture of `favicon.svg`, with `#` written as `%23`.
    format!(
        "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>\
         <rect x='2' y='2' width='28' height='28' rx='8' fill='%232f5fde'/>\
         <path d='M10 11l5 5-5 5M17 21h6' fill='none' stroke='white' stroke-width='2.5'/>\
         <circle cx='22' cy='11' r='10' fill='%23c62828'/>\
         <text x='22' y='16' font-family='sans-serif' font-size='14' font-weight='bold' \
         text-anchor='middle' fill='white'>{number}</text></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_in_front_unless_the_page_says_more() {
        for (title, count, shown) in [
            ("Jobs", 0, "Jobs"),
            ("Jobs", 2, "(2) Jobs"),
            ("(?) careful", 2, "(?) careful"),
            ("(2) Inbox", 2, "(2) Inbox"),
        ] {
            assert_eq!(titled(title.to_owned(), count), shown);
        }
    }

    #[test]
    fn the_icon_has_a_number_only_if_something_waits() {
        assert_eq!(icon(0), "/favicon.svg");
        assert!(icon(3).contains(">3</text>"));
        assert!(icon(10).contains(">9+</text>"));
        assert!(!icon(3).contains('#'), "it would begin a fragment");
    }
}
