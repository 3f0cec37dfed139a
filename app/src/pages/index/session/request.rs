//! `#request-part`: a prompt or a task, and the buttons.

use leptos::ev::KeyboardEvent;
use leptos::html::Textarea;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{SessionId, TaskId, TaskInfo, Tasks};

use super::budget::{BudgetPanel, KnownBudget, SessionMeters};
use super::extensions::ExtensionsPanel;
use super::leaving::{LeaveButtons, Left};
use super::permissions::PermissionChoice;
use crate::api;
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::poll::Connection;
use crate::state::feed::Feed;

/// Why a task is not started. The only problem that typing solves.
const INPUT_MISSING: &str = "This task needs input.";

/// What the user is about to send, and where it goes.
#[derive(Clone, Copy)]
struct Draft {
    id: SessionId,
    feed: Feed,
    /// The task that was started last.
    task: RwSignal<Option<TaskId>>,
    prompt: RwSignal<String>,
    chosen: RwSignal<Option<TaskInfo>>,
    failure: RwSignal<Option<String>>,
    textarea: NodeRef<Textarea>,
}

impl Draft {
    fn can_send(self) -> bool {
        self.feed.connection.get() == Connection::Live && !self.feed.is_working()
    }

    fn is_input_missing(self) -> bool {
        self.failure.with(|reason| reason.as_deref() == Some(INPUT_MISSING))
    }

    /// The input has changed: clears a problem that this solves.
    fn changed(self) {
        if untrack(move || self.is_input_missing()) {
            self.failure.set(None);
        }
    }

    fn complain(self) {
        self.failure.set(Some(INPUT_MISSING.to_owned()));
        if let Some(textarea) = self.textarea.get_untracked() {
            // If it cannot be focused, the alert says enough.
            let _ = textarea.focus();
        }
    }

    /// Sends the prompt, or starts the task with it.
    fn send(self) {
        if !untrack(move || self.can_send()) {
            return;
        }
        let (text, chosen) = (self.prompt.get_untracked(), self.chosen.get_untracked());
        match judge(chosen.as_ref(), &text) {
            Verdict::Send => {}
            Verdict::Ignore => return,
            Verdict::InputMissing => return self.complain(),
        }
        // Set before the request: the work may be over before the response arrives.
        let works = if chosen.is_some() { self.feed.task_runs } else { self.feed.session_works };
        works.set(true);
        self.failure.set(None);
        self.prompt.set(String::new());
        self.chosen.set(None);
        spawn_local(async move {
            let sent = match &chosen {
                Some(task) => api::start_task(&task.name, self.id, &text).await.map(Some),
                None => api::query(self.id, &text).await.map(|()| None),
            };
            match sent {
                Ok(None) => {}
                Ok(started) => self.task.set(started),
                Err(error) => {
                    works.set(false);
                    self.failure.set(Some(error.to_string()));
                    // Nothing is lost, neither the text sent nor what was typed since.
                    self.prompt.update(|since| *since = join_prompts(&text, since));
                    self.chosen.update(|since| *since = since.take().or(chosen));
                }
            }
        });
    }

    /// Aborts the running turn.
    fn abort(self) {
        spawn_local(async move {
            if let Err(error) = api::abort(self.id).await {
                self.failure.set(Some(error.to_string()));
            }
        });
    }
}

/// The task, the prompt and the buttons.
#[component]
pub(super) fn Request(
    id: SessionId,
    task: RwSignal<Option<TaskId>>,
    feed: Feed,
    left: RwSignal<Option<Left>>,
) -> Html {
    let draft = Draft {
        id,
        feed,
        task,
        prompt: RwSignal::new(String::new()),
        chosen: RwSignal::new(None),
        failure: RwSignal::new(None),
        textarea: NodeRef::new(),
    };
    let Draft { prompt, chosen, failure, textarea, .. } = draft;
    let budget = KnownBudget::new(id, feed);
    let press = move |event: KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            draft.send();
        }
    };
    html! {
        <div class="choices">
            <TaskChoice draft=draft />
            <PermissionChoice id=id failure=failure />
            <ExtensionsPanel id=id />
            <BudgetPanel id=id known=budget failure=failure />
        </div>
        <SessionMeters known=budget />
        <textarea
            id="request-textarea"
            node_ref=textarea
            aria-label="Request"
            aria-invalid=move || draft.is_input_missing().then_some("true")
            aria-describedby="request-problem"
            placeholder=move || chosen.with(|task| placeholder(task.as_ref()))
            prop:value=prompt
            on:input=move |event| {
                prompt.set(event_target_value(&event));
                draft.changed();
            }
            on:keydown=press
        ></textarea>
        {move || {
            failure
                .get()
                .map(|reason| {
                    html! { <p id="request-problem" class="failure" role="alert">{reason}</p> }
                })
        }}
        <div class="button-row">
            <LeaveButtons id=id left=left failure=failure />
            <div class="button-group">
                <button
                    type="button"
                    id="abort-button"
                    class="button"
                    disabled=move || !feed.is_working()
                    on:click=move |_| draft.abort()
                >
                    "Abort"
                </button>
                <button
                    type="button"
                    id="send-button"
                    class="button primary"
                    disabled=move || !draft.can_send()
                    on:click=move |_| draft.send()
                >
                    "Send"
                </button>
            </div>
        </div>
    }
}

/// `#task-select`: the task that Send starts instead of sending a prompt.
#[component]
fn TaskChoice(draft: Draft) -> Html {
    let chosen = draft.chosen;
    let tasks = Loader::new(api::tasks);
    let name = move || chosen.with(|task| task.as_ref().map_or("", |task| &task.name).to_owned());
    let options = move || match tasks.state.get() {
        Load::Ready(list) => list
            .tasks
            .into_iter()
            .map(|task| html! { <option value=task.name.clone()>{task.name.clone()}</option> })
            .collect(),
        _ => Vec::new(),
    };
    html! {
        <div class="choice">
            <label for="task-select">"Choose a Task:"</label>
            <select
                id="task-select"
                autocomplete="off"
                prop:value=name
                on:change=move |event| {
                    chosen.set(find(&tasks.state.get_untracked(), &event_target_value(&event)));
                    draft.changed();
                }
            >
                <option value="">"(none)"</option>
                {options}
            </select>
            {move || match tasks.state.get() {
                Load::Failed(error) => Some(
                    html! { <span class="failure" role="alert">{format!("No tasks: {error}")}</span> },
                ),
                _ => None,
            }}
        </div>
    }
}

fn find(tasks: &Load<Tasks>, name: &str) -> Option<TaskInfo> {
    let Load::Ready(list) = tasks else { return None };
    list.tasks.iter().find(|task| task.name == name).cloned()
}

/// What Send does with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Send,
    Ignore,
    InputMissing,
}

fn judge(task: Option<&TaskInfo>, text: &str) -> Verdict {
    match task {
        _ if !text.trim().is_empty() => Verdict::Send,
        None => Verdict::Ignore,
        task if requires_input(task) => Verdict::InputMissing,
        Some(_) => Verdict::Send,
    }
}

fn requires_input(task: Option<&TaskInfo>) -> bool {
    task.is_some_and(|task| task.require_user_input)
}

/// The placeholder explains what the text is for.
fn placeholder(task: Option<&TaskInfo>) -> &'static str {
    match task {
        None => "Ask the agent. Ctrl+Enter sends.",
        task if requires_input(task) => "Say what the task is about. Ctrl+Enter starts it.",
        Some(_) => "This task needs no input. Ctrl+Enter starts it.",
    }
}

/// Puts a prompt that was not sent in front of what was typed meanwhile.
fn join_prompts(unsent: &str, since: &str) -> String {
    let between = if unsent.is_empty() || since.is_empty() { "" } else { "\n" };
    format!("{unsent}{between}{since}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(require_user_input: bool) -> TaskInfo {
        TaskInfo { name: "build".to_owned(), require_user_input, description: None }
    }

    #[test]
    fn nothing_typed_is_lost() {
        assert_eq!(join_prompts("a", ""), "a");
        assert_eq!(join_prompts("", "b"), "b");
        assert_eq!(join_prompts("a", "b"), "a\nb");
    }

    #[test]
    fn only_a_task_that_needs_no_input_starts_without_any() {
        let (needs, does_without) = (task(true), task(false));
        for (task, text, verdict) in [
            (None, " \n", Verdict::Ignore),
            (None, "hello", Verdict::Send),
            (Some(&needs), " \n", Verdict::InputMissing),
            (Some(&needs), "hello", Verdict::Send),
            (Some(&does_without), "", Verdict::Send),
            (Some(&does_without), "hello", Verdict::Send),
        ] {
            assert_eq!(judge(task, text), verdict, "{task:?} {text:?}");
        }
    }

    #[test]
    fn a_task_is_found_by_its_name_and_none_by_the_empty_one() {
        let tasks = Load::Ready(Tasks { tasks: vec![task(true)] });
        assert_eq!(find(&tasks, "build"), Some(task(true)));
        assert_eq!(find(&tasks, ""), None);
        assert_eq!(find(&Load::Pending, "build"), None);
    }
}
