use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::permission::{DefaultMode, ModeLimit};

fn question(kind: PermissionKind) -> PermissionRequest {
    PermissionRequest {
        kind,
        title: "may I".to_owned(),
        path: None,
        detail: None,
        diff: None,
        each_time: false,
    }
}

/// Static, because questions borrow their asker for longer than one statement.
static ASKER: LazyLock<Asker> = LazyLock::new(|| Asker::tool("editFile"));

/// A desk, and the events that it has reported.
fn desk() -> (PermissionDesk, Arc<Mutex<Vec<PermissionEvent>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let desk = PermissionDesk::new(
        PermissionMode::Ask,
        PermissionDesk::TIME_OUT,
        DeskRules::default(),
        move |event| {
            seen.lock().push(event);
        },
    );
    (desk, events)
}

fn answer(decision: PermissionDecision) -> Answer {
    Answer::new(decision, "tester")
}

fn outcomes(events: &Mutex<Vec<PermissionEvent>>) -> Vec<PermissionOutcome> {
    let outcome = |event: &PermissionEvent| match event {
        PermissionEvent::Requested(_) => None,
        PermissionEvent::Resolved { outcome, .. } => Some(*outcome),
    };
    events.lock().iter().filter_map(outcome).collect()
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn waiting(desk: &PermissionDesk) -> PermissionId {
    desk.pending().first().expect("a question waits").question.id
}

#[tokio::test]
async fn a_question_waits_until_it_is_answered() {
    for (decision, approved, outcome) in [
        (PermissionDecision::Approve, true, PermissionOutcome::Approved),
        (PermissionDecision::Deny, false, PermissionOutcome::Denied),
    ] {
        let (desk, events) = desk();
        let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
        assert!(poll(asking.as_mut()).is_pending());
        let id = waiting(&desk);
        assert_eq!(desk.resolve(id, &answer(decision)), Ok(()));
        assert_eq!(asking.await.is_ok(), approved);
        assert!(desk.pending().is_empty());
        let question = PendingPermission { id, request: question(PermissionKind::Write) };
        let expected = [
            PermissionEvent::Requested(PendingQuestion { asker: ASKER.clone(), question }),
            PermissionEvent::Resolved { id, outcome, answer: Some(answer(decision)) },
        ];
        assert_eq!(*events.lock(), expected);
    }
}

#[tokio::test]
async fn the_first_answer_counts() {
    let (desk, events) = desk();
    let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(asking.as_mut()).is_pending());
    let id = waiting(&desk);
    assert_eq!(desk.resolve(id, &answer(PermissionDecision::Deny)), Ok(()));
    assert_eq!(desk.resolve(id, &answer(PermissionDecision::Approve)), Err(NotPending(id)));
    assert_eq!(asking.await, Err(Denied { reason: "refused by the user".to_owned() }));
    assert_eq!(outcomes(&events), [PermissionOutcome::Denied]);
    let unknown = PermissionId::generate();
    assert_eq!(
        desk.resolve(unknown, &answer(PermissionDecision::Approve)),
        Err(NotPending(unknown))
    );
}

#[tokio::test]
async fn always_holds_for_its_kind_also_for_those_that_wait() {
    let (desk, events) = desk();
    let mut first = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    let mut second = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    let mut other = pin!(desk.request(&ASKER, question(PermissionKind::Command)));
    assert!(poll(first.as_mut()).is_pending());
    let id = waiting(&desk);
    assert!(poll(second.as_mut()).is_pending());
    assert!(poll(other.as_mut()).is_pending());
    assert_eq!(desk.resolve(id, &answer(PermissionDecision::ApproveAlways)), Ok(()));
    assert_eq!(first.await, Ok(()));
    assert_eq!(second.await, Ok(()));
    assert!(poll(other.as_mut()).is_pending());
    assert_eq!(desk.request(&ASKER, question(PermissionKind::Write)).await, Ok(()));
    assert_eq!(outcomes(&events), [PermissionOutcome::ApprovedAlways; 2]);
    assert_eq!(desk.pending().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_answer_in_time_is_a_refusal() {
    let (desk, events) = desk();
    let started = tokio::time::Instant::now();
    let answer = desk.request(&ASKER, question(PermissionKind::Command)).await;
    let reason = "refused: nobody approved it within 120 s".to_owned();
    assert_eq!(answer, Err(Denied { reason }));
    assert_eq!(started.elapsed(), Duration::from_mins(2));
    assert_eq!(outcomes(&events), [PermissionOutcome::TimedOut]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_last_moment_wins() {
    let (desk, events) = desk();
    let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Command)));
    assert!(poll(asking.as_mut()).is_pending());
    let id = waiting(&desk);
    tokio::time::advance(Duration::from_secs(121)).await;
    assert_eq!(desk.resolve(id, &answer(PermissionDecision::Approve)), Ok(()));
    assert_eq!(asking.await, Ok(()));
    assert_eq!(outcomes(&events), [PermissionOutcome::Approved]);
}

#[tokio::test]
async fn a_dropped_question_is_withdrawn() {
    let (desk, events) = desk();
    {
        let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Command)));
        assert!(poll(asking.as_mut()).is_pending());
        assert_eq!(desk.pending().len(), 1);
    }
    assert!(desk.pending().is_empty());
    assert_eq!(outcomes(&events), [PermissionOutcome::Withdrawn]);
}

#[tokio::test]
async fn the_other_modes_do_not_wait() {
    let (desk, events) = desk();
    desk.set_mode(PermissionMode::ApproveAll);
    assert_eq!(desk.request(&ASKER, question(PermissionKind::Write)).await, Ok(()));
    desk.set_mode(PermissionMode::Deny);
    assert!(desk.request(&ASKER, question(PermissionKind::Write)).await.is_err());
    assert!(events.lock().is_empty());
}

#[tokio::test]
async fn another_mode_answers_what_waits() {
    for (mode, approved) in [(PermissionMode::ApproveAll, true), (PermissionMode::Deny, false)] {
        let (desk, _) = desk();
        let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Command)));
        assert!(poll(asking.as_mut()).is_pending());
        desk.set_mode(mode);
        assert_eq!(desk.mode(), mode);
        assert_eq!(asking.await.is_ok(), approved);
    }
}

#[tokio::test]
async fn asking_again_forgets_what_was_always_approved() {
    let (desk, _) = desk();
    {
        let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
        assert!(poll(asking.as_mut()).is_pending());
        desk.resolve(waiting(&desk), &answer(PermissionDecision::ApproveAlways)).expect("it waits");
        asking.await.expect("approved");
    }
    desk.set_mode(PermissionMode::Ask);
    let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(asking.as_mut()).is_pending());
}

fn about(kind: PermissionKind, path: &str) -> PermissionRequest {
    PermissionRequest { path: Some(path.to_owned()), ..question(kind) }
}

#[tokio::test]
async fn no_mode_answers_for_a_file_that_runs_later() {
    let (desk, events) = desk();
    let mut asking = pin!(desk.request(&ASKER, about(PermissionKind::Create, ".envrc")));
    assert!(poll(asking.as_mut()).is_pending());
    desk.set_mode(PermissionMode::ApproveAll);
    assert!(poll(asking.as_mut()).is_pending());
    assert!(desk.pending()[0].question.request.each_time);
    desk.resolve(waiting(&desk), &answer(PermissionDecision::ApproveAlways)).expect("it waits");
    assert_eq!(asking.await, Ok(()));
    assert_eq!(outcomes(&events), [PermissionOutcome::Approved], "once");
    // Nor does an extension.
    let approved = Asker { is_approved: true, ..ASKER.clone() };
    let mut asking = pin!(desk.request(&approved, about(PermissionKind::Write, ".envrc")));
    assert!(poll(asking.as_mut()).is_pending());
    assert_eq!(desk.request(&ASKER, about(PermissionKind::Read, ".envrc")).await, Ok(()));
    desk.set_mode(PermissionMode::Deny);
    assert!(asking.await.is_err());
}

#[tokio::test]
async fn what_governs_the_portal_is_refused_in_every_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let guarded = crate::guarded::Guarded::new([folder.path().join("own.toml")]);
    let rules = DeskRules {
        folder: folder.path().to_owned(),
        safeguards: crate::permission::Safeguards { guarded, ..Default::default() },
        ..DeskRules::default()
    };
    for mode in PermissionMode::ALL {
        let desk = PermissionDesk::new(*mode, PermissionDesk::TIME_OUT, rules.clone(), |_| {});
        for kind in [PermissionKind::Create, PermissionKind::Write, PermissionKind::Read] {
            assert!(desk.request(&ASKER, about(kind, "own.toml")).await.is_err(), "{mode} {kind}");
        }
    }
}

#[tokio::test]
async fn a_limit_makes_every_mode_stricter_and_stays() {
    let limit = ModeLimit::default();
    let desk = limited(PermissionMode::ApproveAll, &limit);
    assert_eq!(desk.request(&ASKER, question(PermissionKind::Write)).await, Ok(()));
    limit.narrow(PermissionMode::Ask);
    let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(asking.as_mut()).is_pending());
    limit.narrow(PermissionMode::Deny);
    limit.narrow(PermissionMode::ApproveAll);
    desk.set_mode(PermissionMode::ApproveAll);
    assert_eq!(desk.mode(), PermissionMode::Deny);
    assert!(desk.request(&ASKER, question(PermissionKind::Command)).await.is_err());
}

/// A desk that keeps to a limit.
fn limited(mode: PermissionMode, limit: &ModeLimit) -> PermissionDesk {
    let rules = DeskRules { limit: limit.clone(), ..DeskRules::default() };
    PermissionDesk::new(mode, PermissionDesk::TIME_OUT, rules, |_| {})
}

#[tokio::test]
async fn a_question_that_waits_is_refused_when_the_limit_refuses_everything() {
    for limit in [ModeLimit::default(), ModeLimit::yielding()] {
        let desks = [(); 2].map(|()| limited(PermissionMode::Ask, &limit));
        let asking = desks.clone().map(|desk| {
            tokio::spawn(async move { desk.request(&ASKER, question(PermissionKind::Write)).await })
        });
        while desks.iter().any(|desk| desk.pending().is_empty()) {
            tokio::task::yield_now().await;
        }
        limit.narrow(PermissionMode::Deny);
        for asking in asking {
            let refused = Err(Denied { reason: "refused by the user".to_owned() });
            assert_eq!(asking.await.expect("no panic"), refused);
        }
    }
}

#[tokio::test]
async fn no_answer_overtakes_the_limit() {
    let limit = ModeLimit::default();
    let desk = limited(PermissionMode::Ask, &limit);
    let mut asking = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(asking.as_mut()).is_pending());
    let id = waiting(&desk);
    limit.narrow(PermissionMode::Deny);
    assert_eq!(desk.resolve(id, &answer(PermissionDecision::Approve)), Err(NotPending(id)));
    assert!(asking.await.is_err());
}

#[tokio::test]
async fn a_limit_that_asks_keeps_questions_waiting_and_forgets_what_was_always_approved() {
    let limit = ModeLimit::default();
    let desk = limited(PermissionMode::Ask, &limit);
    let mut first = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(first.as_mut()).is_pending());
    desk.resolve(waiting(&desk), &answer(PermissionDecision::ApproveAlways)).expect("it waits");
    let mut second = pin!(desk.request(&ASKER, question(PermissionKind::Command)));
    assert!(poll(second.as_mut()).is_pending());
    limit.narrow(PermissionMode::Ask);
    assert!(poll(second.as_mut()).is_pending());
    let mut third = pin!(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(third.as_mut()).is_pending());
}

#[tokio::test]
async fn people_may_set_another_mode_after_a_limit_that_yields() {
    let limit = ModeLimit::yielding();
    let desk = limited(PermissionMode::ApproveAll, &limit);
    limit.narrow(PermissionMode::Ask);
    assert_eq!(desk.mode(), PermissionMode::Ask);
    desk.set_mode(PermissionMode::ApproveAll);
    assert_eq!(desk.mode(), PermissionMode::ApproveAll);
    limit.narrow(PermissionMode::Deny);
    assert_eq!(desk.mode(), PermissionMode::Deny, "the next narrowing counts again");
}

#[test]
fn a_default_that_is_strict_enough_limits_nobody() {
    let default = DefaultMode::new(PermissionMode::Ask, ModeLimit::default());
    let desk = limited(PermissionMode::ApproveAll, &default.limit());
    for mode in [PermissionMode::ApproveAll, PermissionMode::Ask] {
        default.narrow(mode);
        assert_eq!((default.get(), desk.mode()), (PermissionMode::Ask, PermissionMode::ApproveAll));
    }
    default.narrow(PermissionMode::Deny);
    assert_eq!((default.get(), desk.mode()), (PermissionMode::Deny, PermissionMode::Deny));
}

#[tokio::test]
async fn an_approval_ahead_covers_one_equal_request() {
    let (desk, events) = desk();
    let request = question(PermissionKind::Write);
    desk.approve_ahead(request.clone(), false);
    let other = PermissionRequest { detail: Some("more".to_owned()), ..request.clone() };
    assert!(poll(pin!(desk.request(&ASKER, other))).is_pending());
    assert_eq!(desk.request(&ASKER, request.clone()).await, Ok(()));
    assert!(poll(pin!(desk.request(&ASKER, request.clone()))).is_pending());
    // It does not outlive the turn, and counts for nothing where nothing is allowed.
    desk.approve_ahead(request.clone(), false);
    desk.withdraw_all();
    assert!(poll(pin!(desk.request(&ASKER, request.clone()))).is_pending());
    desk.approve_ahead(request.clone(), false);
    desk.set_mode(PermissionMode::Deny);
    assert!(desk.request(&ASKER, request.clone()).await.is_err());
    desk.set_mode(PermissionMode::Ask);
    // What is not shown as a whole could be something else.
    let long = PermissionRequest { diff: Some("x".repeat(1 << 20)), ..request };
    desk.approve_ahead(long.clone(), false);
    assert!(poll(pin!(desk.request(&ASKER, long))).is_pending());
    assert_eq!(outcomes(&events), [PermissionOutcome::Withdrawn; 4]);
}

#[tokio::test]
async fn a_suspended_question_stays_unanswered() {
    let (desk, events) = desk();
    let mut asking = Box::pin(desk.request(&ASKER, question(PermissionKind::Write)));
    assert!(poll(asking.as_mut()).is_pending());
    desk.suspend();
    assert!(poll(asking.as_mut()).is_pending());
    drop(asking);
    desk.close();
    assert_eq!(outcomes(&events), []);
    assert!(desk.request(&ASKER, question(PermissionKind::Write)).await.is_err());
}
