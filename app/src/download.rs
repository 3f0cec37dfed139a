//! Saves a text as a file of the browser. Pages fetch what they save: the server refuses windows that
//! navigate to its API, as a link in a model's answer would have them do.

use web_sys::js_sys::{Array, Function, Object, Reflect, global};
use web_sys::wasm_bindgen::{JsCast, JsValue};
use web_sys::{HtmlAnchorElement, HtmlElement};

use crate::reactive::prelude::*;

/// Offers a text to be saved under a name. In the browser only.
pub(crate) fn save(name: &str, kind: &str, text: &str) {
    // Every browser has these. One that refuses them saves nothing, as if it had been told not to.
    let _ = try_save(name, kind, text);
}

fn try_save(name: &str, kind: &str, text: &str) -> Result<(), JsValue> {
    let options = Object::new();
    Reflect::set(&options, &"type".into(), &kind.into())?;
    let parts = Array::of1(&text.into());
    let constructor: Function = Reflect::get(&global(), &"Blob".into())?.dyn_into()?;
    let blob = Reflect::construct(&constructor, &Array::of2(&parts, &options))?;
    let urls = Reflect::get(&global(), &"URL".into())?;
    let call = |function: &str, argument: &JsValue| {
        let function: Function = Reflect::get(&urls, &function.into())?.dyn_into()?;
        function.call1(&urls, argument)
    };
    let url = call("createObjectURL", &blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&url.as_string().unwrap_or_default());
    link.set_attribute("download", name)?;
    HtmlElement::click(&link);
    call("revokeObjectURL", &url)?;
    Ok(())
}
