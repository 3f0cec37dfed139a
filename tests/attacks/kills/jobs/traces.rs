//! What a task reports of itself: which commands its agents began, and what was decided after kills.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::program::Running;

use super::super::checks::{events, of};

/// What is stored of a task and of its sessions.
#[derive(Debug)]
pub(super) struct TaskTrace {
    pub(super) id: String,
    /// The commands that were begun, each with whether it is stored that it succeeded.
    commands: Vec<(String, bool)>,
    /// What was decided about interrupted turns, in order.
    recoveries: Vec<String>,
    /// Everything that may tell a person what went wrong.
    #[expect(dead_code, reason = "shown if a check fails")]
    story: Vec<Value>,
}

impl TaskTrace {
    pub(super) fn read(server: &Running, id: &str) -> Self {
        let path = format!("/api/copilot/task/{id}");
        let events_of_task = events(server, &path);
        let decisions = of(&events_of_task, "taskDecision");
        let recoveries = decisions
            .filter(|decision| decision["kind"] == "Interrupted")
            .map(|decision| decision["recovery"].as_str().expect("a word").to_owned())
            .collect();
        let mut commands = Vec::new();
        let mut story = events_of_task.clone();
        for session in of(&events_of_task, "taskSessionStarted") {
            let session = session["sessionId"].as_str().expect("an id");
            let events = events(server, &format!("/api/copilot/session/{session}"));
            story.extend(events.iter().filter(|event| !of_model(event)).cloned());
            let calls = of(&events, "onStartToolExecution");
            for call in calls.filter(|call| call["toolName"] == "runCommand") {
                let arguments = call["toolArguments"].as_str().expect("a text");
                let arguments: Value = serde_json::from_str(arguments).expect("JSON");
                let command = arguments["command"].as_str().expect("a command").to_owned();
                let has_succeeded = of(&events, "onEndToolExecution").any(|end| {
                    end["toolCallId"] == call["toolCallId"] && end["result"].is_object()
                });
                commands.push((command, has_succeeded));
            }
        }
        Self { id: id.to_owned(), commands, recoveries, story }
    }

    pub(super) fn was_asked(&self) -> bool {
        self.recoveries.iter().any(|recovery| recovery == "asked")
    }

    pub(super) fn counts_as_done(&self) -> bool {
        self.recoveries.iter().any(|recovery| recovery == "countedAsDone")
    }

    /// A command was begun once, and once more each time that somebody wanted it; and it did what is
    /// stored of it.
    pub(super) fn check_command(&self, command: &str, effects: usize, of_task: &str) {
        let begun: Vec<_> = self.commands.iter().filter(|(it, _)| it == command).collect();
        let succeeded = begun.iter().filter(|(_, has_succeeded)| *has_succeeded).count();
        let wanted = self.recoveries.iter().filter(|recovery| *recovery == "sentAgain").count();
        let wanted = 1 + if self.was_asked() { wanted } else { 0 };
        assert!(begun.len() <= wanted, "begun {} times: {command} of {of_task}", begun.len());
        assert!(
            (succeeded..=begun.len()).contains(&effects),
            "{effects} times in the folder: {command} of {of_task}"
        );
        assert!(!begun.is_empty() || self.counts_as_done(), "left out: {command} of {of_task}");
    }

    /// Each question of the task had one answer, which counted, and all that were accepted did.
    pub(super) fn check_answers(&self, accepted: &[&str], of_task: &str) {
        // Whoever only judges is not asked about.
        let asked: Vec<_> =
            self.recoveries.iter().filter(|recovery| *recovery != "judgedAgain").collect();
        let mut counted = Vec::new();
        for pair in asked.chunks(2) {
            let [question, answer] = pair else { panic!("no answer counted: {of_task}") };
            assert_eq!(*question, "asked", "{of_task}");
            counted.push(match answer.as_str() {
                "resumed" => "continue",
                "sentAgain" => "redo",
                "countedAsDone" => "done",
                other => panic!("nobody has decided on {other}: {of_task}"),
            });
        }
        // One that counted may not have been acknowledged before the kill.
        let mut counted = counted.into_iter();
        for answer in accepted {
            assert!(counted.any(|it| it == *answer), "{accepted:?} were accepted by {of_task}");
        }
    }
}

/// Whether a response only shows how a model speaks.
fn of_model(event: &Value) -> bool {
    let callback = event["callback"].as_str().unwrap_or_default();
    ["Reasoning", "Message", "Usage"].iter().any(|part| callback.ends_with(part))
}

/// How often each thing was decided.
#[derive(Debug, Default)]
pub(super) struct Summary(BTreeMap<String, usize>);

impl Summary {
    pub(super) fn add(&mut self, traces: &[TaskTrace]) {
        for recovery in traces.iter().flat_map(|trace| &trace.recoveries) {
            *self.0.entry(recovery.clone()).or_default() += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
