//! The ids of events: how far a client has come in its projects.

use std::fmt;
use std::str::FromStr;

use wire::SessionId;

/// How far a client has read a session: how many responses that are not deltas, and how many bytes
/// of each message that it is inside of, by the number of the response that opened the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) responses: u64,
    pub(super) inside: Vec<(u64, usize)>,
}

impl Place {
    /// Whether it is an earlier place in the same session.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        let has_less = |(start, bytes): &(u64, usize)| self.read_of(*start) < *bytes;
        self.responses < other.responses
            || self.responses == other.responses && other.inside.iter().any(has_less)
    }

    /// How many bytes of a message it has, by the number of the response that opened that.
    pub(super) fn read_of(&self, start: u64) -> usize {
        let inside = self.inside.iter().find(|(block, _)| *block == start);
        inside.map_or(0, |(_, bytes)| *bytes)
    }
}

/// `57.55-1200`: 57 responses, and 1200 bytes of the message that the 55th opened.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.responses)?;
        self.inside.iter().try_for_each(|(start, bytes)| write!(f, ".{start}-{bytes}"))
    }
}

/// The text is not a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPlace;

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let mut parts = text.split('.');
        let responses = parts.next().and_then(|count| count.parse().ok()).ok_or(NoPlace)?;
        let inside = parts.map(|part| {
            let (start, bytes) = part.split_once('-')?;
            Some((start.parse().ok()?, bytes.parse().ok()?))
        });
        Ok(Self { responses, inside: inside.collect::<Option<_>>().ok_or(NoPlace)? })
    }
}

/// The place of a client in a project, as an id or as part of one: in which session it is, if in
/// any, and where there.
pub(super) fn event_id(project: &str, session: Option<SessionId>, place: &Place) -> String {
    let session = session.map(short).unwrap_or_default();
    format!("{project}~{session}~{place}")
}

/// The part of an id that names the place in a project: its session, if any, and the place there.
pub(super) fn part_of<'a>(id: &'a str, project: &str) -> Option<(&'a str, Place)> {
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
    fn texts_that_are_no_places_are_refused() {
        for wrong in ["", "x", "-1", "1.", "1.2", "1.2-", "1.2-3.x", "1~2"] {
            assert_eq!(wrong.parse::<Place>(), Err(NoPlace), "{wrong}");
        }
    }

    #[test]
    fn an_id_has_the_places_of_several_projects() {
        let session = "session-01234567-89ab-4000-8000-000000000000".parse().expect("an id");
        let place: Place = "57.55-1200.56-3".parse().expect("a place");
        let ids = [event_id("a", Some(session), &place), event_id("b", None, &Place::default())];
        assert_eq!(ids, ["a~0123456789ab~57.55-1200.56-3", "b~~0"]);
        let id = ids.join(",");
        assert_eq!(part_of(&id, "a"), Some(("0123456789ab", place)));
        assert_eq!(part_of(&id, "b"), Some(("", Place::default())));
        for unknown in ["c", "", "~"] {
            assert_eq!(part_of(&id, unknown), None, "{unknown}");
        }
        assert_eq!(part_of("12", "a"), None);
    }
}
