//! `bench size`: what a first visit downloads.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use crate::release::Release;

/// What a first visit may download, in bytes.
const DOWNLOAD_BUDGET: u64 = 350_000;

/// The sizes of one file: as it is, and as the two kinds of compression leave it.
#[derive(Clone, Copy, Default)]
struct Sizes {
    raw: u64,
    gzip: u64,
    brotli: u64,
}

impl Sizes {
    fn of(file: &Path) -> io::Result<Self> {
        let raw = fs::metadata(file)?.len();
        // A missing variant was not smaller: the browser gets the file as it is.
        let variant = |extension: &str| {
            let path = format!("{}.{extension}", file.display());
            fs::metadata(path).map_or(raw, |data| data.len())
        };
        Ok(Self { raw, gzip: variant("gz"), brotli: variant("br") })
    }
}

/// Adds up the files that a page needs.
pub(super) fn measure(release: &Release) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for kind in ["wasm", "js", "css"] {
        rows.push((kind, Sizes::of(&release.site.asset(kind)?)?));
    }
    Ok(download_table(&rows))
}

fn download_table(rows: &[(&str, Sizes)]) -> String {
    let mut sum = Sizes::default();
    let mut table = format!("{:<6} {:>12} {:>12} {:>12}\n", "file", "raw", "gzip", "brotli");
    let mut add = |name: &str, Sizes { raw, gzip, brotli }| {
        let [raw, gzip, brotli] = [raw, gzip, brotli].map(kilobytes);
        let _ = writeln!(table, "{name:<6} {raw:>12} {gzip:>12} {brotli:>12}");
    };
    for (name, sizes) in rows {
        sum.raw += sizes.raw;
        sum.gzip += sizes.gzip;
        sum.brotli += sizes.brotli;
        add(name, *sizes);
    }
    add("sum", sum);
    let verdict = if sum.brotli > DOWNLOAD_BUDGET { "over budget" } else { "within budget" };
    let (brotli, budget) = (kilobytes(sum.brotli), kilobytes(DOWNLOAD_BUDGET));
    let _ = write!(table, "{verdict}: {brotli} of {budget} (brotli)");
    table
}

fn kilobytes(bytes: u64) -> String {
    format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_held_against_the_budget() {
        let sizes = |brotli| Sizes { raw: 900_000, gzip: 400_000, brotli };
        let table = download_table(&[("wasm", sizes(340_000)), ("js", sizes(5_000))]);
        assert!(table.ends_with("within budget: 345.0 kB of 350.0 kB (brotli)"), "{table}");
        let table = download_table(&[("wasm", sizes(340_000)), ("js", sizes(10_100))]);
        assert!(table.ends_with("over budget: 350.1 kB of 350.0 kB (brotli)"), "{table}");
    }
}
