//! What happened to sessions, tasks and jobs, in order, and who reads it.
//!
//! - [`live`]: the one mechanism behind every live endpoint. For now it is all there is: what
//!   happened is kept in memory.

pub mod live;
