//! What happened to sessions, tasks and jobs, in order, and who reads it.
//!
//! - [`journal`]: keeps it, in a file or in memory.
//! - [`fold`]: what a stream comes to, for lists and status.
//! - [`live`]: hands it to readers as it happens, the one mechanism behind every live endpoint.

pub mod fold;
pub mod journal;
pub mod live;
