//! Jobs whose tasks use up the budget of all.

use agents::{AgentError, AgentSession, AgentSettings, Capabilities, ReportedUsage};
use async_trait::async_trait;
use serde_json::Value;
use store::fold::{JobFold, refold};
use tokio::time::{Instant, sleep};
use wire::{
    BudgetLimit, JobId, JobResponse, JobStatus, JobStatusReply, ModelInfo, Spent, WorkStatus,
};

use super::*;

const COUNT: &str = "Count 30 input and 30 output tokens at a cost of 1";
const COUNT_AND_WAIT: &str =
    "Count 30 input and 30 output tokens at a cost of 1, then wait 30 minutes";

fn budget(json: &Value) -> Budget {
    serde_json::from_value(json.clone()).expect("a budget")
}

fn work(task: &str) -> Value {
    json!({ "kind": "Ref", "taskId": task })
}

/// A job with this budget and work, whose tasks are `count`, `long` and `short`.
fn job(budget: &Value, work: &Value, model: &str) -> Arc<Entry> {
    let task = |prompt: &str| json!({ "prompt": [prompt], "requireUserInput": false, "model": { "id": model } });
    let judged = json!({
        "prompt": ["say hi"],
        "requireUserInput": false,
        "model": { "id": MODEL },
        "criteria": {
            "condition": ["Use the job_boolean_true tool."],
            "runConditionInSameSession": false,
            "failureAction": { "retryTimes": 0 },
        },
    });
    let entry = json!({
        "models": { "driving": MODEL },
        "drivingSessionRetries": [
            { "modelId": MODEL, "retries": 1 },
            { "modelId": model, "retries": 1 },
        ],
        "promptVariables": {},
        "tasks": {
            "count": task(COUNT),
            "long": task(COUNT_AND_WAIT),
            "short": task("say hi"),
            "judged": judged,
        },
        "jobs": { "j": { "budget": budget, "work": work } },
        "grid": [],
    });
    Arc::new(Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}")))
}

impl Harness {
    async fn run(&self, entry: Arc<Entry>) -> (JobId, JobStatusReply) {
        let id = self.jobs.start(entry, "j", self.folder(), String::new()).await.expect("a job");
        loop {
            let status = self.jobs.status(id).await.expect("a job");
            if status.end_time.is_some() {
                return (id, status);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

fn results(status: &JobStatusReply) -> Vec<(u32, bool)> {
    let works = status.tasks.iter().filter_map(|task| {
        task.status.map(|status| (task.work_id_in_job, status == WorkStatus::Succeeded))
    });
    works.collect()
}

/// Times are rounded when they are stored.
fn assert_same(one: &Spent, other: &Spent) {
    assert!((one.minutes - other.minutes).abs() < 1e-4, "{one:?} {other:?}");
    assert_eq!(Spent { minutes: 0.0, ..*one }, Spent { minutes: 0.0, ..*other });
}

#[tokio::test(start_paused = true)]
async fn each_limit_of_a_job_covers_all_its_tasks() {
    // The second task reaches the limit while it runs, or has nothing left at its start.
    for (limits, second, seconds) in [
        (json!({ "tokens": 100 }), "long", 0),
        (json!({ "cost": 1.5 }), "long", 0),
        (json!({ "tokens": 60 }), "short", 0),
        (json!({ "turns": 1 }), "short", 0),
        (json!({ "minutes": 1.5 }), "long", 90),
    ] {
        let seq = json!({ "kind": "Seq", "works": [work("count"), work(second), work("short")] });
        let harness = Harness::new();
        let before = Instant::now();
        let (id, status) = harness.run(job(&limits, &seq, MODEL)).await;
        let (took, least) = (before.elapsed(), Duration::from_secs(seconds));
        assert!(took >= least && took < least + Duration::from_secs(1), "{limits}: {took:?}");
        assert_eq!(status.status, JobStatus::Failed, "{limits}");
        assert_eq!(results(&status), [(0, true), (1, false)], "{limits}");
        assert_eq!(status.budget, budget(&limits));
        let reached = status.budget.reached(&status.spent);
        assert!(reached.is_some(), "{limits}: {:?}", status.spent);
        // The same from the store.
        let journal = harness.jobs.live().shared().journal().clone();
        let fold = refold::<JobResponse, JobFold>(&*journal, id.into()).await.expect("read");
        let fold = fold.expect("kept");
        assert_eq!(fold.budget(), status.budget, "{limits}");
        assert_same(&fold.spent(), &status.spent);
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_that_run_at_once_fail_together_when_they_use_too_much_together() {
    let par = json!({ "kind": "Par", "works": [work("long"), work("long"), work("short")] });
    let harness = Harness::new();
    let before = Instant::now();
    let (_, status) = harness.run(job(&json!({ "tokens": 100 }), &par, MODEL)).await;
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
    assert_eq!(results(&status)[..2], [(0, false), (1, false)]);
    assert_eq!((status.status, status.spent.tokens), (JobStatus::Failed, 120));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_by_its_tree_after_a_budget_is_reached() {
    // A condition that fails in this way is false; what comes next has its own budget only.
    let alt = json!({ "kind": "Alt", "condition": work("long"), "trueWork": work("count") });
    let tree = json!({ "kind": "Seq", "works": [alt, work("short")] });
    let mut entry = Arc::unwrap_or_clone(job(&json!({}), &tree, MODEL));
    entry.tasks["long"].budget = Some(budget(&json!({ "tokens": 50 })));
    let harness = Harness::new();
    let (_, status) = harness.run(Arc::new(entry)).await;
    assert_eq!(status.status, JobStatus::Succeeded);
    assert_eq!(results(&status), [(0, false), (2, true)]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn limits_that_a_job_does_not_name_are_those_of_the_settings() {
    let default = budget(&json!({ "turns": 1, "tokens": 1000 }));
    let harness =
        Harness::with_budget(LiveShared::new(LiveSettings::for_tests()), default, Vec::new());
    let seq = json!({ "kind": "Seq", "works": [work("short"), work("short")] });
    let (_, status) = harness.run(job(&json!({}), &seq, MODEL)).await;
    assert_eq!((results(&status), status.budget), (vec![(0, true), (1, false)], default));
    let (_, status) = harness.run(job(&json!({ "turns": 2 }), &seq, MODEL)).await;
    assert_eq!(status.status, JobStatus::Succeeded);
    assert_eq!(status.budget, budget(&json!({ "turns": 2, "tokens": 1000 })));
    harness.jobs.narrow(PermissionMode::Ask, budget(&json!({ "turns": 7, "tokens": 5 })));
    let (_, status) = harness.run(job(&json!({ "turns": 2 }), &work("long"), MODEL)).await;
    assert_eq!((results(&status), status.budget.tokens), (vec![(0, false)], 5.try_into().ok()));
    harness.end().await;
}

/// A provider that reports no usage, or only tokens.
struct Silent(&'static str, ReportedUsage);

#[async_trait]
impl AgentBackend for Silent {
    fn provider(&self) -> &'static str {
        self.0
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { reports: self.1, ..Capabilities::default() }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>, AgentError> {
        let (name, id) = (self.0.to_owned(), self.0.to_owned());
        Ok(vec![ModelInfo { name, id, multiplier: 0.0, provider: None }])
    }

    async fn start_session(
        &self,
        _settings: AgentSettings,
    ) -> Result<Box<dyn AgentSession>, AgentError> {
        Err(AgentError::Unavailable("not in this test".to_owned()))
    }

    async fn close(&self) {}
}

#[tokio::test(start_paused = true)]
async fn a_job_does_not_start_with_a_model_that_reports_too_little() {
    let silent = Arc::new(Silent("silent", ReportedUsage::Nothing));
    let tokens = Arc::new(Silent("tokens", ReportedUsage::Tokens));
    let harness = Harness::with_budget(
        LiveShared::new(LiveSettings::for_tests()),
        Budget::default(),
        vec![silent, tokens],
    );
    for (limits, of_task, last, model, limit) in [
        (json!({ "tokens": 5 }), json!({}), "short", "silent", BudgetLimit::Tokens),
        (json!({}), json!({ "cost": 5 }), "short", "silent", BudgetLimit::Cost),
        (json!({ "cost": 5 }), json!({}), "short", "tokens", BudgetLimit::Cost),
        // The model that its conditions fall back on.
        (json!({ "cost": 5 }), json!({}), "judged", "tokens", BudgetLimit::Cost),
    ] {
        let mut entry = Arc::unwrap_or_clone(job(&limits, &work(last), model));
        entry.tasks[last].budget = Some(budget(&of_task));
        let refused = harness.jobs.start(Arc::new(entry), "j", harness.folder(), String::new());
        let error = refused.await.expect_err("not started");
        let expected = BudgetNotSupported { model: model.to_owned(), limit };
        assert_eq!(error, JobError::BudgetNotSupported(expected));
        assert!(error.to_string().contains(model) && error.to_string().contains(limit.name()));
    }
    assert_eq!(harness.jobs.running().jobs, [], "nothing was started");
    // Turns and minutes need no report, and tokens are reported.
    for (limits, model) in
        [(json!({ "turns": 5, "minutes": 5 }), "silent"), (json!({ "tokens": 5 }), "tokens")]
    {
        let entry = job(&limits, &work("short"), model);
        let started = harness.jobs.start(entry, "j", harness.folder(), String::new()).await;
        assert!(started.is_ok(), "{limits}: {started:?}");
    }
    harness.end().await;
}
