//! The entry that is installed: the tasks and jobs that this server offers.

mod install;
pub const SAMPLE: &str = "";

pub use install::{EntryStore, InstallError};
