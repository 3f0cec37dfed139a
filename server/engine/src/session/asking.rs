//! What a session asks people, as the inbox shows it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::permission::{Answer, Owner};
use platform::clock::iso_8601_of_micros;
use store::journal::StoreError;
use wire::{
    InboxChoice, InboxDecision, InboxItem, InboxKind, InboxOption, PermissionId, PermissionKind,
    PermissionOutcome, PermissionRequest, Reached,
};

use crate::inbox::{Inbox, Settlement};

/// Tells the inbox what one session asks.
#[derive(Clone)]
pub(super) struct Asking {
    inbox: Arc<Inbox>,
    owner: Owner,
    folder: String,
    time_out: Duration,
}

impl Asking {
    pub(super) fn new(inbox: Arc<Inbox>, owner: Owner, folder: &Path, time_out: Duration) -> Self {
        Self { inbox, owner, folder: folder.to_string_lossy().into_owned(), time_out }
    }

    /// A tool asks for permission, or an agent asks something.
    pub(super) fn ask(&self, id: PermissionId, request: &PermissionRequest) {
        let kind = match request.kind {
            PermissionKind::Question => InboxKind::Question,
            _ => InboxKind::Permission,
        };
        self.inbox.ask(self.item(id, kind, request, self.inbox.now()));
    }

    /// Something is open that was asked before the server stopped, at this time (microseconds since
    /// the Unix epoch). The inbox knows it already, unless the server was killed in between.
    pub(super) async fn ask_again(
        &self,
        id: PermissionId,
        request: &PermissionRequest,
        asked_at: u64,
    ) -> Result<(), StoreError> {
        if self.inbox.contains(id) {
            return Ok(());
        }
        self.inbox.adopt(self.item(id, InboxKind::Interrupted, request, asked_at)).await
    }

    /// A limit of the session's budget is used up. It is asked once, and for as long as it takes.
    pub(super) fn ask_for_budget(&self, reached: Reached) {
        if self.inbox.find(self.owner.session, InboxKind::Budget).is_some() {
            return;
        }
        let option = |id, label: &str| InboxOption { id, label: label.to_owned() };
        let options = vec![
            option(InboxChoice::Raise, "Raise it, by as much again"),
            option(InboxChoice::Leave, "Leave it"),
        ];
        let (id, title) = (PermissionId::generate(), sentence(reached));
        let now = self.inbox.now();
        let blank = self.blank(id, InboxKind::Budget, now);
        self.inbox.ask(InboxItem { title, options, ..blank });
    }

    /// The budget is not used up any more.
    pub(super) fn settle_budget(&self, by: &str) {
        if let Some(id) = self.inbox.find(self.owner.session, InboxKind::Budget) {
            let (decision, by) = (InboxDecision::Raise, by.into());
            self.inbox.settle(id, Settlement { decision, text: None, by });
        }
    }

    /// Nobody waits for anything that the session has asked.
    pub(super) fn withdraw_all(&self) {
        self.inbox.withdraw_all(self.owner.session);
    }

    fn item(
        &self,
        id: PermissionId,
        kind: InboxKind,
        request: &PermissionRequest,
        asked_at: u64,
    ) -> InboxItem {
        let time_out = u64::try_from(self.time_out.as_micros()).unwrap_or(u64::MAX);
        InboxItem {
            title: request.title.clone(),
            detail: request.detail.clone(),
            path: request.path.clone(),
            diff: request.diff.clone(),
            options: InboxOption::of_request(request),
            expires_at: Some(iso_8601_of_micros(asked_at.saturating_add(time_out))),
            ..self.blank(id, kind, asked_at)
        }
    }

    /// An item that says only who asks, and when.
    fn blank(&self, id: PermissionId, kind: InboxKind, asked_at: u64) -> InboxItem {
        let Owner { session, task, work } = self.owner;
        InboxItem {
            id,
            kind,
            title: String::new(),
            detail: None,
            path: None,
            diff: None,
            options: Vec::new(),
            asked_at: iso_8601_of_micros(asked_at),
            expires_at: None,
            session_id: Some(session),
            task_id: task,
            job_id: work.map(|work| work.job),
            work_id: work.map(|work| work.work_id),
            folder: self.folder.clone(),
        }
    }

    /// Something that was asked is over.
    pub(super) fn settle(
        &self,
        id: PermissionId,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
    ) {
        settle(&self.inbox, id, outcome, answer);
    }
}

/// What is used up, for people.
fn sentence(reached: Reached) -> String {
    let text = reached.to_string();
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), characters.as_str())
    })
}

/// Takes something out of the inbox that a session has asked.
pub(super) fn settle(
    inbox: &Inbox,
    id: PermissionId,
    outcome: PermissionOutcome,
    answer: Option<&Answer>,
) {
    let is_question = inbox.offers(id, InboxChoice::Answer);
    let settlement = match (answer, outcome) {
        (Some(Answer { decision, text, by }), _) => Settlement {
            decision: InboxChoice::of_permission(*decision, is_question).into(),
            text: text.clone(),
            by: by.clone(),
        },
        (None, PermissionOutcome::TimedOut) => Settlement::by_portal(InboxDecision::TimedOut),
        (None, PermissionOutcome::Withdrawn) => Settlement::by_portal(InboxDecision::Withdrawn),
        // The permission mode was changed.
        (None, PermissionOutcome::Denied) => Settlement::by_portal(InboxDecision::Deny),
        (None, PermissionOutcome::Approved | PermissionOutcome::ApprovedAlways) => {
            Settlement::by_portal(InboxDecision::Approve)
        }
    };
    inbox.settle(id, settlement);
}
