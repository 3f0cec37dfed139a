//! Services of the operating system. Knows nothing about agents; every other crate of the server
//! may use it.
//!
//! - [`lifecycle`]: owns the background work.
//! - [`process_group`]: child processes that end together, each under a [`supervisor`] that ends them
//!   when the portal is killed.
//! - [`environment`]: which variables child processes get.
//! - [`memory`]: releasing memory that is no longer needed.
//! - [`private`]: files and folders that only their owner may read.
//! - [`repository`]: the folder that the portal works in.
//! - [`clock`]: times as the API writes them.

pub mod clock;
pub mod environment;
pub mod lifecycle;
pub mod memory;
pub mod private;
pub mod process_group;
#[cfg(unix)]
mod process_tree;
pub mod repository;
#[cfg(unix)]
pub mod supervisor;
