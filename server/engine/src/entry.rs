//! The entry: the tasks and jobs that the portal offers.

mod install;

pub use install::{EntryStore, InstallError};
pub use store::fold::Installer;

/// The entry of a portal that was not given one. It shows every kind of work, and runs on
/// simulated models.
pub const SAMPLE: &str = include_str!("entry/sample.json");

#[cfg(test)]
mod tests {
    use wire::entry::Entry;

    use super::*;

    #[test]
    fn the_sample_is_valid_and_needs_only_models_that_are_always_there() {
        let entry = Entry::parse(SAMPLE).unwrap_or_else(|problems| panic!("{problems}"));
        let always = ["simulated-standard", "simulated-quick", "simulated-premium"];
        for model in entry.model_ids() {
            assert!(always.contains(&model.id.as_str()), "{}: {}", model.path, model.id);
        }
    }

    #[test]
    fn every_job_and_task_of_the_sample_can_be_reached() {
        let entry = Entry::parse(SAMPLE).expect("valid");
        let cells = entry.grid.iter().flat_map(|row| row.jobs.iter().flatten());
        let jobs: Vec<&str> = cells.map(|cell| cell.job_name.as_str()).collect();
        let works = entry.jobs.values().flat_map(|job| job.work.task_refs());
        let tasks: Vec<&str> = works.map(|work| work.task_id).collect();
        assert!(entry.jobs.keys().all(|job| jobs.contains(&job.as_str())));
        assert!(entry.tasks.keys().all(|task| tasks.contains(&task.as_str())));
    }
}
