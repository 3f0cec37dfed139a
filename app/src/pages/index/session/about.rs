//! What is known about the session itself: its title, model and folder, and how it is about it.

use wire::{AliveItem, LiveId, SessionHead, SessionId};

use crate::api::session;
use crate::load::{Load, Loader};
use crate::poll::Connection;
use crate::reactive::prelude::*;
use crate::state::alive::Alive;
use crate::state::feed::Feed;
use crate::state::session_head::{Standing, model_is_fixed, standing, title_of};

/// What stands above a conversation. The list of what is alive tells of changes; the rest is read
/// again whenever the agent begins or ends its work.
///
/// A handle: it is part of many closures.
#[derive(Clone, Copy)]
pub(super) struct About(StoredValue<Known>);

#[derive(Clone, Copy)]
struct Known {
    id: SessionId,
    feed: Feed,
    head: Loader<SessionHead>,
    alive: Memo<Option<AliveItem>>,
    renamed: RwSignal<Option<String>>,
    can_steer: RwSignal<bool>,
}

impl About {
    pub(super) fn new(id: SessionId, feed: Feed) -> Self {
        let head = Loader::new(move || session::head(id));
        let phase = Memo::new(move |_| {
            (feed.is_working(), feed.connection.with(|it| *it == Connection::Ended))
        });
        Effect::new(move |before: Option<_>| {
            let now = phase.get();
            if before.is_some() {
                head.reload();
            }
            now
        });
        let list = expect_context::<Alive>();
        let alive = Memo::new(move |_| {
            list.entries.track();
            list.item(LiveId::Session(id)).map(|item| item.get())
        });
        let (renamed, can_steer) = (RwSignal::new(None), RwSignal::new(false));
        let this = Self(StoredValue::new(Known { id, feed, head, alive, renamed, can_steer }));
        Effect::new(move |_| {
            if let Some(folder) = this.of_head(|head| head.working_directory.clone()) {
                feed.folder.set(folder);
            }
        });
        Effect::new(move |_| {
            let told = this.told_title();
            if renamed.with(|renamed| renamed.is_some() && *renamed == told) {
                renamed.set(None);
            }
        });
        this
    }

    fn known(self) -> Known {
        self.0.get_value()
    }

    pub(super) fn id(self) -> SessionId {
        self.known().id
    }

    pub(super) fn feed(self) -> Feed {
        self.known().feed
    }

    /// A title that was just given, until the server's list has it, too.
    pub(super) fn renamed(self) -> RwSignal<Option<String>> {
        self.known().renamed
    }

    /// Whether the running turn takes prompts, as far as that was asked.
    pub(super) fn can_steer(self) -> RwSignal<bool> {
        self.known().can_steer
    }

    /// Something of what was read.
    pub(super) fn of_head<T>(self, read: impl FnOnce(&SessionHead) -> T) -> Option<T> {
        self.known().head.state.with(|state| match state {
            Load::Ready(head) => Some(read(head)),
            _ => None,
        })
    }

    /// Reads it again. The page may have been left.
    pub(super) fn reload(self) {
        if let Some(known) = self.0.try_get_value() {
            known.head.reload();
        }
    }

    pub(super) fn standing(self) -> Option<Standing> {
        let Known { feed, alive, .. } = self.known();
        let alive = alive.with(|item| item.as_ref().map(|item| item.state));
        let works = feed.is_working();
        let questions = feed.waiting.get();
        feed.connection.with(|it| standing(it, works, questions, alive))
    }

    /// Whether nothing can be asked of it any more.
    pub(super) fn is_over(self) -> bool {
        self.standing().is_some_and(Standing::is_over)
    }

    pub(super) fn title(self) -> String {
        let title = self.renamed().get().or_else(|| self.told_title());
        title.unwrap_or_else(|| "Session".to_owned())
    }

    /// The title that the server knows.
    fn told_title(self) -> Option<String> {
        let alive = self.known().alive.with(|item| {
            let item = item.as_ref()?;
            Some(title_of(&item.title, item.model.as_deref().unwrap_or_default()))
        });
        alive.or_else(|| self.of_head(|head| title_of(&head.title, &head.model_id)))
    }

    /// The id of the model that answers the next prompt.
    pub(super) fn model(self) -> Option<String> {
        let alive =
            self.known().alive.with(|item| item.as_ref().and_then(|item| item.model.clone()));
        alive.or_else(|| self.of_head(|head| head.model_id.clone()))
    }

    /// Why the model can't be switched now, if so.
    pub(super) fn model_is_fixed(self) -> Option<&'static str> {
        let (parent, standing) = (self.of_head(|head| head.parent).flatten(), self.standing());
        model_is_fixed(parent.is_some(), standing)
    }
}
