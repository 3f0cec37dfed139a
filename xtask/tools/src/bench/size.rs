//! `bench size`: the download size of a first visit.

use std::path::Path;
use std::{fs, io};

use super::figures::{Goal, Unit};
use crate::product::Product;

/// Limit for the download of a first visit, in kilobytes.
const DOWNLOAD_BUDGET: f64 = 350.0;

/// The sizes of one file: uncompressed, and with both kinds of compression.
#[derive(Clone, Copy, Default)]
struct Sizes {
    raw: u64,
    gzip: u64,
    brotli: u64,
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

    fn plus(self, other: Self) -> Self {
        Self {
            raw: self.raw + other.raw,
            gzip: self.gzip + other.gzip,
            brotli: self.brotli + other.brotli,
        }
    }

    fn row(self, name: &str) -> String {
        let [raw, gzip, brotli] =
            [self.raw, self.gzip, self.brotli].map(|bytes| Unit::Kilobytes.print(kilobytes(bytes)));
        format!("{name:<6} {raw:>12} {gzip:>12} {brotli:>12}")
    }
}

/// Adds up the files that a page needs.
pub(super) fn measure(product: &Product) -> anyhow::Result<Vec<Goal>> {
    let mut sum = Sizes::default();
    println!("{:<6} {:>12} {:>12} {:>12}", "file", "raw", "gzip", "brotli");
    for kind in ["wasm", "js", "css"] {
        let sizes = Sizes::of(&product.site.asset(kind)?)?;
        println!("{}", sizes.row(kind));
        sum = sum.plus(sizes);
    }
    println!("{}", sum.row("sum"));
    let download =
        Goal::new("download of a first visit (brotli)", Unit::Kilobytes, DOWNLOAD_BUDGET);
    let binary = fs::metadata(&product.binary)?.len();
    Ok(vec![
        download.measured(kilobytes(sum.brotli)),
        Goal::unlimited("release binary", Unit::Megabytes).measured(kilobytes(binary) / 1e3),
    ])
}

fn kilobytes(bytes: u64) -> f64 {
    crate::bench::figures::number(usize::try_from(bytes).unwrap_or(usize::MAX)) / 1e3
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
}
