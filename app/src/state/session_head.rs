//! What stands above a conversation: how it is about the session, and what it is called.

use wire::AliveState;

use crate::icon::Icon;
use crate::poll::Connection;

/// How it is about a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Working,
    /// For a person.
    Waiting,
    Idle,
    /// Its last turn failed.
    Failed,
    /// The server stopped in its last turn.
    Interrupted,
    Closed,
    /// There is none, or not any more.
    Gone,
}

impl Standing {
    /// The name that style sheets know.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Closed => "closed",
            Self::Gone => "gone",
        }
    }

    /// The word for people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Working => "Working",
            Self::Waiting => "Waits for you",
            Self::Idle => "Idle",
            Self::Failed => "Failed",
            Self::Interrupted => "Interrupted",
            Self::Closed => "Closed",
            Self::Gone => "Gone",
        }
    }

    pub(crate) fn icon(self) -> Icon {
        match self {
            Self::Working => Icon::Working,
            Self::Waiting => Icon::Waiting,
            Self::Idle => Icon::Idle,
            Self::Failed => Icon::Failed,
            Self::Interrupted => Icon::Interrupted,
            Self::Closed => Icon::Stop,
            Self::Gone => Icon::NotReached,
        }
    }

    /// Whether nothing can be asked of it any more.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Closed | Self::Gone)
    }
}

/// How it is about a session, by what its page has read of it; `None` before it has read anything.
/// `alive` is what the server's list says: it also knows what waits outside of the conversation, but
/// is told a little later.
pub(crate) fn standing(
    connection: &Connection,
    works: bool,
    questions: usize,
    alive: Option<AliveState>,
) -> Option<Standing> {
    match connection {
        Connection::NotFound => return Some(Standing::Gone),
        Connection::Ended => return Some(Standing::Closed),
        Connection::Connecting | Connection::Live | Connection::Lost(_) => {}
    }
    Some(match alive {
        _ if questions > 0 => Standing::Waiting,
        _ if works => Standing::Working,
        Some(AliveState::Waiting) => Standing::Waiting,
        Some(AliveState::Failed) => Standing::Failed,
        Some(AliveState::Interrupted) => Standing::Interrupted,
        None if *connection == Connection::Connecting => return None,
        _ => Standing::Idle,
    })
}

/// The title of a session; one without any prompt has the name of its model, which says less than
/// what it is.
pub(crate) fn title_of(title: &str, model: &str) -> String {
    if title == model { "Session".to_owned() } else { title.to_owned() }
}

/// Why the model can't be switched now, if so.
pub(crate) fn model_is_fixed(is_of_job: bool, standing: Option<Standing>) -> Option<&'static str> {
    match standing {
        None => Some("The session is not known yet."),
        Some(standing) if standing.is_over() => Some("This session has ended."),
        _ if is_of_job => Some("The job that this session works for chooses the model."),
        Some(Standing::Working | Standing::Waiting) => {
            Some("The model can be switched once the agent is idle.")
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ApiError;

    #[test]
    fn what_the_page_has_read_counts_more_than_the_list() {
        use Connection::{Connecting, Ended, Live, Lost, NotFound};
        let lost = Lost(ApiError::Unreachable);
        for (connection, works, questions, alive, stands) in [
            (Connecting, false, 0, None, None),
            (Connecting, false, 0, Some(AliveState::Idle), Some(Standing::Idle)),
            (Live, false, 0, None, Some(Standing::Idle)),
            (Live, false, 0, Some(AliveState::Working), Some(Standing::Idle)),
            (Live, true, 0, Some(AliveState::Idle), Some(Standing::Working)),
            (Live, true, 1, Some(AliveState::Working), Some(Standing::Waiting)),
            (Live, true, 0, Some(AliveState::Waiting), Some(Standing::Working)),
            // Its budget is used up, for example.
            (Live, false, 0, Some(AliveState::Waiting), Some(Standing::Waiting)),
            (Live, false, 0, Some(AliveState::Interrupted), Some(Standing::Interrupted)),
            (Live, false, 0, Some(AliveState::Failed), Some(Standing::Failed)),
            (Live, true, 0, Some(AliveState::Failed), Some(Standing::Working)),
            (lost, true, 0, None, Some(Standing::Working)),
            (Ended, false, 1, Some(AliveState::Idle), Some(Standing::Closed)),
            (NotFound, false, 0, None, Some(Standing::Gone)),
        ] {
            let found = standing(&connection, works, questions, alive);
            assert_eq!(found, stands, "{connection:?} {works} {questions} {alive:?}");
        }
    }

    #[test]
    fn a_session_without_a_prompt_is_not_called_like_its_model() {
        assert_eq!(title_of("simulated-quick", "simulated-quick"), "Session");
        assert_eq!(title_of("Fix it", "simulated-quick"), "Fix it");
    }

    #[test]
    fn a_model_is_switched_between_turns_of_a_session_of_ones_own() {
        for (is_of_job, standing, is_fixed) in [
            (false, Some(Standing::Idle), false),
            (false, Some(Standing::Interrupted), false),
            (false, Some(Standing::Working), true),
            (false, Some(Standing::Waiting), true),
            (false, Some(Standing::Closed), true),
            (false, None, true),
            (true, Some(Standing::Idle), true),
        ] {
            assert_eq!(model_is_fixed(is_of_job, standing).is_some(), is_fixed, "{standing:?}");
        }
    }
}
