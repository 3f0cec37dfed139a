//! The domain: sessions, tasks, jobs and the bridge. Serves no HTTP and knows no pages.
//!
//! - `budget`: what tasks, jobs and sessions may use, and have used.
//! - [`session`]: a conversation with an agent.
//! - [`inbox`]: everything that waits for a person.
//! - [`alive`]: the open sessions and the running jobs, as one list.
//! - [`entry`]: the tasks and jobs that the portal offers.
//! - [`task`]: a prompt with conditions, in sessions of its own or a borrowed one.
//! - [`job`]: trees of tasks that run as a unit.
//! - [`trust`]: which extensions may run, kept in the log of the portal.
//! - [`bridge`]: prompts and agent runs in workspace folders, for plain HTTP clients.

pub mod alive;
pub mod bridge;
mod budget;
pub mod entry;
pub mod inbox;
pub mod job;
pub mod recovery;
mod running;
pub mod session;
pub mod task;
pub mod trust;

pub use budget::BudgetNotSupported;
