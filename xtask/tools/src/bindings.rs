//! JavaScript bindings for the browser side: what the `wasm-bindgen` tool does, called as a library
//! so that no matching version has to be installed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use wasm_bindgen_cli_support::Bindgen;

use crate::bundles::Bundles;
use crate::fingerprint;
use crate::product::Kind;
use crate::shorten::{shorten_names, strip_comments};

/// The files that wasm-bindgen generates.
pub(crate) struct Bindings {
    pub(crate) js: String,
    pub(crate) wasm: Vec<u8>,
    /// Scripts that crates include, by their path next to `js`.
    pub(crate) snippets: BTreeMap<String, Vec<u8>>,
    /// What is loaded with the pages that need it, in a release.
    pub(crate) bundles: Option<Bundles>,
}

/// Splits cargo's output into the module and the script that loads it. Both are made short for a small
/// product; the other kind keeps the names, which say more in a debugger.
pub(crate) fn generate(wasm: &Path, name: &str, kind: Kind) -> anyhow::Result<Bindings> {
    let mut output = Bindgen::new()
        .input_path(wasm)
        .out_name(name)
        .web(true)?
        .typescript(false)
        // The page names the module itself, because its name contains a hash.
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        // The bundles of a small product use the memory and the table of functions.
        .keep_lld_exports(kind == Kind::Small)
        .generate_output()
        .with_context(|| format!("cannot generate bindings for {}", wasm.display()))?;

    let mut snippets = BTreeMap::new();
    for (crate_name, scripts) in output.snippets() {
        for (index, script) in scripts.iter().enumerate() {
            let path = format!("{crate_name}/inline{index}.js");
            snippets.insert(path, script.clone().into_bytes());
        }
    }
    for (path, script) in output.local_modules() {
        snippets.insert(path.clone(), script.clone().into_bytes());
    }
    let mut js = output.js().to_owned();
    if kind == Kind::Small {
        let imports = output.wasm_mut().imports.iter_mut().map(|import| &mut import.name);
        js = strip_comments(&shorten_names(&js, imports));
    }
    let (js, snippets) = hash_snippets(js, snippets);
    Ok(Bindings { js, wasm: output.wasm_mut().emit_wasm(), snippets, bundles: None })
}

/// Gives the snippets' folder a name that changes with its content: browsers cache everything below
/// `pkg` for ever.
fn hash_snippets(
    js: String,
    snippets: BTreeMap<String, Vec<u8>>,
) -> (String, BTreeMap<String, Vec<u8>>) {
    if snippets.is_empty() {
        return (js, snippets);
    }
    let everything: Vec<u8> = snippets.values().flatten().copied().collect();
    let folder = format!("snippets.{}", fingerprint::short_hash(&everything));
    let js = js.replace("'./snippets/", &format!("'./{folder}/"));
    let js = js.replace("\"./snippets/", &format!("\"./{folder}/"));
    let moved = snippets.into_iter().map(|(path, script)| (format!("{folder}/{path}"), script));
    (js, moved.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_move_to_a_hashed_folder_and_the_script_follows() {
        let js = "import { a } from './snippets/x-1/inline0.js';".to_owned();
        let snippets = BTreeMap::from([("x-1/inline0.js".to_owned(), b"export".to_vec())]);
        let (js, snippets) = hash_snippets(js, snippets);
        let path = snippets.keys().next().expect("one snippet");
        assert!(path.starts_with("snippets.") && path.ends_with("/x-1/inline0.js"), "{path}");
        assert_eq!(js, format!("import {{ a }} from './{path}';"));
    }

    #[test]
    fn without_snippets_the_script_is_left_alone() {
        let (js, snippets) = hash_snippets("let a = 1;".to_owned(), BTreeMap::new());
        assert_eq!((js.as_str(), snippets.len()), ("let a = 1;", 0));
    }
}
