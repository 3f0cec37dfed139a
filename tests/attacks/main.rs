//! Attacks: what agents, pages, neighbours and faults must not achieve, one named test for each.
//! Where the process matters they attack the real program, and where rights matter, as another
//! user.

mod agent;
mod attachments;
mod faults;
mod kills;
mod network;
mod process;
