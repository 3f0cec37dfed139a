//! A server that is killed anywhere: the job ends as if nothing had happened, or a person is asked;
//! and nothing is done twice unless somebody has decided so.

mod world;

use std::collections::BTreeMap;

use serde_json::Value;
use store::journal::Batch;
use wire::{Decision, InboxChoice, Recovery, TaskResponse};

use super::journal::TestJournal;
use super::*;
use crate::inbox::Reply;
use world::{Ability, JUDGE, MODEL, Workers, World};

/// The outcome of a job: its status, and the state of each of its works.
type Outcome = (JobStatus, Vec<WorkState>);

/// A server on a journal, whose agents change a world.
struct Server {
    harness: Harness,
    journal: Arc<TestJournal>,
    world: World,
}

impl Server {
    async fn start(journal: TestJournal, world: World, ability: Ability) -> Self {
        let journal = Arc::new(journal);
        // As if the server had not run for long: nothing that has ended can be read live any more.
        let settings = LiveSettings { forget_after: Duration::ZERO, ..LiveSettings::for_tests() };
        let live = LiveShared::with_journal(settings, journal.clone());
        recover(&live).await.expect("recovered");
        let workers = Workers { ability, world: world.clone(), journal: journal.clone() };
        let harness = Harness::with_budget(live, Budget::default(), vec![Arc::new(workers)]);
        harness.take_up().await;
        Self { harness, journal, world }
    }

    /// Waits for the end of a job. Questions are answered in the same way each.
    async fn outcome(&self, job: JobId, choice: InboxChoice) -> Outcome {
        loop {
            let status = self.harness.jobs.status(job).await.expect("a job");
            if status.end_time.is_some() {
                let works = status.tasks.iter().map(|task| task.state).collect();
                return (status.status, works);
            }
            for item in self.harness.sessions.inbox().list().items {
                let reply = Reply { choice, text: None, by: "tester".into() };
                // It may have been withdrawn since.
                let _ = self.harness.sessions.inbox().answer(item.id, reply).await;
            }
            tokio::task::yield_now().await;
        }
    }

    /// What was decided after restarts, by the tasks that are stored.
    fn decisions(&self) -> Vec<Recovery> {
        let mut decisions = Vec::new();
        for append in self.journal.batches().iter().flat_map(|batch| &batch.appends) {
            for fact in &append.facts {
                if let Ok(TaskResponse::TaskDecision { decision, .. }) =
                    serde_json::from_str::<TaskResponse>(&fact.json)
                    && let Decision::Interrupted { recovery } = decision
                {
                    decisions.push(recovery);
                }
            }
        }
        decisions
    }

    async fn end(self) {
        self.harness.end().await;
    }
}

/// A job as an entry has it.
struct Case {
    tasks: Value,
    work: Value,
    on_interrupted: &'static str,
}

impl Case {
    fn entry(&self) -> Arc<Entry> {
        let mut tasks = self.tasks.clone();
        for task in tasks.as_object_mut().expect("tasks").values_mut() {
            task["requireUserInput"] = json!(false);
            task["model"] = json!({ "id": MODEL });
        }
        let entry = json!({
            "models": { "driving": JUDGE },
            "drivingSessionRetries": [{ "modelId": JUDGE, "retries": 1 }],
            "promptVariables": {},
            "tasks": tasks,
            "jobs": { "j": {
                "permissions": "approve-all",
                "onInterrupted": self.on_interrupted,
                "work": self.work,
            } },
            "grid": [],
        });
        Arc::new(Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}")))
    }
}

fn task(id: &str) -> Value {
    json!({ "kind": "Ref", "taskId": id })
}

fn prompt(text: &str) -> Value {
    json!({ "prompt": [text] })
}

fn condition(text: &str) -> Value {
    json!({ "condition": [format!("{text} by job_boolean_true")] })
}

/// Every kind of work, and every phase of a task.
fn cases(on_interrupted: &'static str) -> Vec<(&'static str, Case)> {
    let case = |tasks: Value, work: Value| Case { tasks, work, on_interrupted };
    let retried = |same_session: bool| {
        let mut task = prompt("look change:a document:x");
        task["availability"] = condition("look true:free");
        task["criteria"] = condition("until:a:2");
        task["criteria"]["runConditionInSameSession"] = json!(same_session);
        task["criteria"]["toolExecuted"] = json!(["job_prepare_document"]);
        task["criteria"]["failureAction"] = json!({ "retryTimes": 3 });
        json!({ "t": task, "after": prompt("change:b") })
    };
    let judged = |text: &str| {
        let mut task = prompt("look");
        task["criteria"] = condition(text);
        task["criteria"]["failureAction"] = json!({ "retryTimes": 0 });
        task
    };
    let changes = json!({
        "a": prompt("change:a"),
        "b": prompt("look change:b"),
        "c": prompt("change:c look"),
        "yes": judged("true:so"),
        "no": judged("false:so"),
        "enough": judged("until:a:2"),
    });
    let two = json!({ "kind": "Seq", "works": [task("t"), task("after")] });
    vec![
        (
            "a sequence after parallel works",
            case(
                changes.clone(),
                json!({ "kind": "Seq", "works": [
                    { "kind": "Par", "works": [task("a"), task("b")] },
                    task("c"),
                ] }),
            ),
        ),
        (
            "a loop with both conditions",
            case(
                changes.clone(),
                json!({
                    "kind": "Loop",
                    "preCondition": [true, task("yes")],
                    "body": task("a"),
                    "postCondition": [false, task("enough")],
                }),
            ),
        ),
        (
            "alternatives",
            case(
                changes,
                json!({ "kind": "Seq", "works": [
                    { "kind": "Alt", "condition": task("yes"), "trueWork": task("a"), "falseWork": task("c") },
                    { "kind": "Alt", "condition": task("no"), "trueWork": task("c"), "falseWork": task("b") },
                ] }),
            ),
        ),
        ("a retry in one session", case(retried(true), two.clone())),
        ("a retry that others judge", case(retried(false), two)),
        (
            "a task that crashes",
            case(
                json!({ "t": prompt("change:a crash"), "after": prompt("change:b") }),
                json!({ "kind": "Seq", "works": [task("t"), task("after")] }),
            ),
        ),
        ("turns that fail", case(json!({ "t": prompt("look fail") }), task("t"))),
    ]
}

const ABILITIES: [Ability; 3] = [
    Ability { resume: true, own_tools: false },
    Ability { resume: false, own_tools: false },
    Ability { resume: false, own_tools: true },
];

/// Runs a job without any interruption, and returns everything that is needed to cut it off.
async fn run_through(case: &Case, ability: Ability) -> (JobId, Outcome, Vec<Batch>, World) {
    let server = Server::start(TestJournal::lasting(), World::default(), ability).await;
    // One that is still there after the restart.
    let started = server.harness.jobs.start(case.entry(), "j", "/", String::new());
    let job = started.await.expect("a job");
    let outcome = server.outcome(job, InboxChoice::Fail).await;
    let (batches, world) = (server.journal.batches(), server.world.clone());
    assert_eq!(server.decisions(), [], "nothing was interrupted");
    server.end().await;
    (job, outcome, batches, world)
}

/// How often each thing was changed.
fn tally(changes: &[String]) -> BTreeMap<&str, usize> {
    let mut tally = BTreeMap::new();
    for change in changes {
        *tally.entry(change.as_str()).or_default() += 1;
    }
    tally
}

/// Cuts a run at every prefix of what it stored, and lets a new server go on.
async fn cut_everywhere(
    name: &str,
    case: &Case,
    ability: Ability,
    choice: InboxChoice,
    mut check: impl FnMut(&str, &Server, &Outcome, &Outcome, &World),
) {
    let (job, whole, batches, world) = run_through(case, ability).await;
    for stored in 1..=batches.len() {
        let before = world.cut(stored);
        let journal = TestJournal::cut(&batches[..stored]);
        let server = Server::start(journal, world.cut(stored), ability).await;
        if server.harness.jobs.status(job).await.is_err() {
            // The start was not stored, so its caller knows nothing of the job either.
            server.end().await;
            continue;
        }
        let outcome = server.outcome(job, choice).await;
        let context = format!("{name}, {ability:?}, cut after {stored} of {}", batches.len());
        assert!(!server.harness.sessions.has_running(), "{context}: a session is left");
        assert_eq!(server.harness.sessions.inbox().list().items, [], "{context}");
        check(&context, &server, &outcome, &whole, &before);
        server.end().await;
    }
}

#[tokio::test]
async fn wherever_a_job_is_cut_off_it_ends_as_if_nothing_had_happened() {
    for (name, case) in cases("resume") {
        for ability in ABILITIES {
            let (.., whole_world) = run_through(&case, ability).await;
            let wanted = whole_world.changes();
            cut_everywhere(
                name,
                &case,
                ability,
                InboxChoice::Continue,
                |context, server, outcome, whole, _| {
                    assert_eq!(outcome, whole, "{context}: {:?}", server.decisions());
                    // A prompt that is sent again after a crash changes again what it had changed.
                    if !name.contains("crashes") {
                        assert_eq!(
                            tally(&server.world.changes()),
                            tally(&wanted),
                            "{context}: {:?}",
                            server.decisions()
                        );
                    }
                },
            )
            .await;
        }
    }
}

#[tokio::test]
async fn nothing_is_repeated_without_a_decision_that_says_so() {
    for (name, case) in cases("resume") {
        for ability in ABILITIES {
            cut_everywhere(
                name,
                &case,
                ability,
                InboxChoice::Redo,
                |context, server, outcome, whole, before| {
                    let decisions = server.decisions();
                    assert!(decisions.len() <= 3, "{context}: {decisions:?}");
                    assert!(!decisions.contains(&Recovery::Failed), "{context}: {decisions:?}");
                    if ability.resume {
                        assert!(!decisions.contains(&Recovery::Asked), "{context}: {decisions:?}");
                        assert!(
                            !decisions.contains(&Recovery::SentAgain),
                            "{context}: {decisions:?}"
                        );
                    } else if !decisions.contains(&Recovery::Asked) {
                        assert!(
                            !decisions.contains(&Recovery::Resumed),
                            "{context}: {decisions:?}"
                        );
                    }
                    if !name.contains("retry") {
                        assert_eq!(outcome, whole, "{context}: {decisions:?}");
                    }
                    // What was changed before is changed again only if a person wants that.
                    let is_redone = decisions.contains(&Recovery::Asked);
                    let is_repeated_anyway =
                        ["crashes", "retry", "loop"].iter().any(|word| name.contains(word));
                    if !is_redone && !is_repeated_anyway {
                        let after = server.world.changes();
                        let new = &after[before.changes().len()..];
                        let twice = new.iter().find(|change| before.count(change) > 0);
                        assert_eq!(twice, None, "{context}: {decisions:?}");
                    }
                },
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_person_is_asked_about_every_turn_if_that_is_wanted() {
    for (name, case) in cases("ask") {
        for (choice, is_done) in [(InboxChoice::Done, true), (InboxChoice::Fail, false)] {
            cut_everywhere(
                name,
                &case,
                ABILITIES[0],
                choice,
                |context, server, outcome, whole, _| {
                    let decisions = server.decisions();
                    assert!(!decisions.contains(&Recovery::Resumed), "{context}: {decisions:?}");
                    assert!(!decisions.contains(&Recovery::SentAgain), "{context}: {decisions:?}");
                    let decided =
                        if is_done { Recovery::CountedAsDone } else { Recovery::CountedAsFailed };
                    let count = |what| decisions.iter().filter(|one| **one == what).count();
                    assert_eq!(count(Recovery::Asked), count(decided), "{context}: {decisions:?}");
                    if count(Recovery::Asked) == 0 {
                        assert_eq!(outcome, whole, "{context}: {decisions:?}");
                    }
                },
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_job_that_is_not_to_go_on_fails_with_the_first_turn_that_was_cut_off() {
    for (name, case) in cases("fail") {
        cut_everywhere(
            name,
            &case,
            ABILITIES[0],
            InboxChoice::Fail,
            |context, server, outcome, whole, before| {
                let decisions = server.decisions();
                if decisions.is_empty() {
                    assert_eq!(outcome, whole, "{context}");
                    return;
                }
                assert!(decisions.iter().all(|one| *one == Recovery::Failed), "{context}");
                assert_eq!(outcome.0, JobStatus::Failed, "{context}");
                assert!(outcome.1.contains(&WorkState::Interrupted), "{context}: {outcome:?}");
                assert!(server.world.changes().len() <= before.changes().len() + 1, "{context}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_job_that_is_cut_off_again_and_again_ends_as_if_nothing_had_happened() {
    for (name, case) in cases("resume") {
        let ability = ABILITIES[0];
        let (job, whole, batches, world) = run_through(&case, ability).await;
        for first in (1..batches.len()).step_by(7) {
            let (mut stored, mut seen) = (batches[..first].to_vec(), world.cut(first));
            let mut outcome = None;
            for step in [1, 5, 2, 9] {
                let server = Server::start(TestJournal::cut(&stored), seen.clone(), ability).await;
                if server.harness.jobs.status(job).await.is_err() {
                    server.end().await;
                    break;
                }
                outcome = Some(server.outcome(job, InboxChoice::Continue).await);
                let until = (stored.len() + step).min(server.journal.len());
                seen = server.world.cut(until);
                stored = server.journal.batches()[..until].to_vec();
                server.end().await;
            }
            if let Some(outcome) = outcome {
                assert_eq!(outcome, whole, "{name}, first cut after {first}");
            }
        }
    }
}

#[tokio::test]
async fn a_retry_is_linked_both_ways_wherever_it_is_cut_off() {
    let tasks = json!({ "t": prompt("look crash") });
    let case = Case { tasks, work: task("t"), on_interrupted: "resume" };
    let ability = ABILITIES[0];
    let server = Server::start(TestJournal::lasting(), World::default(), ability).await;
    let started = server.harness.jobs.start(case.entry(), "j", "/", String::new());
    let original = started.await.expect("a job");
    server.outcome(original, InboxChoice::Fail).await;
    let before = server.journal.len();
    let retry = server.harness.jobs.retry(original, None).await.expect("a retry");
    server.outcome(retry, InboxChoice::Fail).await;
    let (batches, world) = (server.journal.batches(), server.world.clone());
    server.end().await;
    let mut linked = 0;
    for stored in before..=batches.len() {
        let journal = TestJournal::cut(&batches[..stored]);
        let server = Server::start(journal, world.cut(stored), ability).await;
        let jobs = &server.harness.jobs;
        let is_known = jobs.status(retry).await.is_ok_and(|it| it.retried_from == Some(original));
        let retries = jobs.status(original).await.expect("a job").retries;
        assert_eq!(retries.contains(&retry), is_known, "cut after {stored}");
        linked += usize::from(is_known);
        server.end().await;
    }
    assert!(linked > 1);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_counts_or_is_asked_for_again() {
    let tasks = json!({ "t": prompt("look change:a"), "after": prompt("look") });
    let work = json!({ "kind": "Seq", "works": [task("t"), task("after")] });
    let case = Case { tasks, work, on_interrupted: "ask" };
    let ability = ABILITIES[0];
    let (job, whole, batches, world) = run_through(&case, ability).await;
    for first in 1..batches.len() {
        for choice in [InboxChoice::Redo, InboxChoice::Done] {
            let server =
                Server::start(TestJournal::cut(&batches[..first]), world.cut(first), ability).await;
            if server.harness.jobs.status(job).await.is_err() {
                server.end().await;
                continue;
            }
            server.outcome(job, choice).await;
            let (batches, world) = (server.journal.batches(), server.world.clone());
            let was_asked = !server.decisions().is_empty();
            server.end().await;
            // What was stored without a question is cut off by the other tests.
            let cuts = if was_asked { first..=batches.len() } else { first..=first };
            for second in cuts {
                let journal = TestJournal::cut(&batches[..second]);
                let server = Server::start(journal, world.cut(second), ability).await;
                let outcome = server.outcome(job, InboxChoice::Continue).await;
                let decisions = server.decisions();
                let context = format!("{choice}, cut after {first} and {second}: {decisions:?}");
                assert_eq!(outcome, whole, "{context}");
                assert_eq!(server.harness.sessions.inbox().list().items, [], "{context}");
                assert!(!server.harness.sessions.has_running(), "{context}: a session is left");
                let count = |what| decisions.iter().filter(|one| **one == what).count();
                let repetitions = count(Recovery::SentAgain);
                assert!(server.world.count("a") <= 1 + repetitions, "{context}");
                let decided =
                    repetitions + count(Recovery::Resumed) + count(Recovery::CountedAsDone);
                assert_eq!(count(Recovery::Asked), decided, "{context}");
                server.end().await;
            }
        }
    }
}
