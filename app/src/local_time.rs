//! Times of the server as people read them.

use web_sys::js_sys::Date;
use web_sys::wasm_bindgen::JsValue;

/// A time of the server in milliseconds since 1970. In the browser only.
#[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
pub(crate) fn millis_of(iso: &str) -> i64 {
    Date::parse(iso) as i64
}

/// Milliseconds since 1970 as the server writes times. In the browser only.
#[expect(clippy::cast_precision_loss, reason = "exact for some hundred thousand years")]
pub(crate) fn iso_time(millis: i64) -> String {
    Date::new(&JsValue::from_f64(millis as f64)).to_iso_string().into()
}

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
