//! The pages, one file each.

pub(crate) mod bridge;
pub(crate) mod history;
pub(crate) mod inbox;
pub(crate) mod index;
pub(crate) mod job_tracking;
pub(crate) mod jobs;
pub(crate) mod not_found;
pub(crate) mod test;
