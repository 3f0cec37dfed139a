//! The question before the server stops: what that interrupts, and what lasts.

/// The most jobs that are named; more are counted.
const MOST_NAMES: usize = 3;

/// What runs while the server is to be stopped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Running<'a> {
    /// How many sessions work or wait for a person, other than those of jobs.
    pub(crate) sessions: usize,
    /// The names of the running jobs.
    pub(crate) jobs: &'a [&'a str],
    /// Whether what happened is kept in a file.
    pub(crate) lasts: bool,
}

/// The question, such as `Stop the server? Interrupts 2 working sessions and ship-change. History
/// stays.`
pub(crate) fn stop_question(running: Running<'_>) -> String {
    let mut ends = Vec::new();
    match running.sessions {
        0 => {}
        1 => ends.push("1 working session".to_owned()),
        count => ends.push(format!("{count} working sessions")),
    }
    if running.jobs.len() > MOST_NAMES {
        ends.push(format!("{} jobs", running.jobs.len()));
    } else {
        ends.extend(running.jobs.iter().map(|job| (*job).to_owned()));
    }
    let ends = match &*ends {
        [] => "Nothing is running.".to_owned(),
        [end] => format!("Interrupts {end}."),
        [ends @ .., last] => format!("Interrupts {} and {last}.", ends.join(", ")),
    };
    let lasts = if running.lasts { "History stays." } else { "History is not kept." };
    format!("Stop the server? {ends} {lasts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_always_asks_and_names_what_it_ends_and_what_lasts() {
        for (sessions, jobs, lasts, question) in [
            (
                2,
                &["ship-change"][..],
                true,
                "Stop the server? Interrupts 2 working sessions and ship-change. History stays.",
            ),
            (0, &[], true, "Stop the server? Nothing is running. History stays."),
            (1, &[], true, "Stop the server? Interrupts 1 working session. History stays."),
            (0, &["a", "b"], true, "Stop the server? Interrupts a and b. History stays."),
            (
                1,
                &["a", "b"],
                false,
                "Stop the server? Interrupts 1 working session, a and b. History is not kept.",
            ),
            (0, &["a", "b", "c", "d"], true, "Stop the server? Interrupts 4 jobs. History stays."),
        ] {
            assert_eq!(stop_question(Running { sessions, jobs, lasts }), question);
        }
    }
}
