//! The inbox as signals: what waits for a person, and whether the list is current.

use std::rc::Rc;

use leptos::prelude::*;
use wire::{Inbox, InboxItem, InboxResponse, LiveBatch, LiveId, LiveItem, LiveReply};

use super::signals::set_if_new;
use crate::api;
use crate::poll::{self, Connection, Next, Source};

/// What waits for a person.
#[derive(Clone, Copy)]
pub(crate) struct InboxFeed {
    /// The items, the oldest first.
    pub(crate) items: RwSignal<Vec<InboxItem>>,
    /// How many items have left the inbox since the page was opened.
    pub(crate) resolved: RwSignal<u32>,
    pub(crate) connection: RwSignal<Connection>,
}

impl InboxFeed {
    /// Follows the inbox until the calling component is disposed.
    pub(crate) fn new() -> Self {
        let feed = Self {
            items: RwSignal::new(Vec::new()),
            resolved: RwSignal::new(0),
            connection: RwSignal::new(Connection::Connecting),
        };
        // Effects run in the browser only.
        Effect::new(move |_| poll::follow_source(Rc::new(feed)));
        feed
    }

    fn take_responses(self, responses: impl Iterator<Item = InboxResponse>) {
        let mut resolved = 0;
        self.items.update(|items| {
            for response in responses {
                resolved += u32::from(!apply(items, response));
            }
        });
        if resolved > 0 {
            self.resolved.update(|count| *count += resolved);
        }
    }
}

/// Applies a response. False if something has left the inbox.
pub(super) fn apply(items: &mut Vec<InboxItem>, response: InboxResponse) -> bool {
    match response {
        // A new reader is told of everything that waits, which may be listed already.
        InboxResponse::InboxAdded(item) => {
            match items.iter_mut().find(|known| known.id == item.id) {
                Some(known) => *known = *item,
                None => items.push(*item),
            }
            true
        }
        InboxResponse::InboxResolved(answer) => {
            items.retain(|item| item.id != answer.id);
            false
        }
    }
}

impl Source for InboxFeed {
    /// Read after each loss of the connection: what left the inbox meanwhile may not be told.
    fn preface(&self) -> Option<String> {
        Some(api::INBOX_PATH.to_owned())
    }

    fn take_preface(&self, answer: &str) -> Next {
        match api::parse::<Inbox>(answer) {
            Ok(inbox) => {
                self.items.set(inbox.items);
                Next::Continue
            }
            Err(error) => Next::Retry(error),
        }
    }

    fn ids(&self) -> Vec<LiveId> {
        vec![LiveId::Inbox]
    }

    fn take(&self, batch: LiveBatch) -> Next {
        for item in batch.live {
            match item {
                LiveItem::Inbox(LiveReply::Responses { responses }) => {
                    self.take_responses(responses.into_iter().map(|timed| timed.response));
                }
                LiveItem::Inbox(LiveReply::Error(reply)) => {
                    return Next::Retry(reply.error.into());
                }
                LiveItem::Session(..)
                | LiveItem::Task(..)
                | LiveItem::Job(..)
                | LiveItem::Alive(_) => {}
            }
        }
        Next::Continue
    }

    fn tell(&self, connection: Connection) {
        set_if_new(self.connection, connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(number: u8, title: &str) -> InboxResponse {
        let json = format!(
            r#"{{"callback":"inboxAdded","id":"permission-00000000-0000-4000-8000-{number:012}",
                "kind":"permission","title":"{title}","options":[],"askedAt":"","folder":""}}"#
        );
        serde_json::from_str(&json).expect("an item")
    }

    fn resolved(number: u8) -> InboxResponse {
        let json = format!(
            r#"{{"callback":"inboxResolved","id":"permission-00000000-0000-4000-8000-{number:012}",
                "decision":"deny","by":"local"}}"#
        );
        serde_json::from_str(&json).expect("an answer")
    }

    #[test]
    fn items_come_once_and_go_however_often_it_is_told() {
        let mut items = Vec::new();
        for (response, titles) in [
            (added(1, "a"), vec!["a"]),
            (added(2, "b"), vec!["a", "b"]),
            (added(1, "again"), vec!["again", "b"]),
            (resolved(1), vec!["b"]),
            (resolved(1), vec!["b"]),
            (resolved(3), vec!["b"]),
        ] {
            apply(&mut items, response);
            let shown: Vec<_> = items.iter().map(|item| item.title.as_str()).collect();
            assert_eq!(shown, titles);
        }
    }
}
