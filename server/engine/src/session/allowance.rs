//! The budget of a session: reading, setting and raising it.
//!
//! Once a limit is used up, the running turn ends, prompts are refused, and those that wait go on
//! waiting, until the budget is raised.

use agents::Found;
use store::fold::{SessionFold, SessionNote, refold};
use wire::{Budget, ErrorName, Reached, SessionBudget, SessionId, SessionResponse};

use super::handle::Session;
use super::{SessionError, SessionManager, StartOptions};
use crate::budget::{BudgetNotSupported, check_reports};

/// Why a session's budget was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetBudgetError {
    /// There is no such session, or it can't be changed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session's model reports no figures for one of the limits.
    #[error(transparent)]
    NotSupported(#[from] BudgetNotSupported),
}

impl SetBudgetError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Session(error) => error.name(),
            Self::NotSupported(_) => ErrorName::BudgetNotSupported,
        }
    }
}

impl Session {
    /// How much it may use, and has used.
    pub fn budget(&self) -> SessionBudget {
        SessionBudget { budget: self.meter.budget(), spent: self.meter.spent() }
    }

    /// The limit that is used up. As long as there is one, prompts are refused or wait.
    pub fn budget_reached(&self) -> Option<Reached> {
        self.meter.used_up()
    }

    /// Checks that its model reports what a budget limits.
    pub(crate) fn check_budget(&self, budget: &Budget) -> Result<(), BudgetNotSupported> {
        check_reports(self.stream.capabilities().reports, &self.model(), budget)
    }

    /// Sets the budget on behalf of `by`, and returns when that is durable. What was used so far counts. Prompts that
    /// wait have their turns if it allows them.
    pub async fn set_budget(&self, budget: Budget, by: &str) -> Result<(), SetBudgetError> {
        self.check_budget(&budget)?;
        Ok(self.change_budget(budget, false, by).await?)
    }

    /// Raises each limit that is used up by what it was first set to, on behalf of `by`, and returns
    /// when that is durable. Does nothing if none is.
    pub async fn raise_budget(&self, by: &str) -> Result<(), SessionError> {
        let first = self.log.fold(SessionFold::first_budget).unwrap_or_default();
        let SessionBudget { mut budget, spent } = self.budget();
        while let Some(reached) = budget.reached(&spent) {
            let raised = budget.raised(reached.limit, &first, &spent);
            if raised == budget {
                // It can't grow any further.
                break;
            }
            budget = raised;
        }
        self.change_budget(budget, true, by).await
    }

    async fn change_budget(
        &self,
        budget: Budget,
        is_raise: bool,
        by: &str,
    ) -> Result<(), SessionError> {
        self.meter.set_budget(budget);
        self.log.note(&SessionNote::Budget { budget, is_raise });
        self.stream.budget_changed(by);
        self.queue.wake();
        Ok(self.live.durable(self.id).await?)
    }
}

impl SessionManager {
    /// How much a new session may use. One of a task has the budget of its task.
    pub(super) fn first_budget(
        &self,
        found: &Found,
        model: &str,
        options: &StartOptions,
    ) -> Result<Budget, BudgetNotSupported> {
        if options.task.is_some() {
            return Ok(Budget::default());
        }
        let budget = self.policy().budget();
        check_reports(found.backend.capabilities().reports, model, &budget)?;
        Ok(budget)
    }

    /// How much a session may use and has used, whether it is open or not. No agent is resumed.
    pub async fn budget(&self, id: SessionId) -> Result<SessionBudget, SessionError> {
        if let Ok(session) = self.get(id) {
            return Ok(session.budget());
        }
        let of_fold =
            |fold: &SessionFold| SessionBudget { budget: fold.budget(), spent: fold.spent() };
        if let Some(budget) = self.live().get(id).and_then(|log| log.fold(of_fold)) {
            return Ok(budget);
        }
        let journal = &**self.live().shared().journal();
        let fold = refold::<SessionResponse, SessionFold>(journal, id.into()).await?;
        fold.as_ref().map(of_fold).ok_or(SessionError::SessionNotFound)
    }
}
