//! Every path of the control flow, as tables: what the sessions do, and how the flow reacts.

mod interruptions;
mod setbacks;
mod verdicts;

use std::collections::VecDeque;
use std::fmt::{self, Write};

use serde_json::{Value, json};
use wire::entry::{DrivingSessionRetry, Entry};
use wire::{FailedTurn, Verdict};

use super::definition::round_robin;
use super::*;

/// A task in an entry whose driving prompts are tried with `d`, then with `d`, `e` and `e`.
fn entry(task: &Value) -> Entry {
    let entry = json!({
        "models": { "driving": "d", "work": "w" },
        "drivingSessionRetries": [{ "modelId": "d", "retries": 1 }, { "modelId": "e", "retries": 2 }],
        "promptVariables": {},
        "tasks": { "t": task },
        "jobs": {},
        "grid": [],
    });
    Entry::parse(&entry.to_string()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Sessions that follow a script, and a transcript of what happened.
struct Script {
    /// What happens in turn: of a prompt, a job tool and its argument, `nothing`, `crash`, `fail` or
    /// `abort`, or `cut` with a policy and perhaps `changed`; of a session that is opened, `refuse`;
    /// of an agent that is to be resumed, `back` or `gone`; of a question, its answer. And `stop` at
    /// any time, as `stop opening` before a session is open.
    acts: VecDeque<&'static str>,
    minutes: String,
    decisions: Vec<Decision>,
    verdicts: Vec<Verdict>,
    events: Vec<TaskEvent>,
}

fn session_id() -> SessionId {
    "session-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11".parse().expect("an id")
}

impl Script {
    fn note(&mut self, line: impl fmt::Display) {
        writeln!(self.minutes, "{line}").expect("a string takes everything");
    }

    fn next_if(&mut self, act: &str) -> bool {
        self.acts.pop_front_if(|next| *next == act).is_some()
    }

    fn next(&mut self) -> &'static str {
        self.acts.pop_front().expect("an act for everything that is waited for")
    }

    /// Carries out an effect. What it comes to is the next event, if it is the one that the plan
    /// waits for.
    fn carry_out(&mut self, effect: Effect) -> Option<TaskEvent> {
        match effect {
            Effect::Report(TaskResponse::TaskDecision { decision, .. }) => self.decide(&decision),
            Effect::Report(TaskResponse::TaskVerdict(verdict)) => self.verdicts.push(verdict),
            Effect::Report(TaskResponse::TaskSessionStarted { is_driving, .. }) => {
                assert_eq!(is_driving, self.minutes.trim_end().ends_with(['d', 'e']));
            }
            Effect::Report(other) => panic!("{other:?}"),
            Effect::Close { succeeded, .. } => {
                self.note(if succeeded { "close" } else { "close broken" });
            }
            Effect::Open { role, model } => return Some(self.open(role, &model)),
            Effect::Send { prompt, .. } => return Some(self.send(&prompt)),
            Effect::Resume { .. } => {
                self.note("resume");
                return Some(match self.next() {
                    "stop" => TaskEvent::Stopped,
                    act => TaskEvent::Resumed { is_resumed: act == "back" },
                });
            }
            Effect::Ask => {
                self.note("ask");
                return Some(match self.next() {
                    "stop" => TaskEvent::Stopped,
                    act => TaskEvent::Answer { choice: act.parse().expect("a choice") },
                });
            }
            Effect::End(end) => self.note(format_args!("= {}", end.name())),
        }
        None
    }

    fn open(&mut self, role: Role, model: &str) -> TaskEvent {
        if self.next_if("refuse") {
            self.note(format_args!("refused {role} {model}"));
            let error = "the agent did not start".to_owned();
            return TaskEvent::NotOpened { failure: NoAnswer::Crashed { error } };
        }
        if self.next_if("stop opening") {
            return TaskEvent::Stopped;
        }
        self.note(format_args!("open {role} {model}"));
        TaskEvent::Opened { session_id: session_id() }
    }

    fn send(&mut self, prompt: &str) -> TaskEvent {
        self.note(format_args!("> {}", prompt.replace('\n', "|")));
        let act = self.next();
        let (name, argument) = act.split_once(' ').unwrap_or((act, ""));
        let unanswered = |failure| TaskEvent::Unanswered { calls: Vec::new(), failure };
        let turn_failed = |outcome, error: &str| {
            unanswered(NoAnswer::TurnFailed { outcome, error: error.to_owned() })
        };
        match name {
            "crash" => unanswered(NoAnswer::Crashed { error: "boom".to_owned() }),
            "fail" => turn_failed(FailedTurn::Failed, "no quota"),
            "abort" => turn_failed(FailedTurn::Aborted, "aborted"),
            "stop" => TaskEvent::Stopped,
            "nothing" => TaskEvent::Answered { calls: Vec::new(), said: None },
            "cut" => {
                let mut words = argument.split(' ');
                let policy = words.next().and_then(|policy| policy.parse().ok()).expect("a policy");
                let may_have_changed = words.next() == Some("changed");
                let calls = words.next().map(|name| call(name, "before")).into_iter().collect();
                TaskEvent::CutOff { policy, may_have_changed, calls }
            }
            name => {
                let said = Some("I looked".to_owned());
                TaskEvent::Answered { calls: vec![call(name, argument)], said }
            }
        }
    }

    fn decide(&mut self, decision: &Decision) {
        self.decisions.push(decision.clone());
        // Opening it is in the transcript already.
        if !matches!(decision, Decision::SessionStarted { .. }) {
            let text = decision.to_string();
            self.note(text.lines().next().unwrap_or_default());
        }
    }
}

fn call(name: &str, argument: &str) -> JobToolCall {
    let (name, argument) = (format!("job_{name}"), Some(argument.to_owned()));
    JobToolCall { name, argument, succeeded: true }
}

fn minutes_of(task: &Value, mode: Option<Mode>, acts: &[&'static str]) -> String {
    run_script(task, mode, acts).minutes
}

fn run_script(task: &Value, mode: Option<Mode>, acts: &[&'static str]) -> Script {
    let entry = entry(task);
    let borrowed = (mode == Some(Mode::Borrowing)).then(session_id);
    let definition = || Definition::new(&entry, "t", "w", borrowed).expect("a task");
    let mut script = Script {
        acts: acts.iter().copied().collect(),
        minutes: String::new(),
        decisions: Vec::new(),
        verdicts: Vec::new(),
        events: Vec::new(),
    };
    let (mut plan, mut effects) = Plan::new(definition(), "input".to_owned());
    loop {
        // At every moment, the events so far are all that is needed to go on.
        let events = script.events.iter().cloned();
        let replayed = Plan::replay(definition(), "input".to_owned(), events).expect("replayed");
        assert_eq!(replayed, plan);
        assert_eq!(effects.last(), Some(&plan.pending()));
        let waited_for = effects.len() - 1;
        let mut next = None;
        for (place, effect) in effects.into_iter().enumerate() {
            let event = script.carry_out(effect);
            assert!(event.is_none() || place == waited_for, "only the last one is waited for");
            next = event;
        }
        let Some(event) = next else { break };
        effects = plan.apply(event.clone()).expect("it is waited for");
        script.events.push(event);
    }
    assert_eq!(script.acts, [""; 0], "acts that were not needed");
    script
}

#[expect(clippy::needless_pass_by_value, reason = "most tasks are made for one call")]
fn check(task: Value, acts: &[&'static str], expected: &str) {
    check_in(None, &task, acts, expected);
}

fn check_in(mode: Option<Mode>, task: &Value, acts: &[&'static str], expected: &str) {
    let minutes = minutes_of(task, mode, acts);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(minutes.trim_end(), expected.join("\n"), "\nacts: {acts:?}\nwas:\n{minutes}");
}

const IS_IT: &str = "job_boolean_true or job_boolean_false?";

fn plain() -> Value {
    json!({ "prompt": ["do it"], "requireUserInput": false })
}

fn with(changes: Value) -> Value {
    let mut task = plain();
    let Value::Object(changes) = changes else { panic!("an object") };
    task.as_object_mut().expect("an object").extend(changes);
    task
}

fn available() -> Value {
    json!({ "condition": ["can it:", IS_IT] })
}

/// Criteria that one session judges, or a driving one.
fn criteria(same_session: bool, retries: u32) -> Value {
    json!({
        "condition": ["is it:", IS_IT],
        "runConditionInSameSession": same_session,
        "failureAction": { "retryTimes": retries },
    })
}

#[test]
fn a_single_model_does_everything_in_one_session() {
    check(
        plain(),
        &["nothing"],
        "
        open task w
        > do it
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
    let task = with(json!({ "availability": available(), "criteria": criteria(true, 0) }));
    check(
        task,
        &["boolean_true free", "nothing", "boolean_true done"],
        "
        open task w
        > can it:|job_boolean_true or job_boolean_false?
        [AVAILABILITY] availability.condition holds: free
        > do it
        > is it:|job_boolean_true or job_boolean_false?
        [CRITERIA] all criteria are met
        close
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
}

#[test]
fn several_models_have_a_session_for_each_mission() {
    let task = with(json!({ "availability": available(), "criteria": criteria(false, 1) }));
    let acts =
        ["boolean_true free", "nothing", "boolean_false ugly", "nothing", "boolean_true done"];
    check(
        task,
        &acts,
        "
        open driving d
        > can it:|job_boolean_true or job_boolean_false?
        close
        [AVAILABILITY] availability.condition holds: free
        open task w
        > do it
        close
        open driving d
        > is it:|job_boolean_true or job_boolean_false?
        close
        [CRITERIA] criteria.condition failed: job_boolean_false was called: ugly
        [OPERATION] retry #1 of 1 starts
        open task w
        > do it
        close
        open driving d
        > is it:|job_boolean_true or job_boolean_false?
        close
        [CRITERIA] all criteria are met
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
}

#[test]
fn what_is_not_available_is_not_begun() {
    for (act, why) in [
        ("boolean_false busy", "job_boolean_false was called: busy"),
        ("nothing", "neither job_boolean_true nor job_boolean_false was called"),
        ("prepare_document a", "neither job_boolean_true nor job_boolean_false was called"),
    ] {
        let task = with(json!({ "availability": available() }));
        check(
            task,
            &[act],
            &format!(
                "
            open task w
            > can it:|job_boolean_true or job_boolean_false?
            [AVAILABILITY] availability.condition failed: {why}
            close
            [TASK FAILED] availability.condition does not hold
            = failed"
            ),
        );
    }
}

#[test]
fn a_borrowed_session_is_neither_opened_nor_closed_nor_asked_for_availability() {
    let task = with(json!({ "availability": available(), "criteria": criteria(false, 1) }));
    let acts = ["nothing", "boolean_false no", "nothing", "boolean_true yes"];
    check_in(
        Some(Mode::Borrowing),
        &task,
        &acts,
        "
        > do it
        > is it:|job_boolean_true or job_boolean_false?
        [CRITERIA] criteria.condition failed: job_boolean_false was called: no
        [OPERATION] retry #1 of 1 starts
        > do it
        > is it:|job_boolean_true or job_boolean_false?
        [CRITERIA] all criteria are met
        [TASK SUCCEEDED] the task succeeded
        = succeeded",
    );
}

#[test]
fn a_retry_tells_what_was_missing() {
    let task = with(json!({ "criteria": {
        "toolExecuted": ["job_prepare_document", "job_prerequisite_failed"],
        "condition": ["is it:", IS_IT],
        "failureAction": { "retryTimes": 2, "additionalPrompt": ["go on,", "$reported-document"] },
    }}));
    // Without the tools the condition is not checked; with them only the last turn counts.
    let acts = ["prepare_document a.md", "prerequisite_failed no", "nothing"];
    check(task, &acts, "
        open task w
        > do it
        [CRITERIA] criteria.toolExecuted failed: not called: job_prerequisite_failed
        [OPERATION] retry #1 of 2 starts
        > do it||## Required Tool Not Called: job_prerequisite_failed||## You accidentally Stopped||go on,|a.md
        [CRITERIA] criteria.toolExecuted failed: not called: job_prepare_document
        [OPERATION] retry #2 of 2 starts
        > do it||## Required Tool Not Called: job_prepare_document||## You accidentally Stopped||go on,|a.md
        [CRITERIA] criteria.toolExecuted failed: not called: job_prepare_document, job_prerequisite_failed
        [DECISION] all 2 retries are used up
        close
        [TASK FAILED] criteria.toolExecuted is not met
        = failed");
}

#[test]
fn without_retries_a_criterion_that_is_not_met_fails_the_task() {
    check(with(json!({ "criteria": criteria(true, 0) })), &["nothing", "nothing"], "
        open task w
        > do it
        > is it:|job_boolean_true or job_boolean_false?
        [CRITERIA] criteria.condition failed: neither job_boolean_true nor job_boolean_false was called
        [DECISION] no retry is allowed
        close
        [TASK FAILED] criteria.condition is not met
        = failed");
}

#[test]
fn each_round_tries_every_model_that_has_retries_left() {
    let order = |retries: &[(&str, u32)]| -> String {
        let retries: Vec<_> = retries
            .iter()
            .map(|(id, retries)| DrivingSessionRetry {
                model_id: (*id).to_owned(),
                retries: *retries,
            })
            .collect();
        round_robin(&retries).collect()
    };
    assert_eq!(order(&[("a", 2), ("b", 1), ("c", 3)]), "abcacc");
    assert_eq!(order(&[("a", 0), ("b", 1)]), "b");
    assert_eq!(order(&[]), "");
}

#[test]
fn a_stop_in_any_phase_closes_the_session_and_sends_nothing_more() {
    let phases: [&[&str]; 6] = [
        &["stop opening"],
        &["stop"],
        &["boolean_true a", "stop"],
        &["boolean_true a", "nothing", "stop"],
        &["boolean_true a", "nothing", "boolean_false b", "stop"],
        &["crash", "stop"],
    ];
    for same_session in [true, false] {
        let task = with(json!({
            "availability": available(),
            "criteria": criteria(same_session, 3),
        }));
        for acts in phases {
            let minutes = minutes_of(&task, None, acts);
            let end =
                "[MISC] the task was stopped\n[TASK FAILED] the task was stopped\n= stopped\n";
            assert!(minutes.ends_with(end), "{acts:?}: {minutes}");
            let opened = minutes.matches("open ").count();
            assert_eq!(opened, minutes.matches("close").count(), "{acts:?}: {minutes}");
        }
    }
}

#[test]
fn prompts_have_the_values_of_the_moment_in_which_they_are_sent() {
    let task = json!({
        "prompt": ["$user-input with $task-model, $reported-true-reason$reported-false-reason"],
        "requireUserInput": true,
        "availability": { "condition": ["job_boolean_true $user-input"] },
        "criteria": {
            "condition": ["job_boolean_true $reported-document"],
            "failureAction": { "retryTimes": 1 },
        },
    });
    let acts =
        ["boolean_true yes", "prepare_document  x.md ", "boolean_false no", "nothing", "nothing"];
    let minutes = minutes_of(&task, None, &acts);
    let sent: Vec<_> = minutes.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    assert_eq!(
        sent,
        [
            "job_boolean_true input",
            "input with w, yes<MISSING>",
            "job_boolean_true x.md",
            "input with w, <MISSING>no",
            "job_boolean_true x.md",
        ]
    );
}
