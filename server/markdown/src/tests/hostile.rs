//! Text that tries to do harm, or to take for ever.

use std::time::{Duration, Instant};

use super::super::{looks_like_markdown, to_html};
use super::{LINK, code_block, page};

#[test]
fn tags_are_shown_and_never_obeyed() {
    for text in [
        "<script>alert(1)</script>",
        "a <script>alert(1)</script> b",
        "<img src=x onerror=alert(1)>",
        "a <img src=x onerror=alert(1)> b",
        "<svg/onload=alert(1)>",
        "<iframe srcdoc='<script>alert(1)</script>'>",
        "<style>@import 'http://evil'</style>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "</p></div><script>alert(1)</script>",
        "<!-- --><script>alert(1)</script>",
        "<![CDATA[<script>alert(1)</script>]]>",
        "<?php <script> ?>",
        "<button class=\"copy-button\" onclick=\"alert(1)\">",
    ] {
        assert_eq!(page::check(&to_html(text)).trim(), text);
        let html = to_html(&format!("# {text}\n\n- {text}\n\n> {text}\n\n|{text}|\n|-|\n"));
        assert!(page::check(&html).contains(text), "{text}");
    }
}

#[test]
fn links_that_run_something_become_their_text() {
    for (text, shown) in [
        ("[x](javascript:alert(1))", "x"),
        ("[x](JaVaScRiPt:alert(1))", "x"),
        ("[x](java&#10;script:alert(1))", "x"),
        ("[x](java&Tab;script:alert(1))", "x"),
        ("[x](&#106;avascript:alert(1))", "x"),
        ("[x](&#x6A;avascript&colon;alert(1))", "x"),
        ("[x](&#1;javascript:alert(1))", "x"),
        ("[x](<  javascript:alert(1)>)", "x"),
        ("[x](javascript\\:alert(1))", "x"),
        ("[x](javascript://a%0aalert(1))", "x"),
        ("[x](vbscript:msgbox)", "x"),
        ("[x](data:text/html;base64,PHNjcmlwdD4=)", "x"),
        ("[x](file:///etc/passwd)", "x"),
        ("[x](//evil)", "x"),
        ("[x](http:/api/stop)", "x"),
        ("[x][y]\n\n[y]: javascript:alert(1)", "x"),
        ("<javascript:alert(1)>", "javascript:alert(1)"),
        ("<data:text/html,x>", "data:text/html,x"),
        ("![x](javascript:alert(1))", "x"),
        ("![x](data:image/svg+xml,x)", "x"),
        ("[![x](javascript:a)](javascript:b)", "x"),
    ] {
        assert_eq!(to_html(text), format!("<p>{shown}</p>\n"), "{text:?}");
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = to_html("![x](http://evil/x.png) <img src=http://evil/y.png> ![](https://evil/z)");
    page::check(&html);
    assert!(html.starts_with(&format!("<p><a href=\"http://evil/x.png\" {LINK}>x</a> &lt;img")));
    assert!(!html.contains("src=\""));
}

#[test]
fn attributes_cannot_be_broken_out_of() {
    for text in [
        "[x](http://a \"\\\"><script>alert(1)</script>\")",
        "[x](http://a '\" onclick=\"alert(1)')",
        "[x](http://a (\"'><img src=x>))",
        "[x](http://a\"onclick=\"alert(1))",
        "[x](<http://a\" onclick=\"alert(1)>)",
        "[x](http://a'onclick='alert(1))",
        "[x](http://a&quot;onclick=&quot;alert(1))",
        "![\"><script>](http://a \"<script>\")",
        "<http://a\"onclick=\"alert(1)>",
        "<a\"b@c.d>",
    ] {
        page::check(&to_html(text));
    }
    assert_eq!(
        to_html("[x](http://a&quot;b '\"c')"),
        format!("<p><a href=\"http://a&quot;b\" title=\"&quot;c\" {LINK}>x</a></p>\n")
    );
}

#[test]
fn the_language_of_a_fence_is_only_text() {
    for (text, label) in [
        ("```\"><script>\n```", "&quot;&gt;&lt;script&gt;"),
        ("```rust\"onclick=\"alert(1)\n```", "rust&quot;onclick=&quot;alert(1)"),
        ("~~~'><b>`\n~~~", "&#39;&gt;&lt;b&gt;`"),
        ("```&lt;b&gt;\n```", "&lt;b&gt;"),
    ] {
        assert_eq!(to_html(text), code_block(label, ""), "{text:?}");
    }
    let long = to_html(&format!("```{}\n```", "é".repeat(10_000)));
    assert_eq!(long, code_block(&"é".repeat(32), ""));
}

#[test]
fn what_nests_too_deep_is_shown_as_it_was_written() {
    let html = to_html(&format!("{}a", "> ".repeat(100)));
    assert_eq!(html.matches("<blockquote>").count(), 64);
    assert_eq!(page::check(&html).trim(), format!("{}a", "> ".repeat(36)));

    let html = to_html(&format!("{}a{} b", "*a ".repeat(100), "*".repeat(100)));
    assert_eq!(html.matches("<em>").count(), 63);
    assert!(html.ends_with(" b</p>\n"), "{html}");
    page::check(&html);

    let text = format!("{}a\n*b*", "> - ".repeat(51));
    assert!(!looks_like_markdown(&text));
    assert_eq!(page::check(&to_html(&text)).trim(), text);
}

/// The stack is about as large as in the browser; the time is that of a debug build.
#[test]
fn pathological_text_takes_neither_the_stack_nor_the_day() {
    let many = 10_000;
    let texts = [
        ">".repeat(many),
        "> ".repeat(many) + "a\n" + &"a\n".repeat(many),
        "[".repeat(many),
        "[".repeat(many) + &"](http://a)".repeat(many),
        "![".repeat(many) + &"](http://a)".repeat(many),
        "[a](".repeat(many),
        "[a](<b".repeat(many),
        "*a ".repeat(many) + &"*".repeat(many),
        "*a _b ".repeat(many) + &"b_ a*".repeat(many),
        "**a~~".repeat(many),
        "`".repeat(many) + " " + &"` ".repeat(many),
        "- ".repeat(many),
        "- ".repeat(many) + "a\n" + &"a\n".repeat(many),
        ">\t1) ".repeat(many) + "a\n" + &"a\n".repeat(many),
        "1. ".repeat(many),
        (0..300).map(|depth| "  ".repeat(depth) + "- a\n").collect(),
        "|".repeat(many) + "\n" + &"|-".repeat(many) + "\n" + &"|\n".repeat(many),
        "<".repeat(many),
        "<!--".repeat(many),
        "<a b=\"".repeat(many),
        "&#".repeat(many),
        "\\".repeat(many),
        format!("[a]: http://{}\n\n{}", "b".repeat(many), "[a] ".repeat(many)),
        "```rust\n".to_owned() + &"r#\" /* ' ".repeat(many),
        "```html\n".to_owned() + &"<a b=' <!-- ".repeat(many),
        "```yaml\n".to_owned() + &"a      ' \" # ".repeat(many),
        "\u{202e}\u{0}\u{feff}\u{301}🏳️‍🌈".repeat(many),
        "a".repeat(500_000),
    ];
    let work = move || {
        for text in texts {
            let start = Instant::now();
            looks_like_markdown(&text);
            page::check(&to_html(&text));
            let beginning: String = text.chars().take(20).collect();
            assert!(start.elapsed() < Duration::from_secs(5), "{beginning:?}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(work);
    thread.expect("a thread starts").join().expect("no text is too much");
}
