//! Attachments of a session: taken from clients for its prompts, and read by its agents.

use agents::{Attachment, Attachments};
use async_trait::async_trait;
use store::attachment::{AttachmentStore, KeepError};
use wire::{Attached, AttachmentId, ErrorName, SessionId, attachment_reference};

use super::SessionError;
use super::handle::Session;

/// Why a file was not attached, or is not shown.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The session is not open, or does not exist.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No model could read it.
    #[error("neither an image (PNG, JPEG, GIF, WebP) nor UTF-8 text")]
    UnknownFormat,
    /// It is an image, and the session's model takes none.
    #[error("the session's model takes no images")]
    NoImages,
    /// Messages to a project are answered by models that are told what was said before as text.
    #[error("messages to a project of the bridge can't have attachments")]
    OfProject,
    /// The session has no attachment of that id.
    #[error("no such attachment")]
    NotFound,
    /// It is not kept.
    #[error(transparent)]
    Keep(#[from] KeepError),
}

impl AttachError {
    /// The error's name on the wire.
    pub fn name(&self) -> ErrorName {
        match self {
            Self::Session(error) => error.name(),
            Self::UnknownFormat | Self::NoImages | Self::OfProject => {
                ErrorName::AttachmentNotSupported
            }
            Self::NotFound => ErrorName::AttachmentNotFound,
            Self::Keep(KeepError::TooMany) => ErrorName::TooManyAttachments,
            Self::Keep(KeepError::Io(_)) => ErrorName::StoreUnavailable,
        }
    }
}

/// The attachments of one session, for its agents.
pub(super) struct OwnAttachments {
    pub(super) session: SessionId,
    pub(super) store: AttachmentStore,
}

#[async_trait]
impl Attachments for OwnAttachments {
    async fn read(&self, id: AttachmentId) -> Option<Attachment> {
        Attachment::recognise(self.store.read(self.session, id).await?)
    }
}

impl Session {
    /// Whether its prompts may have images.
    pub fn takes_images(&self) -> bool {
        self.stream.capabilities().images
    }

    /// Keeps a file for the session's prompts, and returns when it is durable.
    ///
    /// Cancel safe, but the file may be kept without anybody knowing its id.
    pub async fn attach(&self, name: &str, bytes: Vec<u8>) -> Result<Attached, AttachError> {
        self.live.check_store().map_err(SessionError::from)?;
        if self.is_of_project {
            return Err(AttachError::OfProject);
        }
        let kind = match Attachment::recognise(bytes.clone()) {
            None => return Err(AttachError::UnknownFormat),
            Some(Attachment::Image(_)) if !self.takes_images() => {
                return Err(AttachError::NoImages);
            }
            Some(attachment) => attachment.kind(),
        };
        let id = AttachmentId::generate();
        self.attachments.keep(self.id, id, bytes).await?;
        let reference = attachment_reference(kind, name, id);
        Ok(Attached { attachment_id: id, kind, reference })
    }
}
