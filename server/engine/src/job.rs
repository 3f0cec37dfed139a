//! Jobs: trees of tasks that run as one.
//!
//! What has to run when is decided without any running: [`plan`] is told which work has stopped
//! and says which ones start. [`places`] keeps those waiting that are too many at once.
//!
//! ```text
//!   ┌─► Plan ─ works that start ─► PlaceQueue ─ the first in line ─► tasks ─┐
//!   │    └─► decided               (one a job)                              │
//!   │                                   ▲                                   │
//!   │                         Places (one a server)                         │
//!   └─────────────────────── a work has stopped ◄───────────────────────────┘
//! ```

pub mod places;
pub mod plan;
