//! The inbox as signals: what waits for a person, and whether the list is current.
//!
//! A page has one for all of its parts, which is followed from its first use until the page is gone:
//! it also tells what is new while the page is hidden.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wire::{Inbox, InboxItem, InboxResponse, LiveBatch, LiveId, LiveItem, LiveReply};

use crate::api;
use crate::live::{self, Next, Source};
use crate::notification::{self, News, Seen};
use crate::poll::Connection;
use crate::reactive::prelude::*;

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
    /// The inbox of the page, which is followed from now on.
    pub(crate) fn new() -> Self {
        // Effects run in the browser only.
        Effect::new(|_| Self::follow());
        Self::shared()
    }

    /// Follows the inbox of the page. In the browser only.
    pub(crate) fn follow() {
        SHARED.with(Shared::follow);
    }

    /// The inbox of the page, which is empty until it is followed.
    pub(crate) fn shared() -> Self {
        SHARED.with(|shared| Self {
            items: shared.items.clone().into(),
            resolved: shared.resolved.clone().into(),
            connection: shared.connection.clone().into(),
        })
    }
}

thread_local! {
    // One page has one thread. On the server nobody follows it, so it is always empty there.
    static SHARED: Shared = Shared {
        items: ArcRwSignal::new(Vec::new()),
        resolved: ArcRwSignal::new(0),
        connection: ArcRwSignal::new(Connection::Connecting),
        is_followed: Cell::new(false),
    };
}

/// The signals that all parts of a page share.
struct Shared {
    items: ArcRwSignal<Vec<InboxItem>>,
    resolved: ArcRwSignal<u32>,
    connection: ArcRwSignal<Connection>,
    is_followed: Cell<bool>,
}

impl Shared {
    fn follow(&self) {
        if self.is_followed.replace(true) {
            return;
        }
        let (items, resolved) = (self.items.clone(), self.resolved.clone());
        let connection = self.connection.clone();
        live::follow_on(Rc::new(Follower {
            items,
            resolved,
            connection,
            seen: RefCell::default(),
        }));
    }
}

/// Follows the inbox, and notifies of what is new.
struct Follower {
    items: ArcRwSignal<Vec<InboxItem>>,
    resolved: ArcRwSignal<u32>,
    connection: ArcRwSignal<Connection>,
    seen: RefCell<Seen>,
}

impl Follower {
    fn take_responses(&self, responses: impl Iterator<Item = InboxResponse>) {
        let mut resolved = 0;
        self.items.update(|items| {
            for response in responses {
                resolved += u32::from(!apply(items, response));
            }
        });
        if resolved > 0 {
            self.resolved.update(|count| *count += resolved);
        }
        self.notify();
    }

    /// Notifies of what has come since this page notifies.
    fn notify(&self) {
        let mut seen = self.seen.borrow_mut();
        if !live::is_keeper() {
            return seen.forget();
        }
        self.items.with_untracked(|items| {
            let names = items.iter().map(|item| item.id.to_string()).collect();
            let is_new = seen.sift(names);
            let new = items.iter().zip(is_new).filter_map(|(item, is_new)| is_new.then_some(item));
            new.map(news).for_each(notification::tell);
        });
    }
}

/// What people are told of an item.
fn news(item: &InboxItem) -> News {
    let link = match item.session_id {
        Some(id) => format!("/index.html?session={id}"),
        None => "/inbox.html".to_owned(),
    };
    News { tag: item.id.to_string(), title: item.title.clone(), body: item.folder.clone(), link }
}

/// Applies a response. False if something has left the inbox.
fn apply(items: &mut Vec<InboxItem>, response: InboxResponse) -> bool {
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

impl Source for Follower {
    fn is_kept(&self) -> bool {
        true
    }

    /// What left the inbox while nobody listened may not be told.
    fn preface(&self) -> Option<String> {
        Some(api::INBOX_PATH.to_owned())
    }

    fn take_preface(&self, answer: &str) -> Next {
        match api::parse::<Inbox>(answer) {
            Ok(inbox) => {
                // Nothing is drawn again for nothing.
                if self.items.with_untracked(|items| *items != inbox.items) {
                    self.items.set(inbox.items);
                }
                self.notify();
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
        if self.connection.with_untracked(|known| *known != connection) {
            self.connection.set(connection);
        }
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
