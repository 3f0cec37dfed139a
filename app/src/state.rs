//! What pages know. [`transcript`], [`spending`] and [`job`] are plain data and functions; [`feed`]
//! and [`tracking`] put them into signals.

pub(crate) mod feed;
pub(crate) mod job;
pub(crate) mod spending;
pub(crate) mod tracking;
pub(crate) mod transcript;
