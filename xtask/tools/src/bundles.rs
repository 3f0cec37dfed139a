//! Divides a release of the app into bundles: the part that every page needs, and files that browsers
//! load with the pages that need them (`app/src/bundle.rs` says which).
//!
//! ```text
//!  cargo, with --emit-relocs ─► wasm ─ divide ─┬─► the main part ─► wasm-bindgen
//!                                              ├─► a script that loads the files, imported by its result
//!                                              └─► files, and which of them are needed by which bundle
//! ```

#[cfg(feature = "small")]
mod divide;

use std::collections::BTreeMap;

use crate::fingerprint::short_hash;

#[cfg(feature = "small")]
pub(crate) use divide::divide;

/// How the parts know each other, before they get names that contain a hash.
const LOADER: &str = "./__wasm_split.js";

/// What is loaded beside the main part.
pub(crate) struct Bundles {
    /// The script that loads the files.
    pub(crate) loader: String,
    /// The files by the stems of their names.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The stems of the files of each bundle.
    pub(crate) needs: BTreeMap<String, Vec<String>>,
}

impl Bundles {
    /// A hash of all that is delivered, with what else there is.
    pub(crate) fn hash(&self, rest: &[u8]) -> String {
        let files = self.files.values().map(|file| &file[..]);
        let all: Vec<_> = [rest, self.loader.as_bytes()].into_iter().chain(files).collect();
        short_hash(&all.concat())
    }

    /// Gives everything a name that contains the hash. `script` is that of wasm-bindgen; returns the
    /// script as it is to be delivered, and the name of the loader.
    pub(crate) fn rename(&mut self, script: &str, name: &str, hash: &str) -> (String, String) {
        let loader = format!("{name}-bundles.{hash}.js");
        self.loader = self.loader.replace(&format!("./{name}.js"), &format!("./{name}.{hash}.js"));
        let rename = |stem: &str| format!("{stem}.{hash}");
        for stem in self.files.keys() {
            let renamed = format!("\"./{}.wasm\"", rename(stem));
            self.loader = self.loader.replace(&format!("\"./{stem}.wasm\""), &renamed);
        }
        let files = std::mem::take(&mut self.files);
        self.files = files.into_iter().map(|(stem, file)| (rename(&stem), file)).collect();
        for stems in self.needs.values_mut() {
            for stem in stems {
                *stem = rename(stem);
            }
        }
        // The module keeps its name for the script; only where that comes from changes.
        let from = |path: &str| format!("from \"{path}\"");
        (script.replace(&from(LOADER), &from(&format!("./{loader}"))), loader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_files_know_each_other_by_their_new_names() {
        let mut bundles = Bundles {
            loader: r#"import { a } from "./app.js"; fetch("./one.wasm"); fetch("./one_b.wasm")"#
                .into(),
            files: ["one", "one_b"].map(|stem| (stem.to_owned(), vec![])).into(),
            needs: [("start".to_owned(), vec!["one".to_owned()])].into(),
        };
        let (script, loader) = bundles.rename(
            r#"import * as i from "./__wasm_split.js"; ({ "./__wasm_split.js": i })"#,
            "app",
            "12",
        );
        let renamed = r#"import * as i from "./app-bundles.12.js"; ({ "./__wasm_split.js": i })"#;
        assert_eq!(script, renamed);
        assert_eq!(loader, "app-bundles.12.js");
        let renamed =
            r#"import { a } from "./app.12.js"; fetch("./one.12.wasm"); fetch("./one_b.12.wasm")"#;
        assert_eq!(bundles.loader, renamed);
        assert!(bundles.files.keys().eq(["one.12", "one_b.12"]));
        assert_eq!(bundles.needs["start"], ["one.12"]);
    }
}
