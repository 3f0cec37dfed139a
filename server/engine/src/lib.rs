//! The domain: sessions, tasks and jobs. Serves no HTTP and knows no pages.
//!
//! - [`live`]: the responses of a session, task or job, and those who read them.
//! - [`agent`]: what runs a model, and the models that are always there.
//! - [`bridge`]: prompts and agent runs in workspace folders, for plain HTTP clients.
//! - [`entry`]: the tasks and jobs that the portal offers.
//! - [`extension`]: programs of the project or the user that take part in a session.
//! - [`guarded`]: files that govern the portal, out of reach of tools.
//! - [`session`]: a conversation with an agent.
//! - [`task`]: a prompt with conditions, in sessions of its own or a borrowed one.
//! - [`job`]: trees of tasks that run as one.
//! - [`lifecycle`]: who owns the futures in the background.
//! - [`permission`]: who may let a tool act.
//! - [`private`]: files and folders that only their owner may read.
//! - [`supervisor`]: what ends the programs that agents start, also when the portal is killed.
//! - [`tools`]: what a model can do in a folder, and no further.
//! - [`workspace`]: which folder the portal works in.

pub mod agent;
pub mod bridge;
pub mod entry;
mod environment;
pub mod extension;
pub mod guarded;
pub mod job;
pub mod lifecycle;
pub mod live;
pub mod permission;
pub mod private;
mod process_group;
pub mod session;
#[cfg(unix)]
pub mod supervisor;
pub mod task;
pub mod tools;
pub mod workspace;
