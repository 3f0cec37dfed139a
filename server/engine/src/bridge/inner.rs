//! What the bridge, its sessions and its readers share.

use std::path::Path;
use std::sync::{Arc, Weak};

use agents::Found;
use agents::permission::{ModeLimit, PermissionDesk, SessionPermissions};
use agents::tools::{CommandSettings, RootsLimit, Workspace};
use async_trait::async_trait;
use parking_lot::RwLock;
use platform::lifecycle::Lifecycle;
use store::fold::{ProjectLink, ProjectState, SessionFold};
use store::journal::{Journal, Position, StoreError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wire::bridge::{ProjectMessage, Role};
use wire::{MessageId, PermissionMode, SessionId, SessionResponse};

use super::action_agent::{ActionBackend, Surroundings};
use super::error::BridgeError;
use super::history::History;
use super::place::event_id;
use super::project::{self, PREFERRED_MODEL, Project, default_model};
use super::reading::Reading;
use super::settings::{AgentRules, BridgeSettings, WorkspaceFolder};
use super::source::Source;
use crate::budget::check_support;
use crate::session::{Hosting, ProjectHost, Session, SessionError, SessionManager};

/// How many runs of one project may wait or be running.
pub(super) const MAX_RUNS: usize = 16;

/// The part of the bridge that its sessions and readers share.
pub(super) struct Inner {
    pub(super) sessions: Arc<SessionManager>,
    pub(super) lifecycle: Lifecycle,
    pub(super) settings: RwLock<Arc<BridgeSettings>>,
    /// Limits the permission mode of all runs.
    pub(super) limit: ModeLimit,
    /// Limits the folders that all runs may use.
    pub(super) roots: RootsLimit,
    /// Cancelled once commands are forbidden; that is final.
    pub(super) no_commands: CancellationToken,
    pub(super) projects: RwLock<Vec<Arc<Project>>>,
    /// Notified when a project has another session, and when there are other projects.
    pub(super) news: watch::Sender<()>,
    /// Cancelled when no more messages are accepted.
    pub(super) closing: CancellationToken,
    /// Cancelled when all runs have ended with the server.
    pub(super) ended: CancellationToken,
    this: Weak<Self>,
}

impl Inner {
    /// Opens the projects of the settings.
    pub(super) fn new(
        settings: BridgeSettings,
        sessions: Arc<SessionManager>,
        lifecycle: Lifecycle,
    ) -> Arc<Self> {
        let limit = ModeLimit::default();
        if settings.agent.require_approval {
            limit.narrow(PermissionMode::Ask);
        }
        let projects = settings.workspaces.iter().map(Project::new).map(Arc::new).collect();
        let inner = Arc::new_cyclic(|this| Self {
            this: this.clone(),
            lifecycle,
            roots: settings.agent.allowed_roots.clone().into(),
            settings: RwLock::new(Arc::new(settings)),
            limit,
            no_commands: CancellationToken::new(),
            projects: RwLock::new(projects),
            news: watch::Sender::new(()),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
            sessions,
        });
        inner.sessions.host_projects(inner.this.clone());
        inner
    }

    pub(super) fn journal(&self) -> &dyn Journal {
        &**self.sessions.live().shared().journal()
    }

    pub(super) fn listed(&self) -> Vec<Arc<Project>> {
        self.projects.read().iter().filter(|project| project.is_listed()).cloned().collect()
    }

    /// The listed project with this id or absolute path.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Project>, BridgeError> {
        let mut listed = self.listed().into_iter();
        listed
            .find(|project| project.id == id || same_folder(&project.path, id))
            .ok_or_else(|| BridgeError::SessionNotFound(id.to_owned()))
    }

    /// The project for messages that name none.
    pub(super) fn first(&self) -> Result<Arc<Project>, BridgeError> {
        let first = self.listed().into_iter().next();
        first.ok_or_else(|| BridgeError::SessionNotFound(String::new()))
    }

    /// Applies other settings: updates known projects, adds new ones, and unlists those not named.
    pub(super) fn relist(&self, folders: &[WorkspaceFolder]) {
        let mut projects = self.projects.write();
        for folder in folders {
            if !projects.iter().any(|project| project.id == folder.id()) {
                projects.push(Arc::new(Project::new(folder)));
            }
        }
        let place = |project: &Project| folders.iter().position(|folder| folder.id() == project.id);
        for project in &*projects {
            project.relist(place(project).map(|place| &folders[place]));
        }
        projects.sort_by_key(|project| place(project).unwrap_or(usize::MAX));
    }

    /// The newest session of each project.
    pub(super) async fn current_sessions(&self) -> Result<Vec<SessionId>, BridgeError> {
        let projects = self.projects.read().clone();
        let mut sessions = Vec::new();
        for project in projects {
            sessions.extend(project.chain(self.journal()).await?.sessions.last());
        }
        Ok(sessions)
    }

    /// What a session is to its project.
    pub(super) async fn state(
        &self,
        session: SessionId,
    ) -> Result<Option<ProjectState>, StoreError> {
        match self.sessions.live().get(session).and_then(|log| log.fold(SessionFold::project)) {
            Some(state) => Ok(state),
            None => project::state_of(self.journal(), session).await,
        }
    }

    pub(super) async fn is_unanswered(&self, session: SessionId) -> bool {
        let log = self.sessions.load_log(session).await;
        log.and_then(|log| log.fold(SessionFold::has_unanswered)).unwrap_or_default()
    }

    /// The sessions of a chain from the one on in which it was last cleared.
    pub(super) async fn since_clearing<'a>(
        &self,
        chain: &'a [SessionId],
    ) -> Result<&'a [SessionId], StoreError> {
        for (index, session) in chain.iter().enumerate().rev() {
            if self.state(*session).await?.is_some_and(|state| state.is_cleared) {
                return Ok(&chain[index..]);
            }
        }
        Ok(chain)
    }

    /// The history of a project, and the id of the last event in it.
    pub(super) async fn history(&self, project: &Project) -> Result<(History, String), StoreError> {
        let mut history = History::default();
        let chain = project.chain(self.journal()).await?.sessions;
        let everything = Position::default();
        let mut reading = Reading::new(&project.id, "");
        for session in self.since_clearing(&chain).await? {
            reading = Reading::new(&project.id, &default_model(project));
            let mut source = Source::open(&self.sessions, *session).await?;
            while let Some((at, response)) = source.next() {
                if let Some(event) = reading.take(at, &response, &everything) {
                    history.apply(event);
                }
            }
        }
        Ok((history, event_id(&project.id, chain.last().copied(), &reading.place())))
    }

    /// The model of messages that name none, in projects that name none: the preferred one, else
    /// the first free one, else any.
    pub(super) async fn default_model(&self) -> Option<String> {
        let models = self.sessions.catalog().models().await.models;
        let preferred = models.iter().find(|model| model.id == PREFERRED_MODEL);
        let free = || models.iter().find(|model| model.multiplier <= 0.0);
        let chosen = preferred.or_else(free).or(models.first());
        chosen.map(|model| model.id.clone())
    }

    pub(super) async fn send(
        &self,
        project: &Project,
        message: ProjectMessage,
        draft: Option<MessageId>,
    ) -> Result<(), BridgeError> {
        let id = message.id;
        let one_at_a_time = project.changing.lock().await;
        if let Some(draft) = draft {
            self.check_draft(project, draft).await?;
        }
        let session = self.open_session(project, message.model.as_deref()).await?;
        if session.unfinished() >= MAX_RUNS {
            return Err(BridgeError::TooManyRuns);
        }
        if let Some(model) = &message.model {
            let catalog = self.sessions.catalog();
            check_support(catalog, model, &session.budget().budget).await?;
        }
        let session = match session.send_message(message.clone()) {
            // It has ended or was parked just now.
            Err(SessionError::SessionNotFound) => {
                let session = self.open_session(project, message.model.as_deref()).await?;
                session.send_message(message)?;
                session
            }
            sent => {
                sent?;
                session
            }
        };
        if let Some(draft) = draft {
            // Before the lock is released: a draft is sent once, whoever else sends it.
            self.take_draft(session.id(), draft).await?;
        }
        drop(one_at_a_time);
        Ok(session.keep_message(id).await?)
    }

    /// The newest session of a project, or a new one if that has ended. The caller keeps others from
    /// changing the project.
    pub(super) async fn open_session(
        &self,
        project: &Project,
        model: Option<&str>,
    ) -> Result<Arc<Session>, BridgeError> {
        let chain = project.chain(self.journal()).await?;
        let previous = chain.sessions.last().copied();
        if let Some(id) = previous {
            match self.sessions.find(id).await {
                Ok(session) => return Ok(session),
                Err(SessionError::SessionNotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let continued_from = match previous {
            Some(id) => self.state(id).await?.filter(|state| state.messages > 0).map(|_| id),
            None => None,
        };
        let link = ProjectLink { id: project.id.clone(), created: chain.created.clone(), previous };
        let model = model.map_or_else(|| default_model(project), str::to_owned);
        let started =
            self.sessions.start_in_project(&model, project.path.clone(), link, continued_from);
        let session = started.await?;
        project.add(session.id());
        self.news.send_replace(());
        Ok(session)
    }

    pub(super) async fn clear(&self, project: &Project) -> Result<(), BridgeError> {
        let _one_at_a_time = project.changing.lock().await;
        let session = self.open_session(project, None).await?;
        let was_used = self.state(session.id()).await?.is_some_and(|state| state.messages > 0);
        // What was said before is not read any more, but drafts wait until somebody takes them.
        let drafts = self.drafts(project).await?;
        let cleared = std::iter::once(SessionResponse::ProjectCleared);
        let facts = cleared.chain(drafts.into_iter().map(SessionResponse::ProjectDraft));
        self.sessions.keep_of_project(session.id(), facts).await?;
        // Runs that have not ended go on, and so does their session.
        if was_used && session.unfinished() == 0 {
            // If it has ended by itself meanwhile, that is as good.
            let _ = self.sessions.stop(session.id()).await;
        }
        Ok(())
    }
}

impl ProjectHost for Inner {
    fn hosting(&self, project: &str) -> Option<Hosting> {
        self.projects.read().iter().find(|known| known.id == project)?;
        let require_approval = self.settings.read().agent.require_approval;
        let mode = if require_approval { PermissionMode::Ask } else { PermissionMode::ApproveAll };
        Some(Hosting {
            backend: Arc::new(ActionBackend {
                project: project.to_owned(),
                surroundings: self.this.clone(),
                lifecycle: self.lifecycle.clone(),
            }),
            permissions: SessionPermissions {
                mode,
                approve_files: Vec::new(),
                limit: self.limit.clone(),
            },
            time_out: PermissionDesk::TIME_OUT,
        })
    }
}

#[async_trait]
impl Surroundings for Inner {
    async fn find_model(&self, model: Option<&str>) -> Result<Found, String> {
        let model = match model {
            Some(model) => model.to_owned(),
            None => self.default_model().await.ok_or("there is no model to answer")?,
        };
        let found = self.sessions.catalog().find(&model).await;
        found.ok_or_else(|| format!("unknown model: `{model}`"))
    }

    async fn context(&self, project: &str) -> Result<Vec<(Role, String)>, String> {
        let project = self.projects.read().iter().find(|known| known.id == project).cloned();
        let Some(project) = project else { return Ok(Vec::new()) };
        let (history, _) = self.history(&project).await.map_err(|error| error.to_string())?;
        Ok(history.context())
    }

    fn rules(&self) -> AgentRules {
        self.settings.read().agent.clone()
    }

    fn open_folder(&self, folder: &Path) -> Result<Workspace, String> {
        let guarded = self.settings.read().safeguards.guarded.clone();
        let opened = Workspace::open(folder, &self.roots);
        opened.map(|opened| opened.guarded(&guarded)).map_err(|error| error.to_string())
    }

    fn commands(&self, rules: &AgentRules) -> CommandSettings {
        CommandSettings {
            allowed: rules.allow_commands,
            secrets: rules.secrets.clone(),
            forbidden: self.no_commands.clone(),
        }
    }
}

/// Whether a path from a client names this folder, with or without a trailing slash.
fn same_folder(path: &Path, given: &str) -> bool {
    Path::new(given).is_absolute() && path.components().eq(Path::new(given).components())
}
