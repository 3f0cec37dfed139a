//! What is alive, for the side bar: the rows in their order, and each of them as a signal.
//!
//! A row is drawn once, and follows its item. Only what changes the order moves rows.

use std::collections::HashMap;
use std::rc::Rc;

use wire::{
    AliveItem, AliveResponse, AliveState, EntityKind, LiveBatch, LiveId, LiveItem, LiveReply,
};

use crate::api;
use crate::links::tracking_url;
use crate::live::{self, Next, Source};
use crate::notification::{self, News, Seen};
use crate::poll::Connection;
use crate::reactive::prelude::*;

/// What the side bar shows, from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    /// What waits for a person, wherever it works.
    Waits,
    /// A folder.
    Folder(String),
    /// A session or a job; sessions stand under their job.
    Row(LiveId, Depth),
}

/// Where a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Depth {
    Top,
    Nested,
}

/// The open sessions and recent jobs of the server.
#[derive(Clone, Copy)]
pub(crate) struct Alive {
    items: StoredValue<HashMap<LiveId, ArcRwSignal<AliveItem>>>,
    /// The rows and the headings between them.
    pub(crate) entries: RwSignal<Vec<Entry>>,
    /// Whether they are known.
    pub(crate) is_known: RwSignal<bool>,
    /// The jobs whose ends this page has told of.
    seen: StoredValue<Seen>,
}

impl Alive {
    pub(crate) fn new() -> Self {
        Self {
            items: StoredValue::new(HashMap::new()),
            entries: RwSignal::new(Vec::new()),
            is_known: RwSignal::new(false),
            seen: StoredValue::new(Seen::default()),
        }
    }

    /// Follows it for as long as the page exists. In the browser only.
    pub(crate) fn follow(self) {
        live::follow_on(Rc::new(self));
    }

    /// The item of a row, as long as it is alive.
    pub(crate) fn item(self, id: LiveId) -> Option<ArcRwSignal<AliveItem>> {
        self.items.with_value(|items| items.get(&id).cloned())
    }

    /// All items, as they are now; not tracked.
    pub(crate) fn all(self) -> Vec<AliveItem> {
        self.items.with_value(|items| items.values().map(Readable::get_untracked).collect())
    }

    fn replace(self, all: Vec<AliveItem>) {
        self.items.update_value(|items| {
            items.retain(|id, _| all.iter().any(|item| item.id == *id));
        });
        for item in all {
            self.put(item);
        }
        self.arrange();
        self.is_known.set(true);
    }

    fn put(self, item: AliveItem) {
        self.items.update_value(|items| match items.get(&item.id) {
            Some(known) if known.with_untracked(|known| *known == item) => {}
            Some(known) => known.set(item),
            None => {
                items.insert(item.id, ArcRwSignal::new(item));
            }
        });
    }

    /// Notifies of the jobs that have ended since this page notifies.
    fn notify(self) {
        self.seen.update_value(|seen| {
            if !live::is_keeper() {
                return seen.forget();
            }
            let ended: Vec<_> = self.all().iter().filter_map(news).collect();
            let is_new = seen.sift(ended.iter().map(|news| news.tag.clone()).collect());
            for (news, is_new) in ended.into_iter().zip(is_new) {
                if is_new {
                    notification::tell(news);
                }
            }
        });
    }

    fn arrange(self) {
        let entries = arrange(&self.all());
        if self.entries.with_untracked(|known| *known != entries) {
            self.entries.set(entries);
        }
    }
}

/// How a job has ended; `None` for everything else.
fn ending(item: &AliveItem) -> Option<&'static str> {
    match item.state {
        _ if item.kind != EntityKind::Job => None,
        AliveState::Succeeded => Some("succeeded"),
        AliveState::Failed => Some("failed"),
        AliveState::Canceled => Some("was stopped"),
        AliveState::Interrupted => Some("was interrupted"),
        AliveState::Working | AliveState::Waiting | AliveState::Idle => None,
    }
}

/// What people are told of a job that has ended.
fn news(item: &AliveItem) -> Option<News> {
    let LiveId::Job(id) = item.id else { return None };
    let ending = ending(item)?;
    Some(News {
        tag: id.to_string(),
        title: format!("{} {ending}", item.title),
        body: item.folder.clone(),
        link: tracking_url(&item.title, Some(id)),
    })
}

impl Source for Alive {
    /// Ends of jobs are told of.
    fn is_kept(&self) -> bool {
        true
    }

    fn preface(&self) -> Option<String> {
        Some(api::ALIVE_PATH.to_owned())
    }

    fn take_preface(&self, answer: &str) -> Next {
        match api::accept::<wire::Alive>(answer) {
            Ok(alive) => {
                self.replace(alive.items);
                self.notify();
                Next::Continue
            }
            Err(error) => Next::Retry(error),
        }
    }

    fn ids(&self) -> Vec<LiveId> {
        vec![LiveId::Alive]
    }

    fn take(&self, batch: LiveBatch) -> Next {
        for item in batch.live {
            match item {
                LiveItem::Alive(LiveReply::Responses { responses }) => {
                    for timed in responses {
                        match timed.response {
                            AliveResponse::AliveChanged { item } => self.put(*item),
                            AliveResponse::AliveGone { id } => {
                                self.items.update_value(|items| {
                                    items.remove(&id);
                                });
                            }
                        }
                    }
                }
                LiveItem::Alive(LiveReply::Error(reply)) => return Next::Retry(reply.error.into()),
                _ => {}
            }
        }
        self.arrange();
        self.notify();
        Next::Continue
    }

    fn tell(&self, _connection: Connection) {}
}

/// What waits comes first, then the folders, that of the newest first. In each, the newest is first;
/// the sessions of a job follow it in the order in which they were opened.
fn arrange(items: &[AliveItem]) -> Vec<Entry> {
    let mut order: Vec<&AliveItem> = items.iter().collect();
    order.sort_by_key(|item| (std::cmp::Reverse(item.started_at), item.id.to_string()));
    let mut children: HashMap<LiveId, Vec<LiveId>> = HashMap::new();
    let mut tops: Vec<&AliveItem> = Vec::new();
    for item in order {
        let parent = item.parent.map(LiveId::Job);
        match parent.filter(|parent| items.iter().any(|other| other.id == *parent)) {
            Some(parent) => children.entry(parent).or_default().insert(0, item.id),
            None => tops.push(item),
        }
    }
    let mut entries = Vec::with_capacity(items.len() + 4);
    let add = |item: &AliveItem, entries: &mut Vec<Entry>| {
        entries.push(Entry::Row(item.id, Depth::Top));
        let nested = children.get(&item.id).into_iter().flatten();
        entries.extend(nested.map(|id| Entry::Row(*id, Depth::Nested)));
    };
    let (waiting, others): (Vec<_>, Vec<_>) =
        tops.into_iter().partition(|item| item.state == AliveState::Waiting);
    if !waiting.is_empty() {
        entries.push(Entry::Waits);
        for item in &waiting {
            add(item, &mut entries);
        }
    }
    let mut folders: Vec<&str> = Vec::new();
    for item in &others {
        if !folders.contains(&&*item.folder) {
            folders.push(&item.folder);
        }
    }
    for folder in folders {
        entries.push(Entry::Folder(folder.to_owned()));
        let here = others.iter().filter(|item| item.folder == folder);
        here.for_each(|item| add(item, &mut entries));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: u32, kind: EntityKind, folder: &str, state: AliveState) -> AliveItem {
        AliveItem {
            id: id(number, kind),
            kind,
            title: format!("t{number}"),
            folder: folder.to_owned(),
            model: None,
            state,
            since: 0,
            started_at: number.into(),
            parent: None,
            label: None,
            done: None,
            total: None,
            waiting: 0,
        }
    }

    fn id(number: u32, kind: EntityKind) -> LiveId {
        format!("{}-00000000-0000-4000-8000-{number:012}", kind.as_str()).parse().expect("an id")
    }

    #[test]
    fn what_waits_comes_first_then_folders_with_the_newest_on_top() {
        use AliveState::{Idle, Waiting, Working};
        use EntityKind::{Job, Session};
        let mut nested = [item(5, Session, "/b", Working), item(6, Session, "/b", Working)];
        let LiveId::Job(job) = id(4, Job) else { panic!("a job") };
        for item in &mut nested {
            item.parent = Some(job);
        }
        let [first, second] = nested;
        let items = [
            item(1, Session, "/a", Idle),
            item(2, Session, "/b", Waiting),
            item(3, Session, "/a", Working),
            item(4, Job, "/b", Working),
            second,
            first,
        ];
        let row = |number, kind| Entry::Row(id(number, kind), Depth::Top);
        let under = |number| Entry::Row(id(number, Session), Depth::Nested);
        assert_eq!(
            arrange(&items),
            [
                Entry::Waits,
                row(2, Session),
                Entry::Folder("/b".to_owned()),
                row(4, Job),
                under(5),
                under(6),
                Entry::Folder("/a".to_owned()),
                row(3, Session),
                row(1, Session),
            ]
        );
    }

    #[test]
    fn a_session_whose_job_has_gone_stands_for_itself() {
        let mut orphan = item(1, EntityKind::Session, "/a", AliveState::Idle);
        let LiveId::Job(job) = id(9, EntityKind::Job) else { panic!("a job") };
        orphan.parent = Some(job);
        let row = Entry::Row(orphan.id, Depth::Top);
        assert_eq!(arrange(&[orphan]), [Entry::Folder("/a".to_owned()), row]);
    }

    #[test]
    fn the_end_of_a_job_is_told_with_its_folder() {
        let told = news(&item(1, EntityKind::Job, "/src", AliveState::Failed)).expect("news");
        assert_eq!((&*told.title, &*told.body), ("t1 failed", "/src"));
        assert!(told.link.starts_with("/jobTracking.html?jobName=t1&jobId=job-"));
        assert!(news(&item(1, EntityKind::Job, "/src", AliveState::Working)).is_none());
        assert!(news(&item(1, EntityKind::Session, "/src", AliveState::Interrupted)).is_none());
    }
}
