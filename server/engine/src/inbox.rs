//! The inbox: everything that waits for a person, wherever it was asked.
//!
//! ```text
//!   sessions ── ask ─────▶ Inbox ──▶ Journal: each question is a stream of its own
//!      ▲        settle ───▶  │           │ durable
//!      │                     │           ▼
//!      └─ QuestionOwner ◀── answer     LiveBoard ──▶ readers (pages, scripts)
//! ```
//!
//! Whoever asks keeps the question, too, and decides which answer is the first: the inbox passes an
//! answer on to the [`QuestionOwner`], which reports how the question ended. So it makes no difference
//! where an answer is given, and there is one record of who answered what, and when.

mod answered;
mod restore;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use parking_lot::Mutex;
use store::fold::{Fold, QuestionFold, QuestionNote, to_fact};
use store::journal::{Append, Batch, StoreError, check_store, wait_for};
use store::live::{LiveBoard, LiveShared, LiveSource};
use wire::{
    ErrorName, InboxAnswer, InboxChoice, InboxDecision, InboxItem, InboxKind, InboxResponse, JobId,
    PermissionId, SessionId, TaskId,
};

/// Who answered if nobody did.
pub const PORTAL: &str = "portal";

/// A person's answer to an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// One of the choices that the item offers.
    pub choice: InboxChoice,
    /// The text of the answer, or why it is refused.
    pub text: Option<String>,
    /// Name of who answers.
    pub by: Arc<str>,
}

/// How an item leaves the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// How it ended.
    pub decision: InboxDecision,
    /// The text of the answer, or why it was refused.
    pub text: Option<String>,
    /// Name of who answered, or [`PORTAL`].
    pub by: Arc<str>,
}

impl Settlement {
    /// It ended without an answer.
    pub fn by_portal(decision: InboxDecision) -> Self {
        Self { decision, text: None, by: PORTAL.into() }
    }
}

/// Why an answer was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Nothing with that id waits, or it was answered before.
    #[error("nothing waits for this answer")]
    NotPending,
    /// The item does not offer this answer, or the answer lacks its text.
    #[error("{0}")]
    Invalid(String),
    /// Whoever asked can't go on at the moment.
    #[error("whoever asked can't go on: {0}")]
    Owner(ErrorName),
    /// The answer can't be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AnswerError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::NotPending => ErrorName::NotPending,
            Self::Invalid(_) => ErrorName::InvalidAnswer,
            Self::Owner(name) => *name,
            Self::Store(_) => ErrorName::StoreUnavailable,
        }
    }
}

/// Asks questions, and takes the answers.
#[async_trait]
pub trait QuestionOwner: Send + Sync + 'static {
    /// Takes an answer, if the question is still open there, and settles it in the inbox.
    async fn take_answer(&self, item: &InboxItem, reply: Reply) -> Result<(), AnswerError>;
}

/// Everything that waits for a person.
pub struct Inbox {
    shared: Arc<LiveShared>,
    board: LiveBoard<InboxResponse>,
    open: Mutex<HashMap<PermissionId, Open>>,
    sessions: OnceLock<Weak<dyn QuestionOwner>>,
    tasks: OnceLock<Weak<dyn QuestionOwner>>,
    this: Weak<Self>,
}

/// An item that waits.
struct Open {
    item: Arc<InboxItem>,
    fold: QuestionFold,
    /// How many facts and notes of it are stored, or submitted.
    facts: u64,
    notes: u64,
    /// Whether it is durable; then it is listed.
    is_shown: bool,
}

impl Inbox {
    /// An empty inbox. What waited before the server was started is added by the sessions that asked.
    pub fn new(shared: Arc<LiveShared>) -> Arc<Self> {
        let board = LiveBoard::new(shared.clone());
        Arc::new_cyclic(|this| Self {
            shared,
            board,
            open: Mutex::default(),
            sessions: OnceLock::new(),
            tasks: OnceLock::new(),
            this: this.clone(),
        })
    }

    /// Names who takes the answers to what sessions ask. Only the first call counts.
    pub fn set_owner(&self, owner: Weak<dyn QuestionOwner>) {
        self.sessions.get_or_init(|| owner);
    }

    /// Names who takes the answers to what tasks ask themselves. Only the first call counts.
    pub(crate) fn set_owner_of_tasks(&self, owner: Weak<dyn QuestionOwner>) {
        self.tasks.get_or_init(|| owner);
    }

    /// Puts something into the inbox, which is shown once it is durable.
    pub fn ask(&self, item: InboxItem) {
        self.add(item, 0, 0);
    }

    /// Adds an item of which so many facts and notes are stored.
    fn add(&self, item: InboxItem, facts: u64, notes: u64) {
        let (id, at) = (item.id, self.shared.next_time());
        let fact = InboxResponse::InboxAdded(Box::new(item.clone()));
        let mut fold = QuestionFold::default();
        fold.apply(at, &fact);
        let mut append = Append::new(id, facts, notes);
        append.facts.push(to_fact(at, &fact));
        append.record = Some(fold.record());
        let item = Arc::new(item);
        let open = Open { item, fold, facts: facts + 1, notes, is_shown: false };
        self.open.lock().insert(id, open);
        self.submit(append, fact);
    }

    /// Takes something out of the inbox. False if it is not there.
    pub fn settle(&self, id: PermissionId, settlement: Settlement) -> bool {
        let Some(open) = self.open.lock().remove(&id) else { return false };
        let Open { mut fold, facts, notes, .. } = open;
        let Settlement { decision, text, by } = settlement;
        let at = self.shared.next_time();
        let mut append = Append::new(id, facts, notes);
        if let Some(text) = text {
            let note = QuestionNote::Text { text };
            fold.note(at, &note);
            append.notes.push(to_fact(at, &note));
        }
        let fact = InboxResponse::InboxResolved(InboxAnswer { id, decision, by: by.to_string() });
        fold.apply(at, &fact);
        append.facts.push(to_fact(at, &fact));
        append.record = Some(fold.record());
        self.submit(append, fact);
        true
    }

    /// Withdraws whatever a session still asks.
    pub(crate) fn withdraw_all(&self, session: SessionId) {
        let of_session = |open: &&Open| open.item.session_id == Some(session);
        let ids: Vec<_> = {
            let open = self.open.lock();
            open.values().filter(of_session).map(|open| open.item.id).collect()
        };
        for id in ids {
            self.settle(id, Settlement::by_portal(InboxDecision::Withdrawn));
        }
    }

    /// What a session asks of this kind.
    pub(crate) fn find(&self, session: SessionId, kind: InboxKind) -> Option<PermissionId> {
        let open = self.open.lock();
        let is_it = |open: &&Open| open.item.session_id == Some(session) && open.item.kind == kind;
        open.values().find(is_it).map(|open| open.item.id)
    }

    /// What a task itself asks of this kind.
    pub(crate) fn find_of_task(&self, task: TaskId, kind: InboxKind) -> Option<PermissionId> {
        let open = self.open.lock();
        let is_it = |open: &&Open| {
            let item = &open.item;
            item.session_id.is_none() && item.task_id == Some(task) && item.kind == kind
        };
        open.values().find(is_it).map(|open| open.item.id)
    }

    /// Stores a change, and shows it once it is durable. Not under the lock: the journal may settle
    /// it at once.
    fn submit(&self, append: Append, fact: InboxResponse) {
        let this = self.this.clone();
        let settled = move |result: Result<(), StoreError>| {
            if let Err(error) = result {
                // It waits all the same, but will be unknown after a restart.
                tracing::error!(%error, "a question is not kept");
            }
            if let Some(inbox) = this.upgrade() {
                inbox.show(&fact);
            }
        };
        self.shared.journal().submit_then(append.into(), Box::new(settled));
    }

    fn show(&self, fact: &InboxResponse) {
        if let InboxResponse::InboxAdded(item) = fact
            && let Some(open) = self.open.lock().get_mut(&item.id)
        {
            open.is_shown = true;
        }
        self.board.push(fact);
    }

    /// What waits, the oldest first.
    pub fn list(&self) -> wire::Inbox {
        let mut items: Vec<InboxItem> = {
            let open = self.open.lock();
            open.values().filter(|open| open.is_shown).map(|open| (*open.item).clone()).collect()
        };
        items.sort_by(|a, b| (&a.asked_at, a.id).cmp(&(&b.asked_at, b.id)));
        wire::Inbox { items }
    }

    /// The works that wait for a person, by job.
    pub fn waiting_works(&self) -> HashMap<JobId, BTreeSet<u32>> {
        let mut waiting = HashMap::<JobId, BTreeSet<u32>>::new();
        for open in self.open.lock().values() {
            if let (Some(job), Some(work)) = (open.item.job_id, open.item.work_id) {
                waiting.entry(job).or_default().insert(work);
            }
        }
        waiting
    }

    /// Whether an item waits.
    pub(crate) fn contains(&self, id: PermissionId) -> bool {
        self.open.lock().contains_key(&id)
    }

    /// Whether an item waits and offers this answer.
    pub(crate) fn offers(&self, id: PermissionId, choice: InboxChoice) -> bool {
        self.open.lock().get(&id).is_some_and(|open| open.item.offers(choice))
    }

    /// Its stream of changes, which begins with what waits.
    pub fn source(&self) -> LiveSource {
        self.board.source()
    }

    /// Answers an item. Only the first answer counts, wherever it is given. Returns when it is
    /// durable; a refusal counts in any case.
    ///
    /// Cancel safe: the answer is taken or not, even if nobody waits.
    pub async fn answer(&self, id: PermissionId, reply: Reply) -> Result<(), AnswerError> {
        let item = self.open.lock().get(&id).map(|open| open.item.clone());
        let item = item.ok_or(AnswerError::NotPending)?;
        check(&item, &reply)?;
        let is_refusal = reply.choice.is_refusal();
        if !is_refusal {
            check_store(&**self.shared.journal())?;
        }
        let owner = if item.is_about_work() { &self.tasks } else { &self.sessions };
        let owner = owner.get().and_then(Weak::upgrade).ok_or(AnswerError::NotPending)?;
        owner.take_answer(&item, reply).await?;
        match self.durable().await {
            Err(error) if !is_refusal => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Waits until everything that was stored so far is durable, but not for long. Cancel safe.
    pub async fn durable(&self) -> Result<(), StoreError> {
        let journal = &**self.shared.journal();
        // Batches become durable in order, so an empty one is durable when all before it are.
        wait_for(journal, journal.submit(Batch::default()).durable()).await
    }

    /// The time for something that is asked now, in microseconds since the Unix epoch.
    pub(crate) fn now(&self) -> u64 {
        self.shared.next_time()
    }
}

/// Refuses an answer that the item does not offer.
fn check(item: &InboxItem, reply: &Reply) -> Result<(), AnswerError> {
    if !item.offers(reply.choice) {
        let offered: Vec<_> = item.options.iter().map(|option| option.id.as_str()).collect();
        let problem = format!("the first line must be one of: {}", offered.join(", "));
        return Err(AnswerError::Invalid(problem));
    }
    let has_text = reply.text.as_ref().is_some_and(|text| !text.trim().is_empty());
    if reply.choice == InboxChoice::Answer && !has_text {
        let problem = "the answer is missing: it follows the first line".to_owned();
        return Err(AnswerError::Invalid(problem));
    }
    Ok(())
}
