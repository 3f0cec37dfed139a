//! Budgets: what tasks, jobs and sessions use, and when that is too much.
//!
//! A [`Meter`] counts for one task, job or session. Whatever a task's meter counts, its job's counts
//! as well, so each task has what is left of the job's budget.
//!
//! ```text
//!   begin_turn, add ──▶ Meter of a task ──▶ Meter of its job      Meter of a session ◀── the same
//!                          │ exhausted: the turn is aborted          │
//!                          └─ Ledger: noted in the log               └─ the log has it anyway
//! ```
//!
//! Turns, tokens and cost add up; minutes are each one's own, because the tasks of a job can run at
//! the same time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agents::{Catalog, ReportedUsage};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use wire::{Budget, BudgetLimit, Reached, Spent, Usage};

const MINUTE: f64 = 60.0;

/// Takes notes of what was used since the last note.
pub(crate) type Ledger = Box<dyn Fn(Spent) + Send + Sync>;

/// Counts what is used, and knows when it is too much.
pub(crate) struct Meter {
    state: Mutex<State>,
    parent: Option<Arc<Meter>>,
    ledger: Option<Ledger>,
    /// Notified when more was used or the budget has changed, here or in the parent.
    changed: Arc<Notify>,
}

struct State {
    budget: Budget,
    /// Without the time since `running_since`.
    spent: Spent,
    running_since: Option<Instant>,
    /// The part of `spent` that is in the ledger.
    noted: Spent,
}

impl State {
    /// Takes over the time until now.
    fn advance(&mut self) -> Spent {
        if let Some(since) = &mut self.running_since {
            let now = Instant::now();
            self.spent.minutes += minutes(now - *since);
            *since = now;
        }
        self.spent
    }
}

impl Meter {
    /// A meter that goes on from what was used before. Its clock does not run yet.
    pub(crate) fn new(budget: Budget, before: Spent) -> Self {
        let state = State { budget, spent: before, running_since: None, noted: before };
        Self { state: Mutex::new(state), parent: None, ledger: None, changed: Arc::default() }
    }

    /// Whatever this one counts, the parent counts as well, and its limits are this one's, too.
    pub(crate) fn within(mut self, parent: Option<Arc<Meter>>) -> Self {
        if let Some(parent) = &parent {
            self.changed = parent.changed.clone();
        }
        self.parent = parent;
        self
    }

    /// What is used is noted here.
    pub(crate) fn noted_in(mut self, ledger: impl Fn(Spent) + Send + Sync + 'static) -> Self {
        self.ledger = Some(Box::new(ledger));
        self
    }

    /// The time counts from now on, until the pass is dropped.
    pub(crate) fn run(self: &Arc<Self>) -> Running {
        self.state.lock().running_since = Some(Instant::now());
        self.changed.notify_waiters();
        Running(self.clone())
    }

    /// How much may be used.
    pub(crate) fn budget(&self) -> Budget {
        self.state.lock().budget
    }

    /// Replaces the budget. What was used still counts.
    pub(crate) fn set_budget(&self, budget: Budget) {
        self.state.lock().budget = budget;
        self.changed.notify_waiters();
    }

    /// What was used so far.
    pub(crate) fn spent(&self) -> Spent {
        self.state.lock().advance()
    }

    /// Counts a turn that begins, unless a limit is used up.
    pub(crate) fn begin_turn(&self) -> Result<(), Reached> {
        let turn = Spent { turns: 1, ..Spent::default() };
        self.count(turn, true)?;
        self.note();
        Ok(())
    }

    /// Counts a turn that begins whatever the budget says.
    pub(crate) fn add_turn(&self) {
        let _ = self.count(Spent { turns: 1, ..Spent::default() }, false);
        self.note();
    }

    /// Counts what a request to a model used.
    pub(crate) fn add(&self, usage: Usage) {
        // It was used, so it counts even if it is too much.
        let _ = self.count(usage.into(), false);
        self.note();
    }

    /// Counts here and in the parent, or, if it is checked and a limit is used up, nowhere.
    fn count(&self, more: Spent, is_checked: bool) -> Result<(), Reached> {
        {
            let mut state = self.state.lock();
            let spent = state.advance();
            if is_checked && let Some(reached) = state.budget.reached(&spent) {
                return Err(reached);
            }
            if let Some(parent) = &self.parent {
                parent.count(more, is_checked)?;
            }
            state.spent += more;
        }
        self.changed.notify_waiters();
        Ok(())
    }

    /// Notes what was used since the last note, here and in the parent.
    pub(crate) fn note(&self) {
        if let Some(ledger) = &self.ledger {
            // Under the lock, so that the notes add up to what was used.
            let mut state = self.state.lock();
            let (spent, noted) = (state.advance(), state.noted);
            let since = Spent {
                minutes: rounded(spent.minutes - noted.minutes),
                turns: spent.turns - noted.turns,
                tokens: spent.tokens - noted.tokens,
                cost: rounded(spent.cost - noted.cost),
            };
            if !since.is_empty() {
                ledger(since);
                state.noted += since;
            }
        }
        if let Some(parent) = &self.parent {
            parent.note();
        }
    }

    /// The limit that keeps another turn from beginning, if any is used up.
    pub(crate) fn used_up(&self) -> Option<Reached> {
        let own = {
            let mut state = self.state.lock();
            let spent = state.advance();
            state.budget.reached(&spent)
        };
        own.or_else(|| self.parent.as_ref()?.used_up())
    }

    /// The limit that ends a running turn, if any is used up. The number of turns is none of them:
    /// the last one that is allowed may finish.
    fn overrun(&self) -> Option<Reached> {
        let own = {
            let mut state = self.state.lock();
            let spent = state.advance();
            let limits = [BudgetLimit::Minutes, BudgetLimit::Tokens, BudgetLimit::Cost];
            limits.into_iter().find_map(|limit| state.budget.reached_limit(limit, &spent))
        };
        own.or_else(|| self.parent.as_ref()?.overrun())
    }

    /// Returns when a limit is used up that ends a running turn. Cancel safe.
    pub(crate) async fn exhausted(&self) -> Reached {
        loop {
            // Before the look, or a change in between is missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(reached) = self.overrun() {
                return reached;
            }
            match self.time_left() {
                Some(left) => tokio::select! {
                    () = changed => {}
                    () = sleep(left) => {}
                },
                None => changed.await,
            }
        }
    }

    /// How long its clock and its parent's may still run; `None` if that is not limited.
    fn time_left(&self) -> Option<Duration> {
        let own = {
            let mut state = self.state.lock();
            let spent = state.advance();
            let allowed = state.budget.minutes.filter(|_| state.running_since.is_some());
            allowed.and_then(|allowed| {
                let seconds = ((allowed.get() - spent.minutes) * MINUTE).max(0.0);
                // Rounded up, or it would be looked at again and again just before the end. A time
                // that overflows never comes.
                Duration::try_from_secs_f64(seconds + 0.001).ok()
            })
        };
        let of_parent = self.parent.as_ref().and_then(|parent| parent.time_left());
        own.into_iter().chain(of_parent).min()
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Meter")
            .field("budget", &state.budget)
            .field("spent", &state.spent)
            .finish_non_exhaustive()
    }
}

/// The clock of a meter runs until this is dropped.
pub(crate) struct Running(Arc<Meter>);

impl Drop for Running {
    fn drop(&mut self) {
        {
            let mut state = self.0.state.lock();
            state.advance();
            state.running_since = None;
        }
        self.0.note();
    }
}

/// Millionths: a number with few digits is read from the store exactly as it was written.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / MINUTE
}

/// A limit that can't be kept, because the model's provider does not report what it would take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider of the model `{model}` does not report what a budget needs that limits: {}", limit.name())]
pub struct BudgetNotSupported {
    /// Id of the model, as the client or the entry names it.
    pub model: String,
    /// The limit that can't be kept.
    pub limit: BudgetLimit,
}

/// Checks that a model's provider reports what a budget limits. A model that is unknown is not
/// judged: whoever starts it will find out.
pub(crate) async fn check_support(
    catalog: &Catalog,
    model: &str,
    budget: &Budget,
) -> Result<(), BudgetNotSupported> {
    if budget.tokens.is_none() && budget.cost.is_none() {
        return Ok(());
    }
    match catalog.find(model).await {
        Some(found) => check_reports(found.backend.capabilities().reports, model, budget),
        None => Ok(()),
    }
}

/// Checks that what a model's provider reports suffices for a budget.
pub(crate) fn check_reports(
    reports: ReportedUsage,
    model: &str,
    budget: &Budget,
) -> Result<(), BudgetNotSupported> {
    let mut limits = BudgetLimit::ALL.into_iter();
    match limits.find(|limit| budget.allowed(*limit).is_some() && !reports.covers(*limit)) {
        Some(limit) => Err(BudgetNotSupported { model: model.to_owned(), limit }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
