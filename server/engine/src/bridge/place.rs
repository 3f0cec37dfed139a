//! The ids of events: how far a client has come in its projects.
//!
//! Within a session that is a [`Position`] that counts responses which are not deltas: tool output is
//! no event, so it does not count although it is stored.

use store::journal::Position;
use wire::SessionId;

/// The place of a client in a project, as an id or as part of one: in which session it is, if in
/// any, and where there.
pub(super) fn event_id(project: &str, session: Option<SessionId>, place: &Position) -> String {
    let session = session.map(short).unwrap_or_default();
    format!("{project}~{session}~{place}")
}

/// The part of an id that names the place in a project: its session, if any, and the place there.
pub(super) fn part_of<'a>(id: &'a str, project: &str) -> Option<(&'a str, Position)> {
    id.split(',').find_map(|part| {
        let (session, place) = part.strip_prefix(project)?.strip_prefix('~')?.split_once('~')?;
        Some((session, place.parse().ok()?))
    })
}

/// Enough of a session's id to tell it from others of its project.
pub(super) fn short(id: SessionId) -> String {
    let id = id.to_string();
    let uuid = id.strip_prefix(SessionId::PREFIX).unwrap_or(&id);
    uuid.chars().filter(char::is_ascii_hexdigit).take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_places_of_several_projects() {
        let session = "session-01234567-89ab-4000-8000-000000000000".parse().expect("an id");
        let place: Position = "57.55-1200.56-3".parse().expect("a place");
        let ids = [event_id("a", Some(session), &place), event_id("b", None, &Position::default())];
        assert_eq!(ids, ["a~0123456789ab~57.55-1200.56-3", "b~~0"]);
        let id = ids.join(",");
        assert_eq!(part_of(&id, "a"), Some(("0123456789ab", place)));
        assert_eq!(part_of(&id, "b"), Some(("", Position::default())));
        for unknown in ["c", "", "~"] {
            assert_eq!(part_of(&id, unknown), None, "{unknown}");
        }
        assert_eq!(part_of("12", "a"), None);
    }
}
