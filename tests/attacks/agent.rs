//! What an agent must not achieve: more rights than it was given.

mod extensions;
mod files;
mod settings;
