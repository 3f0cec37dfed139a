//! URLs of pages, for links on other pages.

use wire::{JobId, SessionId};

use crate::router::with_argument;

/// The page that lists the jobs for a folder.
pub(crate) fn jobs_url(folder: &str) -> String {
    with_argument("/jobs.html", "wb", folder)
}

/// The page of a session.
pub(crate) fn session_url(id: SessionId) -> String {
    format!("/index.html?session={id}")
}

/// The history, searched for a text.
pub(crate) fn history_url(query: &str) -> String {
    with_argument("/history.html", "q", query)
}

/// The page that follows a run of a job; without a run, the preview of the job.
pub(crate) fn tracking_url(job_name: &str, id: Option<JobId>) -> String {
    let url = with_argument("/jobTracking.html", "jobName", job_name);
    match id {
        Some(id) => format!("{url}&jobId={id}"),
        None => url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_carry_any_name() {
        assert_eq!(jobs_url("/a b&c"), "/jobs.html?wb=%2Fa%20b%26c");
        assert_eq!(tracking_url("fix & go", None), "/jobTracking.html?jobName=fix%20%26%20go");
        let id: JobId = "job-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11".parse().expect("an id");
        let url = tracking_url("j", Some(id));
        assert_eq!(url, format!("/jobTracking.html?jobName=j&jobId={id}"));
    }
}
