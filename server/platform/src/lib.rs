//! What the portal asks of the machine that it runs on. Knows nothing of agents; every other crate of
//! the server may use it.
//!
//! - [`lifecycle`]: owns the futures in the background.
//! - [`process_group`]: child processes that end together, each under a [`supervisor`] that ends them
//!   when the portal is killed.
//! - [`environment`]: which variables child processes see.
//! - [`memory`]: giving back what is not needed any more.
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
