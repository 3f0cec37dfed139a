//! Messages that wait until a person sends them.

use wire::bridge::{DRAFT_MODE, Draft, Mode};

use super::*;

impl Fixture {
    async fn draft(&self, text: &str) -> MessageId {
        self.send(text, Some(DRAFT_MODE)).await
    }

    /// Sends what a person made of a draft.
    async fn send_draft(&self, id: MessageId, text: &str) -> Result<MessageId, BridgeError> {
        let request = MessageRequest {
            text: Some(text.to_owned()),
            draft_id: Some(id.to_string()),
            reviewed: true,
            ..MessageRequest::default()
        };
        Ok(self.bridge.send(request).await?.id)
    }

    async fn drafts(&self) -> Vec<(MessageId, String)> {
        let drafts = self.history().await.drafts.into_iter();
        drafts.map(|draft| (draft.id, draft.text)).collect()
    }

    /// What readers are told next.
    async fn told_draft(&mut self) -> Draft {
        match self.event().await {
            Event::Draft(draft) => draft,
            other => panic!("{other:?}"),
        }
    }

    async fn told_taken(&mut self) -> MessageId {
        match self.event().await {
            Event::DraftTaken(taken) => taken.id,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_told_and_waits_until_a_person_sends_it() {
    let mut fixture = Fixture::new().await;
    let draft = fixture.draft("say not yet").await;
    let told = fixture.told_draft().await;
    assert_eq!((told.id, &*told.text, &*told.source), (draft, "say not yet", "http"));
    assert_eq!(fixture.history().await.drafts, [told]);
    assert!(fixture.history().await.messages.is_empty());

    let run = fixture.send_draft(draft, "say now").await.expect("accepted");
    assert_ne!(run, draft);
    let mut taken = None;
    let (mut text, mut asked) = (String::new(), None);
    loop {
        match fixture.event().await {
            Event::Inbound(inbound) => asked = Some(inbound.text),
            Event::DraftTaken(told) => taken = Some(told.id),
            Event::Fragment(fragment) => text += &fragment.fragment,
            Event::Done(done) => break assert_eq!(done.id, run),
            other => panic!("{other:?}"),
        }
    }
    // The model has never seen the draft itself.
    assert_eq!((taken, asked.as_deref(), &*text), (Some(draft), Some("say now"), "now"));
    assert_eq!(fixture.drafts().await, []);
    // It is sent once, whoever else has it.
    let again = fixture.send_draft(draft, "say again").await;
    assert_eq!(again, Err(BridgeError::DraftNotFound(draft.to_string())));
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn drafts_survive_a_restart_and_clearing_until_they_are_discarded() {
    let mut fixture = Fixture::new().await;
    fixture.send("say before", None).await;
    fixture.end().await;
    let (one, two) = (fixture.draft("one").await, fixture.draft("two").await);
    let fixture = fixture.restart().await;
    let both = [(one, "one".to_owned()), (two, "two".to_owned())];
    assert_eq!(fixture.drafts().await, both);
    // Clearing twice: the second time begins with another session.
    for _ in 0..2 {
        fixture.bridge.clear(&fixture.id().await).await.expect("cleared");
        assert_eq!(fixture.drafts().await, both);
        assert!(fixture.history().await.messages.is_empty());
    }
    let mut fixture = fixture.restart().await;
    fixture.bridge.discard(&one.to_string()).await.expect("discarded");
    assert_eq!(fixture.told_taken().await, one);
    assert_eq!(fixture.drafts().await, both[1..]);
    for unknown in [&one.to_string(), "nothing"] {
        let refused = fixture.bridge.discard(unknown).await;
        assert_eq!(refused, Err(BridgeError::DraftNotFound(unknown.to_owned())));
    }
    let fixture = fixture.restart().await;
    assert_eq!(fixture.drafts().await, both[1..]);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_settings_make_drafts_of_all_messages_that_nobody_has_reviewed() {
    let mut fixture = Fixture::with(|settings| settings.inject_into_chat = true).await;
    let draft = fixture.send("say something", Some("agent")).await;
    let told = fixture.told_draft().await;
    assert_eq!((told.id, told.mode), (draft, Some(Mode::Agent)));
    fixture.send_draft(draft, "say sent").await.expect("accepted");
    assert_eq!(fixture.end().await.0, "sent");

    // Settings that change can only make drafts of more messages.
    let lenient =
        BridgeSettings { inject_into_chat: false, ..(*fixture.bridge.settings()).clone() };
    assert!(fixture.bridge.settings().narrowed_by(&lenient).inject_into_chat);
    fixture.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_project_has_room_for_a_hundred_drafts() {
    let fixture =
        Fixture::with(|settings| settings.messages_per_minute = 1_000.try_into().expect("not 0"))
            .await;
    for number in 0..100 {
        fixture.draft(&number.to_string()).await;
    }
    let request = MessageRequest {
        text: Some("one more".to_owned()),
        mode: Some(DRAFT_MODE.to_owned()),
        ..MessageRequest::default()
    };
    assert_eq!(fixture.bridge.send(request).await, Err(BridgeError::TooManyDrafts));
    assert_eq!(fixture.drafts().await.len(), 100);
    fixture.finish().await;
}
