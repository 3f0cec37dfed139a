//! What pages, other machines and greedy clients must not achieve.

mod intent;
mod login;
mod resources;
