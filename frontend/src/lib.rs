//! The browser's entry point. Everything else is in `app`.

use wasm_bindgen::prelude::wasm_bindgen;

/// Hydrates the page that the server rendered. The page's own script calls it once.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
}
