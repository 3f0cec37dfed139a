//! What runs a model: the contract that every backend implements, the tools given to models, and
//! the permissions those need.
//!
//! ```text
//!   facts ◄─ contract ─► tool ─► permission ─► guarded ─► names
//!      ▲        ▲         ▲          ▲            ▲
//!      ├──── openai ──────┤   tools, ask_user ────┘
//!      └──── simulated ───┘   (the tools for a folder, and for asking)
//! ```
//!
//! A new agent is a folder here, or a crate of its own if it brings a large dependency, plus one
//! line where the server starts.

mod ask_user;
mod attachment;
mod catalog;
mod contract;
mod facts;
mod names;
mod tool;

pub mod guarded;
pub mod openai;
pub mod permission;
pub mod provider;
pub mod simulated;
pub mod tools;

pub use ask_user::{ASK_USER, ask_user};
pub use attachment::{Attachment, Attachments, Image, Loaded, NamedImage};
pub use catalog::{Catalog, Found};
pub use contract::{
    AgentBackend, AgentError, AgentEvent, AgentEvents, AgentExtension, AgentSession, AgentSettings,
    AllowedExtensions, Capabilities, PastConversation, ReportedUsage, ResumeError, SessionHandle,
    Steering, TextKind, TurnOptions, TurnStop,
};
pub use facts::{Fact, read_arguments};
pub use tool::{
    Consent, DuplicateTool, Tool, ToolCall, ToolHandler, ToolHooks, ToolOutput, ToolSet,
};
