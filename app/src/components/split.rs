//! Two parts side by side with a bar between them; stacked on a phone.

use leptos::html::Div;

use super::resize_bar::{Axis, ResizeBar};

use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// `#left-part` takes the space that `#right-part` (800 px at first) leaves.
#[component]
pub(crate) fn Split(
    /// The content of `#left-part`.
    left: Html,
    /// The content of `#right-part`.
    right: Html,
) -> Html {
    let right_part = NodeRef::<Div>::new();
    html! {
        <div class="split">
            <div id="left-part">{left}</div>
            <ResizeBar axis=Axis::Horizontal target=right_part label="Width of the right part" />
            <div id="right-part" node_ref=right_part>
                {right}
            </div>
        </div>
    }
}
