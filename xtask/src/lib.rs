//! What the front end of `cargo xtask` and the tools behind it share: the command line, and the
//! progress shown while things are built.
//!
//! ```text
//!  cargo xtask serve ─► xtask (no dependencies, compiled in a second)
//!                         │  says what will happen, shows cargo at work
//!                         └─► xtask-tools, with the features that the command needs
//!                               ├─ cargo build -p frontend, bindings, style ─► site
//!                               └─ cargo build -p server ─► copilot-portal, which it becomes
//! ```

pub mod arguments;
pub mod build;
pub mod report;
pub mod step;
mod terminal;
