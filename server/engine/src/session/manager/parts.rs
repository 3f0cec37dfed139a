//! The parts that a session is made of, from what all sessions share.

use std::path::Path;
use std::sync::Arc;

use agents::permission::{Owner, PermissionDesk, PermissionHandler};
use agents::{ToolSet, ask_user};
use extensions::SessionExtensions;
use parking_lot::Mutex;
use store::live::LiveLog;
use tokio_util::sync::CancellationToken;
use wire::{SessionId, SessionResponse};

use super::SessionManager;
use crate::session::conversation::Shutdown;
use crate::session::fallback::Fallback;
use crate::session::parking::Parking;
use crate::session::starter::Starter;
use crate::session::toolkit::{Toolkit, WorkspaceParts};

impl SessionManager {
    /// What ends a session with the server.
    pub(super) fn shutdown(&self, desk: &PermissionDesk, stop: &CancellationToken) -> Shutdown {
        let is_lasting = self.live.shared().journal().is_lasting();
        Shutdown {
            begins: self.lifecycle.token(),
            suspend: is_lasting.then(|| self.suspend.clone()),
            desk: desk.clone(),
            stop: stop.clone(),
        }
    }

    /// What continues the failed turns of a session with other models.
    pub(super) fn fallback_of(
        &self,
        id: SessionId,
        starter: Starter,
        extensions: &Arc<SessionExtensions>,
        log: &Arc<LiveLog<SessionResponse>>,
    ) -> Arc<Fallback> {
        Arc::new(Fallback {
            id,
            starter,
            default: self.settings.fallback.clone(),
            catalog: self.catalog.clone(),
            extensions: extensions.clone(),
            log: log.clone(),
            live: self.live.shared().clone(),
        })
    }

    /// What parks a session.
    pub(super) fn parking(&self, id: SessionId) -> Parking {
        Parking {
            id,
            after: self.settings.park_after,
            open: Arc::downgrade(&self.open),
            dormant: self.dormant.clone(),
        }
    }

    /// The tools of a session. The agent of a project adds its own for each goal.
    pub(super) fn toolkit(
        &self,
        folder: &Path,
        permissions: &Arc<dyn PermissionHandler>,
        owner: Owner,
        is_of_project: bool,
    ) -> Toolkit {
        let set = if is_of_project { ToolSet::default() } else { ToolSet::with_job_tools() };
        if !is_of_project {
            // Nothing else has this name yet.
            let _ = set.add(ask_user(permissions.clone()));
        }
        let workspace = (!is_of_project).then(|| WorkspaceParts {
            folder: folder.to_owned(),
            permissions: permissions.clone(),
            guarded: self.settings.safeguards.guarded.clone(),
            commands: self.settings.commands.clone(),
            policy: self.policy.clone(),
        });
        Toolkit { set: Arc::new(set.owned_by(owner)), workspace, added: Mutex::default() }
    }
}
