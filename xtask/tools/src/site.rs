//! The site: everything that the server delivers as a file, in one folder.
//!
//! ```text
//! small-site/                          or quick-site/
//!   assets.json                        which files the page has to load
//!   favicon.svg …                      a copy of `public`
//!   pkg/copilot-portal.<hash>.js       and .wasm and .css
//!   pkg/*.<hash>.wasm                  the bundles of a release, and the script that loads them
//!   *.br, *.gz                         beside every file that gets smaller
//! ```
//!
//! The quick site has no `.br`, and its style is not minified: the crates for that take longer to
//! compile than they save.
//!
//! Files with unchanged content are not written again, because cargo would rebuild the server for a
//! newer timestamp.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use serde_json::{Value, json};

use crate::bindings::Bindings;
use crate::product::Kind;
use crate::shorten::strip_comments;
use crate::workspace::Workspace;
use crate::{compress, fingerprint, style};

/// The stem of the generated files; cargo-leptos uses it as well.
pub(crate) const NAME: &str = "copilot-portal";
const MANIFEST: &str = "assets.json";

/// Files by their path in the site, with `/` on every system.
type Files = BTreeMap<String, Vec<u8>>;

/// The site's folder, and the stamp that records its inputs.
pub(crate) struct Site {
    pub(crate) folder: PathBuf,
    stamp: PathBuf,
    kind: Kind,
}

/// What browsers load.
pub(crate) struct Assets {
    pub(crate) wasm: PathBuf,
    pub(crate) js: Vec<PathBuf>,
    pub(crate) css: PathBuf,
    /// What is loaded besides for each bundle.
    pub(crate) bundles: Vec<(String, Vec<PathBuf>)>,
}

impl Site {
    /// The site of a kind of product, below the target folder.
    pub(crate) fn of(workspace: &Workspace, kind: Kind) -> Self {
        Self::below(&workspace.target, kind)
    }

    fn below(target: &Path, kind: Kind) -> Self {
        let name = match kind {
            Kind::Quick => "quick-site",
            Kind::Small => "small-site",
        };
        let stamp = target.join(format!("{name}.stamp"));
        Self { folder: target.join(name), stamp, kind }
    }

    /// A record of everything that the site is made from. Cargo's output is identified by its
    /// timestamp, as cargo itself does: it is large, and hashing it would take most of a start
    /// without changes.
    #[expect(clippy::unused_self, reason = "whose inputs they are")]
    pub(crate) fn inputs(&self, workspace: &Workspace, wasm: &Path) -> anyhow::Result<String> {
        let root = &workspace.root;
        // The lock file represents the versions of the compressors, the bundler and wasm-bindgen.
        let ours = ["xtask/tools/src", "Cargo.lock", "style", "public"].map(|path| root.join(path));
        let sources = fingerprint::hash_paths(&ours)?;
        let built = fs::metadata(wasm).and_then(|data| Ok((data.len(), data.modified()?)));
        let built = built.with_context(|| format!("cannot read {}", wasm.display()))?;
        Ok(fingerprint::short_hash(format!("{sources} {} {built:?}", wasm.display()).as_bytes()))
    }

    /// Whether the folder contains exactly the files made from these inputs.
    pub(crate) fn is_made_from(&self, inputs: &str) -> bool {
        let Ok(stamp) = fs::read_to_string(&self.stamp) else { return false };
        let Ok(files) = self.listing() else { return false };
        stamp == stamp_text(inputs, files.iter().map(String::as_str))
    }

    /// Assembles the folder from its parts.
    pub(crate) fn assemble(
        &self,
        workspace: &Workspace,
        bindings: Bindings,
        inputs: &str,
    ) -> anyhow::Result<()> {
        let css = style::bundle(&workspace.root.join("style/main.css"), self.kind)?;
        let mut files = read_folder(&workspace.root.join("public"))?;
        add_package(&mut files, bindings, css.into_bytes());
        add_compressed(&mut files, self.kind)?;
        self.write(&files)?;
        // Last: an interrupted build must not look finished.
        fs::write(&self.stamp, stamp_text(inputs, files.keys().map(String::as_str)))
            .with_context(|| format!("cannot write {}", self.stamp.display()))
    }

    /// The files in the site that every page needs, by their kind, and then those of each bundle.
    pub(crate) fn assets(&self) -> anyhow::Result<Assets> {
        let manifest = self.folder.join(MANIFEST);
        let text = fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        let assets: Value = serde_json::from_str(&text)?;
        let path = |url: &Value| {
            let url = url.as_str().with_context(|| format!("no path in {MANIFEST}: {url}"))?;
            anyhow::Ok(self.folder.join(url.trim_start_matches('/')))
        };
        let js = [&assets["js"], &assets["loader"]].into_iter().filter(|url| !url.is_null());
        let bundles = assets["bundles"].as_object().into_iter().flatten();
        Ok(Assets {
            wasm: path(&assets["wasm"])?,
            js: js.map(path).collect::<Result<_, _>>()?,
            css: path(&assets["css"])?,
            bundles: bundles
                .map(|(name, urls)| {
                    let urls = urls.as_array().into_iter().flatten();
                    Ok((name.clone(), urls.map(path).collect::<anyhow::Result<_>>()?))
                })
                .collect::<anyhow::Result<_>>()?,
        })
    }

    /// Makes the folder contain exactly these files.
    fn write(&self, files: &Files) -> anyhow::Result<()> {
        // The stamp is removed first: from here on the folder is neither old nor new.
        remove_if_there(&self.stamp)?;
        for stale in self.listing()?.iter().filter(|path| !files.contains_key(*path)) {
            remove_if_there(&self.folder.join(stale))?;
        }
        for (path, content) in files {
            let path = self.folder.join(path);
            if fs::read(&path).is_ok_and(|old| old == *content) {
                continue;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, content)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn listing(&self) -> anyhow::Result<Vec<String>> {
        let files = fingerprint::files_below(&self.folder)?;
        let mut names: Vec<_> = files.iter().map(|file| url_path(&self.folder, file)).collect();
        names.sort();
        Ok(names)
    }
}

fn stamp_text<'a>(inputs: &'a str, files: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = std::iter::once(inputs).chain(files).collect();
    lines.join("\n")
}

fn read_folder(folder: &Path) -> anyhow::Result<Files> {
    fingerprint::files_below(folder)?
        .into_iter()
        .map(|file| {
            let content =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            Ok((url_path(folder, &file), content))
        })
        .collect()
}

/// A file's path below a folder in URL form.
fn url_path(folder: &Path, file: &Path) -> String {
    let relative = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Adds the page's own files under names that contain their hash, and the manifest of those names.
fn add_package(files: &mut Files, bindings: Bindings, css: Vec<u8>) {
    let Bindings { js, wasm, snippets, bundles } = bindings;
    let mut add = |name: String, content: Vec<u8>| {
        let path = format!("pkg/{name}");
        let url = format!("/{path}");
        files.insert(path, content);
        url
    };
    let hashed = |extension, content: &[u8]| fingerprint::hashed_name(NAME, extension, content);
    let mut manifest = json!({
        "wasm": add(hashed("wasm", &wasm), wasm),
        "css": add(hashed("css", &css), css),
    });
    let js = match bundles {
        None => add(hashed("js", js.as_bytes()), js.into_bytes()),
        Some(mut bundles) => {
            // The two scripts import each other, so neither name can be a hash of its own content.
            let everything = [js.as_bytes(), manifest["wasm"].to_string().as_bytes()].concat();
            let hash = bundles.hash(&everything);
            let (js, loader) = bundles.rename(&js, NAME, &hash);
            let script = strip_comments(&bundles.loader);
            manifest["loader"] = add(loader, script.into_bytes()).into();
            for (stem, file) in bundles.files {
                add(format!("{stem}.wasm"), file);
            }
            let url = |stem: &String| format!("/pkg/{stem}.wasm");
            let needs = bundles.needs.into_iter();
            manifest["bundles"] = needs
                .map(|(bundle, stems)| (bundle, stems.iter().map(url).collect()))
                .collect::<serde_json::Map<_, Value>>()
                .into();
            add(format!("{NAME}.{hash}.js"), js.into_bytes())
        }
    };
    manifest["js"] = js.into();
    for (path, script) in snippets {
        add(path, script);
    }
    files.insert(MANIFEST.to_owned(), format!("{manifest:#}\n").into_bytes());
}

/// Adds the compressed variants, where they are smaller.
fn add_compressed(files: &mut Files, kind: Kind) -> io::Result<()> {
    let mut variants = Files::new();
    for (path, content) in files.iter() {
        // The manifest is only for the server and is never sent.
        if path == MANIFEST || !compress::is_compressible(path) {
            continue;
        }
        for (extension, variant) in compress::variants(content, kind)? {
            if variant.len() < content.len() {
                variants.insert(format!("{path}.{extension}"), variant);
            }
        }
    }
    files.append(&mut variants);
    Ok(())
}

fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundles::Bundles;

    fn sample() -> Files {
        let js = "let a = 1; let b = 1; let c = 1; let d = 1; let e = 1; let f = 1;".repeat(9);
        let bindings =
            Bindings { js, wasm: vec![0; 500], snippets: BTreeMap::new(), bundles: None };
        let mut files = Files::from([("robots.txt".to_owned(), b"x".to_vec())]);
        add_package(&mut files, bindings, b"a{}".to_vec());
        add_compressed(&mut files, Kind::Quick).expect("in memory");
        files
    }

    #[test]
    fn the_manifest_names_files_that_exist_and_has_no_variants() {
        let files = sample();
        let manifest: Value = serde_json::from_slice(&files[MANIFEST]).expect("JSON");
        for kind in ["js", "wasm", "css"] {
            let url = manifest[kind].as_str().expect("a URL");
            assert!(url.starts_with("/pkg/copilot-portal."), "{url}");
            assert!(files.contains_key(&url[1..]), "{url}");
        }
        assert!(!files.contains_key("assets.json.gz"));
    }

    #[test]
    fn bundles_are_files_that_the_scripts_and_the_manifest_name() {
        let file = |stem: &str| (stem.to_owned(), vec![1]);
        let bundles = Bundles {
            loader: r#"import "./copilot-portal.js"; fetch("./one.wasm"); fetch("./two.wasm");"#
                .into(),
            files: [file("one"), file("two")].into(),
            needs: [("start".to_owned(), vec!["one".to_owned(), "two".to_owned()])].into(),
        };
        let js = r#"import * as a from "./__wasm_split.js";"#.to_owned();
        let bindings =
            Bindings { js, wasm: vec![0], snippets: BTreeMap::new(), bundles: Some(bundles) };
        let mut files = Files::new();
        add_package(&mut files, bindings, Vec::new());
        let manifest: Value = serde_json::from_slice(&files[MANIFEST]).expect("JSON");
        let name = |url: &Value| url.as_str().expect("a URL")["/pkg/".len()..].to_owned();
        let (js, loader) = (name(&manifest["js"]), name(&manifest["loader"]));
        let text = |name: &str| String::from_utf8(files[&format!("pkg/{name}")].clone());
        assert_eq!(text(&js).expect("text"), format!("import * as a from \"./{loader}\";"));
        let loader = text(&loader).expect("text");
        assert!(loader.contains(&format!("import \"./{js}\"")), "{loader}");
        for url in manifest["bundles"]["start"].as_array().expect("a list") {
            let name = name(url);
            assert!(files.contains_key(&format!("pkg/{name}")), "{name}");
            assert!(loader.contains(&format!("fetch(\"./{name}\")")), "{loader}");
        }
    }

    #[test]
    fn variants_are_kept_only_where_they_are_smaller() {
        let files = sample();
        let has_variant = |path: &String| files.contains_key(&format!("{path}.gz"));
        let compressed: Vec<_> = files.keys().filter(|path| has_variant(path)).collect();
        assert_eq!(compressed.len(), 2, "script and module, not what is tiny: {compressed:?}");
    }

    #[test]
    fn writing_removes_stale_files_and_leaves_equal_ones_alone() {
        let target = tempfile::tempdir().expect("a folder");
        let site = Site::below(target.path(), Kind::Quick);
        let mut files = sample();
        site.write(&files).expect("writable");
        let kept = site.folder.join("robots.txt");
        let date = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).expect("date");
        let before = date(&kept);

        fs::write(site.folder.join("pkg/old.js"), "old").expect("writable");
        files.insert("new.txt".to_owned(), b"new".to_vec());
        site.write(&files).expect("writable");

        assert_eq!(date(&kept), before);
        assert_eq!(site.listing().expect("readable"), files.keys().cloned().collect::<Vec<_>>());
    }

    #[test]
    fn a_site_is_made_anew_when_inputs_or_files_differ() {
        let target = tempfile::tempdir().expect("a folder");
        let site = Site::below(target.path(), Kind::Quick);
        let files = sample();
        assert!(!site.is_made_from("1"));
        site.write(&files).expect("writable");
        let stamp = stamp_text("1", files.keys().map(String::as_str));
        fs::write(&site.stamp, stamp).expect("writable");
        assert!(site.is_made_from("1"));
        assert!(!site.is_made_from("2"));
        fs::remove_file(site.folder.join("robots.txt")).expect("it is there");
        assert!(!site.is_made_from("1"));
    }
}
