//! Times of the server as people read them.

use web_sys::js_sys::Date;
use web_sys::wasm_bindgen::JsValue;

/// A time in the browser's locale. In the browser only.
pub(crate) fn local_time(iso: &str) -> String {
    Date::new(&iso.into()).to_locale_string("default", &JsValue::UNDEFINED).into()
}

/// The time of day of a number of microseconds since the Unix epoch, such as `14:02`. In the browser
/// only.
#[expect(clippy::cast_precision_loss, reason = "milliseconds are enough")]
pub(crate) fn local_clock(micros: u64) -> String {
    let date = Date::new(&JsValue::from_f64((micros / 1000) as f64));
    format!("{:02}:{:02}", date.get_hours(), date.get_minutes())
}
