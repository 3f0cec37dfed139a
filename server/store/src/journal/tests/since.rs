//! The history of what started at some time or later.

use wire::JobId;

use super::{Kept, keep, prompt, query, record, search_until, session};
use crate::journal::{Append, Entity, HistoryQuery, Record};

pub(super) async fn history_begins_where_it_is_told_to(journal: Kept) {
    let mut parent = None;
    for index in 0..9_u64 {
        let entity: Entity = if index == 0 { JobId::generate().into() } else { session() };
        let title = index.to_string();
        let record = Record { started_at: 100 * (index + 1), parent, ..record(&title) };
        let facts = vec![prompt(1, "the same word")];
        keep(&*journal, Append { record: Some(record), facts, ..Append::new(entity, 0, 0) }).await;
        parent = parent.or(Some(entity));
    }
    search_until(&*journal, "word", &["8", "7", "6", "5", "4", "3", "2", "1", "0"]).await;
    for (since, expected) in
        [(0, 9), (100, 9), (101, 8), (500, 5), (501, 4), (900, 1), (901, 0), (u64::MAX, 0)]
    {
        for words in [None, Some("word".to_owned())] {
            let query = HistoryQuery { since: Some(since), words, ..query() };
            let page = journal.history(query.clone()).await.expect("a page");
            assert_eq!(page.items.len(), expected, "{query:?}");
            let parents = page.items.iter().filter_map(|item| item.parent_title.as_deref());
            assert!(parents.eq(vec!["0"; expected.min(8)]), "{page:?}");
        }
    }
    let query = HistoryQuery { since: Some(500), limit: 3, before: None, ..query() };
    let first = journal.history(query.clone()).await.expect("a page");
    let rest = journal.history(HistoryQuery { before: first.next, ..query }).await;
    let rest = rest.expect("a page").items.into_iter();
    assert!(rest.map(|item| item.record.title).eq(["5", "4"]));
}
