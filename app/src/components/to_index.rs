//! Leaves a page that lacks a required argument.

use leptos::prelude::*;

use crate::html::Html;
use crate::router;

/// Goes to the index page; on the server by a redirect, whatever the client accepts.
#[component]
pub(crate) fn ToIndex() -> Html {
    router::go("/index.html");
    Html::fragment()
}
