//! What Markdown is rendered to, and what counts as Markdown.

mod hostile;
mod page;
mod soup;

use super::{looks_like_markdown, to_html};

const LINK: &str = r#"target="_blank" rel="noopener noreferrer nofollow""#;

fn code_block(language: &str, code: &str) -> String {
    format!(
        "<div class=\"code-block\"><div class=\"code-block-head\">\
         <span class=\"code-block-language\">{language}</span>\
         <button type=\"button\" class=\"copy-button\">Copy</button></div>\
         <pre><code>{code}</code></pre></div>\n"
    )
}

#[test]
fn blocks_become_elements() {
    for (text, html) in [
        ("", ""),
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>\n"),
        ("a  \nb", "<p>a<br>\nb</p>\n"),
        ("a\r\nb\r\n\r\nc", "<p>a\nb</p>\n<p>c</p>\n"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("- a\n\n- b", "<ul>\n<li><p>a</p>\n</li>\n<li><p>b</p>\n</li>\n</ul>\n"),
        ("1. a\n   - b", "<ol>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n</ol>\n"),
        ("7. a", "<ol start=\"7\">\n<li>a</li>\n</ol>\n"),
        ("a\n\n---\n\nb", "<p>a</p>\n<hr>\n<p>b</p>\n"),
    ] {
        assert_eq!(to_html(text), html, "{text:?}");
    }
}

#[test]
fn marks_within_a_line_become_elements() {
    for (text, html) in [
        ("*a* **b** ~~c~~", "<em>a</em> <strong>b</strong> <del>c</del>"),
        ("***a***", "<em><strong>a</strong></em>"),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("`` ` ``", "<code>`</code>"),
        ("\\*a\\*", "*a*"),
        ("a & b &lt; \"c\" 'd'", "a &amp; b &lt; &quot;c&quot; &#39;d&#39;"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
    ] {
        assert_eq!(to_html(text), format!("<p>{html}</p>\n"), "{text:?}");
    }
}

#[test]
fn headings_stay_below_those_of_the_page() {
    for (text, html) in [
        ("# a", "<h3 class=\"heading-1\">a</h3>\n"),
        ("a\n===", "<h3 class=\"heading-1\">a</h3>\n"),
        ("## a", "<h4 class=\"heading-2\">a</h4>\n"),
        ("### a", "<h5 class=\"heading-3\">a</h5>\n"),
        ("#### a", "<h6 class=\"heading-4\">a</h6>\n"),
        ("###### a {#b .c}", "<h6 class=\"heading-6\">a {#b .c}</h6>\n"),
    ] {
        assert_eq!(to_html(text), html, "{text:?}");
    }
}

#[test]
fn tables_are_aligned_by_classes() {
    let html = to_html("a|b|c|d\n-|:-|:-:|-:\n1|`2`|3|4\n5");
    assert_eq!(
        html,
        "<div class=\"table-scroll\"><table>\n<thead>\n<tr>\
         <th scope=\"col\">a</th><th scope=\"col\" class=\"align-left\">b</th>\
         <th scope=\"col\" class=\"align-center\">c</th>\
         <th scope=\"col\" class=\"align-right\">d</th></tr>\n</thead>\n<tbody>\n\
         <tr><td>1</td><td class=\"align-left\"><code>2</code></td>\
         <td class=\"align-center\">3</td><td class=\"align-right\">4</td></tr>\n\
         <tr><td>5</td><td class=\"align-left\"></td><td class=\"align-center\"></td>\
         <td class=\"align-right\"></td></tr>\n</tbody>\n</table></div>\n"
    );
}

#[test]
fn tasks_get_boxes_that_cannot_be_ticked() {
    let html = to_html("- [x] a\n- [ ] b");
    assert_eq!(
        html,
        "<ul>\n<li><input type=\"checkbox\" class=\"task-marker\" aria-label=\"Done\" disabled \
         checked> a</li>\n<li><input type=\"checkbox\" class=\"task-marker\" aria-label=\"Open\" \
         disabled> b</li>\n</ul>\n"
    );
}

#[test]
fn links_open_apart_and_tell_nothing() {
    for (text, html) in [
        ("[a](https://b/c?d=1&e)", format!("<a href=\"https://b/c?d=1&amp;e\" {LINK}>a</a>")),
        ("[*a*][b]\n\n[b]: HTTP://c", format!("<a href=\"HTTP://c\" {LINK}><em>a</em></a>")),
        ("[a](http://b 'c')", format!("<a href=\"http://b\" title=\"c\" {LINK}>a</a>")),
        ("<https://a>", format!("<a href=\"https://a\" {LINK}>https://a</a>")),
        ("<a@b.c>", format!("<a href=\"mailto:a@b.c\" {LINK}>a@b.c</a>")),
        ("[a](src/main.rs)", "a".to_owned()),
        ("[a](#b) [c](/d)", "a c".to_owned()),
    ] {
        assert_eq!(to_html(text), format!("<p>{html}</p>\n"), "{text:?}");
    }
}

#[test]
fn images_become_links_to_them() {
    for (text, html) in [
        ("![a](http://b/c.png)", format!("<a href=\"http://b/c.png\" {LINK}>a</a>")),
        ("![](http://b/c.png)", format!("<a href=\"http://b/c.png\" {LINK}>http://b/c.png</a>")),
        ("![a *b* `c` <i>](http://d)", format!("<a href=\"http://d\" {LINK}>a b c &lt;i&gt;</a>")),
        ("![a ![b](http://c) d](http://e) f", format!("<a href=\"http://e\" {LINK}>a b d</a> f")),
        ("[![a](http://b)](http://c) d", format!("<a href=\"http://c\" {LINK}>a</a> d")),
        ("![a](c.png) ![](data:image/png,x)", "a image".to_owned()),
        ("![a](c.png) [d](http://e)", format!("a <a href=\"http://e\" {LINK}>d</a>")),
    ] {
        assert_eq!(to_html(text), format!("<p>{html}</p>\n"), "{text:?}");
    }
}

#[test]
fn code_blocks_have_a_head_and_colours() {
    let keyword = "<span class=\"hl-keyword\">let</span> a;\n";
    for (text, html) in [
        ("```rust\nlet a;\n```", code_block("rust", keyword)),
        ("~~~ RS,ignore x\nlet a;\n~~~", code_block("RS", keyword)),
        ("```\nlet a;\n```", code_block("", "let a;\n")),
        ("```unknown\nlet <a>;\n```", code_block("unknown", "let &lt;a&gt;;\n")),
        ("    let a;", code_block("", "let a;")),
        ("```rust\r\nlet a;\r\n```\r\n", code_block("rust", keyword)),
        ("```rust\nlet a;", code_block("rust", keyword.trim_end())),
        ("```rust", code_block("rust", "")),
        ("````\n```\n````", code_block("", "```\n")),
    ] {
        assert_eq!(to_html(text), html, "{text:?}");
    }
}

#[test]
fn text_with_marks_looks_like_markdown() {
    for text in [
        "# Title",
        "Title\n=====",
        "- one\n- two",
        "* one",
        "1. one\n2. two",
        "3. three\n4. four",
        "some\n\n```\ncode\n```",
        "```rust\nlet a",
        "an *emphasis* here",
        "some **strong** words",
        "~~gone~~",
        "see [this](https://a.b)",
        "see <https://a.b>",
        "![a](http://b/c.png)",
        "a | b\n--|--\n1 | 2",
        "call `main` first",
        "> quoted",
        "a\n\n---\n\nb",
        "- [ ] to do",
    ] {
        assert!(looks_like_markdown(text), "{text:?}");
    }
}

#[test]
fn plain_prose_does_not_look_like_markdown() {
    for text in [
        "",
        " \n\n ",
        "Hello!",
        "One line.\nAnother line.",
        "A paragraph.\n\nAnother one, with a list of things: this, that.",
        "snake_case_name and 2 * 3 * 4 = 24",
        "1984. What a year!",
        "-5 degrees, #1 of 10, a|b, 50% off [sic] (really)",
        "Vec<String> and <b>",
        "<div>\ntext\n</div>",
        "    indented",
        "https://a.b/c_d_e",
        "~/work and ~/play, ~5 of them",
        "C:\\folder\\*.txt",
        "naïve café 日本語 🎉",
    ] {
        assert!(!looks_like_markdown(text), "{text:?}");
    }
}

#[test]
fn a_text_too_long_to_parse_stays_plain() {
    let text = "*a* <b>\n".repeat(200_000);
    assert!(!looks_like_markdown(&text));
    let html = to_html(&text);
    assert!(html.starts_with("<p class=\"markdown-source\">*a* &lt;b&gt;\n"));
    assert_eq!(page::check(&html), text + "\n");
}
