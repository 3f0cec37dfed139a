//! What pages know. [`transcript`] is plain data and functions; [`feed`] puts it into signals.

pub(crate) mod feed;
pub(crate) mod transcript;
