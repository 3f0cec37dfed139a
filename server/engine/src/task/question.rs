//! What tasks ask people after a restart: how an interrupted work goes on.
//!
//! ```text
//!   Runner ── ask ──▶ Questions ──▶ Inbox ◀── answer ── page, script
//!     ▲                  ▲                       │
//!     │ Answered ────────┴──── take_answer ◀─────┘ returns when the task has stored it
//!     └─ settle ──▶ Inbox
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agents::permission::WorkOfJob;
use async_trait::async_trait;
use parking_lot::Mutex;
use platform::clock::iso_8601_of_micros;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use wire::{
    ErrorName, InboxChoice, InboxDecision, InboxItem, InboxKind, InboxOption, PermissionId, TaskId,
};

use crate::inbox::{AnswerError, Inbox, QuestionOwner, Reply, Settlement};

/// How long an answer waits for a task that was not taken up yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// What tasks ask.
pub(super) struct Questions {
    inbox: Arc<Inbox>,
    /// The tasks that wait, by the id of their question.
    waiting: Mutex<HashMap<PermissionId, oneshot::Sender<Answered>>>,
    /// Notified when another task waits, or no longer does.
    changed: Notify,
}

/// What a question says of the task that asks.
#[derive(Clone, Debug)]
pub(super) struct About {
    /// Name of the task.
    pub(super) name: String,
    /// The folder that its agents work in.
    pub(super) folder: String,
    /// The work that the task runs for, if it is part of a job.
    pub(super) work: Option<WorkOfJob>,
}

/// A question that waits.
pub(super) struct Question {
    id: PermissionId,
    questions: Arc<Questions>,
    answer: oneshot::Receiver<Answered>,
}

/// An answer that the task has not stored yet.
pub(super) struct Answered {
    id: PermissionId,
    reply: Reply,
    inbox: Arc<Inbox>,
    is_stored: oneshot::Sender<()>,
}

impl Questions {
    pub(super) fn new(inbox: Arc<Inbox>) -> Arc<Self> {
        Arc::new(Self { inbox, waiting: Mutex::default(), changed: Notify::new() })
    }

    /// Asks how a task goes on, unless that is asked already, as after another restart.
    pub(super) fn ask(self: &Arc<Self>, task: TaskId, about: &About) -> Question {
        let asked = self.inbox.find_of_task(task, InboxKind::Interrupted);
        let id = asked.unwrap_or_else(PermissionId::generate);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        self.changed.notify_waiters();
        if asked.is_none() {
            self.inbox.ask(item(id, task, about, self.inbox.now()));
        }
        Question { id, questions: self.clone(), answer }
    }

    /// Takes what a task has asked out of the inbox: it does not wait for the answer.
    pub(super) fn withdraw(&self, task: TaskId) {
        if let Some(id) = self.inbox.find_of_task(task, InboxKind::Interrupted) {
            self.inbox.settle(id, Settlement::by_portal(InboxDecision::Withdrawn));
            self.changed.notify_waiters();
        }
    }

    /// The task that waits for an answer; `None` once the question is withdrawn. After a restart it
    /// may take a moment until it is known.
    async fn asker(&self, id: PermissionId) -> Option<oneshot::Sender<Answered>> {
        loop {
            // Before the look, or a change in between is missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(asker) = self.waiting.lock().remove(&id) {
                return Some(asker);
            }
            if !self.inbox.contains(id) {
                return None;
            }
            changed.await;
        }
    }
}

#[async_trait]
impl QuestionOwner for Questions {
    async fn take_answer(&self, item: &InboxItem, reply: Reply) -> Result<(), AnswerError> {
        let busy = AnswerError::Owner(ErrorName::TooManyJobs);
        let asker = timeout(PATIENCE, self.asker(item.id)).await.map_err(|_| {
            // Another answer was first.
            if self.inbox.contains(item.id) { busy } else { AnswerError::NotPending }
        })?;
        let (is_stored, stored) = oneshot::channel();
        let answered = Answered { id: item.id, reply, inbox: self.inbox.clone(), is_stored };
        let asker = asker.ok_or(AnswerError::NotPending)?;
        asker.send(answered).map_err(|_| AnswerError::NotPending)?;
        stored.await.map_err(|_| AnswerError::NotPending)
    }
}

impl Question {
    /// Waits for the answer. Cancel safe.
    pub(super) async fn answer(&mut self) -> Answered {
        match (&mut self.answer).await {
            Ok(answered) => answered,
            // Only an answer drops the sender.
            Err(_) => std::future::pending().await,
        }
    }

    /// Takes it out of the inbox: nobody waits for the answer any more.
    pub(super) fn withdraw(&self) {
        let settlement = Settlement::by_portal(InboxDecision::Withdrawn);
        self.questions.inbox.settle(self.id, settlement);
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.questions.waiting.lock().remove(&self.id);
    }
}

impl Answered {
    pub(super) fn choice(&self) -> InboxChoice {
        self.reply.choice
    }

    /// The task has stored the answer, so it leaves the inbox.
    pub(super) fn settle(self) {
        let Reply { choice, text, by } = self.reply;
        self.inbox.settle(self.id, Settlement { decision: choice.into(), text, by });
        // Whoever answered may have hung up.
        let _ = self.is_stored.send(());
    }
}

fn item(id: PermissionId, task: TaskId, about: &About, asked_at: u64) -> InboxItem {
    let option = |id, label: &str| InboxOption { id, label: label.to_owned() };
    InboxItem {
        id,
        kind: InboxKind::Interrupted,
        title: format!("`{}` was interrupted: how does it go on?", about.name),
        detail: Some(
            "The server stopped while an agent was working on this. Some of it may be done \
             already: look at the folder before you decide."
                .to_owned(),
        ),
        path: None,
        diff: None,
        options: vec![
            option(InboxChoice::Continue, "Continue where it was cut off"),
            option(InboxChoice::Redo, "Do it again"),
            option(InboxChoice::Done, "Count it as done"),
            option(InboxChoice::Fail, "Count it as failed"),
        ],
        asked_at: iso_8601_of_micros(asked_at),
        expires_at: None,
        session_id: None,
        task_id: Some(task),
        job_id: about.work.map(|work| work.job),
        work_id: about.work.map(|work| work.work_id),
        folder: about.folder.clone(),
    }
}
