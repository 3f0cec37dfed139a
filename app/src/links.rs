//! URLs of pages, for links on other pages.

use leptos_router::params::ParamsMap;
use wire::JobId;

/// The page that lists the jobs for a folder.
pub(crate) fn jobs_url(folder: &str) -> String {
    let mut query = ParamsMap::new();
    query.insert("wb", folder.to_owned());
    format!("/jobs.html{}", query.to_query_string())
}

/// The page that follows a run of a job; without a run, the preview of the job.
pub(crate) fn tracking_url(job_name: &str, id: Option<JobId>) -> String {
    let mut query = ParamsMap::new();
    query.insert("jobName", job_name.to_owned());
    let id = id.map(|id| format!("&jobId={id}")).unwrap_or_default();
    format!("/jobTracking.html{}{id}", query.to_query_string())
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
