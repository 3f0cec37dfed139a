//! `bench size`: the download size of a first visit.

use std::fs;

use super::figures::{Goal, Unit};
use crate::download::{self, Downloads, Sizes, kilobytes};
use crate::product::Product;

/// Adds up the files that each page needs.
pub(super) fn measure(product: &Product) -> anyhow::Result<Vec<Goal>> {
    println!("{:<10} {:>12} {:>12} {:>12}", "file", "raw", "gzip", "brotli");
    let downloads = Downloads::of(product)?;
    let always = downloads.always.iter().map(|(kind, sizes)| (*kind, sizes));
    let bundles = downloads.bundles.iter().map(|(name, sizes)| (&**name, sizes));
    for (name, sizes) in always.chain(bundles) {
        println!("{}", row(name, *sizes));
    }
    let goal = |(figure, sizes): (String, Sizes)| {
        let goal = Goal::new(figure, Unit::Kilobytes, download::LIMIT_KILOBYTES);
        goal.measured(kilobytes(sizes.brotli))
    };
    let mut goals: Vec<_> = downloads.visits().into_iter().map(goal).collect();
    let binary = fs::metadata(&product.binary)?.len();
    let binary_goal = Goal::unlimited("release binary", Unit::Megabytes);
    goals.push(binary_goal.measured(kilobytes(binary) / 1e3));
    Ok(goals)
}

fn row(name: &str, Sizes { raw, gzip, brotli }: Sizes) -> String {
    let [raw, gzip, brotli] =
        [raw, gzip, brotli].map(|bytes| Unit::Kilobytes.print(kilobytes(bytes)));
    format!("{name:<10} {raw:>12} {gzip:>12} {brotli:>12}")
}
