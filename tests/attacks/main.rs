//! Attacks: what agents, pages, neighbours and faults must not achieve, one named test for each. Those
//! where the process matters attack the real program, those where rights matter as another user.

mod agent;
mod faults;
mod network;
mod process;
