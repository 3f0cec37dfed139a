//! The future that answers a message.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use agents::permission::{DeskRules, PendingQuestion, PermissionDesk, PermissionEvent, Safeguards};
use agents::tools::{CommandSettings, Workspace, WorkspaceSettings, workspace_tools};
use agents::{Found, ToolSet};
use platform::clock::iso_8601;
use tokio_util::sync::CancellationToken;
use wire::bridge::{
    ApprovalDecision, ApprovalRequest, Done, Event, Fragment, HistoryMessage, Inbound, Mode, Role,
    RunEnd,
};
use wire::{MessageId, PermissionMode};

use super::board::ActiveRun;
use super::pursue::Pursuit;
use super::settings::AgentRules;
use super::talk::{OnText, Talk};
use super::{BridgeError, Inner, instructions};
use crate::running::{Conclude, Handle};

/// The `source` of messages, for clients that show it.
const SOURCE: &str = "http";
/// Used if neither the message nor the project names a model.
const PREFERRED_MODEL: &str = "gpt-5.2";
const CANCELLED: &str = "cancelled";
/// The longest answer of one run, in bytes. The rest is dropped.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// A message and what is needed to answer it.
pub(super) struct Run {
    pub(super) bridge: Arc<Inner>,
    pub(super) id: MessageId,
    pub(super) session_id: String,
    pub(super) mode: Mode,
    pub(super) text: String,
    pub(super) max_steps: u32,
    /// The model that the message names, if any.
    pub(super) model: Option<String>,
    pub(super) rules: AgentRules,
    pub(super) safeguards: Safeguards,
    pub(super) stop: CancellationToken,
}

/// How a run ended, and the error if it failed.
type Ended = (RunEnd, Option<String>);

/// What is needed to end a run, even after a panic.
struct EndOfRun {
    bridge: Arc<Inner>,
    id: MessageId,
    session_id: String,
    ended: Ended,
}

impl Run {
    /// Adds the message to the history and publishes it.
    pub(super) fn announce(&self) -> Result<(), BridgeError> {
        let at = iso_8601(SystemTime::now());
        let mut board = self.bridge.board.lock();
        let active = ActiveRun {
            id: self.id,
            session_id: self.session_id.clone(),
            mode: self.mode,
            at: at.clone(),
            model: None,
            text: String::new(),
            desk: None,
            stop: self.stop.clone(),
        };
        let message = HistoryMessage {
            id: self.id,
            role: Role::User,
            text: self.text.clone(),
            at: at.clone(),
            mode: self.mode,
            model: None,
            reason: None,
            error: None,
        };
        board.begin(active, message)?;
        self.bridge.bus.push(&Event::Inbound(Inbound {
            id: self.id,
            text: self.text.clone(),
            source: SOURCE.to_owned(),
            session_id: self.session_id.clone(),
            mode: self.mode,
            at,
        }));
        Ok(())
    }

    /// Waits until the project is free, then answers. The end is published in any case.
    pub(super) async fn run(self) {
        let mut end = Handle::new(self.stop.clone()).ending(EndOfRun::new(&self));
        self.bridge.save(&self.session_id).await;
        let slot = self
            .bridge
            .board
            .lock()
            .project(&self.session_id)
            .map(|project| Arc::clone(&project.run_slot));
        let Some(slot) = slot else { return };
        // Held until everything is done: the next run must see what this one left.
        let _slot = self.stop.run_until_cancelled(slot.acquire_owned()).await;
        let mut talk = None;
        let ended = self.stop.run_until_cancelled(self.answer(&mut talk)).await;
        end.ended = match ended {
            Some(Ok(reason)) => (reason, None),
            Some(Err(problem)) => (RunEnd::Failed, Some(problem)),
            None => (RunEnd::Cancelled, Some(CANCELLED.to_owned())),
        };
        // Published now, since the model may take a while to shut down.
        end.conclude();
        if let Some(talk) = talk {
            talk.stop().await;
        }
        self.bridge.save(&self.session_id).await;
    }

    async fn answer(&self, open: &mut Option<Talk>) -> Result<RunEnd, String> {
        let (model, found) = self.choose_model().await?;
        let folder = {
            let mut board = self.bridge.board.lock();
            let run = board.run_mut(self.id).ok_or(CANCELLED)?;
            run.model = Some(model.clone());
            board.project(&self.session_id).ok_or(CANCELLED)?.path.clone()
        };
        let publisher = self.publisher(model.clone());
        let on_text: OnText = match self.mode {
            Mode::Prompt => Box::new({
                let publisher = publisher.clone();
                move |text| publisher.publish(text)
            }),
            // Its steps are published once they are parsed.
            Mode::Agent => Box::new(|_| {}),
        };
        let talk = Talk::start(found, &folder, on_text).await;
        let talk = open.insert(talk.map_err(|error| error.to_string())?);
        if self.mode == Mode::Prompt {
            let before = self.bridge.board.lock().context_before(&self.session_id, self.id);
            talk.turn(&instructions::prompt(&before, &self.text)).await?;
            return Ok(RunEnd::Done);
        }
        // The rules may have been narrowed while the message waited.
        let rules = self.rules.narrowed_by(&self.bridge.settings.read().agent);
        let roots = self.bridge.roots.clone();
        let guarded = self.safeguards.guarded.clone();
        let opened = tokio::task::spawn_blocking(move || {
            Workspace::open(&folder, &roots).map(|workspace| workspace.guarded(&guarded))
        });
        let opened = opened.await;
        let workspace = opened.map_err(|error| error.to_string())?;
        let workspace = workspace.map_err(|error| error.to_string())?;
        let tools = self.tools(workspace, model, &rules);
        let pursuit = Pursuit {
            talk,
            tools: &tools,
            max_steps: self.max_steps,
            commands: rules.allow_commands,
            emit: |text: &str| publisher.publish(text),
        };
        pursuit.run(&self.text).await
    }

    /// The model of the message, else of the project, else the preferred one, else the first free
    /// one, else any.
    async fn choose_model(&self) -> Result<(String, Found), String> {
        let catalog = &self.bridge.catalog;
        let of_project = || self.bridge.board.lock().project(&self.session_id)?.model.clone();
        let model = if let Some(model) = self.model.clone().or_else(of_project) {
            model
        } else {
            let models = catalog.models().await.models;
            let preferred = models.iter().find(|model| model.id == PREFERRED_MODEL);
            let free = || models.iter().find(|model| model.multiplier <= 0.0);
            let chosen = preferred.or_else(free).or(models.first());
            chosen.map(|model| model.id.clone()).ok_or("there is no model to answer")?
        };
        let found = catalog.find(&model).await;
        let found = found.ok_or_else(|| format!("unknown model: `{model}`"))?;
        Ok((model, found))
    }

    fn tools(&self, workspace: Workspace, model: String, rules: &AgentRules) -> ToolSet {
        let desk = self.desk(model, workspace.root(), rules.require_approval);
        let settings = WorkspaceSettings {
            workspace,
            permissions: Arc::new(desk),
            commands: CommandSettings {
                allowed: rules.allow_commands,
                secrets: rules.secrets.clone(),
                forbidden: self.bridge.no_commands.clone(),
            },
        };
        let tools = ToolSet::default();
        let added = tools.add_all(workspace_tools(settings));
        added.expect("the tools of a workspace have different names");
        tools
    }

    /// The desk at which the run's approval requests wait.
    fn desk(&self, model: String, folder: &Path, require_approval: bool) -> PermissionDesk {
        let mode = if require_approval { PermissionMode::Ask } else { PermissionMode::ApproveAll };
        let (bridge, run, session_id) =
            (Arc::clone(&self.bridge), self.id, self.session_id.clone());
        let rules = DeskRules {
            folder: folder.to_owned(),
            safeguards: self.safeguards.clone(),
            limit: self.bridge.limit.clone(),
            ..DeskRules::default()
        };
        let desk = PermissionDesk::new(mode, PermissionDesk::TIME_OUT, rules, move |event| {
            let mut board = bridge.board.lock();
            match event {
                PermissionEvent::Requested(PendingQuestion { asker, question }) => {
                    let request = ApprovalRequest {
                        approval_id: question.id,
                        id: run,
                        session_id: session_id.clone(),
                        model: model.clone(),
                        action: asker.tool.as_deref().unwrap_or_default().to_owned(),
                        kind: question.request.kind,
                        title: question.request.title,
                        path: question.request.path.unwrap_or_default(),
                        diff: question.request.diff,
                        content_preview: question.request.detail,
                    };
                    board.ask(request.clone());
                    bridge.bus.push(&Event::ApprovalRequest(request));
                }
                PermissionEvent::Resolved { id, outcome } => {
                    board.settle(id);
                    bridge.bus.push(&Event::ApprovalDecision(ApprovalDecision {
                        approval_id: id,
                        approved: outcome.is_approved(),
                        outcome,
                        id: run,
                        session_id: session_id.clone(),
                    }));
                }
            }
        });
        if let Some(run) = self.bridge.board.lock().run_mut(self.id) {
            run.desk = Some(desk.clone());
        }
        desk
    }

    fn publisher(&self, model: String) -> Publisher {
        Publisher {
            bridge: Arc::clone(&self.bridge),
            id: self.id,
            session_id: self.session_id.clone(),
            model,
            stop: self.stop.clone(),
        }
    }
}

/// Publishes an answer piece by piece.
#[derive(Clone)]
struct Publisher {
    bridge: Arc<Inner>,
    id: MessageId,
    session_id: String,
    model: String,
    stop: CancellationToken,
}

impl Publisher {
    fn publish(&self, fragment: &str) {
        let mut board = self.bridge.board.lock();
        // Nothing is published after a cancellation, whatever still comes.
        let Some(run) = board.run_mut(self.id).filter(|_| !self.stop.is_cancelled()) else {
            return;
        };
        if run.text.len() + fragment.len() > MAX_ANSWER {
            return;
        }
        run.text.push_str(fragment);
        self.bridge.bus.push(&Event::Fragment(Fragment {
            id: self.id,
            fragment: fragment.to_owned(),
            model: self.model.clone(),
            session_id: self.session_id.clone(),
        }));
    }
}

impl EndOfRun {
    /// Assumes a panic: `ended` is replaced at a regular end.
    fn new(run: &Run) -> Self {
        Self {
            bridge: Arc::clone(&run.bridge),
            id: run.id,
            session_id: run.session_id.clone(),
            ended: (RunEnd::Failed, Some("internal error".to_owned())),
        }
    }
}

impl Conclude for EndOfRun {
    fn conclude(&mut self) {
        let (reason, error) = self.ended.clone();
        let mut board = self.bridge.board.lock();
        let Some(run) = board.end(self.id, reason, error.clone()) else { return };
        self.bridge.bus.push(&Event::Done(Done {
            id: self.id,
            model: run.model,
            session_id: self.session_id.clone(),
            reason,
            error,
        }));
    }
}
