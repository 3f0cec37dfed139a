//! The site in the folder that `LEPTOS_SITE_ROOT` names.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use app::shell::AssetPaths;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use leptos::config::LeptosOptions;
use sha2::{Digest, Sha256};
use tower_http::services::ServeDir;

use super::files::{self, File};
use super::{MANIFEST, SiteError, read_manifest};

/// Where the files come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Built by `cargo xtask`: names change with the content, so the folder is read once, and no
    /// path in a request ever reaches the file system.
    Loaded(Arc<HashMap<String, File>>),
    /// Built by `cargo leptos`: names stay the same when contents change.
    Directory(ServeDir),
}

impl Source {
    pub(super) fn open(options: &LeptosOptions) -> Result<(Self, AssetPaths), SiteError> {
        let root = Path::new(options.site_root.as_ref());
        if root.join(MANIFEST).exists() {
            return Self::load(root);
        }
        let directory = ServeDir::new(root)
            .append_index_html_on_directories(false)
            .precompressed_br()
            .precompressed_gzip();
        let path =
            |ending: &str| format!("/{}/{}.{ending}", options.site_pkg_dir, options.output_name);
        let assets = AssetPaths {
            js: path("js"),
            wasm: path("wasm"),
            css: path("css"),
            bundles: HashMap::new(),
        };
        Ok((Self::Directory(directory), assets))
    }

    fn load(root: &Path) -> Result<(Self, AssetPaths), SiteError> {
        let mut files = HashMap::new();
        read_files(root, "", &mut files)
            .map_err(|error| SiteError::Manifest(format!("{}: {error}", root.display())))?;
        let assets = read_manifest(files.get(MANIFEST).map_or(&[], |file| &file.data))?;
        Ok((Self::Loaded(Arc::new(files)), assets))
    }

    pub(super) async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        match self {
            Self::Loaded(files) => files::answer(&request, |name| files.get(name).cloned()),
            Self::Directory(directory) => {
                // For the caller, a file that cannot be read does not exist.
                let mut response = directory.clone().try_call(request).await.ok()?;
                if response.status() == StatusCode::NOT_FOUND {
                    return None;
                }
                let headers = response.headers_mut();
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
                Some(response.map(Body::new))
            }
        }
    }
}

/// Reads every file below a folder, keyed by its path there.
fn read_files(folder: &Path, prefix: &str, files: &mut HashMap<String, File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_files(&entry.path(), &format!("{name}/"), files)?;
        } else {
            let data = fs::read(entry.path())?;
            let hash = Sha256::digest(&data).into();
            files.insert(name, File::new(data.into(), hash));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(root: &Path) -> LeptosOptions {
        LeptosOptions::builder()
            .output_name("portal")
            .site_root(root.to_str().expect("text"))
            .build()
    }

    #[tokio::test]
    async fn a_folder_with_a_manifest_is_served_from_memory() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        fs::create_dir(folder.path().join("pkg")).expect("a folder");
        write(MANIFEST, r#"{"js":"/pkg/a.1.js","wasm":"/pkg/a.1.wasm","css":"/pkg/a.1.css"}"#)
            .and_then(|()| write("pkg/a.1.js", "let a = 1;"))
            .and_then(|()| write("pkg/a.1.js.gz", "packed"))
            .expect("writable");
        let (source, assets) = Source::open(&options(folder.path())).expect("a site");
        assert_eq!(assets.js, "/pkg/a.1.js");
        // A file added later is not part of the site.
        write("pkg/later.js", "").expect("writable");
        for (path, encoding, expected) in [
            ("/pkg/a.1.js", "identity", Some("let a = 1;")),
            ("/pkg/a.1.js", "gzip", Some("packed")),
            ("/pkg/a.1.js.gz", "gzip", None),
            ("/pkg/later.js", "identity", None),
            ("/assets.json", "identity", None),
            ("/pkg/../assets.json", "identity", None),
        ] {
            let request = Request::get(path).header(header::ACCEPT_ENCODING, encoding);
            let answer = source.answer(request.body(Body::empty()).expect("a request")).await;
            let body = match answer {
                Some(answer) => {
                    let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
                    Some(String::from_utf8(body.expect("a body").to_vec()).expect("text"))
                }
                None => None,
            };
            assert_eq!(body.as_deref(), expected, "{path} {encoding}");
        }
    }

    #[test]
    fn a_broken_manifest_is_an_error_that_names_the_remedy() {
        let folder = tempfile::tempdir().expect("temporary folder");
        fs::write(folder.path().join(MANIFEST), "{").expect("writable");
        let error = Source::open(&options(folder.path())).expect_err("no site").to_string();
        assert!(error.contains("cargo xtask build"), "{error}");
    }
}
