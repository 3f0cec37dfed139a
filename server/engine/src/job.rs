//! Jobs: trees of tasks that run as one.
//!
//! What has to run when is decided without any running: [`plan`] is told which work has stopped
//! and says which ones start.
//!
//! ```text
//!   ┌─► Plan ──── works that start ────► tasks ─┐
//!   │    └─► decided                            │
//!   └───────────── a work has stopped ◄─────────┘
//! ```

pub mod plan;
