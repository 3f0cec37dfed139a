//! What waited when the server stopped: permission requests and queued prompts.
//!
//! A request stays open under its id although its turn is over. Approving it resumes the turn with a
//! prompt that says so, and approves exactly that call ahead. Anything else withdraws it: a refusal,
//! another prompt, the end of the session. It expires as if the server had never stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agents::permission::{Answer, Owner};
use store::fold::{OpenQuestion, PromptAuthor, SessionDetail, SessionFold};
use store::journal::{Entity, OpenEntities, StoreError};
use store::live::LiveLog;
use tokio::time::sleep;
use wire::{
    EntityKind, EntityState, PermissionDecision, PermissionId, PermissionKind, PermissionOutcome,
    PermissionRequest, SessionId, SessionResponse,
};

use super::asking::{self, Asking};
use super::handle::Session;
use super::{SessionError, SessionManager};

/// Open sessions in which something waits.
#[derive(Default)]
struct LeftWaiting {
    /// Those with permission requests.
    asking: Vec<SessionId>,
    /// The others, if they have queued prompts and may answer them.
    queued: Vec<SessionId>,
}

impl Session {
    /// Answers a permission request of a turn that was cut off.
    pub(super) fn answer_interrupted(
        &self,
        question: PermissionId,
        answer: &Answer,
    ) -> Result<(), SessionError> {
        let outcome = outcome_of(answer.decision);
        // Before it is settled: it can still be approved when the budget is raised.
        if outcome.is_approved() && self.budget_reached().is_some() {
            return Err(SessionError::BudgetExceeded);
        }
        // Locked until it is noted, or the task could go on without it.
        let mut answers = self.answers.lock();
        let request = self.settle_interrupted(question, outcome, Some(answer))?;
        if outcome.is_approved() {
            let prompt = resumption(&request, answer.text.as_deref());
            let is_always = outcome == PermissionOutcome::ApprovedAlways;
            if request.kind != PermissionKind::Question {
                self.desk.approve_ahead(request, is_always);
            }
            match &mut *answers {
                Some(answers) => answers.push(prompt),
                None => drop(self.queue.add_first(prompt, PromptAuthor::Engine)?),
            }
        } else if let Some(answers) = &mut *answers {
            answers.push(refusal(&request, answer.text.as_deref()));
        }
        Ok(())
    }

    /// Waits until every question of a turn that was cut off is answered or withdrawn, and returns
    /// what its agent is to be told about that. From the call on, no answer resumes the turn: the
    /// caller does. Cancel safe.
    pub(crate) async fn interrupted_answered(&self) -> Vec<String> {
        self.answers.lock().get_or_insert_default();
        self.stream.interrupted_settled().await;
        self.answers.lock().take().unwrap_or_default()
    }

    /// Ends a permission request of a turn that was cut off.
    fn settle_interrupted(
        &self,
        question: PermissionId,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
    ) -> Result<PermissionRequest, SessionError> {
        let settled = self.stream.settle_interrupted(question, outcome, answer);
        let (request, was_last) = settled.ok_or(SessionError::PermissionNotPending)?;
        if was_last && !outcome.is_approved() {
            self.queue.release();
        }
        Ok(request)
    }

    /// Whether a permission request is pending.
    pub(super) fn has_questions(&self) -> bool {
        !self.stream.interrupted().is_empty() || !self.desk.pending().is_empty()
    }
}

impl SessionManager {
    /// Answers a permission request of a session without an agent, which is resumed by an approval.
    pub(super) async fn answer_dormant(
        &self,
        id: SessionId,
        question: PermissionId,
        answer: &Answer,
    ) -> Result<(), SessionError> {
        let (log, _) = self.dormant(id).await?;
        if !open_questions(&log).contains_key(&question) {
            return Err(SessionError::PermissionNotPending);
        }
        let outcome = outcome_of(answer.decision);
        if outcome.is_approved() {
            self.live().check_store()?;
            return self.find(id).await?.answer_interrupted(question, answer);
        }
        self.end_question(id, question, outcome, Some(answer)).await
    }

    /// Ends a permission request of a turn that was cut off, without resuming that turn. Prompts that
    /// waited behind it have their turns.
    async fn end_question(
        &self,
        id: SessionId,
        question: PermissionId,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
    ) -> Result<(), SessionError> {
        if let Ok(session) = self.get(id) {
            return session.settle_interrupted(question, outcome, answer).map(drop);
        }
        let (log, lock) = self.dormant(id).await?;
        let keeps_it_dormant = lock.lock().await;
        if let Ok(session) = self.get(id) {
            return session.settle_interrupted(question, outcome, answer).map(drop);
        }
        let mut left = open_questions(&log);
        left.remove(&question).ok_or(SessionError::PermissionNotPending)?;
        self.withdraw(&log, question, outcome, answer);
        drop(keeps_it_dormant);
        let has_queue = log.fold(|fold| fold.queue().next().is_some()).unwrap_or_default();
        if left.is_empty() && has_queue {
            // If this fails, whoever acts on the session next gets the error.
            let _ = self.find(id).await;
        }
        Ok(())
    }

    /// Puts what waited when the server stopped into the inbox again. Called before the first request,
    /// after the recovery, which closes the sessions of tasks.
    pub async fn restore_inbox(&self) -> Result<(), StoreError> {
        self.inbox().restore().await?;
        let journal = &**self.live().shared().journal();
        let mut asking = OpenEntities::in_state(journal, EntityKind::Session, EntityState::Waiting);
        while let Some(page) = asking.next().await? {
            for (entity, _) in page {
                if let Entity::Session(id) = entity
                    && let Some(log) = self.load_log(id).await
                {
                    self.ask_again(id, &log).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes up what waited when the server stopped: lets permission requests expire, and resumes
    /// the sessions with queued prompts, so that those get their turns without a client.
    pub async fn take_up_waiting(self: &Arc<Self>) {
        let waiting = self.left_waiting().await.unwrap_or_default();
        for id in waiting.asking {
            if let Some(log) = self.load_log(id).await {
                for (question, open) in open_questions(&log) {
                    self.expire_later(id, question, open.asked_at);
                }
            }
        }
        for id in waiting.queued {
            // If this fails, whoever acts on the session next gets the error.
            let _ = self.find(id).await;
        }
    }

    /// Puts what a session without an agent has asked into the inbox, unless it is there.
    async fn ask_again(
        &self,
        id: SessionId,
        log: &LiveLog<SessionResponse>,
    ) -> Result<(), StoreError> {
        let folder = log.fold(|fold: &SessionFold| fold.folder().to_owned()).unwrap_or_default();
        let owner = Owner { session: id, task: None, work: None };
        let time_out = self.settings().permission_time_out;
        let asking = Asking::new(self.inbox().clone(), owner, Path::new(&folder), time_out);
        for (question, open) in open_questions(log) {
            asking.ask_again(question, &open.request, open.asked_at).await?;
        }
        Ok(())
    }

    /// Ends a permission request of a session without an agent.
    pub(super) fn withdraw(
        &self,
        log: &LiveLog<SessionResponse>,
        question: PermissionId,
        outcome: PermissionOutcome,
        answer: Option<&Answer>,
    ) {
        let decision = outcome;
        log.push(&SessionResponse::PermissionResolved { request_id: question, decision });
        asking::settle(self.inbox(), question, outcome, answer);
    }

    /// The open sessions in which something waits.
    async fn left_waiting(&self) -> Result<LeftWaiting, StoreError> {
        let mut waiting = LeftWaiting::default();
        let mut open = OpenEntities::new(&**self.live().shared().journal(), EntityKind::Session);
        while let Some(page) = open.next().await? {
            for (entity, record) in page {
                let Entity::Session(id) = entity else { continue };
                if record.state == EntityState::Waiting {
                    waiting.asking.push(id);
                } else if record.parent.is_none()
                    && SessionDetail::read(&record)
                        .is_some_and(|detail| detail.queued > 0 && detail.reached.is_none())
                {
                    waiting.queued.push(id);
                }
            }
        }
        Ok(waiting)
    }

    fn expire_later(self: &Arc<Self>, id: SessionId, question: PermissionId, asked_at: u64) {
        let left = time_left(asked_at, self.settings().permission_time_out);
        let (sessions, suspend) = (Arc::downgrade(self), self.suspend.clone());
        self.lifecycle().spawn(async move {
            let is_over = suspend.run_until_cancelled(sleep(left)).await.is_some();
            if let Some(sessions) = sessions.upgrade().filter(|_| is_over) {
                // It may have been answered since.
                let timed_out = PermissionOutcome::TimedOut;
                let _ = sessions.end_question(id, question, timed_out, None).await;
            }
        });
    }
}

/// The permission requests of a session without an agent.
pub(super) fn open_questions(
    log: &LiveLog<SessionResponse>,
) -> BTreeMap<PermissionId, OpenQuestion> {
    log.fold(|fold: &SessionFold| fold.questions().clone()).unwrap_or_default()
}

/// How an answer ends a request whose tool no longer waits.
fn outcome_of(decision: PermissionDecision) -> PermissionOutcome {
    match decision {
        PermissionDecision::Approve => PermissionOutcome::Approved,
        PermissionDecision::ApproveAlways => PermissionOutcome::ApprovedAlways,
        PermissionDecision::Deny => PermissionOutcome::Withdrawn,
    }
}

/// The prompt that resumes the turn.
fn resumption(request: &PermissionRequest, answer: Option<&str>) -> String {
    if request.kind == PermissionKind::Question {
        let question = request.detail.as_ref().unwrap_or(&request.title);
        return format!(
            "The server stopped while your last turn was waiting for the user's answer, so the turn \
             was interrupted. You asked:\n\n{question}\n\nThe user has answered since:\n\n{}\n\n\
             Look at what is already done, then finish the turn without asking this again.",
            answer.unwrap_or_default()
        );
    }
    format!(
        "The server stopped while your last turn was waiting for permission, so the turn was \
         interrupted. The user has approved the call since: {}. You may make it once without being \
         asked again, with exactly the same arguments. Look at what is already done, then repeat \
         that call if it is still needed, and finish the turn.",
        request.title
    )
}

/// Tells the agent that its call was refused.
fn refusal(request: &PermissionRequest, reason: Option<&str>) -> String {
    let reason = reason.map(|reason| format!(" The user says: {reason}")).unwrap_or_default();
    format!("The user has refused what you asked for: {}. Do without it.{reason}", request.title)
}

/// How long a request that was made at this time may still wait.
fn time_left(asked_at: u64, time_out: Duration) -> Duration {
    let asked = UNIX_EPOCH + Duration::from_micros(asked_at);
    // A clock that was set back must not prolong it.
    let waited = SystemTime::now().duration_since(asked).unwrap_or_default();
    time_out.saturating_sub(waited)
}
