//! Questions of one session that people answer.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::{
    AlwaysScope, PendingPermission, PermissionDecision, PermissionId, PermissionKind,
    PermissionMode, PermissionOutcome, PermissionRequest,
};

use super::{Answer, Asker, DENY_ALL, Denied, DeskRules, GUARDED, PermissionHandler};

/// A change of the questions at a desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionEvent {
    /// A question waits for an answer.
    Requested(PendingQuestion),
    /// A question no longer waits for an answer.
    Resolved {
        /// Id of the question.
        id: PermissionId,
        /// How the question ended.
        outcome: PermissionOutcome,
        /// The answer of a person; `None` if it ended without one.
        answer: Option<Answer>,
    },
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingQuestion {
    /// The session, the tool and the call that ask.
    pub asker: Asker,
    /// The question, with its id.
    pub question: PendingPermission,
}

/// Receives the events of a desk. The function must neither block nor use the desk.
pub type PermissionEvents = Box<dyn Fn(PermissionEvent) + Send + Sync>;

/// No question of that id waits here, or it was answered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not waiting for a decision: `{0}`")]
pub struct NotPending(pub PermissionId);

const CLOSED: &str = "refused: the session has ended";

/// The waiting questions of one session, and its mode. Clones share them.
#[derive(Clone)]
pub struct PermissionDesk(Arc<Desk>);

struct Desk {
    time_out: Duration,
    rules: DeskRules,
    events: PermissionEvents,
    // Events are reported with the lock held, so that they come in the order of the changes.
    state: Mutex<State>,
}

struct State {
    mode: PermissionMode,
    /// The limit that was last applied to `mode`.
    limit: PermissionMode,
    closed: bool,
    asked: u64,
    // By the order of the questions.
    waiting: BTreeMap<u64, Waiting>,
    always: HashSet<AlwaysScope>,
    /// Requests that were approved before they are made, each once.
    approved_ahead: Vec<PermissionRequest>,
    /// Questions that go on after a restart of the server. Their tools wait until they are dropped.
    suspended: Vec<Waiting>,
}

struct Waiting {
    pending: PendingQuestion,
    answer: oneshot::Sender<Settled>,
}

/// How a question ended, and what the person said.
#[derive(Debug)]
struct Settled {
    outcome: PermissionOutcome,
    text: Option<String>,
}

impl PermissionDesk {
    /// How long a question waits unless settings say otherwise.
    pub const TIME_OUT: Duration = Duration::from_mins(2);

    /// Creates a desk without questions. A question that is not answered within `time_out` is
    /// refused.
    pub fn new(
        mode: PermissionMode,
        time_out: Duration,
        rules: DeskRules,
        events: impl Fn(PermissionEvent) + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            mode,
            limit: PermissionMode::ApproveAll,
            closed: false,
            asked: 0,
            waiting: BTreeMap::new(),
            always: HashSet::new(),
            approved_ahead: Vec::new(),
            suspended: Vec::new(),
        };
        let events = Box::new(events);
        Self(Arc::new(Desk { time_out, rules, events, state: Mutex::new(state) }))
    }

    /// The current permission mode, with the limit applied.
    pub fn mode(&self) -> PermissionMode {
        self.0.lock().mode
    }

    /// Changes the mode, as far as the limit allows. `approve-all` and `deny` also answer the
    /// questions that wait, except that `approve-all` leaves those that are asked each time.
    pub fn set_mode(&self, mode: PermissionMode) {
        let mut state = self.0.lock();
        let yields = self.0.rules.limit.yields();
        let mode = if yields { mode } else { mode.stricter(state.limit) };
        self.0.change_mode(&mut state, mode);
    }

    /// The questions that wait, oldest first.
    pub fn pending(&self) -> Vec<PendingQuestion> {
        let state = self.0.lock();
        state.waiting.values().map(|waiting| waiting.pending.clone()).collect()
    }

    /// Withdraws all questions, because nobody waits for their answers any more, and all approvals
    /// that were given ahead.
    pub fn withdraw_all(&self) {
        let mut state = self.0.lock();
        state.approved_ahead.clear();
        self.0.settle_all(&mut state, PermissionOutcome::Withdrawn);
    }

    /// Approves a request that will be made again, exactly as it is. It counts once, until the next
    /// [`Self::withdraw_all`]. A request that does not show everything is asked about all the same.
    pub fn approve_ahead(&self, request: PermissionRequest, is_always: bool) {
        let mut state = self.0.lock();
        if is_always {
            state.always.extend(request.always_scope());
        }
        if request.is_complete() {
            state.approved_ahead.push(request);
        }
    }

    /// Takes all questions off the desk without an answer, and refuses all that are asked from now
    /// on. They are asked again after a restart; their tools wait until they are dropped.
    pub fn suspend(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        state.suspended.extend(waiting.into_values());
    }

    /// Withdraws all questions, and refuses all that are asked from now on.
    pub fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        self.0.settle_all(&mut state, PermissionOutcome::Withdrawn);
    }

    /// Answers a question. The first answer counts.
    ///
    /// [`PermissionDecision::ApproveAlways`] also answers all other waiting questions in the same
    /// [`AlwaysScope`]. For what is asked each time, it answers only this question.
    pub fn resolve(&self, id: PermissionId, answer: &Answer) -> Result<(), NotPending> {
        let mut state = self.0.lock();
        let find = |(number, waiting): (&u64, &Waiting)| {
            let question = &waiting.pending.question;
            (question.id == id).then(|| (*number, question.request.always_scope()))
        };
        let (number, scope) = state.waiting.iter().find_map(find).ok_or(NotPending(id))?;
        let (outcome, scope) = match (answer.decision, scope) {
            (PermissionDecision::ApproveAlways, Some(scope)) => {
                (PermissionOutcome::ApprovedAlways, Some(scope))
            }
            (PermissionDecision::Approve | PermissionDecision::ApproveAlways, _) => {
                (PermissionOutcome::Approved, None)
            }
            (PermissionDecision::Deny, _) => (PermissionOutcome::Denied, None),
        };
        self.0.settle(&mut state, number, outcome, Some(answer));
        if let Some(scope) = scope {
            let alike =
                |request: &PermissionRequest| request.always_scope().as_ref() == Some(&scope);
            self.0.settle_those(&mut state, outcome, Some(answer), alike);
            state.always.insert(scope);
        }
        Ok(())
    }

    /// Puts a tool's request on the desk, unless the answer is known already.
    fn consider(
        &self,
        asker: &Asker,
        mut request: PermissionRequest,
    ) -> Result<Question, Result<(), Denied>> {
        let denied = |reason: &str| Err(Err(Denied { reason: reason.to_owned() }));
        if self.0.is_guarded(&request) {
            return denied(GUARDED);
        }
        request.each_time |= self.0.runs_later(&request);
        let is_named = request.each_time && self.0.is_named(&request);
        let scope = request.always_scope();
        let mut state = self.0.lock();
        if state.closed {
            return denied(CLOSED);
        }
        let ahead = state.approved_ahead.iter().position(|approved| *approved == request);
        if let Some(index) = ahead.filter(|_| state.mode != PermissionMode::Deny) {
            state.approved_ahead.swap_remove(index);
            return Err(Ok(()));
        }
        let is_always = || scope.is_some_and(|scope| state.always.contains(&scope));
        match state.mode {
            PermissionMode::Deny => return denied(DENY_ALL),
            PermissionMode::ApproveAll if !request.each_time || is_named => return Err(Ok(())),
            PermissionMode::Ask if !request.each_time && (asker.is_approved || is_always()) => {
                return Err(Ok(()));
            }
            PermissionMode::ApproveAll | PermissionMode::Ask => {}
        }
        Ok(self.wait(&mut state, asker, request))
    }

    /// Puts a question on the desk.
    fn wait(&self, state: &mut State, asker: &Asker, request: PermissionRequest) -> Question {
        let number = state.asked;
        state.asked += 1;
        let question = PendingPermission { id: PermissionId::generate(), request };
        let (answer, answered) = oneshot::channel();
        let pending = PendingQuestion { asker: asker.clone(), question };
        state.waiting.insert(number, Waiting { pending: pending.clone(), answer });
        (self.0.events)(PermissionEvent::Requested(pending));
        Question { desk: Arc::clone(&self.0), number, answered }
    }

    /// Why the model does not get what it asked for; `wanted` is what nobody did in time.
    fn refusal(&self, settled: Settled, wanted: &str) -> Denied {
        let reason = match (settled.outcome, settled.text) {
            (PermissionOutcome::TimedOut, _) => {
                let seconds = self.0.time_out.as_secs();
                format!("refused: nobody {wanted} it within {seconds} s")
            }
            (_, Some(text)) => format!("refused by the user: {text}"),
            (_, None) => "refused by the user".to_owned(),
        };
        Denied { reason }
    }
}

impl Desk {
    /// Locks the state, and applies the limit if it has changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let limit = self.rules.limit.get();
        if limit != state.limit {
            state.limit = limit;
            let mode = state.mode.stricter(limit);
            self.change_mode(&mut state, mode);
        }
        state
    }

    /// Applies the limit whenever it changes. Never returns; drop the future to end it.
    async fn follow_limit(&self) -> Infallible {
        let mut changes = self.rules.limit.changes();
        loop {
            // First for a change that came before anybody waited.
            drop(self.lock());
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    fn change_mode(&self, state: &mut State, mode: PermissionMode) {
        state.mode = mode;
        match mode {
            PermissionMode::Ask => state.always.clear(),
            PermissionMode::ApproveAll => {
                let is_answered = |request: &PermissionRequest| acts(request) && !request.each_time;
                self.settle_those(state, PermissionOutcome::Approved, None, is_answered);
            }
            PermissionMode::Deny => {
                self.settle_those(state, PermissionOutcome::Denied, None, acts);
            }
        }
    }

    /// Path of the file that the question is about, if it is about a file.
    fn file(request: &PermissionRequest) -> Option<&str> {
        let is_file = match request.kind {
            PermissionKind::Create | PermissionKind::Write | PermissionKind::Read => true,
            // A new extension, which is asked for as the command that it becomes.
            PermissionKind::Command => request.each_time,
            PermissionKind::Url
            | PermissionKind::Tool
            | PermissionKind::Question
            | PermissionKind::Other => false,
        };
        request.path.as_deref().filter(|_| is_file)
    }

    fn is_guarded(&self, request: &PermissionRequest) -> bool {
        Self::file(request).is_some_and(|path| self.rules.is_guarded(path))
    }

    fn runs_later(&self, request: &PermissionRequest) -> bool {
        request.kind != PermissionKind::Read
            && Self::file(request).is_some_and(|path| self.rules.runs_later(path))
    }

    fn is_named(&self, request: &PermissionRequest) -> bool {
        Self::file(request).is_some_and(|path| self.rules.is_named(path))
    }

    fn settle_all(&self, state: &mut State, outcome: PermissionOutcome) {
        self.settle_those(state, outcome, None, |_| true);
    }

    fn settle_those(
        &self,
        state: &mut State,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
        which: impl Fn(&PermissionRequest) -> bool,
    ) {
        let those =
            state.waiting.iter().filter(|(_, waiting)| which(&waiting.pending.question.request));
        for number in those.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.settle(state, number, outcome, answer);
        }
    }

    /// Ends a question, by a person's answer if there is one. Does nothing if it has already ended.
    fn settle(
        &self,
        state: &mut State,
        number: u64,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
    ) {
        if let Some(waiting) = state.waiting.remove(&number) {
            let text = answer.and_then(|answer| answer.text.clone());
            // Nobody listens if the question was dropped just now. That is no harm.
            let _ = waiting.answer.send(Settled { outcome, text });
            let (id, answer) = (waiting.pending.question.id, answer.cloned());
            (self.events)(PermissionEvent::Resolved { id, outcome, answer });
        }
    }
}

/// Whether a tool would act if it were approved: the permission mode is about those.
fn acts(request: &PermissionRequest) -> bool {
    request.kind != PermissionKind::Question
}

/// The asking side of a question. Dropping it withdraws the question.
struct Question {
    desk: Arc<Desk>,
    number: u64,
    answered: oneshot::Receiver<Settled>,
}

impl Question {
    fn settle(&self, outcome: PermissionOutcome) {
        self.desk.settle(&mut self.desk.lock(), self.number, outcome, None);
    }

    async fn settled(mut self) -> Settled {
        let answered = tokio::select! {
            biased;
            answered = timeout(self.desk.time_out, &mut self.answered) => answered,
            never = self.desk.follow_limit() => match never {},
        };
        if let Ok(Ok(settled)) = answered {
            return settled;
        }
        // An answer that came at the last moment wins: then there is nothing left to settle.
        self.settle(PermissionOutcome::TimedOut);
        let timed_out = Settled { outcome: PermissionOutcome::TimedOut, text: None };
        self.answered.try_recv().unwrap_or(timed_out)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.settle(PermissionOutcome::Withdrawn);
    }
}

#[async_trait]
impl PermissionHandler for PermissionDesk {
    async fn request(&self, asker: &Asker, request: PermissionRequest) -> Result<(), Denied> {
        let question = match self.consider(asker, request) {
            Ok(question) => question,
            Err(known) => return known,
        };
        let settled = question.settled().await;
        if settled.outcome.is_approved() { Ok(()) } else { Err(self.refusal(settled, "approved")) }
    }

    async fn ask(&self, asker: &Asker, request: PermissionRequest) -> Result<String, Denied> {
        let question = {
            let mut state = self.0.lock();
            if state.closed {
                return Err(Denied { reason: CLOSED.to_owned() });
            }
            self.wait(&mut state, asker, request)
        };
        let settled = question.settled().await;
        if settled.outcome.is_approved() {
            return Ok(settled.text.unwrap_or_default());
        }
        Err(self.refusal(settled, "answered"))
    }
}

impl fmt::Debug for PermissionDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionDesk").field("pending", &self.pending()).finish()
    }
}

#[cfg(test)]
mod tests;
