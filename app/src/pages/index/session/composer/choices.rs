//! What is chosen beside the prompt: a task, what the agent may do, and how much.

use wire::{TaskInfo, Tasks};

use super::draft::Draft;
use crate::html::{Html, html};
use crate::load::Load;
use crate::preference::{self, Preference};
use crate::reactive::prelude::*;

/// `#task-select`: the task that Send starts instead of sending a prompt.
pub(super) fn draw_tasks(draft: Draft) -> Html {
    let (chosen, tasks) = (draft.chosen, draft.tasks);
    let name = move || chosen.with(|task| task.as_ref().map_or("", |task| &task.name).to_owned());
    let options = move || match tasks.state.get() {
        Load::Ready(list) => list.tasks.into_iter().map(draw_option).collect(),
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

fn draw_option(task: TaskInfo) -> Html {
    html! { <option value=task.name.clone() title=task.description>{task.name}</option> }
}

fn find(tasks: &Load<Tasks>, name: &str) -> Option<TaskInfo> {
    let Load::Ready(list) = tasks else { return None };
    list.tasks.iter().find(|task| task.name == name).cloned()
}

/// `#enter-sends`: whether Enter sends. Where there is no keyboard, it never does.
pub(super) fn draw_enter(enter_sends: RwSignal<bool>) -> Html {
    // Effects run in the browser only.
    Effect::new(move |_| enter_sends.set(preference::read(Preference::Enter).is_some()));
    html! {
        <label class="enter-choice">
            <input
                type="checkbox"
                id="enter-sends"
                prop:checked=enter_sends
                on:change=move |event| {
                    let sends = event_target_checked(&event);
                    enter_sends.set(sends);
                    preference::write(Preference::Enter, sends.then_some("sends"));
                }
            />
            "Enter sends"
        </label>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_found_by_its_name_and_none_by_the_empty_one() {
        let build =
            TaskInfo { name: "build".to_owned(), require_user_input: true, description: None };
        let tasks = Load::Ready(Tasks { tasks: vec![build.clone()] });
        assert_eq!(find(&tasks, "build"), Some(build));
        assert_eq!(find(&tasks, ""), None);
        assert_eq!(find(&Load::Pending, "build"), None);
    }
}
