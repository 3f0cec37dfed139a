//! Who follows what and how far everything was read, as plain data.

use std::collections::HashMap;
use std::rc::Rc;

use wire::{LiveBatch, LiveId, LiveItem};

use super::Source;

/// Limit of ids in one call; the rest is asked for when others have ended.
const MAX_IDS: usize = 512;

/// Names a subscription.
pub(super) type Key = u32;

/// Which of the sources are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// The page is shown.
    All,
    /// The page is hidden, and notifies for all pages of the browser.
    Kept,
    /// The page is hidden.
    Nothing,
}

/// How a source stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Its preface is to be read.
    Joining,
    Following,
    /// It had an error of its own, and is tried again later.
    Resting,
}

struct Member {
    key: Key,
    source: Rc<dyn Source>,
    standing: Standing,
    failures: u32,
    /// Whether it knows that it is connected.
    is_told: bool,
}

impl Member {
    fn is_in(&self, range: Range) -> bool {
        match range {
            Range::All => true,
            Range::Kept => self.source.is_kept(),
            Range::Nothing => false,
        }
    }
}

/// How far something was read, and for whom.
struct Place {
    key: Key,
    position: Option<String>,
    /// Whether the current token has asked for it.
    is_asked: bool,
}

/// All sources of a page. If several name the same id, it belongs to the one that came last: the page
/// that is about to be left asks no more.
#[derive(Default)]
pub(super) struct Roster {
    /// In the order in which they came.
    members: Vec<Member>,
    places: HashMap<LiveId, Place>,
    last_key: Key,
    /// Whether somebody can't go on with the current token.
    is_stale: bool,
}

impl Roster {
    /// Adds a source.
    pub(super) fn join(&mut self, source: Rc<dyn Source>) -> Key {
        self.last_key += 1;
        let key = self.last_key;
        let (standing, failures) = (Standing::Joining, 0);
        self.members.push(Member { key, source, standing, failures, is_told: false });
        key
    }

    /// Removes a source; what it has read is forgotten with the current token.
    pub(super) fn leave(&mut self, key: Key) {
        self.members.retain(|member| member.key != key);
    }

    /// Whether a source is still there.
    pub(super) fn has(&self, key: Key) -> bool {
        self.members.iter().any(|member| member.key == key)
    }

    /// The sources whose prefaces are to be read.
    pub(super) fn joining(&self, range: Range) -> Vec<(Key, Rc<dyn Source>)> {
        self.select(range, |member| member.standing == Standing::Joining)
    }

    /// The sources that are followed.
    pub(super) fn following(&self, range: Range) -> Vec<(Key, Rc<dyn Source>)> {
        self.select(range, |member| member.standing == Standing::Following)
    }

    fn select(&self, range: Range, is: impl Fn(&Member) -> bool) -> Vec<(Key, Rc<dyn Source>)> {
        let wanted = self.members.iter().filter(|member| member.is_in(range) && is(member));
        wanted.map(|member| (member.key, member.source.clone())).collect()
    }

    /// A source has its preface, or has taken an answer.
    pub(super) fn follow(&mut self, key: Key) {
        if let Some(member) = self.member(key) {
            member.standing = Standing::Following;
        }
    }

    /// A source has taken an answer without an error.
    pub(super) fn succeed(&mut self, key: Key) {
        if let Some(member) = self.member(key) {
            member.failures = 0;
        }
    }

    /// Puts a source aside; returns how often in a row.
    pub(super) fn rest(&mut self, key: Key) -> u32 {
        let Some(member) = self.member(key) else { return 1 };
        member.standing = Standing::Resting;
        member.failures += 1;
        member.failures
    }

    /// A source has rested. It needs a new token.
    pub(super) fn rejoin(&mut self, key: Key) {
        if let Some(member) = self.member(key)
            && member.standing == Standing::Resting
        {
            member.standing = Standing::Joining;
            self.is_stale = true;
        }
    }

    fn member(&mut self, key: Key) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.key == key)
    }

    /// Everybody reads the preface again: more may have happened than is told.
    pub(super) fn reset(&mut self) {
        for member in &mut self.members {
            (member.standing, member.is_told) = (Standing::Joining, false);
        }
    }

    /// Begins with a new token. What comes and goes is listed anew: whatever went while nobody
    /// listened is told to nobody.
    pub(super) fn begin(&mut self) {
        let members = &mut self.members;
        for member in members.iter_mut().filter(|member| member.source.is_kept()) {
            if member.standing == Standing::Following {
                member.standing = Standing::Joining;
            }
        }
        self.places.retain(|_, place| members.iter().any(|member| member.key == place.key));
        for place in self.places.values_mut() {
            place.is_asked = false;
        }
        self.is_stale = false;
    }

    /// What the next call asks for, those first that are followed even by a hidden page.
    fn wanted(&self, range: Range) -> Vec<(LiveId, Key)> {
        let named: Vec<_> = self.members.iter().map(|one| (one, one.source.ids())).collect();
        let mut wanted = Vec::new();
        for is_kept in [true, false] {
            for (index, (member, ids)) in named.iter().enumerate() {
                let is_meant = member.source.is_kept() == is_kept && member.is_in(range);
                if !is_meant || member.standing != Standing::Following {
                    continue;
                }
                let is_later = |id| named[index + 1..].iter().any(|(_, ids)| ids.contains(id));
                wanted.extend(ids.iter().filter(|id| !is_later(id)).map(|id| (*id, member.key)));
            }
        }
        wanted.truncate(MAX_IDS);
        wanted
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self, range: Range) -> bool {
        self.joining(range).is_empty() && self.wanted(range).is_empty()
    }

    /// Whether the call that is under way asks for everything that is wanted, and for something.
    pub(super) fn is_asked(&self, range: Range) -> bool {
        let wanted = self.wanted(range);
        let is_asked = |(id, key): &(LiveId, Key)| {
            self.places.get(id).is_some_and(|place| place.is_asked && place.key == *key)
        };
        self.joining(range).is_empty() && !wanted.is_empty() && wanted.iter().all(is_asked)
    }

    /// The body of the next call: one id per line, with the position if it was read before. `None` if
    /// nothing is wanted, or not with this token.
    pub(super) fn ask(&mut self, range: Range) -> Option<String> {
        let wanted = self.wanted(range);
        let is_foreign = |(id, key): &(LiveId, Key)| {
            self.places.get(id).is_some_and(|place| place.is_asked && place.key != *key)
        };
        if wanted.is_empty() || self.is_stale || wanted.iter().any(is_foreign) {
            return None;
        }
        let mut body = String::new();
        for (id, key) in wanted {
            let new = Place { key, position: None, is_asked: true };
            let place = self.places.entry(id).or_insert(new);
            if place.key != key {
                *place = Place { key, position: None, is_asked: true };
            }
            place.is_asked = true;
            body.push_str(&id.to_string());
            if let Some(position) = &place.position {
                body.push(' ');
                body.push_str(position);
            }
            body.push('\n');
        }
        body.pop();
        Some(body)
    }

    /// Takes an answer apart: each source gets what belongs to it.
    pub(super) fn sort(&mut self, batch: LiveBatch) -> Vec<(Key, Rc<dyn Source>, LiveBatch)> {
        for (id, position) in batch.positions {
            if let Some(place) = self.places.get_mut(&id) {
                place.position = Some(position);
            }
        }
        let mut sorted: Vec<(Key, Rc<dyn Source>, LiveBatch)> = Vec::new();
        for item in batch.live {
            let Some(key) = self.owner(&item) else { continue };
            if let Some((.., batch)) = sorted.iter_mut().find(|(known, ..)| *known == key) {
                batch.live.push(item);
            } else if let Some(member) = self.member(key) {
                let batch = LiveBatch { live: vec![item], positions: Vec::new() };
                sorted.push((key, member.source.clone(), batch));
            }
        }
        sorted
    }

    fn owner(&self, item: &LiveItem) -> Option<Key> {
        self.places.get(&item.id()).map(|place| place.key)
    }

    /// Whether some source does not know yet that it is connected.
    pub(super) fn is_untold(&self) -> bool {
        self.members.iter().any(|one| one.standing == Standing::Following && !one.is_told)
    }

    /// All that are followed know it now.
    pub(super) fn told(&mut self) {
        for member in &mut self.members {
            member.is_told |= member.standing == Standing::Following;
        }
    }
}

#[cfg(test)]
mod tests;
