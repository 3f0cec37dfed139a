//! What pages know. [`transcript`] and [`job`] are plain data and functions; [`feed`] and
//! [`tracking`] put them into signals.

pub(crate) mod feed;
pub(crate) mod job;
pub(crate) mod tracking;
pub(crate) mod transcript;
