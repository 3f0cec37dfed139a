//! Random streams: every prefix folds to a valid record, and the stored record is the fold of what
//! is stored, after every append, in both journals.

use std::fmt::Debug;

use proptest::prelude::*;
use wire::entry::OnInterrupted;
use wire::{
    BudgetLimit, Decision, FailedTurn, FailureCause, InboxChoice, JobId, Judge, Met, PermissionId,
    Reached, Recovery, SessionId, SessionRole, Verdict, VerdictCriterion,
};

use super::*;
use crate::journal::{MemoryJournal, SqliteJournal};

/// What is added to a stream.
#[derive(Clone, Debug)]
enum Happening<E, N> {
    Fact(E),
    Note(N),
}

use Happening::{Fact as F, Note as N};

fn usage() -> impl Strategy<Value = Usage> {
    let tokens = || prop_oneof![0_u64..1_000, Just(u64::MAX)];
    (tokens(), tokens(), prop::option::of(0_u8..9)).prop_map(|(input, output, cost)| Usage {
        input_tokens: input,
        output_tokens: output,
        cost: cost.map(f64::from),
        ..Usage::default()
    })
}

fn budget() -> impl Strategy<Value = Budget> {
    let budgets = [r"{}", r#"{"turns":2}"#, r#"{"minutes":0.5,"tokens":1000,"cost":3}"#];
    prop::sample::select(budgets.map(super::budget).to_vec())
}

/// Fractions that are exact, so that the order of adding does not matter.
fn minutes() -> impl Strategy<Value = f64> {
    (0_u8..9).prop_map(|quarters| f64::from(quarters) / 4.0)
}

fn spent() -> impl Strategy<Value = Spent> {
    (minutes(), 0_u32..2, usage()).prop_map(|(minutes, turns, usage)| Spent {
        minutes,
        turns,
        ..Spent::from(usage)
    })
}

/// Few different ones, so that queued prompts get their turns, and long ones.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b\nsecond line".to_owned()),
        Just(" ".to_owned()),
        Just("ä".repeat(500)),
    ]
}

fn in_session() -> impl Strategy<Value = Happening<SessionResponse, SessionNote>> {
    let question = |number: u8, callback: &str, further: &str| {
        let id: PermissionId =
            format!("permission-00000000-0000-4000-8000-{number:012}").parse().expect("an id");
        let json = format!(r#"{{"callback":"{callback}","requestId":"{id}",{further}}}"#);
        F(serde_json::from_str(&json).expect("a response"))
    };
    let mode = prop_oneof![Just(PermissionMode::Ask), Just(PermissionMode::Deny)];
    prop_oneof![
        text().prop_map(|prompt| F(SessionResponse::UserPrompt { prompt })),
        text().prop_map(|prompt| F(SessionResponse::GeneratedUserPrompt { prompt })),
        text().prop_map(|message| F(SessionResponse::Error { message })),
        Just(F(SessionResponse::Idle)),
        Just(F(SessionResponse::StartMessage { message_id: "m".to_owned() })),
        usage().prop_map(|usage| F(SessionResponse::Usage { model: "m".to_owned(), usage })),
        (0_u8..3).prop_map(move |number| {
            question(number, "onPermissionRequest", r#""kind":"write","title":"t""#)
        }),
        (0_u8..3).prop_map(move |number| {
            question(number, "onPermissionResolved", r#""decision":"deny""#)
        }),
        text().prop_map(|prompt| N(queued(&prompt))),
        text().prop_map(|prompt| {
            N(SessionNote::QueuedFirst(QueuedPrompt {
                prompt,
                author: PromptAuthor::Engine,
                message: None,
                task: TaskId::generate().into(),
                steers: false,
            }))
        }),
        (1_u64..4).prop_map(|prompt| N(SessionNote::Removed { prompt })),
        (1_u64..4, text()).prop_map(|(prompt, text)| N(SessionNote::Edited { prompt, text })),
        Just(N(SessionNote::HandedOver)),
        Just(N(SessionNote::DroppedPrompts)),
        (budget(), any::<bool>())
            .prop_map(|(budget, is_raise)| N(SessionNote::Budget { budget, is_raise })),
        minutes().prop_map(|minutes| N(SessionNote::Ran { minutes })),
        text().prop_map(|title| N(SessionNote::Renamed { title })),
        mode.prop_map(|mode| N(SessionNote::Permissions { mode })),
        prop::collection::vec(text(), 0..3).prop_map(|models| N(SessionNote::Fallback { models })),
        text().prop_map(|model| N(SessionNote::Switched { model })),
        prop::option::of(Just("h".to_owned())).prop_map(|handle| N(SessionNote::Handle { handle })),
        any::<bool>().prop_map(|crashed| N(SessionNote::Closed { crashed })),
    ]
}

fn cause() -> impl Strategy<Value = FailureCause> {
    let role = SessionRole::Task;
    prop_oneof![
        prop::option::of(text()).prop_map(|argument| FailureCause::NotAvailable { argument }),
        text().prop_map(move |error| FailureCause::TurnFailed { role, error, failed_turns: None }),
        Just(FailureCause::Stopped),
    ]
}

fn work_end() -> impl Strategy<Value = WorkEnd> {
    prop_oneof![
        cause().prop_map(|cause| WorkEnd::Failed { cause }),
        Just(WorkEnd::Canceled { by: Canceler::User }),
        (0_u32..3).prop_map(|work_id| WorkEnd::Canceled { by: Canceler::Crash { work_id } }),
        Just(WorkEnd::Interrupted),
    ]
}

fn event() -> impl Strategy<Value = TaskEvent> {
    let call = |argument: Option<String>| JobToolCall {
        name: "job_boolean_true".to_owned(),
        argument,
        succeeded: true,
    };
    let calls = || prop::collection::vec(prop::option::of(text()).prop_map(call), 0..3);
    let failure = prop_oneof![
        text().prop_map(|error| NoAnswer::Crashed { error }),
        text().prop_map(|error| NoAnswer::TurnFailed { outcome: FailedTurn::Aborted, error }),
        Just(NoAnswer::OverBudget(Reached { limit: BudgetLimit::Turns, allowed: 2.0, used: 3.0 })),
    ];
    prop_oneof![
        Just(TaskEvent::Opened { session_id: SessionId::generate() }),
        failure.clone().prop_map(|failure| TaskEvent::NotOpened { failure }),
        (calls(), prop::option::of(text()))
            .prop_map(|(calls, said)| TaskEvent::Answered { calls, said }),
        (calls(), failure).prop_map(|(calls, failure)| TaskEvent::Unanswered { calls, failure }),
        (calls(), any::<bool>()).prop_map(|(calls, may_have_changed)| TaskEvent::CutOff {
            policy: OnInterrupted::Ask,
            may_have_changed,
            calls,
        }),
        any::<bool>().prop_map(|is_resumed| TaskEvent::Resumed { is_resumed }),
        Just(TaskEvent::Answer { choice: InboxChoice::Redo }),
        Just(TaskEvent::Stopped),
    ]
}

fn in_task() -> impl Strategy<Value = Happening<TaskResponse, TaskNote>> {
    let session_id = SessionId::generate();
    prop_oneof![
        Just(F(TaskResponse::TaskSucceeded)),
        Just(F(TaskResponse::TaskFailed)),
        Just(F(TaskResponse::TaskSessionStarted { session_id, is_driving: false })),
        text().prop_map(|message| F(TaskResponse::Error { message })),
        cause().prop_map(|cause| F(Decision::Failed(cause).into())),
        Just(F(TaskResponse::TaskVerdict(Verdict {
            attempt: 1,
            criterion: VerdictCriterion::Condition,
            met: Met::Unknown,
            reason: "r".to_owned(),
            evidence: None,
            judge: Some(Judge { session_id, model: "m".to_owned() }),
        }))),
        usage().prop_map(|usage| N(TaskNote::Used { usage })),
        spent().prop_map(|spent| N(TaskNote::Spent(spent))),
        event().prop_map(|event| N(TaskNote::Event(event))),
        Just(N(TaskNote::Stopped)),
        Just(N(TaskNote::Interrupted)),
    ]
}

fn in_job() -> impl Strategy<Value = Happening<JobResponse, JobNote>> {
    let work = || 0_u32..3;
    prop_oneof![
        work().prop_map(|work_id| F(JobResponse::WorkStarted {
            work_id,
            task_id: TaskId::generate()
        })),
        (work(), any::<bool>())
            .prop_map(|(work_id, succeeded)| F(JobResponse::WorkStopped { work_id, succeeded })),
        Just(F(JobResponse::JobSucceeded)),
        Just(F(JobResponse::JobFailed)),
        Just(F(JobResponse::JobCanceled)),
        text().prop_map(|message| F(JobResponse::Error { message })),
        (work(), usage()).prop_map(|(work_id, usage)| N(JobNote::Used { work_id, usage })),
        (work(), 0_u32..3)
            .prop_map(|(work_id, attempts)| N(JobNote::Attempted { work_id, attempts })),
        (work(), work_end()).prop_map(|(work_id, end)| N(JobNote::Unsuccessful { work_id, end })),
        Just(N(JobNote::Interrupted)),
        work().prop_map(|work_id| N(JobNote::Recovered { work_id, recovery: Recovery::SentAgain })),
        Just(N(JobNote::RetriedBy { job: JobId::generate() })),
        prop::collection::vec((work(), prop::option::of(work_end())), 0..3).prop_map(|runs| {
            let carried = runs.into_iter().map(|(work_id, end)| CarriedRun {
                work_id,
                succeeded: end.is_none(),
                end,
                started_at: 2,
                ended_at: 3,
                usage: Usage::default(),
                attempts: Some(2),
            });
            N(JobNote::Retries { from: JobId::generate(), carried: carried.collect() })
        }),
        spent().prop_map(|spent| N(JobNote::Spent(spent))),
    ]
}

fn assert_valid(record: &Record) {
    use EntityState::{Canceled, Closed, Failed, Interrupted, Succeeded};
    let is_over = matches!(record.state, Succeeded | Failed | Canceled | Closed | Interrupted);
    assert_eq!(is_over, record.ended_at.is_some(), "{record:?}");
    assert!(record.ended_at.is_none_or(|ended| ended > record.started_at), "{record:?}");
    assert_eq!(record.started_at, 1, "{record:?}");
    assert!(record.title.chars().count() <= MAX_TITLE + 1, "{record:?}");
    assert!(!record.title.contains('\n'), "{record:?}");
    assert!(record.usage.cost.is_none_or(|cost| cost >= 0.0), "{record:?}");
    let detail = &record.detail;
    assert!(detail.is_empty() || serde_json::from_str::<serde_json::Value>(detail).is_ok());
}

/// Appends one happening after the other, as a log does, and compares.
async fn keep<E, F>(
    journal: &dyn Journal,
    entity: Entity,
    started: F::Note,
    stream: &[Happening<E, F::Note>],
) where
    E: Serialize + DeserializeOwned + Clone,
    F: Fold<E> + PartialEq + Debug,
    F::Note: Clone,
{
    let mut fold = F::default();
    let (mut facts, mut notes) = (0, 0);
    let first = Happening::Note(started);
    for (at, happening) in (1..).zip([&first].into_iter().chain(stream)) {
        let mut append = Append::new(entity, facts, notes);
        let changes_record = match happening {
            Happening::Fact(fact) => {
                facts += 1;
                append.facts.push(to_fact(at, fact));
                fold.apply(at, fact)
            }
            Happening::Note(note) => {
                notes += 1;
                append.notes.push(to_fact(at, note));
                fold.note(at, note);
                true
            }
        };
        append.record = changes_record.then(|| fold.record());
        assert_valid(&fold.record());
        journal.submit(append.into()).durable().await.expect("kept");
        let (stored, ..) = journal.record(entity).await.expect("read").expect("kept");
        assert_eq!(stored, fold.record(), "after {at}");
        let again = refold::<E, F>(journal, entity).await.expect("read").expect("kept");
        assert_eq!(again, fold, "after {at}");
    }
}

/// Runs a stream on both journals.
fn keep_in_both<E, F>(entity: impl Into<Entity>, started: F::Note, stream: &[Happening<E, F::Note>])
where
    E: Serialize + DeserializeOwned + Clone,
    F: Fold<E> + PartialEq + Debug,
    F::Note: Clone,
{
    let entity = entity.into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        keep::<E, F>(&MemoryJournal::default(), entity, started.clone(), stream).await;
        let folder = tempfile::tempdir().expect("a folder");
        let journal = SqliteJournal::open(folder.path()).expect("a store");
        keep::<E, F>(&journal, entity, started, stream).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn sessions_are_what_is_stored_of_them(stream in prop::collection::vec(in_session(), 0..30)) {
        keep_in_both::<_, SessionFold>(SessionId::generate(), started(), &stream);
    }

    #[test]
    fn tasks_are_what_is_stored_of_them(stream in prop::collection::vec(in_task(), 0..15)) {
        let (name, folder, model) = ("t".to_owned(), "/".to_owned(), "m".to_owned());
        let budget = Budget::default();
        let started = TaskNote::Started { name, folder, model, job: None, budget, origin: None };
        keep_in_both::<_, TaskFold>(TaskId::generate(), started.clone(), &stream);
        keep_in_both::<_, TaskHistory>(TaskId::generate(), started, &stream);
    }

    #[test]
    fn jobs_are_what_is_stored_of_them(stream in prop::collection::vec(in_job(), 0..20)) {
        let started = JobNote::Started {
            name: "j".to_owned(),
            folder: "/".to_owned(),
            input: String::new(),
            work: Some(tree()),
            entry: None,
            permissions: None,
            budget: Budget::default(),
        };
        keep_in_both::<_, JobFold>(JobId::generate(), started.clone(), &stream);
        keep_in_both::<_, JobHistory>(JobId::generate(), started, &stream);
    }
}
