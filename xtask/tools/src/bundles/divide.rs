//! Divides what cargo built. Apart, because only releases need the crate that does it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use wasm_split_cli_support::{Options, transform};

use super::{Bundles, LOADER};

/// Divides what cargo built. Returns the main part, in a folder beside it, for wasm-bindgen, whose
/// script will be called `name`.
pub(crate) fn divide(wasm: &Path, name: &str) -> anyhow::Result<(PathBuf, Bundles)> {
    let input = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let folder = wasm.with_extension("bundles");
    let main = folder.join("main.wasm");
    let script = format!("./{name}.js");
    let mut options = Options::new(&input);
    options.output_dir = &folder;
    options.main_out_path = &main;
    options.link_name = LOADER;
    options.main_module = &script;
    let divided = transform(options)
        .map_err(|error| anyhow!("cannot divide {}: {error:#}", wasm.display()))?;
    let read = |path: &Path| {
        let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let stem = path.file_stem().context("a file without a name")?.to_string_lossy();
        anyhow::Ok((stem.into_owned(), without_names(&content)?))
    };
    let files: BTreeMap<_, _> =
        divided.split_modules.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let needs = divided.prefetch_map.into_iter().map(|(bundle, mut stems)| {
        stems.retain(|stem| files.contains_key(stem));
        (bundle, stems)
    });
    let needs = needs.collect();
    let loader = fs::read_to_string(folder.join(LOADER))?;
    Ok((main, Bundles { loader, files, needs }))
}

/// A module without its custom sections: the names of functions, and what was noted for linkers.
fn without_names(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    const HEADER: usize = 8;
    const CUSTOM: u8 = 0;
    let (header, mut rest) = module.split_at_checked(HEADER).context("no module")?;
    let mut kept = header.to_vec();
    while let [kind, tail @ ..] = rest {
        let (length, size) = read_length(tail).context("a section without a length")?;
        let end = 1 + size + length;
        let section = rest.get(..end).context("a section that is too long")?;
        if *kind != CUSTOM {
            kept.extend_from_slice(section);
        }
        rest = &rest[end..];
    }
    Ok(kept)
}

/// A number in groups of seven bits, the lowest first, and how many bytes it takes.
fn read_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((length, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_custom_sections_are_left_out() {
        let header = b"\0asm\x01\0\0\0";
        let long = [vec![1, 0x80, 0x01], vec![7; 128]].concat();
        let module = [&header[..], &[0, 2, 9, 9], &long, &[0, 1, 9], &[3, 1, 5]].concat();
        let kept = [&header[..], &long, &[3, 1, 5]].concat();
        assert_eq!(without_names(&module).expect("a module"), kept);
        for broken in [&b"\0asm"[..], b"\0asm\x01\0\0\0\x01", b"\0asm\x01\0\0\0\x01\x05a"] {
            assert!(without_names(broken).is_err());
        }
    }
}
