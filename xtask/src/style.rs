//! The style sheet: `@import`s put in place, then minified.
//!
//! The imports are resolved here and not by Lightning CSS, whose bundler pulls in forty more
//! crates to compile.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use lightningcss::error::Error;
use lightningcss::printer::PrinterOptions;
use lightningcss::rules::CssRule;
use lightningcss::rules::import::ImportRule;
use lightningcss::stylesheet::{MinifyOptions, ParserOptions, StyleSheet};
use lightningcss::targets::{Browsers, Targets};
use lightningcss::traits::ToCss;

/// The oldest browsers that get prefixes where they need them: those of spring 2024, which
/// know nesting and `light-dark()`, so that neither is rewritten.
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

/// The style sheet with everything it imports, as small as it gets.
pub(crate) fn bundle(entry: &Path) -> anyhow::Result<String> {
    let joined = inline_imports(entry, &mut Vec::new())?;
    let targets = Targets::from(BROWSERS);
    let mut sheet = parse(&joined, entry)?;
    sheet.minify(MinifyOptions { targets, ..MinifyOptions::default() }).map_err(describe)?;
    let options = PrinterOptions { minify: true, targets, ..PrinterOptions::default() };
    Ok(sheet.to_css(options).map_err(describe)?.code)
}

/// The text of a file with its imports in place. `open` are the files on the way to it.
fn inline_imports(file: &Path, open: &mut Vec<PathBuf>) -> anyhow::Result<String> {
    let path = file.canonicalize().with_context(|| format!("no style sheet {}", file.display()))?;
    if open.contains(&path) {
        bail!("a style sheet imports itself: {}", file.display());
    }
    let source = fs::read_to_string(&path).with_context(|| format!("{}", file.display()))?;
    let sheet = parse(&source, file)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    open.push(path);
    let mut joined = String::new();
    for rule in &sheet.rules.0 {
        if let CssRule::Import(import) = rule {
            let url = import.url.as_ref();
            if url.starts_with('/') || url.contains(':') {
                bail!("{} imports from elsewhere: `{url}`", file.display());
            }
            let imported = inline_imports(&folder.join(url), open)?;
            joined += &wrap(import, imported)?;
        } else {
            joined += &print(rule)?;
        }
        joined.push('\n');
    }
    open.pop();
    Ok(joined)
}

/// Puts the conditions of an import around what it imports.
fn wrap(import: &ImportRule<'_>, mut rules: String) -> anyhow::Result<String> {
    if !import.media.media_queries.is_empty() {
        rules = format!("@media {} {{{rules}}}", print(&import.media)?);
    }
    if let Some(condition) = &import.supports {
        rules = format!("@supports {} {{{rules}}}", print(condition)?);
    }
    Ok(match &import.layer {
        Some(Some(layer)) => format!("@layer {} {{{rules}}}", print(layer)?),
        Some(None) => format!("@layer {{{rules}}}"),
        None => rules,
    })
}

fn parse<'a>(source: &'a str, file: &Path) -> anyhow::Result<StyleSheet<'a>> {
    let filename = file.display().to_string();
    StyleSheet::parse(source, ParserOptions { filename, ..ParserOptions::default() })
        .map_err(describe)
}

/// Says where it went wrong; Lightning CSS counts lines from 0.
fn describe(error: Error<impl Display>) -> anyhow::Error {
    match error.loc {
        Some(place) => {
            anyhow!("{} at {}:{}:{}", error.kind, place.filename, place.line + 1, place.column)
        }
        None => anyhow!("{}", error.kind),
    }
}

fn print(part: &impl ToCss) -> anyhow::Result<String> {
    part.to_css_string(PrinterOptions::default()).map_err(describe)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bundles `main.css` of the given files.
    fn bundled(files: &[(&str, &str)]) -> Result<String, String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("writable");
            fs::write(path, content).expect("writable");
        }
        bundle(&folder.path().join("main.css")).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn imports_come_first_and_in_order() {
        let css = bundled(&[
            (
                "main.css",
                "@import \"base.css\";\n@import url(parts/list.css);\nb { color: #ff0000 }",
            ),
            ("base.css", "body { margin: 0px }"),
            ("parts/list.css", "@import \"item.css\"; ul { padding: 0 }"),
            ("parts/item.css", "li { top: 0 }"),
        ]);
        assert_eq!(css.as_deref(), Ok("body{margin:0}li{top:0}ul{padding:0}b{color:red}"));
    }

    #[test]
    fn conditions_of_an_import_are_kept() {
        let css = bundled(&[
            ("main.css", "@layer a, b; @import \"wide.css\" layer(b) screen;"),
            ("wide.css", "p { color: red }"),
        ]);
        assert_eq!(css.as_deref(), Ok("@layer a;@layer b{@media screen{p{color:red}}}"));
    }

    #[test]
    fn nesting_and_colour_schemes_are_left_to_the_browser() {
        let css = bundled(&[("main.css", "a { & b { color: light-dark(#000, #fff) } }")]);
        assert_eq!(css.as_deref(), Ok("a{& b{color:light-dark(#000,#fff)}}"));
    }

    #[test]
    fn a_bad_sheet_is_named() {
        for (files, expected) in [
            (&[("main.css", "@import \"x.css\";")][..], "x.css"),
            (&[("main.css", "@import \"main.css\";")], "imports itself"),
            (&[("main.css", "@import \"https://x/y.css\";")], "imports from elsewhere"),
            (&[("main.css", "a { color: red; } }")], "main.css:1:"),
        ] {
            let error = bundled(files).expect_err("it cannot be bundled");
            assert!(error.contains(expected), "{error}");
        }
    }
}
