//! The one CLI that all sessions share: started on first use, and again after it has died.

use std::sync::Arc;

use agents::AgentError;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::find::Places;
use super::runtime::Runtime;
use crate::settings::CopilotSettings;

/// Starts and keeps the CLI.
pub(super) struct Launcher {
    settings: Arc<CopilotSettings>,
    state: Mutex<State>,
    /// Cancelled by [`Self::close`], which also ends a start that is under way.
    closed: CancellationToken,
}

enum State {
    Stopped,
    /// The start continues even if nobody waits for it: unpacking takes longer than people wait.
    Starting(Start),
    Running(Arc<Runtime>),
    Closed,
}

type Start = Shared<BoxFuture<'static, Result<Arc<Runtime>, AgentError>>>;

impl Launcher {
    pub(super) fn new(settings: Arc<CopilotSettings>) -> Self {
        let state = Mutex::new(State::Stopped);
        Self { settings, state, closed: CancellationToken::new() }
    }

    /// The running CLI, or a new one. Concurrent callers share one start; a failed start is not
    /// remembered. Cancel safe.
    pub(super) async fn get(&self) -> Result<Arc<Runtime>, AgentError> {
        let start = match self.begin()? {
            Begun::Running(runtime) => return Ok(runtime),
            Begun::Starting(start) => start,
        };
        let outcome = start.clone().await;
        let mut state = self.state.lock();
        if matches!(&*state, State::Starting(current) if current.ptr_eq(&start)) {
            *state = match &outcome {
                Ok(runtime) => State::Running(runtime.clone()),
                Err(_) => State::Stopped,
            };
        }
        outcome
    }

    fn begin(&self) -> Result<Begun, AgentError> {
        let mut state = self.state.lock();
        match &*state {
            State::Running(runtime) if !runtime.is_dead() => {
                return Ok(Begun::Running(runtime.clone()));
            }
            State::Starting(start) => match start.peek() {
                None => return Ok(Begun::Starting(start.clone())),
                Some(Ok(runtime)) if !runtime.is_dead() => {
                    return Ok(Begun::Running(runtime.clone()));
                }
                // It failed after nobody waited for it any more.
                Some(_) => {}
            },
            State::Closed => {
                return Err(AgentError::Unavailable("the portal is stopping".to_owned()));
            }
            State::Running(_) | State::Stopped => {}
        }
        let start = start(self.settings.clone(), self.closed.child_token());
        *state = State::Starting(start.clone());
        Ok(Begun::Starting(start))
    }

    /// Ends the CLI unless others use it as well, so that the next caller gets a new one.
    pub(super) async fn retire(&self, runtime: &Arc<Runtime>) {
        {
            let mut state = self.state.lock();
            let State::Running(current) = &*state else { return };
            // One reference is held here, one by the caller.
            if !Arc::ptr_eq(current, runtime) || Arc::strong_count(runtime) > 2 {
                return;
            }
            *state = State::Stopped;
        }
        runtime.close().await;
    }

    /// Ends the CLI for good.
    pub(super) async fn close(&self) {
        let state = std::mem::replace(&mut *self.state.lock(), State::Closed);
        match state {
            State::Running(runtime) => runtime.close().await,
            State::Starting(start) => {
                self.closed.cancel();
                if let Ok(runtime) = start.await {
                    runtime.close().await;
                }
            }
            State::Stopped | State::Closed => {}
        }
    }
}

enum Begun {
    Running(Arc<Runtime>),
    Starting(Start),
}

fn start(settings: Arc<CopilotSettings>, end: CancellationToken) -> Start {
    let work = AbortOnDropHandle::new(tokio::spawn(async move {
        let program = locate(&settings)?;
        let runtime = Runtime::start(&program, &settings, end).await;
        let runtime = runtime.map_err(|reason| {
            tracing::warn!(reason, "the Copilot CLI can't be used");
            AgentError::Unavailable(format!("the Copilot CLI can't be used: {reason}"))
        });
        runtime.map(Arc::new)
    }));
    let outcome = async move {
        let broken = |_| Err(AgentError::Unavailable("internal error".to_owned()));
        work.await.unwrap_or_else(broken)
    };
    outcome.boxed().shared()
}

fn locate(settings: &CopilotSettings) -> Result<std::path::PathBuf, AgentError> {
    let found = Places::new(settings.cli.clone()).find().map_err(AgentError::Unavailable)?;
    found.ok_or_else(|| AgentError::Unavailable(NOT_INSTALLED.to_owned()))
}

/// What to do if no CLI is installed.
pub(super) const NOT_INSTALLED: &str = "there is no Copilot CLI: install it with \
    `npm install -g @github/copilot`, or name it in the setting copilot.cliPath";
