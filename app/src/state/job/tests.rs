mod recovery;
mod states;
mod stored;

use std::cell::RefCell;
use std::rc::Rc;

use wire::{JobStatusReply, SessionResponse};

use super::*;

/// Records what reaches a tab: `source text`, and `!` where something ended.
#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Vec<String>>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.borrow_mut().push(text);
    }
}

impl Tab for Notes {
    fn new(_: bool) -> Self {
        Self::default()
    }

    fn take_session(&self, source: usize, responses: Vec<Timed<SessionResponse>>) {
        for Timed { response, .. } in responses {
            if let SessionResponse::GeneratedUserPrompt { prompt } = response {
                self.note(format!("{source} {prompt}"));
            }
        }
    }

    fn end_session(&self, source: usize) {
        self.note(format!("!{source}"));
    }

    fn take_task(&self, source: usize, _: TaskId, said: Timed<TaskResponse>) {
        if let TaskResponse::TaskDecision { reason, .. } = said.response {
            self.note(format!("{source} {reason}"));
        }
    }

    fn end_task(&self) {
        self.note("!task".to_owned());
    }

    fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

fn id<T: std::str::FromStr>(prefix: &str, number: u32) -> T {
    let text = format!("{prefix}-00000000-0000-4000-8000-{number:012}");
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

fn state() -> JobState<Notes> {
    JobState::new(id("job", 0))
}

/// An answer in short: `job`, `tN` or `sN`, then its responses.
///
/// - job: `+W tN` a work started, `-W` it succeeded, `~W` it failed, `succeeded`, `failed`,
///   `canceled`, `error TEXT`;
/// - task: `driver N`, `worker N` (sessions), `[TEXT`, `recovered` (a decision), `done`;
/// - session: its prompts;
/// - any: `closed`, `gone`, `late` (an error that does not end anything).
fn batch(items: &[(&str, &[&str])]) -> LiveBatch {
    let live = items.iter().map(|(from, said)| item(from, said)).collect();
    LiveBatch { live, ..LiveBatch::default() }
}

fn item(from: &str, said: &[&str]) -> LiveItem {
    use ErrorName as E;
    let (kind, number) = from.split_at(1);
    let number = number.parse().unwrap_or_default();
    match kind {
        "j" => LiveItem::Job(id("job", 0), reply(said, [E::JobsClosed, E::JobNotFound], job)),
        "t" => {
            let names = [E::TaskClosed, E::TaskNotFound];
            LiveItem::Task(id("task", number), reply(said, names, task))
        }
        _ => {
            let names = [E::SessionClosed, E::SessionNotFound];
            let prompt =
                |prompt: &str| SessionResponse::GeneratedUserPrompt { prompt: prompt.to_owned() };
            LiveItem::Session(id("session", number), reply(said, names, prompt))
        }
    }
}

/// Without times: only tabs use them.
fn reply<R>(said: &[&str], names: [ErrorName; 2], read: impl Fn(&str) -> R) -> LiveReply<Timed<R>> {
    let error = match said {
        ["closed"] => names[0],
        ["gone"] => names[1],
        ["late"] => ErrorName::TooManyReaders,
        _ => {
            let responses = said.iter().map(|one| Timed { at: 0, response: read(one) });
            return LiveReply::Responses { responses: responses.collect() };
        }
    };
    LiveReply::Error(error.into())
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

fn job(said: &str) -> JobResponse {
    let (sign, rest) = said.split_at(1);
    match (sign, said) {
        ("+", _) => {
            let (work, task) = rest.split_once(" t").expect("a task");
            JobResponse::WorkStarted { work_id: number(work), task_id: id("task", number(task)) }
        }
        ("-" | "~", _) => {
            JobResponse::WorkStopped { work_id: number(rest), succeeded: sign == "-" }
        }
        (_, "succeeded") => JobResponse::JobSucceeded,
        (_, "failed") => JobResponse::JobFailed,
        (_, "canceled") => JobResponse::JobCanceled,
        _ => JobResponse::Error { message: said.to_owned() },
    }
}

fn task(said: &str) -> TaskResponse {
    let started = |session: &str, is_driving| TaskResponse::TaskSessionStarted {
        session_id: id("session", number(session)),
        is_driving,
    };
    match said.split_once(' ') {
        Some(("driver", session)) => started(session, true),
        Some(("worker", session)) => started(session, false),
        _ if said == "done" => TaskResponse::TaskSucceeded,
        _ if said == "recovered" => TaskResponse::TaskDecision {
            reason: said.to_owned(),
            decision: Decision::Interrupted { recovery: wire::Recovery::Resumed },
        },
        // The decision does not matter here.
        _ => TaskResponse::TaskDecision {
            reason: said.to_owned(),
            decision: wire::Decision::Succeeded,
        },
    }
}

/// The state in short: each work with its status, run, times and tabs.
fn shown(state: &JobState<Notes>) -> Vec<String> {
    let works = state.works.iter().map(|(id, work)| {
        let status = work.status.map_or("?".to_owned(), |status| format!("{status:?}"));
        let time = |time: Option<Millis>| time.map(|time| time.to_string()).unwrap_or_default();
        let span = format!("{}..{}", time(work.span.start), time(work.span.end));
        let tabs: Vec<_> = (0..=work.attempts())
            .filter_map(|index| work.tab(index))
            .map(|tab| tab.0.borrow().join(", "))
            .collect();
        format!("{id} {status} {span} | {}", tabs.join(" | "))
    });
    works.collect()
}

/// What is still followed, in short.
fn open(state: &JobState<Notes>) -> String {
    let short = |id: &LiveId| {
        let text = id.to_string();
        let number = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let number: u32 = number.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(99);
        format!("{}{number}", &text[..1])
    };
    state.open.iter().map(short).collect::<Vec<_>>().join(" ")
}

#[test]
fn works_tabs_and_what_is_followed_come_from_the_responses() {
    type Step<'a> = (&'a [(&'a str, &'a [&'a str])], &'a str, &'a [&'a str]);
    let steps: &[Step] = &[
        (&[("job", &["+0 t1"])], "j0 t1", &["0 Running 1.. | "]),
        (&[("t1", &["[started", "driver 1"])], "j0 t1 s1", &["0 Running 1.. | 0 [started"]),
        // Later items of an answer may depend on earlier ones.
        (
            &[("t1", &["[available", "worker 2"]), ("s1", &["check"])],
            "j0 t1 s1 s2",
            &["0 Running 1.. | 0 [started, 0 [available, 1 check | "],
        ),
        (
            &[("s1", &["closed"]), ("s2", &["do it"]), ("t1", &["driver 3", "[met", "done"])],
            "j0 t1 s2 s3",
            &["0 Running 1.. | 0 [started, 0 [available, 1 check, !1, 0 [met, !task | 0 do it"],
        ),
        (
            &[("s3", &["check again"]), ("s2", &["gone"]), ("t1", &["closed"])],
            "j0 s3",
            &["0 Running 1.. | 0 [started, 0 [available, 1 check, !1, 0 [met, !task, \
               2 check again, !task | 0 do it, !0"],
        ),
    ];
    let mut state = state();
    for (step, (items, followed, works)) in steps.iter().enumerate() {
        let now = Millis::try_from(step).expect("small") + 1;
        assert_eq!(state.take(batch(items), now), Ok(true), "step {step}");
        assert_eq!(open(&state), *followed, "step {step}");
        assert_eq!(shown(&state), *works, "step {step}");
    }
}

#[test]
fn only_the_insides_of_tabs_change_silently() {
    let mut state = state();
    let items: [(&str, &[&str]); 2] = [("job", &["+0 t1"]), ("t1", &["worker 1"])];
    assert_eq!(state.take(batch(&items), 1), Ok(true));
    assert_eq!(state.take(batch(&[("s1", &["do it"])]), 1), Ok(false));
    assert_eq!(state.take(batch(&[("s1", &["closed"])]), 1), Ok(true));
    assert_eq!(state.take(batch(&[("t1", &["late"])]), 1), Err(ErrorName::TooManyReaders));
}

#[test]
fn each_end_of_the_job_is_told_and_everything_is_drained() {
    for (said, status) in [
        ("succeeded", JobStatus::Succeeded),
        ("failed", JobStatus::Failed),
        ("canceled", JobStatus::Canceled),
    ] {
        let mut state = state();
        let items: [(&str, &[&str]); 2] =
            [("job", &["+0 t1", "+1 t2", "-0", "~1", "oops", said]), ("job", &["closed"])];
        assert_eq!(state.take(batch(&items), 7), Ok(true));
        assert_eq!(state.status, Some(status));
        assert_eq!((state.span.end, state.state().is_some()), (Some(7), true));
        assert_eq!(state.states(), [WorkState::Succeeded, WorkState::Failed]);
        assert_eq!(state.errors, ["oops"]);
        assert_eq!(shown(&state), ["0 Succeeded 7..7 | !task", "1 Failed 7..7 | !task"]);
        assert_eq!(state.open_ids().len(), 2);
        let items: [(&str, &[&str]); 2] = [("t1", &["gone"]), ("t2", &["closed"])];
        assert_eq!(state.take(batch(&items), 7), Ok(true));
        assert_eq!(state.open_ids(), []);
    }
}

#[test]
fn a_work_that_starts_again_begins_anew() {
    let mut state = state();
    let first: [(&str, &[&str]); 3] =
        [("job", &["+0 t1"]), ("t1", &["worker 1", "[one"]), ("s1", &["do it"])];
    assert!(state.take(batch(&first), 1).is_ok());
    assert!(state.take(batch(&[("job", &["-0", "+0 t2"])]), 2).is_ok());
    assert_eq!(shown(&state), ["0 Running 2.. | "]);
    // The rest of the first run is read, but not shown.
    let late: [(&str, &[&str]); 2] = [("t1", &["worker 3", "[late"]), ("s1", &["after"])];
    assert!(state.take(batch(&late), 3).is_ok());
    assert_eq!(
        (open(&state).as_str(), shown(&state).join("")),
        ("j0 t1 s1 t2", "0 Running 2.. | ".to_owned())
    );
    // A run that was over before it was asked for is not followed at all.
    assert!(state.take(batch(&[("job", &["-0", "+0 t3", "-0", "+0 t4", "-0"])]), 4).is_ok());
    assert_eq!(open(&state), "j0 t1 s1 t4");
    assert_eq!(shown(&state), ["0 Succeeded 4..4 | !task"]);
}

#[test]
fn what_the_server_has_forgotten_stays_on_the_page() {
    let mut state = state();
    let history: [(&str, &[&str]); 3] =
        [("job", &["+0 t1"]), ("t1", &["worker 1"]), ("s1", &["do it"])];
    assert!(state.take(batch(&history), 1).is_ok());
    let gone: [(&str, &[&str]); 3] = [("job", &["-0"]), ("t1", &["gone"]), ("s1", &["gone"])];
    assert!(state.take(batch(&gone), 5).is_ok());
    assert_eq!(open(&state), "j0");
    assert_eq!(shown(&state), ["0 Succeeded 1..5 | !task, !task | 0 do it, !0"]);
}

#[test]
fn an_error_of_one_does_not_keep_the_others_from_being_read() {
    let mut state = state();
    assert!(state.take(batch(&[("job", &["+0 t1"]), ("t1", &["worker 1"])]), 1).is_ok());
    let said: [(&str, &[&str]); 2] = [("t1", &["late"]), ("s1", &["do it"])];
    assert_eq!(state.take(batch(&said), 1), Err(ErrorName::TooManyReaders));
    assert_eq!(open(&state), "j0 t1 s1");
    assert_eq!(shown(&state), ["0 Running 1.. |  | 0 do it"]);
}

/// A status at 1000 on the server's clock; `WORK STATUS START END`, with a task if it runs.
fn status(job: JobStatus, end: Option<&str>, works: &[(u32, WorkStatus, &str)]) -> JobStatusReply {
    let tasks = works.iter().map(|(work, status, times)| {
        let (start, end) = times.split_once("..").expect("two times");
        let running = *status == WorkStatus::Running;
        wire::JobTask {
            work_id_in_job: *work,
            task_id: running.then(|| id("task", 10 + work)),
            name: None,
            status: Some(*status),
            state: Standing::from(*status).state,
            carried: false,
            recovery: None,
            reason: None,
            start_time: Some(start.to_owned()),
            end_time: (!running).then(|| end.to_owned()),
            attempts: None,
            usage: Usage::default(),
        }
    });
    JobStatusReply {
        job_id: id("job", 0),
        job_name: "scrum".to_owned(),
        start_time: "100".to_owned(),
        end_time: end.map(str::to_owned),
        server_time: "1000".to_owned(),
        status: job,
        state: if job == JobStatus::Running { EntityState::Running } else { EntityState::Failed },
        reason: None,
        reason_work_id: None,
        usage: Usage::default(),
        folder: String::new(),
        user_input: String::new(),
        retried_from: None,
        retries: Vec::new(),
        budget: wire::Budget::default(),
        spent: wire::Spent::default(),
        tasks: tasks.collect(),
    }
}

fn read(time: &str) -> Option<Millis> {
    time.parse().ok()
}

#[test]
fn a_page_that_comes_late_shows_the_servers_times_on_its_own_clock() {
    use WorkStatus::{Failed, Running, Succeeded};
    let works = [
        (0, Succeeded, "200..300"),
        (1, Running, "400.."),
        (2, Succeeded, "500..600"),
        (3, Failed, "7..8"),
    ];
    let mut state = state();
    state.take_status(status(JobStatus::Running, None, &works), 51_000, read);
    assert_eq!(state.name.as_deref(), Some("scrum"));
    assert_eq!(state.span, Span { start: Some(50_100), end: None });
    let known = [
        "0 Succeeded 50200..50300 | ",
        "1 Running 50400.. | ",
        "2 Succeeded 50500..50600 | ",
        "3 Failed 50007..50008 | ",
    ];
    assert_eq!(shown(&state), known);
    // Work 0 ran twice; 2 began again and 1 ended since the status; 4 is new.
    let history = [
        "+0 t1", "-0", "+0 t2", "-0", "+1 t11", "-1", "+2 t5", "-2", "+2 t6", "+3 t7", "~3",
        "+4 t8",
    ];
    assert!(state.take(batch(&[("job", &history)]), 51_500).is_ok());
    let expected = [
        "0 Succeeded 50200..50300 | !task",
        "1 Succeeded 50400..51500 | !task",
        "2 Running 51500.. | ",
        "3 Failed 50007..50008 | !task",
        "4 Running 51500.. | ",
    ];
    assert_eq!(shown(&state), expected);
    // From here on the time of arrival counts.
    assert!(state.take(batch(&[("job", &["+0 t9", "-4"])]), 52_000).is_ok());
    assert_eq!(shown(&state)[0], "0 Running 52000.. | ");
    assert_eq!(shown(&state)[4], "4 Succeeded 51500..52000 | !task");
    let states = [
        WorkState::Running,
        WorkState::Succeeded,
        WorkState::Running,
        WorkState::Failed,
        WorkState::Succeeded,
    ];
    assert_eq!(state.states(), states);
}

#[test]
fn a_job_that_ended_long_ago_has_its_statuses_and_nothing_to_follow() {
    let mut state = state();
    let works = [(0, WorkStatus::Succeeded, "200..300")];
    state.take_status(status(JobStatus::Succeeded, Some("900"), &works), 1_000, read);
    assert!(state.take(batch(&[("job", &["gone"])]), 1_000).is_ok());
    assert_eq!(state.open_ids(), []);
    assert_eq!(state.status, Some(JobStatus::Succeeded));
    assert_eq!(state.span, Span { start: Some(100), end: Some(900) });
    assert_eq!(shown(&state), ["0 Succeeded 200..300 | "]);
    assert!(state.work(0).is_some_and(|work| work.tab(0).is_none() && work.task().is_none()));
}

#[test]
fn no_call_asks_for_more_than_the_server_takes() {
    let mut state = state();
    let many: Vec<String> = (0..600).map(|work| format!("+{work} t{work}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(state.take(batch(&[("job", &many)]), 1).is_ok());
    assert_eq!(state.open_ids().len(), MAX_IDS);
}

#[test]
fn usage_and_questions_are_added_up_over_sessions_and_runs() {
    use SessionResponse as R;
    let question = id("permission", 1);
    let used = |input_tokens| R::Usage {
        model: "m".to_owned(),
        usage: Usage { input_tokens, ..Usage::default() },
    };
    let asked = || {
        let request = wire::PermissionRequest {
            kind: wire::PermissionKind::Create,
            title: "Create a".to_owned(),
            path: None,
            detail: None,
            diff: None,
            each_time: false,
        };
        R::PermissionRequest(wire::PendingPermission { id: question, request })
    };
    let resolved = || R::PermissionResolved {
        request_id: question,
        decision: wire::PermissionOutcome::Denied,
    };
    let said = |session, responses: Vec<R>| {
        let responses = responses.into_iter().map(|response| Timed { at: 0, response });
        let reply = LiveReply::Responses { responses: responses.collect() };
        let live = vec![LiveItem::Session(id("session", session), reply)];
        LiveBatch { live, ..LiveBatch::default() }
    };
    let mut job = state();
    assert_eq!(job.take(batch(&[("job", &["+1 t1"])]), 0), Ok(true));
    assert_eq!(job.take(batch(&[("t1", &["driver 1", "worker 2"])]), 0), Ok(true));
    assert_eq!(job.take(said(1, vec![used(10)]), 0), Ok(true));
    assert_eq!(job.take(said(2, vec![used(5), asked()]), 0), Ok(true));
    assert_eq!(job.take(said(2, vec![R::Idle]), 0), Ok(false), "nothing but the inside of a tab");
    assert_eq!((job.usage().input_tokens, job.usage_of(1).input_tokens), (15, 15));
    assert_eq!(job.asking(), Some(1));
    assert_eq!(job.states(), [WorkState::Waiting]);

    assert_eq!(job.take(said(2, vec![resolved()]), 0), Ok(true));
    assert_eq!(job.asking(), None);
    assert_eq!(job.states(), [WorkState::Running]);

    // A session that has ended has no pending requests, and the usage of an earlier run still
    // counts.
    assert_eq!(job.take(said(1, vec![asked()]), 0), Ok(true));
    assert_eq!(job.take(batch(&[("s1", &["closed"])]), 0), Ok(true));
    assert_eq!(job.asking(), None);
    assert_eq!(job.take(batch(&[("job", &["-1", "+1 t2"])]), 0), Ok(true));
    assert_eq!((job.usage().input_tokens, job.usage_of(1).input_tokens), (15, 0));
}

#[test]
fn who_comes_late_is_told_what_was_used() {
    let mut job = state();
    let mut reply = status(JobStatus::Running, None, &[(1, WorkStatus::Succeeded, "200..300")]);
    let told = |input_tokens| Usage { input_tokens, ..Usage::default() };
    (reply.usage, reply.tasks[0].usage) = (told(30), told(20));
    job.take_status(reply, 1000, read);
    assert_eq!(job.take(batch(&[("job", &["+1 t1", "-1"])]), 1000), Ok(true));
    assert_eq!((job.usage(), job.usage_of(1)), (told(30), told(20)));
    assert_eq!(job.take(batch(&[("job", &["+1 t2"])]), 1001), Ok(true));
    assert_eq!((job.usage(), job.usage_of(1)), (told(30), told(0)));
}
