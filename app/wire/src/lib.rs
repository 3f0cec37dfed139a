//! The vocabulary of browser and server: what travels between them, and nothing that does I/O.
//!
//! Both towers of the workspace meet here. The server serialises these types, the pages (and the
//! tests) read them back, so a spelling can't drift apart.

pub mod server;
