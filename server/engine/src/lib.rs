//! The domain: sessions, tasks and jobs. Knows nothing of HTTP or pages.
//!
//! - [`live`]: the responses of a session, task or job, and those who read them.
//! - [`agent`]: what runs a model, and the models that are always there.
//! - [`entry`]: the tasks and jobs that the portal offers.
//! - [`session`]: a conversation with an agent.
//! - [`lifecycle`]: who owns the futures in the background.
//! - [`workspace`]: which folder the portal works in.

pub mod agent;
pub mod entry;
pub mod lifecycle;
pub mod live;
pub mod session;
pub mod workspace;
