//! Times of the server as people read them.

use web_sys::js_sys::Date;
use web_sys::wasm_bindgen::JsValue;

/// A time in the browser's locale. In the browser only.
pub(crate) fn local_time(iso: &str) -> String {
    Date::new(&iso.into()).to_locale_string("default", &JsValue::UNDEFINED).into()
}
