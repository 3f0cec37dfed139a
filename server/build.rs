//! With `embed-site`, the site's files are part of the program: a changed site is a changed
//! program. Cargo does not notice this on its own, because a new file does not change any known
//! one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PORTAL_SITE_DIR");
    if std::env::var_os("CARGO_FEATURE_EMBED_SITE").is_none() {
        return;
    }
    match std::env::var("PORTAL_SITE_DIR") {
        Ok(folder) => println!("cargo::rerun-if-changed={folder}"),
        Err(_) => println!(
            "cargo::error=the feature embed-site needs PORTAL_SITE_DIR: use `cargo xtask build`"
        ),
    }
}
