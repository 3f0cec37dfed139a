//! The HTML document around [`App`], and its content security policy.
//!
//! Rendered on the server only, once per request. All scripts come from this server: the one inline
//! script starts the hydration and carries the request's nonce.

use std::collections::HashMap;

use axum::http::{HeaderValue, header};
use leptos::config::LeptosOptions;
use leptos::hydration::AutoReload;
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use leptos_meta::MetaTags;

use crate::App;
use crate::router::now;
use crate::view::View;

/// The paths of the built browser side. Releases have content hashes in their names.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct AssetPaths {
    /// The loader that `wasm-bindgen` generated.
    pub js: String,
    /// The app as WASM.
    pub wasm: String,
    /// All styles in one file.
    pub css: String,
    /// The files of each bundle beside the app, by its name. Only releases have bundles.
    #[serde(default)]
    pub bundles: HashMap<String, Vec<String>>,
}

/// The files of the bundle that the page of this request needs.
fn bundle_files(bundles: &HashMap<String, Vec<String>>) -> Vec<String> {
    let (path, query) = now();
    let files = View::at(&path, &query).and_then(|view| bundles.get(view.bundle()));
    files.cloned().unwrap_or_default()
}

/// Shows the theme that was chosen in this browser before anything is drawn.
const THEME: &str = "try{const t=localStorage.getItem('portal-theme');\
                     if(t)document.documentElement.dataset.theme=t}catch{}";

/// The document. `options` matter only under `cargo leptos watch`, which reloads the page.
pub fn shell(assets: AssetPaths, options: LeptosOptions) -> impl IntoView {
    let nonce = use_nonce();
    if let Some(nonce) = &nonce
        && let Some(response) = use_context::<ResponseOptions>()
    {
        let policy = content_security_policy(nonce, watch_port(&options));
        let value = HeaderValue::from_str(&policy).expect("a policy is plain ASCII");
        response.insert_header(header::CONTENT_SECURITY_POLICY, value);
    }
    let AssetPaths { js, wasm, css, bundles } = assets;
    // They would only be known once the app runs.
    let preloads = bundle_files(&bundles).into_iter().map(|file| {
        view! { <link rel="preload" href=file r#as="fetch" r#type="application/wasm" crossorigin="anonymous" /> }
    });
    let preloads = preloads.collect::<Vec<_>>();
    let start = format!(
        "import init, {{ hydrate }} from {js:?};\n\
         await init({{ module_or_path: {wasm:?} }});\n\
         await hydrate();"
    );
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <meta name="description" content="A self-hosted portal for coding agents" />
                // As the pages' headers (`--surface`), which an installed app's title bar joins.
                <meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)" />
                <meta name="theme-color" content="#1b202a" media="(prefers-color-scheme: dark)" />
                <script nonce=nonce.clone()>{THEME}</script>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <link rel="apple-touch-icon" href="/icons/portal-192.png" />
                <link rel="manifest" href="/manifest.webmanifest" />
                <link rel="stylesheet" href=css />
                <link rel="modulepreload" href=js />
                <link rel="preload" href=wasm r#as="fetch" r#type="application/wasm" crossorigin="anonymous" />
                {preloads}
                <script type="module" nonce=nonce>
                    {start}
                </script>
                <AutoReload options=options />
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The port on which `cargo leptos watch` announces changes, if it runs this server.
fn watch_port(options: &LeptosOptions) -> Option<u32> {
    std::env::var_os("LEPTOS_WATCH")
        .is_some()
        .then(|| options.reload_external_port.unwrap_or(options.reload_port))
}

/// What a page may do: our own scripts (inline only with `nonce`), WASM, our own styles, images and
/// calls. Nothing from elsewhere, no frames around it, no inline styles.
fn content_security_policy(nonce: &str, watch_port: Option<u32>) -> String {
    let watch = watch_port
        .map(|port| format!(" ws://localhost:{port} ws://127.0.0.1:{port}"))
        .unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; \
         style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'{watch}; \
         manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_allows_no_inline_script_without_the_nonce() {
        let policy = content_security_policy("abc", None);
        assert!(policy.contains("script-src 'self' 'nonce-abc' 'wasm-unsafe-eval';"));
        assert!(!policy.contains("unsafe-inline"));
        assert!(policy.contains("connect-src 'self';"));
    }

    #[test]
    fn only_watching_opens_the_reload_port() {
        let policy = content_security_policy("abc", Some(8889));
        assert!(policy.contains("connect-src 'self' ws://localhost:8889 ws://127.0.0.1:8889;"));
    }
}
