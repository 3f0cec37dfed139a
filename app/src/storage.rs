//! What the browser keeps for this site, by key. In the browser only.

use web_sys::Storage;

use crate::reactive::prelude::*;

/// What is kept, unless the browser keeps nothing.
pub(crate) fn read(key: &str) -> Option<String> {
    storage()?.get_item(key).ok()?
}

/// Keeps a text, or forgets it.
pub(crate) fn write(key: &str, text: Option<&str>) {
    // A browser that keeps nothing, or no more, goes on without it.
    if let Some(storage) = storage() {
        let _ = match text {
            Some(text) => storage.set_item(key, text),
            None => storage.remove_item(key),
        };
    }
}

fn storage() -> Option<Storage> {
    window().local_storage().ok()?
}
