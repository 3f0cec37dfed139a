//! Copilot Portal's server: HTTP on one side, the engine on the other.
//!
//! `main` assembles these parts; tests build an [`http::Portal`] themselves and call it without a
//! socket.

pub mod config;
mod encoding;
mod hex;
pub mod http;
pub mod journal;
pub mod notices;
pub mod reload;
pub mod security;
pub mod site;
pub mod startup;
pub mod store_command;
pub mod telemetry;
pub mod validate;
