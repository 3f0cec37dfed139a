//! Works to plan, and the rules in tables of exact orders. What holds for any work is in `random`.

mod random;
mod rules;

use wire::entry::Work;
use wire::entry::testing::{alt, par, repeat, seq};

use super::*;

fn task(id: u32) -> Work {
    Work::Ref { task_id: "t".to_owned(), work_id_in_job: id, model_override: None }
}

fn stop(work_id: u32, succeeded: bool) -> WorkStopped {
    WorkStopped { work_id, succeeded }
}
