//! GitHub Copilot as a backend: the agent of its CLI. The only crate that compiles GitHub's SDK.
//!
//! - [`settings`]: which CLI, and what it runs on. Part of every build.
//! - [`Copilot`]: the backend, with the feature `sdk`.

#[cfg(feature = "sdk")]
mod backend;
pub mod settings;

#[cfg(feature = "sdk")]
pub use backend::Copilot;
