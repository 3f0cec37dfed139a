//! API tests, one module a topic; all through the router of a whole server.

mod access;
mod pages;
mod safety;
mod server;
mod targets;
