//! The style sheet: `@import`s are inlined, then the result is minified if required.
//!
//! The imports are resolved here instead of by Lightning CSS: its bundler needs forty more crates,
//! and the quick build does without Lightning CSS altogether.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::product::Kind;

/// The style sheet with all its imports; minified for the small kind.
pub(crate) fn bundle(entry: &Path, kind: Kind) -> anyhow::Result<String> {
    let joined = inline_imports(entry, &mut Vec::new())?;
    match kind {
        Kind::Quick => Ok(joined),
        #[cfg(feature = "small")]
        Kind::Small => minify::minify(&joined, entry),
        #[cfg(not(feature = "small"))]
        Kind::Small => bail!("these tools were built without Lightning CSS"),
    }
}

/// The text of a file with its imports inlined. `open` are the files that led to it.
fn inline_imports(file: &Path, open: &mut Vec<PathBuf>) -> anyhow::Result<String> {
    let path = file.canonicalize().with_context(|| format!("no style sheet {}", file.display()))?;
    if open.contains(&path) {
        bail!("a style sheet imports itself: {}", file.display());
    }
    let source = fs::read_to_string(&path).with_context(|| format!("{}", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    open.push(path);
    let mut joined = String::new();
    let mut rest = source.as_str();
    while let Some((before, after)) = next_import(rest) {
        let Some((rule, after)) = after.split_once(';') else {
            bail!("{} has an import without an end", file.display());
        };
        let Some(import) = Import::parse(rule) else {
            bail!("{} has an import that can't be read: `@import{rule};`", file.display());
        };
        if import.url.starts_with('/') || import.url.contains(':') {
            bail!("{} imports from elsewhere: `{}`", file.display(), import.url);
        }
        joined += before;
        joined += &import.wrap(inline_imports(&folder.join(import.url), open)?);
        rest = after;
    }
    joined += rest;
    open.pop();
    Ok(joined)
}

/// The text before and after the next `@import` outside comments.
fn next_import(text: &str) -> Option<(&str, &str)> {
    const WORD: &str = "@import";
    let mut from = 0;
    loop {
        let import = from + text[from..].find(WORD)?;
        match text[from..import].find("/*") {
            None => return Some((&text[..import], &text[import + WORD.len()..])),
            Some(comment) => {
                let inside = from + comment + 2;
                from = inside + text[inside..].find("*/")? + 2;
            }
        }
    }
}

/// An import: its target and its conditions.
#[derive(Debug, PartialEq, Eq)]
struct Import<'a> {
    url: &'a str,
    /// The layer's name; empty if it is anonymous.
    layer: Option<&'a str>,
    supports: Option<&'a str>,
    media: &'a str,
}

impl<'a> Import<'a> {
    /// Parses the text between `@import` and its semicolon.
    fn parse(rule: &'a str) -> Option<Self> {
        let rule = rule.trim();
        let (url, rest) = if let Some(rest) = rule.strip_prefix("url(") {
            let (url, rest) = rest.split_once(')')?;
            (url.trim().trim_matches(['"', '\'']), rest)
        } else {
            let quote = rule.chars().next().filter(|first| matches!(first, '"' | '\''))?;
            rule[1..].split_once(quote)?
        };
        let rest = rest.trim();
        let (layer, rest) = match in_parentheses(rest, "layer")? {
            (Some(name), rest) => (Some(name), rest),
            (None, rest) => match rest.strip_prefix("layer") {
                Some(rest) if rest.is_empty() || rest.starts_with(' ') => (Some(""), rest.trim()),
                _ => (None, rest),
            },
        };
        let (supports, media) = in_parentheses(rest, "supports")?;
        Some(Self { url, layer, supports, media })
    }

    /// Wraps the imported rules in the conditions.
    fn wrap(&self, mut rules: String) -> String {
        if !self.media.is_empty() {
            rules = format!("@media {} {{{rules}}}", self.media);
        }
        if let Some(condition) = self.supports {
            rules = format!("@supports ({condition}) {{{rules}}}");
        }
        match self.layer {
            Some(layer) => format!("@layer {layer} {{{rules}}}"),
            None => rules,
        }
    }
}

/// Parses `word(…)` at the beginning: its content, if it is there, and the rest. `None` if it is
/// not closed.
fn in_parentheses<'a>(text: &'a str, word: &str) -> Option<(Option<&'a str>, &'a str)> {
    let Some(inside) = text.strip_prefix(word).and_then(|rest| rest.strip_prefix('(')) else {
        return Some((None, text));
    };
    let mut depth = 1;
    for (index, character) in inside.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((Some(inside[..index].trim()), inside[index + 1..].trim()));
        }
    }
    None
}

#[cfg(feature = "small")]
mod minify {
    //! Minifies with Lightning CSS.

    use std::fmt::Display;
    use std::path::Path;

    use anyhow::anyhow;
    use lightningcss::error::Error;
    use lightningcss::printer::PrinterOptions;
    use lightningcss::stylesheet::{MinifyOptions, ParserOptions, StyleSheet};
    use lightningcss::targets::{Browsers, Targets};

    /// The oldest supported browsers, which get prefixes where needed: those of spring 2024. They
    /// support nesting and `light-dark()`, so that neither is rewritten.
    const BROWSERS: Browsers = Browsers {
        android: None,
        chrome: Some(123 << 16),
        edge: Some(123 << 16),
        firefox: Some(120 << 16),
        ie: None,
        ios_saf: Some((17 << 16) | (5 << 8)),
        opera: None,
        safari: Some((17 << 16) | (5 << 8)),
        samsung: None,
    };

    pub(super) fn minify(sheet: &str, file: &Path) -> anyhow::Result<String> {
        let targets = Targets::from(BROWSERS);
        let filename = file.display().to_string();
        let options = ParserOptions { filename, ..ParserOptions::default() };
        let mut sheet = StyleSheet::parse(sheet, options).map_err(describe)?;
        sheet.minify(MinifyOptions { targets, ..MinifyOptions::default() }).map_err(describe)?;
        let options = PrinterOptions { minify: true, targets, ..PrinterOptions::default() };
        Ok(sheet.to_css(options).map_err(describe)?.code)
    }

    /// Adds the position of the error; Lightning CSS counts lines from 0.
    fn describe(error: Error<impl Display>) -> anyhow::Error {
        match error.loc {
            Some(place) => {
                anyhow!("{} at {}:{}:{}", error.kind, place.filename, place.line + 1, place.column)
            }
            None => anyhow!("{}", error.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bundles `main.css` of the given files.
    fn bundled(files: &[(&str, &str)], kind: Kind) -> Result<String, String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("writable");
            fs::write(path, content).expect("writable");
        }
        bundle(&folder.path().join("main.css"), kind).map_err(|error| format!("{error:#}"))
    }

    #[cfg(feature = "small")]
    #[test]
    fn imports_come_first_and_in_order() {
        let css = bundled(
            &[
                (
                    "main.css",
                    "@import \"base.css\";\n@import url(parts/list.css);\nb { color: #ff0000 }",
                ),
                ("base.css", "body { margin: 0px }"),
                ("parts/list.css", "@import \"item.css\"; ul { padding: 0 }"),
                ("parts/item.css", "li { top: 0 }"),
            ],
            Kind::Small,
        );
        assert_eq!(css.as_deref(), Ok("body{margin:0}li{top:0}ul{padding:0}b{color:red}"));
    }

    #[cfg(feature = "small")]
    #[test]
    fn conditions_of_an_import_are_kept() {
        let css = bundled(
            &[
                ("main.css", "@layer a, b; @import \"wide.css\" layer(b) screen;"),
                ("wide.css", "p { color: red }"),
            ],
            Kind::Small,
        );
        assert_eq!(css.as_deref(), Ok("@layer a;@layer b{@media screen{p{color:red}}}"));
    }

    #[cfg(feature = "small")]
    #[test]
    fn nesting_and_colour_schemes_are_left_to_the_browser() {
        let css =
            bundled(&[("main.css", "a { & b { color: light-dark(#000, #fff) } }")], Kind::Small);
        assert_eq!(css.as_deref(), Ok("a{& b{color:light-dark(#000,#fff)}}"));
    }

    #[cfg(feature = "small")]
    #[test]
    fn a_bad_sheet_is_named() {
        for (files, expected) in [
            (&[("main.css", "@import \"x.css\";")][..], "x.css"),
            (&[("main.css", "@import \"main.css\";")], "imports itself"),
            (&[("main.css", "@import \"https://x/y.css\";")], "imports from elsewhere"),
            (&[("main.css", "a { color: red; } }")], "main.css:1:"),
        ] {
            let error = bundled(files, Kind::Small).expect_err("it cannot be bundled");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_quick_sheet_has_its_imports_in_place_and_is_otherwise_as_written() {
        let css = bundled(
            &[
                (
                    "main.css",
                    "/* @import \"no.css\"; */\n@import 'a.css';\n@import \"b.css\" print;\nb { top: 0px }",
                ),
                ("a.css", "a { color: #ff0000 }"),
                ("b.css", "p { margin: 0px }"),
            ],
            Kind::Quick,
        );
        let expected = "/* @import \"no.css\"; */\na { color: #ff0000 }\n\
                        @media print {p { margin: 0px }}\nb { top: 0px }";
        assert_eq!(css.as_deref(), Ok(expected));
    }

    #[test]
    fn imports_are_read_with_all_their_conditions() {
        let import = |url, layer, supports, media| Some(Import { url, layer, supports, media });
        for (rule, expected) in [
            (" \"a.css\"", import("a.css", None, None, "")),
            (
                " url('a.css') screen and (width > 3px)",
                import("a.css", None, None, "screen and (width > 3px)"),
            ),
            (" 'a.css' layer", import("a.css", Some(""), None, "")),
            (
                " 'a.css' layer(x.y) supports(not (a: b)) print",
                import("a.css", Some("x.y"), Some("not (a: b)"), "print"),
            ),
            (" a.css", None),
            (" 'a.css", None),
            (" 'a.css' layer(x", None),
        ] {
            assert_eq!(Import::parse(rule), expected, "{rule}");
        }
    }
}
