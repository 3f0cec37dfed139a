//! A conversation with the CLI's agent.
//!
//! ```text
//!   run_turn ─► send ─► CLI ─► events ─► follow ─► Reader ─► AgentEvents
//!      ▲                │                  │
//!      │                ├─► Asker, Bridge  └─► Turns: begun, idle, dead
//!      └────────────────┴───────────────────────┘
//! ```

use std::sync::Arc;
use std::time::Duration;

use agents::{
    AgentError, AgentEvent, AgentEvents, AgentSession, AgentSettings, AllowedExtensions,
    Attachments, Loaded, ResumeError, SessionHandle,
};
use async_trait::async_trait;
use futures_util::future::{Fuse, FutureExt};
use github_copilot_sdk::session::{PreparedSession, Session};
use github_copilot_sdk::subscription::{EventSubscription, RecvErrorKind};
use github_copilot_sdk::types::{
    Attachment, MessageOptions, ProviderConfig, ResumeSessionConfig, SessionId,
};
use github_copilot_sdk::{Client, Error as SdkError, ErrorKind, SessionConfig};
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::events::Reader;
use super::permission::Asker;
use super::runtime::Runtime;
use super::tools;
use super::turn::{Died, Turns};
use crate::settings::CopilotSettings;

/// Capacity of the event channel. Events are read at once, but none may be lost while the machine
/// stalls for a moment. The whole capacity is allocated when a session starts.
const EVENT_BUFFER: usize = 4096;
/// How long the CLI may take to become idle after an abort.
const ABORT_TIME: Duration = Duration::from_secs(1);
/// How long the CLI may take to end a session.
const GOODBYE: Duration = Duration::from_secs(1);

/// One conversation with the CLI's agent.
pub(super) struct Conversation {
    session: Arc<Session>,
    runtime: Arc<Runtime>,
    turns: Arc<Turns>,
    attachments: Arc<dyn Attachments>,
    /// Reads the events until the conversation is over.
    follower: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl Conversation {
    /// Begins a conversation with a model that is known to exist.
    pub(super) async fn start(
        runtime: Arc<Runtime>,
        settings: AgentSettings,
        copilot: &CopilotSettings,
    ) -> Result<Self, AgentError> {
        let opening = Opening::new(runtime, settings, copilot).await?;
        opening.open(Reader::default(), Client::prepare_session).await
    }

    /// Continues a conversation that the CLI has kept, after so many model rounds.
    pub(super) async fn resume(
        runtime: Arc<Runtime>,
        settings: AgentSettings,
        copilot: &CopilotSettings,
        handle: &SessionHandle,
        rounds: u32,
    ) -> Result<Self, ResumeError> {
        let opening = Opening::new(runtime, settings, copilot).await?;
        let id = SessionId::new(handle.as_str());
        let prepare = |client: &Client, config| client.prepare_resume_session(resuming(id, config));
        opening.open(Reader::after(u64::from(rounds)), prepare).await
    }

    /// A prompt with its attachments. The CLI keeps the images with its conversation.
    async fn message(&self, prompt: &str) -> MessageOptions {
        let loaded = Loaded::load([prompt].into_iter(), &*self.attachments).await;
        let mut message = MessageOptions::new(loaded.complete(prompt));
        let blobs = loaded.images(prompt).map(|named| Attachment::Blob {
            data: named.image.base64(),
            mime_type: named.image.media_type.to_owned(),
            display_name: Some(named.name.to_owned()),
        });
        let blobs: Vec<_> = blobs.collect();
        message.attachments = (!blobs.is_empty()).then_some(blobs);
        message
    }

    async fn answer(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        let crashed = |Died(reason)| AgentError::Crashed(reason);
        let Some(turn) = abort.run_until_cancelled(self.turns.begin()).await else {
            return Ok(());
        };
        let turn = turn.map_err(crashed)?;
        let sending = async { self.session.send(self.message(prompt).await).await };
        match abort.run_until_cancelled(sending).await {
            Some(Ok(message_id)) => turn.sent(message_id),
            Some(Err(error)) => {
                // A broken pipe means that the CLI has died; the reason follows in a moment.
                return match timeout(ABORT_TIME, turn.finished()).await {
                    Ok(Err(died)) => Err(crashed(died)),
                    _ => Err(AgentError::Failed(format!("the prompt was not taken: {error}"))),
                };
            }
            None => turn.abort(),
        }
        tokio::select! {
            ended = turn.finished() => return ended.map_err(crashed),
            () = abort.cancelled() => turn.abort(),
        }
        turn.finished().await.map_err(crashed)
    }
}

#[async_trait]
impl AgentSession for Conversation {
    fn handle(&self) -> Option<SessionHandle> {
        Some(SessionHandle::new(self.session.id().as_str()))
    }

    async fn run_turn(&self, prompt: &str, abort: &CancellationToken) -> Result<(), AgentError> {
        self.answer(prompt, abort).await
    }

    async fn stop(&self) {
        self.turns.end();
        if !self.runtime.is_dead() {
            let freed = timeout(GOODBYE, async {
                self.session.disconnect().await?;
                let request = github_copilot_sdk::rpc::SessionsCloseRequest {
                    session_id: self.session.id().clone(),
                };
                self.runtime.client.rpc().sessions().close(request).await
            });
            match freed.await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "the Copilot CLI did not end a session"),
                Err(_) => tracing::debug!("the Copilot CLI did not end a session in time"),
            }
        }
        let follower = self.follower.lock().take();
        if let Some(follower) = follower {
            follower.abort();
            // It was just told to end; how it ends does not matter.
            let _ = follower.await;
        }
    }
}

/// A conversation that the CLI has not been told about yet.
struct Opening {
    runtime: Arc<Runtime>,
    turns: Arc<Turns>,
    events: AgentEvents,
    attachments: Arc<dyn Attachments>,
    config: SessionConfig,
    /// How long the CLI may take to open the session.
    limit: Duration,
}

impl Opening {
    async fn new(
        runtime: Arc<Runtime>,
        settings: AgentSettings,
        copilot: &CopilotSettings,
    ) -> Result<Self, AgentError> {
        let turns = Arc::new(Turns::new());
        let events = one_by_one(settings.events.clone());
        let mut config = SessionConfig::default();
        config.tools = Some(tools::register(&settings.tools, &events, &turns)?);
        if !settings.own_tools {
            config.available_tools = Some(vec!["custom:*".to_owned()]);
        }
        config.model = Some(settings.model);
        config.client_name = Some("copilot-portal".to_owned());
        config.streaming = Some(true);
        config.include_sub_agent_streaming_events = Some(false);
        config.event_buffer_capacity = Some(EVENT_BUFFER);
        // The CLI starts them itself, and asks once whether it may.
        config.request_extensions = Some(settings.extensions == AllowedExtensions::All);
        config.permission_handler = Some(Arc::new(Asker {
            handler: settings.permissions,
            owner: settings.tools.owner(),
            extensions: settings.extensions,
            working_directory: settings.working_directory.clone(),
            turns: turns.clone(),
        }));
        config.working_directory = Some(settings.working_directory);
        config.provider = provider(copilot).await?;
        let attachments = settings.attachments;
        Ok(Self { runtime, turns, events, attachments, config, limit: copilot.limits.session })
    }

    /// Makes the CLI start or resume the prepared session.
    async fn open<E: Refusal>(
        self,
        reader: Reader,
        prepare: impl FnOnce(&Client, SessionConfig) -> Result<PreparedSession, SdkError>,
    ) -> Result<Conversation, E> {
        let Self { runtime, turns, events, attachments, config, limit } = self;
        let prepared = prepare(&runtime.client, config).map_err(E::from_cli)?;
        let subscription = prepared.subscribe();
        let started = tokio::select! {
            started = timeout(limit, prepared.start()) => started,
            reason = runtime.died() => return Err(AgentError::Unavailable(reason).into()),
        };
        let session = started.map_err(|_| {
            let seconds = limit.as_secs();
            AgentError::Unavailable(format!("the Copilot CLI started no session in {seconds} s"))
        })?;
        let session = Arc::new(session.map_err(E::from_cli)?);
        let follower = Follower {
            session: session.clone(),
            runtime: runtime.clone(),
            turns: turns.clone(),
            events,
        };
        let follower = AbortOnDropHandle::new(tokio::spawn(follower.follow(reader, subscription)));
        let follower = Mutex::new(Some(follower));
        Ok(Conversation { session, runtime, turns, attachments, follower })
    }
}

/// Maps an error of the SDK to one for the caller.
trait Refusal: From<AgentError> {
    fn from_cli(error: SdkError) -> Self;
}

impl Refusal for AgentError {
    fn from_cli(error: SdkError) -> Self {
        Self::Unavailable(format!("the Copilot CLI started no session: {error}"))
    }
}

impl Refusal for ResumeError {
    fn from_cli(error: SdkError) -> Self {
        let reason = format!("the Copilot CLI did not resume the session: {error}");
        match error.kind() {
            // The CLI has answered, and would answer the same again.
            ErrorKind::Rpc { .. } | ErrorKind::Session(_) => Self::Refused(reason),
            _ => Self::Agent(AgentError::Unavailable(reason)),
        }
    }
}

/// The same settings for an existing session. The CLI keeps none of them.
fn resuming(id: SessionId, config: SessionConfig) -> ResumeSessionConfig {
    let mut resuming = ResumeSessionConfig::new(id);
    resuming.tools = config.tools;
    resuming.available_tools = config.available_tools;
    resuming.model = config.model;
    resuming.client_name = config.client_name;
    resuming.streaming = config.streaming;
    resuming.include_sub_agent_streaming_events = config.include_sub_agent_streaming_events;
    resuming.event_buffer_capacity = config.event_buffer_capacity;
    resuming.request_extensions = config.request_extensions;
    resuming.permission_handler = config.permission_handler;
    resuming.working_directory = config.working_directory;
    resuming.provider = config.provider;
    resuming
}

/// Reads the CLI's events and passes aborts on to it.
struct Follower {
    session: Arc<Session>,
    runtime: Arc<Runtime>,
    turns: Arc<Turns>,
    events: AgentEvents,
}

impl Follower {
    async fn follow(self, mut reader: Reader, mut subscription: EventSubscription) {
        let mut aborting = Box::pin(Fuse::terminated());
        loop {
            tokio::select! {
                biased;
                () = self.turns.abort_wanted() => {
                    aborting.set(self.abort().fuse());
                }
                () = &mut aborting => self.turns.conclude_abort(),
                received = subscription.recv() => match received {
                    Ok(event) => {
                        let progress = reader.read(&event, &mut |event| self.events.emit(event));
                        if let Some(progress) = progress {
                            self.turns.note(progress);
                        }
                    }
                    Err(error) => match error.kind() {
                        RecvErrorKind::Lagged(lagged) => self.lag(lagged.skipped()),
                        _ => break,
                    },
                },
            }
        }
        if self.turns.has_ended() {
            return;
        }
        let message = self.runtime.lost().await;
        self.turns.die(&message);
        self.events.emit(AgentEvent::Crashed { message });
    }

    /// A lost event may have been the end of the turn, so the turn is ended.
    fn lag(&self, number: u64) {
        let message = format!(
            "{number} events of the Copilot CLI were lost, because they came faster than they \
             could be read; the turn is aborted"
        );
        self.events.emit(AgentEvent::Error { message });
        self.turns.want_abort();
    }

    async fn abort(&self) {
        let answer = timeout(ABORT_TIME, self.session.abort()).await;
        if let Ok(Err(error)) = answer {
            tracing::debug!(%error, "the Copilot CLI did not abort");
        }
        sleep(ABORT_TIME).await;
    }
}

/// Serialises events: tools report from their own futures, but events must not overlap.
fn one_by_one(events: AgentEvents) -> AgentEvents {
    let events = Mutex::new(events);
    AgentEvents::new(move |event| events.lock().emit(event))
}

/// The endpoint that serves the model instead of GitHub. Contains the key: never print it.
async fn provider(settings: &CopilotSettings) -> Result<Option<ProviderConfig>, AgentError> {
    let Some(own) = &settings.provider else {
        return Ok(None);
    };
    let key = own.key.read().await.map_err(AgentError::Unavailable)?;
    let mut config = ProviderConfig::default();
    config.provider_type = Some(own.kind.as_str().to_owned());
    config.wire_api = own.wire_api.map(|api| api.as_str().to_owned());
    own.base_url.as_str().clone_into(&mut config.base_url);
    config.api_key = key.map(|key| key.reveal().to_owned());
    Ok(Some(config))
}
