//! The question before the server stops: what that interrupts, and what lasts.

use wire::{AliveItem, AliveState, EntityKind};

/// The most jobs that are named; more are counted.
const MOST_NAMES: usize = 3;

/// The question, such as `Stop the server? Interrupts 2 working sessions and ship-change. History
/// stays.` `alive` is what is alive, if that is known; `lasts` whether what happened is kept in a
/// file.
pub(crate) fn stop_question(alive: Option<&[AliveItem]>, lasts: bool) -> String {
    let ends = alive.map_or("It is unknown what that interrupts.".to_owned(), interrupted);
    let lasts = if lasts { "History stays." } else { "History is not kept." };
    format!("Stop the server? {ends} {lasts}")
}

/// What is interrupted. A session of a job goes with its job.
fn interrupted(alive: &[AliveItem]) -> String {
    let runs = |item: &&AliveItem| matches!(item.state, AliveState::Working | AliveState::Waiting);
    let is_job = |item: &&AliveItem| item.kind == EntityKind::Job;
    let (jobs, sessions): (Vec<_>, Vec<_>) = alive.iter().filter(runs).partition(is_job);
    let mut ends = Vec::new();
    match sessions.iter().filter(|session| session.parent.is_none()).count() {
        0 => {}
        1 => ends.push("1 working session".to_owned()),
        count => ends.push(format!("{count} working sessions")),
    }
    if jobs.len() > MOST_NAMES {
        ends.push(format!("{} jobs", jobs.len()));
    } else {
        ends.extend(jobs.iter().map(|job| job.title.clone()));
    }
    match &*ends {
        [] => "Nothing is running.".to_owned(),
        [end] => format!("Interrupts {end}."),
        [ends @ .., last] => format!("Interrupts {} and {last}.", ends.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use wire::LiveId;

    use super::*;

    fn item(kind: EntityKind, title: &str, state: AliveState) -> AliveItem {
        AliveItem {
            id: format!("{}-00000000-0000-4000-8000-000000000001", kind.as_str())
                .parse()
                .expect("an id"),
            kind,
            title: title.to_owned(),
            folder: String::new(),
            model: None,
            state,
            since: 0,
            started_at: 0,
            parent: None,
            label: None,
            done: None,
            total: None,
            waiting: 0,
        }
    }

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
            let working = |kind, title| item(kind, title, AliveState::Working);
            let mut alive: Vec<_> =
                (0..sessions).map(|_| working(EntityKind::Session, "s")).collect();
            alive.extend(jobs.iter().map(|job| working(EntityKind::Job, job)));
            assert_eq!(stop_question(Some(&alive), lasts), question);
        }
    }

    #[test]
    fn only_what_runs_is_interrupted_and_sessions_of_jobs_go_with_them() {
        let job = item(EntityKind::Job, "ship", AliveState::Waiting);
        let LiveId::Job(parent) = job.id else { panic!("a job") };
        let of_job = AliveItem {
            parent: Some(parent),
            ..item(EntityKind::Session, "s", AliveState::Working)
        };
        let waiting = item(EntityKind::Session, "s", AliveState::Waiting);
        let idle = item(EntityKind::Session, "s", AliveState::Idle);
        let ended = item(EntityKind::Job, "done", AliveState::Succeeded);
        assert_eq!(
            stop_question(Some(&[job, of_job, waiting, idle, ended]), true),
            "Stop the server? Interrupts 1 working session and ship. History stays."
        );
        assert_eq!(
            stop_question(None, true),
            "Stop the server? It is unknown what that interrupts. History stays."
        );
    }
}
