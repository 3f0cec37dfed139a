//! `bench size`: the download size of a first visit.

use std::fs;

use super::figures::{Goal, Unit};
use crate::download::{self, Sizes, kilobytes};
use crate::product::Product;

/// Adds up the files that a page needs.
pub(super) fn measure(product: &Product) -> anyhow::Result<Vec<Goal>> {
    let mut sum = Sizes::default();
    println!("{:<6} {:>12} {:>12} {:>12}", "file", "raw", "gzip", "brotli");
    for (kind, sizes) in download::files(product)? {
        println!("{}", row(kind, sizes));
        sum = sum.plus(sizes);
    }
    println!("{}", row("sum", sum));
    let download = Goal::new(download::FIGURE, Unit::Kilobytes, download::LIMIT_KILOBYTES);
    let binary = fs::metadata(&product.binary)?.len();
    Ok(vec![
        download.measured(kilobytes(sum.brotli)),
        Goal::unlimited("release binary", Unit::Megabytes).measured(kilobytes(binary) / 1e3),
    ])
}

fn row(name: &str, Sizes { raw, gzip, brotli }: Sizes) -> String {
    let [raw, gzip, brotli] =
        [raw, gzip, brotli].map(|bytes| Unit::Kilobytes.print(kilobytes(bytes)));
    format!("{name:<6} {raw:>12} {gzip:>12} {brotli:>12}")
}
