//! What several pages share, one file each.

pub(crate) mod frame;
pub(crate) mod resize_bar;
pub(crate) mod split;
pub(crate) mod to_index;
