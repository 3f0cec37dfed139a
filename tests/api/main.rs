//! API tests, one module per topic; all through the router of a whole server.

mod access;
mod bridge;
mod bridge_agents;
mod bridge_events;
mod bridge_safety;
mod engines;
mod entries;
mod exact_answers;
mod extensions;
mod history;
mod job_ends;
mod job_rules;
mod jobs;
mod live;
mod live_batch;
mod live_end;
mod live_limits;
mod pages;
mod permissions;
mod positions;
mod safety;
mod server;
mod sessions;
mod targets;
mod tasks;
mod turns;
