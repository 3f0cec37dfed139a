//! Attachments of sessions that end, continue, are deleted, or outlive their server.

use agents::Attachment;
use store::attachment::AttachmentStore;

use super::restart::Server;
use super::*;

const GIF: &[u8] = b"GIF89a";

impl Harness {
    async fn attach(&self, id: SessionId, name: &str, bytes: &[u8]) -> wire::Attached {
        let session = self.sessions.get(id).expect("open");
        session.attach(name, bytes.to_vec()).await.expect("attached")
    }

    async fn last_message(&self, id: SessionId, turns: usize) -> String {
        let seen = self.read_until_idle(id, turns).await;
        let mut ends = seen.into_iter().filter_map(|response| match response {
            SessionResponse::EndMessage { complete_content, .. } => Some(complete_content),
            _ => None,
        });
        ends.next_back().expect("a message")
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_goes_on_in_a_new_one_takes_its_attachments_along() {
    let harness = Harness::new();
    let (earlier, foreign) = (harness.start().await, harness.start().await);
    let attached = harness.attach(earlier, "a.gif", GIF).await;
    harness.sessions.stop(earlier).await.expect("stopped");
    let later = harness.sessions.continue_closed(earlier).await.expect("continued");
    harness.sessions.delete(earlier).await.expect("deleted");

    let gone = harness.sessions.attachment(earlier, attached.attachment_id).await;
    assert!(matches!(gone, Err(AttachError::Session(SessionError::SessionNotFound))));
    let kept = harness.sessions.attachment(later, attached.attachment_id).await;
    assert!(matches!(kept, Ok(Attachment::Image(image)) if image.bytes == GIF));
    let prompt = format!("describe the attachments: {}", attached.reference);
    harness.query(later, &prompt);
    assert_eq!(harness.last_message(later, 1).await, "image/gif, 6 B, a.gif");

    let missing = harness.sessions.attachment(foreign, attached.attachment_id).await;
    assert!(matches!(missing, Err(AttachError::NotFound)), "another session's");
    harness.query(foreign, &prompt);
    assert_eq!(harness.last_message(foreign, 1).await, "Nothing is attached.");
    harness.end().await;
}

#[tokio::test]
async fn attachments_outlive_the_server_and_orphans_do_not() {
    let data = tempfile::tempdir().expect("a folder");
    let store = AttachmentStore::in_folder(data.path());
    let server = Server::start_with_settings(data.path(), |settings| {
        settings.attachments = store.clone();
    });
    let server = server.await;
    let id = server.start().await;
    let attached = server.attach(id, "notes.txt", b"one").await;
    server.end().await;

    let orphan = SessionId::generate();
    store.keep(orphan, attached.attachment_id, b"one".to_vec()).await.expect("kept");
    let server = Server::start_with_settings(data.path(), |settings| {
        settings.attachments = store.clone();
    });
    let server = server.await;
    assert_eq!(server.sessions.delete_orphans().await.expect("read"), 1);
    assert_eq!(store.sessions().await.expect("a list"), [id]);
    let session = server.sessions.find(id).await.expect("resumed");
    let prompt = format!("describe the attachments: {}", attached.reference);
    session.query(prompt).await.expect("sent");
    assert_eq!(server.last_message(id, 1).await, "text/plain, 3 B, notes.txt");
    drop(session);

    server.sessions.stop(id).await.expect("stopped");
    server.sessions.delete(id).await.expect("deleted");
    assert_eq!(store.sessions().await.expect("a list"), []);
    server.end().await;
}
