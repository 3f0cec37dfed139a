//! The history without what is a part of something else.

use wire::JobId;

use super::{Kept, begin, keep, query, record, search_until, session};
use crate::journal::{Append, Entity, HistoryQuery, Record};

pub(super) async fn parts_are_left_out_on_every_page(journal: Kept) {
    for index in 0..5 {
        let job = Entity::from(JobId::generate());
        keep(&*journal, begin(job, &format!("plum {index}"), Vec::new())).await;
        for _ in 0..3 {
            let part = Record { parent: Some(job), ..record("plum part") };
            keep(&*journal, Append { record: Some(part), ..Append::new(session(), 0, 0) }).await;
        }
    }
    search_until(&*journal, "part", &["plum part"; 10]).await;
    for words in [None, Some("plum".to_owned())] {
        let (mut pages, mut before) = (Vec::new(), None);
        loop {
            let words = words.clone();
            let query = HistoryQuery { is_whole: true, words, limit: 2, before, ..query() };
            let page = journal.history(query).await.expect("a page");
            pages.push(page.items.into_iter().map(|item| item.record.title).collect::<Vec<_>>());
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        let pages: Vec<_> = pages.into_iter().filter(|page| !page.is_empty()).collect();
        assert_eq!(
            pages,
            [vec!["plum 4", "plum 3"], vec!["plum 2", "plum 1"], vec!["plum 0"]],
            "{words:?}"
        );
    }
}
