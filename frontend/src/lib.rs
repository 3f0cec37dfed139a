//! The browser's entry point. Everything else is in `app`.

use wasm_bindgen::prelude::wasm_bindgen;

/// Hydrates the page that the server rendered. The page's own script calls it once.
#[wasm_bindgen]
pub async fn hydrate() {
    console_error_panic_hook::set_once();
    app::load_page().await;
    leptos::mount::hydrate_body(app::App);
}
