//! What was asked before: the record of who answered what, and when.

use platform::clock::iso_8601_of_micros;
use store::fold::QuestionDetail;
use store::journal::{HistoryQuery, Record, StoreError};
use wire::{AnsweredInbox, AnsweredItem};

use super::Inbox;

impl Inbox {
    /// The items that have left the inbox, the newest first; `before` is from the page before.
    pub async fn answered(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<AnsweredInbox, StoreError> {
        let query = HistoryQuery { questions: true, before, limit, ..HistoryQuery::default() };
        let page = self.shared.journal().history(query).await?;
        // Those that still wait are in the list of those.
        Ok(AnsweredInbox {
            items: page.items.iter().filter_map(|found| answered(&found.record)).collect(),
            next: page.next,
        })
    }
}

fn answered(record: &Record) -> Option<AnsweredItem> {
    let answered_at = iso_8601_of_micros(record.ended_at?);
    let QuestionDetail { item, answer, text } = QuestionDetail::read(record)?;
    let answer = answer?;
    Some(AnsweredItem {
        id: item.id,
        kind: item.kind,
        title: item.title,
        path: item.path,
        asked_at: item.asked_at,
        answered_at,
        decision: answer.decision,
        by: answer.by,
        text,
        session_id: item.session_id,
        job_id: item.job_id,
        folder: item.folder,
    })
}
