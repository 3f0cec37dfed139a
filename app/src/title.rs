//! The title of the window.

use crate::html::Html;
use crate::reactive::prelude::*;
use crate::{Waiting, badge};

/// Shows the text before the name of the portal; without a text there is only the name.
pub(crate) fn window_title(text: impl Fn() -> String + Send + Sync + 'static) -> Html {
    let waiting = use_context::<Waiting>();
    let text = move || {
        let text = text();
        let title = if text.is_empty() {
            "Copilot Portal".to_owned()
        } else {
            format!("{text} · Copilot Portal")
        };
        badge::titled(title, waiting.map_or(0, |Waiting(count)| count.get()))
    };
    #[cfg(feature = "ssr")]
    let _ = leptos_meta::Title(leptos_meta::TitleProps::builder().text(text).build());
    #[cfg(not(feature = "ssr"))]
    Effect::new(move |_| document().set_title(&text()));
    Html::fragment()
}
