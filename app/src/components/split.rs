//! Two parts side by side with a bar between them; on a phone one below the other.

use leptos::html::Div;
use leptos::prelude::*;

use super::resize_bar::{Axis, ResizeBar};

/// `#left-part` takes what `#right-part` (800 px at first) leaves.
#[component]
pub(crate) fn Split(
    /// What stands in `#left-part`.
    left: AnyView,
    /// What stands in `#right-part`.
    right: AnyView,
) -> impl IntoView {
    let right_part = NodeRef::<Div>::new();
    view! {
        <div class="split">
            <div id="left-part">{left}</div>
            <ResizeBar axis=Axis::Horizontal target=right_part label="Width of the right part" />
            <div id="right-part" node_ref=right_part>
                {right}
            </div>
        </div>
    }
}
