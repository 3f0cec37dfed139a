//! Sessions that use up their budgets.

use agents::{AgentError, AgentSession, AgentSettings};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use wire::{
    Budget, BudgetLimit, InboxChoice, InboxDecision, InboxItem, InboxKind, ModelInfo,
    SessionBudget, Spent, TurnEnding,
};

use super::restart::Server;
use super::*;
use crate::inbox::{AnswerError, Reply};

const COUNT_AND_WAIT: &str =
    "Count 60 input and 50 output tokens at a cost of 2, then wait 30 minutes";

fn budget(json: &Value) -> Budget {
    serde_json::from_value(json.clone()).expect("a budget")
}

fn with_default(limits: &Value) -> Harness {
    let default = budget(limits);
    Harness::with(SimulatedSettings::for_tests(), |settings| settings.budget = default)
}

fn outcomes(responses: &[SessionResponse]) -> Vec<TurnEnding> {
    let ends = responses.iter().filter_map(|response| match response {
        SessionResponse::TurnEnd { outcome, .. } => Some(*outcome),
        _ => None,
    });
    ends.collect()
}

impl Harness {
    async fn try_query(&self, id: SessionId, prompt: &str) -> Result<(), SessionError> {
        self.sessions.find(id).await?.query(prompt.to_owned()).await
    }

    async fn set(&self, id: SessionId, limits: &Value) {
        let session = self.sessions.find(id).await.expect("open");
        session.set_budget(budget(limits), "tester").await.expect("set");
    }
}

#[tokio::test(start_paused = true)]
async fn each_limit_ends_the_running_turn_and_refuses_further_prompts() {
    for (limits, reached, seconds) in [
        (json!({ "tokens": 100 }), "110 of 100 tokens", 0),
        (json!({ "cost": 1.5 }), "2 of 1.5 cost", 0),
        (json!({ "minutes": 2 }), "2 of 2 minutes", 120),
    ] {
        for is_default in [true, false] {
            let harness = if is_default { with_default(&limits) } else { Harness::new() };
            let id = harness.start().await;
            if !is_default {
                harness.set(id, &limits).await;
            }
            let before = Instant::now();
            harness.try_query(id, COUNT_AND_WAIT).await.expect("taken");
            let seen = harness.read_until_idle(id, 1).await;
            let (took, least) = (before.elapsed(), Duration::from_secs(seconds));
            assert!(took >= least && took < least + Duration::from_secs(1), "{limits}: {took:?}");
            assert_eq!(outcomes(&seen), [TurnEnding::Failed]);
            let sentence = format!("budget of the session used up: {reached}");
            assert_eq!(errors(&seen), [sentence]);
            let place = |wanted: fn(&SessionResponse) -> bool| seen.iter().position(wanted);
            let error = place(|one| matches!(one, SessionResponse::Error { .. }));
            assert!(error < place(|one| matches!(one, SessionResponse::TurnEnd { .. })));
            let refused = harness.try_query(id, "say hi").await;
            assert_eq!(refused, Err(SessionError::BudgetExceeded));
            harness.end().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_that_is_allowed_is_answered() {
    let harness = with_default(&json!({ "turns": 2 }));
    let id = harness.start_with(&["say one", "say two"]).await;
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen), ["one", "two"]);
    assert_eq!(outcomes(&seen), [TurnEnding::Completed, TurnEnding::Completed]);
    let session = harness.sessions.get(id).expect("open");
    assert_eq!(session.budget_reached().map(|it| it.limit), Some(BudgetLimit::Turns));
    assert_eq!(harness.try_query(id, "say three").await, Err(SessionError::BudgetExceeded));
    drop(session);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn prompts_that_wait_go_on_waiting_until_the_budget_is_raised() {
    let harness = with_default(&json!({ "tokens": 100 }));
    let id = harness.start_with(&[COUNT_AND_WAIT, "say two"]).await;
    harness.read_until_idle(id, 1).await;
    sleep(Duration::from_mins(5)).await;
    let session = harness.sessions.get(id).expect("open");
    assert_eq!(session.unfinished(), 1);
    session.raise_budget("tester").await.expect("raised");
    let raised = session.budget();
    assert_eq!(raised.budget, budget(&json!({ "tokens": 200 })), "by what it was first set to");
    let seen = harness.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen).last().map(String::as_str), Some("two"));
    // It is raised by as much the next time.
    harness.query(id, "Count 80 input and 20 output tokens");
    harness.read_until_idle(id, 3).await;
    session.raise_budget("tester").await.expect("raised");
    assert_eq!(session.budget().budget, budget(&json!({ "tokens": 300 })));
    session.raise_budget("tester").await.expect("nothing to do");
    assert_eq!(session.budget().budget, budget(&json!({ "tokens": 300 })));
    drop(session);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_over_before_its_usage_is_known_is_not_ended_again() {
    let harness = with_default(&json!({ "tokens": 10 }));
    let id = harness.start_with(&["Count 80 input and 20 output tokens"]).await;
    let seen = harness.read_until_idle(id, 1).await;
    assert_eq!(outcomes(&seen), [TurnEnding::Completed]);
    assert_eq!(harness.try_query(id, "say hi").await, Err(SessionError::BudgetExceeded));
    harness.set(id, &json!({})).await;
    harness.try_query(id, "say hi").await.expect("nothing is limited any more");
    harness.read_until_idle(id, 2).await;
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_time_of_turns_counts() {
    let harness = with_default(&json!({ "minutes": 10 }));
    let id = harness.start_with(&["wait 3 minutes"]).await;
    harness.read_until_idle(id, 1).await;
    sleep(Duration::from_mins(20)).await;
    harness.try_query(id, "wait 3 minutes").await.expect("taken");
    harness.read_until_idle(id, 2).await;
    let spent = harness.sessions.budget(id).await.expect("open").spent;
    assert!((spent.minutes - 6.0).abs() < 0.01, "{spent:?}");
    // Parked, and still known.
    sleep(Duration::from_mins(31)).await;
    assert!(!harness.sessions.has_running());
    let parked = harness.sessions.budget(id).await.expect("kept");
    assert!((parked.spent.minutes - 6.0).abs() < 0.01, "{parked:?}");
    assert_eq!(parked.budget, budget(&json!({ "minutes": 10 })));
    let before = Instant::now();
    harness.try_query(id, "wait 30 minutes").await.expect("taken");
    let seen = harness.read_until_idle(id, 3).await;
    assert!(before.elapsed() < Duration::from_secs(4 * 60 + 1), "{:?}", before.elapsed());
    assert_eq!(outcomes(&seen)[2], TurnEnding::Failed);
    harness.end().await;
}

/// Agents that do not listen when they are told to abort.
struct Deaf(Simulated);

#[async_trait]
impl AgentBackend for Deaf {
    fn provider(&self) -> &str {
        self.0.provider()
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        self.0.list_models().await
    }

    async fn start_session(
        &self,
        _settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        Ok(Box::new(DeafSession))
    }

    async fn close(&self) {}
}

struct DeafSession;

#[async_trait]
impl AgentSession for DeafSession {
    async fn run_turn(&self, _prompt: &str, _abort: &CancellationToken) -> Result<(), AgentError> {
        std::future::pending().await
    }

    async fn stop(&self) {}
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_listen_is_ended_within_a_second() {
    let deaf = Arc::new(Deaf(Simulated::new(SimulatedSettings::for_tests())));
    let harness = Harness::with_backend(deaf, |_| {});
    let id = harness.start().await;
    harness.set(id, &json!({ "minutes": 1 })).await;
    let before = Instant::now();
    let ended = harness.send(id, "x").outcome().await.ended;
    assert!(matches!(ended, TurnEnd::OverBudget(_)), "{ended:?}");
    assert!(before.elapsed() <= Duration::from_millis(61_010), "{:?}", before.elapsed());

    // Nor does it report anything, so other limits are refused.
    let session = harness.sessions.get(id).expect("open");
    let refused = session.set_budget(budget(&json!({ "tokens": 5 })), "tester").await;
    let expected = BudgetNotSupported { model: MODEL.to_owned(), limit: BudgetLimit::Tokens };
    assert_eq!(refused, Err(SetBudgetError::NotSupported(expected)));
    assert_eq!(session.budget().budget, budget(&json!({ "minutes": 1 })));
    drop(session);
    harness.end().await;
}

#[tokio::test]
async fn a_default_that_a_model_can_t_keep_refuses_its_sessions() {
    let deaf = Arc::new(Deaf(Simulated::new(SimulatedSettings::for_tests())));
    let default = budget(&json!({ "cost": 1 }));
    let harness = Harness::with_backend(deaf, |settings| settings.budget = default);
    let refused = harness.sessions.start(MODEL, "").await;
    let expected = BudgetNotSupported { model: MODEL.to_owned(), limit: BudgetLimit::Cost };
    assert_eq!(refused, Err(StartError::BudgetNotSupported(expected)));
    harness.end().await;
}

#[tokio::test]
async fn what_was_used_counts_after_a_restart_for_each_limit() {
    for (limits, prompt) in [
        (json!({ "turns": 1 }), "say one"),
        (json!({ "tokens": 100 }), "Count 60 input and 50 output tokens"),
        (json!({ "cost": 1 }), "Count 6 input and 5 output tokens at a cost of 1"),
        (json!({ "minutes": 0.0001 }), "wait 2 seconds"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(folder.path()).await;
        let id = server.start().await;
        server.set(id, &limits).await;
        server.try_query(id, prompt).await.expect("taken");
        server.read_until_idle(id, 1).await;
        let before = server.sessions.budget(id).await.expect("open");
        server.end().await;

        let server = Server::start(folder.path()).await;
        let after = server.sessions.budget(id).await.expect("kept");
        let minutes = after.spent.minutes;
        assert!((minutes - before.spent.minutes).abs() < 1e-4, "rounded when it is stored");
        let spent = Spent { minutes, ..before.spent };
        assert_eq!(after, SessionBudget { spent, ..before }, "{limits}");
        assert!(!server.sessions.has_running(), "reading needs no agent");
        let refused = server.try_query(id, "say hi").await;
        assert_eq!(refused, Err(SessionError::BudgetExceeded), "{limits}");
        let session = server.sessions.find(id).await.expect("open");
        session.raise_budget("tester").await.expect("raised");
        drop(session);
        server.try_query(id, "do nothing").await.expect("taken");
        server.end().await;
    }
}

#[tokio::test]
async fn prompts_wait_across_a_restart_and_a_continued_session_begins_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let default = budget(&json!({ "tokens": 50 }));
    let start = || Server::start_with_settings(folder.path(), |settings| settings.budget = default);
    let server = start().await;
    let id = server.start_with(&[COUNT_AND_WAIT, "say two"]).await;
    server.read_until_idle(id, 1).await;
    server.end().await;

    let server = start().await;
    server.sessions.take_up_waiting().await;
    assert!(!server.sessions.has_running(), "it could not answer anyway");
    server.set(id, &json!({ "tokens": 500 })).await;
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen).last().map(String::as_str), Some("two"));
    server.sessions.stop(id).await.expect("open");
    assert_eq!(server.sessions.budget(id).await.map(|it| it.spent.tokens), Ok(110), "closed");
    let next = server.sessions.continue_closed(id).await.expect("continued");
    let fresh = server.sessions.budget(next).await.expect("open");
    assert_eq!((fresh.budget, fresh.spent.tokens, fresh.spent.turns), (default, 0, 0));
    server.end().await;
}

/// The question whether a budget is to be raised.
fn asked(harness: &Harness) -> Option<InboxItem> {
    let items = harness.sessions.inbox().list().items;
    assert!(items.len() <= 1, "it is asked once: {items:?}");
    items.into_iter().next()
}

async fn answer(
    harness: &Harness,
    item: &InboxItem,
    choice: InboxChoice,
) -> Result<(), AnswerError> {
    let reply = Reply { choice, text: None, by: "tester".into() };
    harness.sessions.inbox().answer(item.id, reply).await
}

async fn decision(harness: &Harness, item: &InboxItem) -> (InboxDecision, String) {
    let answered = harness.sessions.inbox().answered(None, 10).await.expect("a list").items;
    let ended = answered.into_iter().find(|ended| ended.id == item.id).expect("it has ended");
    (ended.decision, ended.by)
}

#[tokio::test(start_paused = true)]
async fn the_inbox_asks_whether_a_budget_is_to_be_raised() {
    let harness = with_default(&json!({ "turns": 1 }));
    let id = harness.start_with(&["say one", "say two"]).await;
    harness.read_until_idle(id, 1).await;
    let item = asked(&harness).expect("it is asked");
    assert_eq!((item.kind, item.session_id), (InboxKind::Budget, Some(id)));
    assert_eq!(item.title, "The budget is used up: 1 of 1 turns");
    let offered: Vec<_> = item.options.iter().map(|option| option.id).collect();
    assert_eq!(offered, [InboxChoice::Raise, InboxChoice::Leave]);
    assert_eq!(item.expires_at, None);
    let wrong = answer(&harness, &item, InboxChoice::Approve).await;
    assert!(matches!(wrong, Err(AnswerError::Invalid(_))), "{wrong:?}");
    let (one, other) = tokio::join!(
        answer(&harness, &item, InboxChoice::Raise),
        answer(&harness, &item, InboxChoice::Raise),
    );
    assert_eq!([one, other].iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(decision(&harness, &item).await, (InboxDecision::Raise, "tester".to_owned()));
    // The prompt that waited has its turn, and uses up what there is now.
    harness.read_until_idle(id, 2).await;
    let item = asked(&harness).expect("it is asked again");
    assert_eq!(item.title, "The budget is used up: 2 of 2 turns");
    assert_eq!(answer(&harness, &item, InboxChoice::Leave).await, Ok(()));
    assert_eq!(asked(&harness), None);
    assert_eq!(harness.try_query(id, "say three").await, Err(SessionError::BudgetExceeded));
    assert_eq!(asked(&harness), None, "a person has decided");
    assert_eq!(decision(&harness, &item).await.0, InboxDecision::Leave);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn setting_a_budget_and_ending_the_session_take_the_question_away() {
    let harness = with_default(&json!({ "turns": 1 }));
    let id = harness.start_with(&["say one"]).await;
    harness.read_until_idle(id, 1).await;
    let item = asked(&harness).expect("it is asked");
    harness.set(id, &json!({ "turns": 5 })).await;
    assert_eq!(asked(&harness), None);
    assert_eq!(decision(&harness, &item).await, (InboxDecision::Raise, "tester".to_owned()));
    // A limit that is lowered below what was used is reached, too.
    harness.set(id, &json!({ "turns": 1 })).await;
    let item = asked(&harness).expect("it is asked");
    harness.sessions.stop(id).await.expect("open");
    assert_eq!(asked(&harness), None);
    assert_eq!(decision(&harness, &item).await, (InboxDecision::Withdrawn, "portal".to_owned()));
    harness.end().await;
}

#[tokio::test]
async fn a_budget_is_raised_after_a_restart_and_what_waited_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let one_turn = |settings: &mut SessionSettings| {
        settings.budget = budget(&json!({ "turns": 1 }));
    };
    let server = Server::start_with_settings(folder.path(), one_turn).await;
    let id = server.start_with(&["say one", "say two"]).await;
    server.read_until_idle(id, 1).await;
    let item = asked(&server).expect("it is asked");
    server.end().await;
    let server = Server::start_with_settings(folder.path(), one_turn).await;
    assert_eq!(asked(&server), Some(item.clone()), "under the same id");
    assert_eq!(answer(&server, &item, InboxChoice::Raise).await, Ok(()));
    let seen = server.read_until_idle(id, 2).await;
    assert_eq!(messages(&seen).last().map(String::as_str), Some("two"));
    server.end().await;
}
