//! Reads the responses of one session, from its log or from the journal.

use store::journal::StoreError;
use store::live::{Follower, Responses};
use wire::{SessionId, SessionResponse};

use crate::recovery::responses;
use crate::session::SessionManager;

/// Where the responses of a session come from.
pub(super) enum Source {
    /// The session has a log. `rest` was read and is not yet turned into events.
    Live { follower: Follower<SessionResponse>, rest: Option<Responses> },
    /// The session has ended, and is read from the journal.
    Stored(std::vec::IntoIter<(u64, SessionResponse)>),
}

impl Default for Source {
    /// Nothing at all.
    fn default() -> Self {
        Self::Stored(Vec::new().into_iter())
    }
}

impl Source {
    /// A session from its first response on.
    pub(super) async fn open(
        sessions: &SessionManager,
        session: SessionId,
    ) -> Result<Self, StoreError> {
        if let Some(log) = sessions.load_log(session).await {
            return Ok(Self::Live { follower: Follower::new(log), rest: None });
        }
        let journal = &**sessions.live().shared().journal();
        let stored = responses(journal, session.into()).await?.into_iter();
        let timed = stored.map(|(_, timed)| (timed.at, timed.response));
        Ok(Self::Stored(timed.collect::<Vec<_>>().into_iter()))
    }

    /// The next response with its time, if there is one at the moment.
    pub(super) fn next(&mut self) -> Option<(u64, SessionResponse)> {
        let Self::Live { follower, rest } = self else {
            let Self::Stored(stored) = self else { return None };
            return stored.next();
        };
        loop {
            let responses = match rest {
                Some(responses) => responses,
                None => rest.insert(follower.read()?),
            };
            let at = responses.times().next();
            match responses.next().zip(at) {
                // We wrote it, so it parses.
                Some((json, at)) => {
                    if let Ok(response) = serde_json::from_str(&json) {
                        return Some((at, response));
                    }
                }
                None => *rest = None,
            }
        }
    }

    /// Whether everything was read and nothing more will come.
    pub(super) fn is_at_end(&self) -> bool {
        match self {
            Self::Live { follower, rest } => rest.is_none() && follower.is_at_end(),
            Self::Stored(stored) => stored.len() == 0,
        }
    }
}
