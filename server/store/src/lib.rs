//! The event store of sessions, tasks, jobs and of the portal itself, and its readers.
//!
//! - [`journal`]: stores what happened, in order, in a file or in memory.
//! - [`attachment`]: the files of prompts.
//! - [`fold`]: what a stream comes to, for lists and status.
//! - [`live`]: delivers it to readers as it happens; the one mechanism behind every live endpoint.
//! - [`portal`]: what was decided about the portal itself, which nobody follows live.

pub mod attachment;
pub mod fold;
pub mod journal;
pub mod live;
pub mod portal;
