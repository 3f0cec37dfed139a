//! The download of a first visit to each page: the scripts, the app and the styles that every page
//! needs, and the bundle of the page.
//!
//! `bench size` prints it; the release step of `cargo xtask test` fails if it has grown by more than
//! a twentieth.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::bail;

use crate::kept::Kept;
use crate::product::Product;
use crate::workspace::Workspace;

/// What the figures in `xtask/figures.json` are called, before the name of the bundle.
const FIGURE: &str = "download of a first visit (brotli)";
/// What it should not exceed.
pub(crate) const LIMIT_KILOBYTES: f64 = 300.0;
/// How much it may grow before somebody has to keep a new figure.
const TOLERANCE: f64 = 1.05;

/// The sizes of one file: uncompressed, and with both kinds of compression.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sizes {
    pub(crate) raw: u64,
    pub(crate) gzip: u64,
    pub(crate) brotli: u64,
}

impl Sizes {
    fn of(file: &Path) -> io::Result<Self> {
        let raw = fs::metadata(file)?.len();
        // A missing variant was not smaller: browsers get the uncompressed file.
        let variant = |extension: &str| {
            let path = format!("{}.{extension}", file.display());
            fs::metadata(path).map_or(raw, |data| data.len())
        };
        Ok(Self { raw, gzip: variant("gz"), brotli: variant("br") })
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            raw: self.raw + other.raw,
            gzip: self.gzip + other.gzip,
            brotli: self.brotli + other.brotli,
        }
    }
}

/// What browsers load: by every page, by kind, and by the pages of each bundle besides.
pub(crate) struct Downloads {
    pub(crate) always: [(&'static str, Sizes); 3],
    pub(crate) bundles: Vec<(String, Sizes)>,
}

impl Downloads {
    pub(crate) fn of(product: &Product) -> anyhow::Result<Self> {
        let sum = |files: &[PathBuf]| {
            files
                .iter()
                .try_fold(Sizes::default(), |sum, file| io::Result::Ok(sum.plus(Sizes::of(file)?)))
        };
        let assets = product.site.assets()?;
        let bundles = assets.bundles.iter();
        Ok(Self {
            always: [
                ("wasm", Sizes::of(&assets.wasm)?),
                ("js", sum(&assets.js)?),
                ("css", Sizes::of(&assets.css)?),
            ],
            bundles: bundles
                .map(|(name, files)| Ok((name.clone(), sum(files)?)))
                .collect::<io::Result<_>>()?,
        })
    }

    /// The name of the figure of each first visit, and what it loads.
    pub(crate) fn visits(&self) -> Vec<(String, Sizes)> {
        let always = self.always.iter().fold(Sizes::default(), |sum, (_, one)| sum.plus(*one));
        if self.bundles.is_empty() {
            return vec![(FIGURE.to_owned(), always)];
        }
        let visit =
            |(name, sizes): &(String, Sizes)| (format!("{FIGURE}, {name}"), always.plus(*sizes));
        self.bundles.iter().map(visit).collect()
    }
}

/// Fails if the download of a first visit is more than a twentieth larger than the kept figure, or than
/// the limit if none is kept.
pub(crate) fn check(workspace: &Workspace, product: &Product) -> anyhow::Result<()> {
    let kept = Kept::read(workspace)?;
    for (figure, sizes) in Downloads::of(product)?.visits() {
        let measured = kilobytes(sizes.brotli);
        if let Some(allowed) = exceeded(measured, kept.value(&figure)) {
            bail!(
                "{figure}: {measured:.1} kB, more than {allowed:.1} kB; make it smaller, or keep the \
                 new figure with `cargo xtask bench size --keep`"
            );
        }
    }
    Ok(())
}

/// What would have been allowed, if it is exceeded.
fn exceeded(measured: f64, kept: Option<f64>) -> Option<f64> {
    let allowed = kept.unwrap_or(LIMIT_KILOBYTES) * TOLERANCE;
    (measured > allowed).then_some(allowed)
}

/// In thousands of bytes.
pub(crate) fn kilobytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variant_counts_as_the_file_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.css");
        fs::write(&file, "0123456789").expect("writable");
        fs::write(folder.path().join("a.css.gz"), "0123").expect("writable");
        let Sizes { raw, gzip, brotli } = Sizes::of(&file).expect("readable");
        assert_eq!((raw, gzip, brotli), (10, 4, 10));
    }

    #[test]
    fn it_may_grow_by_a_twentieth_of_the_kept_figure_or_of_the_limit() {
        for (measured, kept, is_exceeded) in [
            (104.0, Some(100.0), false),
            (106.0, Some(100.0), true),
            (314.0, None, false),
            (316.0, None, true),
            (450.0, Some(457.0), false),
        ] {
            assert_eq!(exceeded(measured, kept).is_some(), is_exceeded, "{measured} {kept:?}");
        }
    }
}
