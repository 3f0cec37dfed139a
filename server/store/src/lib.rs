//! The event store of sessions, tasks and jobs, and its readers.
//!
//! - [`journal`]: stores what happened, in order, in a file or in memory.
//! - [`fold`]: what a stream comes to, for lists and status.
//! - [`live`]: delivers it to readers as it happens; the one mechanism behind every live endpoint.

pub mod fold;
pub mod journal;
pub mod live;
