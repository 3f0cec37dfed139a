//! Markdown of models as HTML, for completed blocks.

pub(crate) use ::markdown::{looks_like_markdown, to_html};
