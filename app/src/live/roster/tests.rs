use std::cell::RefCell;

use super::super::Next;
use super::*;
use crate::poll::Connection;

/// A source that names these ids, and notes what it is given.
#[derive(Default)]
struct Notes {
    ids: RefCell<Vec<LiveId>>,
    is_kept: bool,
}

impl Notes {
    fn of(ids: &[LiveId]) -> Rc<Self> {
        Rc::new(Self { ids: RefCell::new(ids.to_vec()), is_kept: false })
    }

    fn kept(ids: &[LiveId]) -> Rc<Self> {
        Rc::new(Self { ids: RefCell::new(ids.to_vec()), is_kept: true })
    }
}

impl Source for Notes {
    fn is_kept(&self) -> bool {
        self.is_kept
    }

    fn ids(&self) -> Vec<LiveId> {
        self.ids.borrow().clone()
    }

    fn take(&self, _batch: LiveBatch) -> Next {
        Next::Continue
    }

    fn tell(&self, _connection: Connection) {}
}

fn id(name: &str) -> LiveId {
    if name == "inbox" {
        return LiveId::Inbox;
    }
    let (kind, number) = name.split_at(name.len() - 1);
    format!("{kind}-00000000-0000-4000-8000-00000000000{number}").parse().expect("an id")
}

fn answer(items: &[(&str, &str)]) -> LiveBatch {
    let items: Vec<_> = items
        .iter()
        .map(|(name, position)| {
            let id = id(name);
            let said = r#""responses":[],"at":[]"#;
            format!(r#"{{"id":"{id}",{said},"position":"{position}"}}"#)
        })
        .collect();
    crate::live::read_batch(&format!(r#"{{"live":[{}]}}"#, items.join(","))).expect("a batch")
}

/// A source that has joined and has its preface.
fn follow(roster: &mut Roster, source: Rc<Notes>) -> Key {
    let key = roster.join(source);
    roster.follow(key);
    key
}

/// The next call in short: `session1 3,inbox`.
fn ask(roster: &mut Roster, range: Range) -> Option<String> {
    let body = roster.ask(range)?;
    Some(body.replace("-00000000-0000-4000-8000-00000000000", "").replace('\n', ","))
}

/// Who gets what of an answer.
fn sort(roster: &mut Roster, items: &[(&str, &str)]) -> Vec<(Key, Vec<LiveId>)> {
    let sorted = roster.sort(answer(items)).into_iter();
    sorted.map(|(key, _, batch)| (key, batch.live.iter().map(LiveItem::id).collect())).collect()
}

#[test]
fn one_call_asks_for_everything_and_each_source_gets_its_own() {
    let mut roster = Roster::default();
    let page = follow(&mut roster, Notes::of(&[id("session1"), id("task1")]));
    let inbox = follow(&mut roster, Notes::kept(&[id("inbox")]));
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("inbox,session1,task1"));
    let items = [("task1", "1"), ("inbox", "2"), ("session1", "3"), ("job1", "4")];
    let sorted = sort(&mut roster, &items);
    assert_eq!(sorted, [(page, vec![id("task1"), id("session1")]), (inbox, vec![id("inbox")])]);
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("inbox 2,session1 3,task1 1"));
}

#[test]
fn positions_outlast_the_token() {
    let mut roster = Roster::default();
    follow(&mut roster, Notes::of(&[id("session1")]));
    ask(&mut roster, Range::All);
    sort(&mut roster, &[("session1", "7.3-9")]);
    roster.begin();
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("session1 7.3-9"));
}

#[test]
fn a_call_is_cut_short_when_more_is_wanted_or_nothing() {
    let mut roster = Roster::default();
    let source = Notes::of(&[id("session1")]);
    let key = follow(&mut roster, source.clone());
    assert!(!roster.is_asked(Range::All), "no call has asked for it");
    ask(&mut roster, Range::All);
    assert!(roster.is_asked(Range::All));
    source.ids.borrow_mut().push(id("task1"));
    assert!(!roster.is_asked(Range::All));
    source.ids.borrow_mut().pop();
    let second = roster.join(Notes::of(&[id("session1")]));
    assert!(!roster.is_asked(Range::All), "its preface is to be read");
    roster.leave(second);
    assert!(roster.is_asked(Range::All));
    roster.leave(key);
    assert!(!roster.is_asked(Range::All));
    assert!(roster.is_idle(Range::All));
}

#[test]
fn what_somebody_read_begins_at_its_start_for_whoever_comes_later() {
    let mut roster = Roster::default();
    let first = follow(&mut roster, Notes::of(&[id("session1")]));
    ask(&mut roster, Range::All);
    sort(&mut roster, &[("session1", "5")]);
    let second = follow(&mut roster, Notes::of(&[id("session1")]));
    assert_eq!(ask(&mut roster, Range::All), None, "the token has read it");
    roster.begin();
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("session1"));
    assert_eq!(sort(&mut roster, &[("session1", "5")]), [(second, vec![id("session1")])]);
    roster.leave(first);
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("session1 5"));
}

#[test]
fn a_page_that_is_entered_again_reads_from_the_start() {
    let mut roster = Roster::default();
    let key = follow(&mut roster, Notes::of(&[id("job1")]));
    ask(&mut roster, Range::All);
    sort(&mut roster, &[("job1", "5")]);
    roster.leave(key);
    follow(&mut roster, Notes::of(&[id("job1")]));
    assert_eq!(ask(&mut roster, Range::All), None);
    roster.begin();
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("job1"));
}

#[test]
fn a_hidden_page_asks_for_what_is_kept_or_for_nothing() {
    let mut roster = Roster::default();
    follow(&mut roster, Notes::of(&[id("session1")]));
    follow(&mut roster, Notes::kept(&[id("inbox")]));
    assert!(roster.is_idle(Range::Nothing));
    assert_eq!(ask(&mut roster, Range::Nothing), None);
    assert_eq!(ask(&mut roster, Range::Kept).as_deref(), Some("inbox"));
    roster.leave(2);
    assert!(roster.is_idle(Range::Kept));
    assert!(!roster.is_idle(Range::All));
}

#[test]
fn what_comes_and_goes_is_listed_with_each_token_and_all_after_a_loss() {
    let mut roster = Roster::default();
    let page = follow(&mut roster, Notes::of(&[id("session1")]));
    let inbox = follow(&mut roster, Notes::kept(&[id("inbox")]));
    let joining = |roster: &Roster| -> Vec<Key> {
        roster.joining(Range::All).into_iter().map(|(key, _)| key).collect()
    };
    assert!(joining(&roster).is_empty());
    roster.begin();
    assert_eq!(joining(&roster), [inbox]);
    roster.reset();
    assert_eq!(joining(&roster), [page, inbox]);
}

#[test]
fn a_source_in_trouble_rests_while_the_others_go_on() {
    let mut roster = Roster::default();
    let first = follow(&mut roster, Notes::of(&[id("session1")]));
    follow(&mut roster, Notes::of(&[id("session2")]));
    ask(&mut roster, Range::All);
    assert_eq!([roster.rest(first), roster.rest(first)], [1, 2]);
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("session2"));
    roster.rejoin(first);
    roster.follow(first);
    assert_eq!(ask(&mut roster, Range::All), None, "it needs a new token");
    roster.begin();
    assert_eq!(ask(&mut roster, Range::All).as_deref(), Some("session1,session2"));
    roster.succeed(first);
    assert_eq!(roster.rest(first), 1);
}

#[test]
fn sources_learn_once_that_they_are_connected() {
    let mut roster = Roster::default();
    follow(&mut roster, Notes::of(&[id("session1")]));
    assert!(roster.is_untold());
    roster.told();
    assert!(!roster.is_untold());
    follow(&mut roster, Notes::of(&[id("session2")]));
    assert!(roster.is_untold());
}
