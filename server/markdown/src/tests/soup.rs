//! Random text made of significant pieces. The same in every run.

use super::super::highlight::push_highlighted;
use super::super::{looks_like_markdown, to_html};
use super::page;

/// Pseudo-random numbers by xorshift, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % sides
    }

    fn soup(&mut self, pieces: &[&str]) -> String {
        (0..self.roll(40)).map(|_| pieces[self.roll(pieces.len())]).collect()
    }
}

const MARKDOWN: &[&str] = &[
    "a",
    "b c",
    " ",
    "  ",
    "    ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "*",
    "**",
    "_",
    "~~",
    "`",
    "```",
    "```rust\n",
    "\n```\n",
    "~~~",
    "#",
    "## ",
    "- ",
    "1. ",
    "9) ",
    "> ",
    "[",
    "]",
    "(",
    ")",
    "![",
    "](",
    "](http://a",
    "](javascript:a",
    "](data:a",
    " \"",
    "\"",
    "'",
    "<",
    ">",
    "</",
    "/>",
    "<script>",
    "<http://a>",
    "<a@b.c>",
    "<javascript:a>",
    "<!--",
    "-->",
    "<?",
    "<![CDATA[",
    "&",
    "&lt;",
    "&#10;",
    "&#0;",
    "\\",
    "|",
    "|-|-|\n",
    "\n|:-|-:|\n",
    "- [ ] ",
    "- [x] ",
    "---\n",
    "===\n",
    "[a]: http://b 'c'\n",
    "[a]",
    "[^1]",
    "[^1]: a\n",
    "$",
    "$$",
    "é",
    "日本",
    "🏳️‍🌈",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "\u{85}",
    "\u{2028}",
    "{#a .b}",
    "+++\n",
    ": a\n",
    "^",
    "~",
];

const CODE: &[&str] = &[
    "a",
    "Name",
    "let",
    "fn",
    "true",
    "SELECT",
    "r",
    "br",
    "r#",
    "#",
    "##",
    "\"",
    "\"\"\"",
    "'",
    "'''",
    "'a",
    "'é'",
    "`",
    "\\",
    "\\é",
    "/",
    "//",
    "/*",
    "*/",
    "--",
    "<!--",
    "-->",
    "<",
    "</",
    "<!",
    "<?",
    ">",
    "=",
    ":",
    ": ",
    "(",
    ")",
    "!",
    "!(",
    "{",
    "}",
    "$",
    "$a",
    "@",
    "@a",
    "@\"",
    "0",
    "1.5",
    "1e-5",
    "0x1F",
    "1'000",
    "..",
    ".",
    "%",
    "+",
    "-",
    "+++ ",
    "@@ ",
    "\n",
    "\r\n",
    "\n+",
    "\n-",
    " ",
    "\t",
    ";",
    "&",
    "&amp;",
    "é",
    "日本",
    "🏳️‍🌈",
    "\u{0}",
    "\u{301}",
    "_",
    ",",
];

const LANGUAGES: &[&str] = &[
    "rust", "ts", "python", "go", "java", "kotlin", "c++", "c#", "swift", "bash", "json", "toml",
    "yaml", "ini", "css", "sql", "html", "diff", "unknown", "",
];

#[test]
fn any_text_becomes_a_page_that_is_safe_and_whole() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for _ in 0..5_000 {
        let text = dice.soup(MARKDOWN);
        looks_like_markdown(&text);
        let outcome = std::panic::catch_unwind(|| page::check(&to_html(&text)));
        assert!(outcome.is_ok(), "{text:?}");
    }
}

#[test]
fn colours_never_change_the_code() {
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for _ in 0..500 {
        let code = dice.soup(CODE);
        for language in LANGUAGES {
            let mut html = String::new();
            push_highlighted(&mut html, language, &code);
            assert_eq!(page::check(&html), code, "{language}: {code:?}");
        }
    }
}
