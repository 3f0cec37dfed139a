//! What the user is about to send, and where it goes.

use std::time::Duration;

use futures_channel::oneshot;
use leptos::ev;
use leptos::html::Textarea;
use leptos::leptos_dom::helpers::TimeoutHandle;
use web_sys::HtmlElement;
use web_sys::wasm_bindgen::JsCast;
use wire::{SessionId, TaskId, TaskInfo, Tasks};

use super::super::about::About;
use super::attachments::Files;
use crate::api::{self, session};
use crate::load::{Load, Loader};
use crate::poll::Connection;
use crate::reactive::prelude::*;
use crate::state::composer::attachments::with_files;
use crate::state::composer::history::PromptHistory;
use crate::state::composer::intent::{Command, Intent, intent};
use crate::state::composer::keys::{Act, Moment, is_enabled};
use crate::state::composer::{HISTORY_KEY, draft_key, join_texts};
use crate::state::feed::Feed;
use crate::storage;

/// Why a task is not started. The only problem that typing solves.
const INPUT_MISSING: &str = "This task needs input.";
/// Why a task is not queued.
const TASKS_WAIT: &str = "A task starts when the agent is idle. Only prompts can be queued.";
/// How long a draft rests before it is kept.
const REST: Duration = Duration::from_millis(300);

/// The text, the task that was chosen for it, and whom they are for.
#[derive(Clone, Copy)]
pub(super) struct Draft {
    pub(super) about: About,
    /// The task that was started last.
    task: RwSignal<Option<TaskId>>,
    pub(super) tasks: Loader<Tasks>,
    pub(super) prompt: RwSignal<String>,
    /// What goes with the text.
    pub(super) files: Files,
    pub(super) chosen: RwSignal<Option<TaskInfo>>,
    pub(super) failure: RwSignal<Option<String>>,
    pub(super) textarea: NodeRef<Textarea>,
    /// How many prompts are on their way: the browser keeps their text until they are taken.
    under_way: RwSignal<u32>,
    /// Ends with what was sent last: requests may overtake each other, prompts must not.
    last: StoredValue<Option<oneshot::Receiver<()>>>,
    history: StoredValue<PromptHistory>,
}

impl Draft {
    pub(super) fn new(
        about: About,
        task: RwSignal<Option<TaskId>>,
        failure: RwSignal<Option<String>>,
    ) -> Self {
        let this = Self {
            about,
            task,
            tasks: Loader::new(api::tasks),
            prompt: RwSignal::new(String::new()),
            files: Files::new(about),
            chosen: RwSignal::new(None),
            failure,
            textarea: NodeRef::new(),
            under_way: RwSignal::new(0),
            last: StoredValue::new(None),
            history: StoredValue::new(PromptHistory::default()),
        };
        this.keep_up();
        this.look_for_steering();
        this
    }

    pub(super) fn id(self) -> SessionId {
        self.about.id()
    }

    pub(super) fn feed(self) -> Feed {
        self.about.feed()
    }

    /// What the composer is about.
    pub(super) fn moment(self) -> Moment {
        // Reads all, so that a view tracks all.
        let has_text = self.prompt.with(|text| !text.trim().is_empty());
        let (has_files, is_task) = (self.files.are_any(), self.chosen.with(Option::is_some));
        Moment {
            working: self.feed().is_working(),
            empty: !has_text && !has_files && !is_task,
            completing: false,
            enter_sends: false,
            can_steer: self.about.can_steer().get(),
        }
    }

    /// Whether something can be done now.
    pub(super) fn allows(self, act: Act) -> bool {
        let connection = self.feed().connection.get();
        let is_complete = act == Act::Abort || !self.files.are_uploading();
        let is_there = match act {
            Act::Send => connection == Connection::Live,
            _ => !matches!(connection, Connection::Ended | Connection::NotFound),
        };
        is_enabled(act, self.moment()) && is_there && is_complete
    }

    pub(super) fn is_input_missing(self) -> bool {
        self.failure.with(|reason| reason.as_deref() == Some(INPUT_MISSING))
    }

    /// The input has changed: clears a problem that this solves.
    pub(super) fn changed(self) {
        if untrack(move || self.is_input_missing()) {
            self.failure.set(None);
        }
    }

    /// Replaces the text, with the caret at a place, as browsers count them.
    pub(super) fn put(self, text: String, caret: u32) {
        if let Some(textarea) = self.textarea.get_untracked() {
            textarea.set_value(&text);
            // Fails only for fields that have no caret.
            let _ = textarea.set_selection_range(caret, caret);
        }
        self.prompt.set(text);
        self.changed();
    }

    pub(super) fn focus(self) {
        if let Some(textarea) = self.textarea.get_untracked() {
            // If it can't be focused, nothing is lost.
            let _ = textarea.focus();
        }
    }

    fn complain(self) {
        self.failure.set(Some(INPUT_MISSING.to_owned()));
        self.focus();
    }

    /// Sends, queues or steers with the text; or starts the task, or does what the command says.
    pub(super) fn submit(self, how: Act) {
        if !untrack(move || self.allows(how)) {
            return;
        }
        let (text, chosen) = (self.whole(), self.chosen.get_untracked());
        let tasks = self.known_tasks();
        let (start, prompt) = match intent(&tasks, chosen.as_ref(), &text) {
            Intent::Nothing => return,
            Intent::InputMissing => return self.complain(),
            Intent::Command(command) => return self.obey(command),
            Intent::Task(..) if how != Act::Send => {
                return self.failure.set(Some(TASKS_WAIT.to_owned()));
            }
            Intent::Task(task, input) => (Some(task.name.clone()), input.to_owned()),
            Intent::Prompt => (None, text.clone()),
        };
        // Set before the request: the work may be over before the response arrives.
        let works = match (&start, how) {
            (Some(_), _) => Some(self.feed().task_runs),
            (None, Act::Send) => Some(self.feed().session_works),
            (None, _) => None,
        };
        if let Some(works) = works {
            works.set(true);
        }
        self.remember(&text);
        self.under_way.update(|count| *count += 1);
        self.failure.set(None);
        self.prompt.set(String::new());
        self.files.forget_sent();
        self.chosen.set(None);
        self.feed().to_end.update(|times| *times += 1);
        let id = self.id();
        let (done, own) = oneshot::channel();
        let before = self.last.try_update_value(|last| last.replace(own)).flatten();
        spawn_local(async move {
            if let Some(before) = before {
                // Whether it was taken makes no difference.
                let _ = before.await;
            }
            let sent = match (&start, how) {
                (Some(task), _) => api::start_task(task, id, &prompt).await.map(Some),
                (None, Act::Steer) => session::steer(id, &prompt).await.map(|()| None),
                (None, _) => api::query(id, &prompt).await.map(|()| None),
            };
            drop(done);
            // The page may have been left in the meantime.
            match sent {
                Ok(started) => {
                    if started.is_some() {
                        self.task.try_set(started);
                    }
                    if self.prompt.try_get_untracked().is_none() {
                        storage::write(&draft_key(&id.to_string()), None);
                    }
                }
                Err(error) => {
                    if let Some(works) = works {
                        works.try_set(false);
                    }
                    self.failure.try_set(Some(error.to_string()));
                    // Nothing is lost, neither the text sent nor what was typed since.
                    self.give_back(&text);
                    self.chosen.try_update(|since| *since = since.take().or(chosen));
                }
            }
            self.under_way.try_update(|count| *count -= 1);
        });
    }

    /// Puts a prompt that was not taken into the box, before what is there.
    pub(super) fn give_back(self, prompt: &str) {
        let text = self.files.give_back(prompt);
        self.prompt.try_update(|since| *since = join_texts(&text, since));
    }

    /// The text with what goes with it.
    fn whole(self) -> String {
        let text = self.prompt.get_untracked();
        self.files.chips.with_untracked(|chips| with_files(&text, chips))
    }

    /// Does what a command says, by the button that does it.
    pub(super) fn obey(self, command: Command) {
        self.put(String::new(), 0);
        let id = match command {
            Command::Abort => "abort-button",
            Command::Budget => "budget-button",
            Command::Close => "close-session-button",
            Command::Export => "export-markdown",
            Command::Extensions => "extensions-button",
            Command::Rename => "title-button",
        };
        let button = document().get_element_by_id(id);
        if let Some(button) = button.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
            button.click();
        }
    }

    /// Aborts the running turn.
    pub(super) fn abort(self) {
        let id = self.id();
        spawn_local(async move {
            if let Err(error) = api::abort(id).await {
                self.failure.try_set(Some(error.to_string()));
            }
        });
    }

    pub(super) fn known_tasks(self) -> Vec<TaskInfo> {
        self.tasks.state.with_untracked(|tasks| match tasks {
            Load::Ready(list) => list.tasks.clone(),
            _ => Vec::new(),
        })
    }

    /// Brings back an earlier prompt, or the one after it. Returns whether there is one.
    pub(super) fn recall(self, earlier: bool) -> bool {
        let text = self.whole();
        let recalled = self.history.try_update_value(|history| {
            if earlier && text.is_empty() {
                // Other tabs may have sent something.
                *history = stored_history();
            }
            let recalled = if earlier { history.earlier(&text) } else { history.later(&text) };
            recalled.map(ToOwned::to_owned)
        });
        let Some(prompt) = recalled.flatten() else { return false };
        self.files.forget_sent();
        let prompt = self.files.give_back(&prompt);
        let end = u32::try_from(prompt.encode_utf16().count()).unwrap_or(u32::MAX);
        self.put(prompt, end);
        true
    }

    fn remember(self, text: &str) {
        let mut history = stored_history();
        history.add(text);
        storage::write(HISTORY_KEY, Some(&history.store()));
        self.history.set_value(history);
    }

    /// Keeps the text in the browser once it rests, and brings it back when the page is loaded again.
    fn keep_up(self) {
        let id = self.id();
        // Effects run in the browser only.
        Effect::new(move |before: Option<Option<TimeoutHandle>>| {
            let is_first = before.is_none();
            if let Some(Some(timer)) = before {
                timer.clear();
            }
            self.prompt.track();
            self.files.chips.track();
            self.under_way.track();
            if is_first {
                let kept = storage::read(&draft_key(&id.to_string()));
                if let Some(text) = kept.filter(|text| !text.is_empty()) {
                    self.give_back(&text);
                }
                return None;
            }
            set_timeout_with_handle(move || self.keep(id), REST).ok()
        });
        Effect::new(move |_| {
            let leaving = window_event_listener(ev::pagehide, move |_| self.keep(id));
            on_cleanup(move || {
                leaving.remove();
                self.keep(id);
            });
        });
    }

    fn keep(self, id: SessionId) {
        if self.under_way.try_get_untracked() == Some(0)
            && self.prompt.try_get_untracked().is_some()
        {
            let text = self.whole();
            let text = (!text.is_empty()).then_some(&*text);
            storage::write(&draft_key(&id.to_string()), text);
        }
    }

    /// Asks whether the running turn takes prompts, once that makes a difference: before that, the
    /// agent may still be about to start.
    fn look_for_steering(self) {
        let (id, feed, can_steer) = (self.id(), self.feed(), self.about.can_steer());
        let is_wanted = Memo::new(move |_| {
            let has_text = self.prompt.with(|text| !text.trim().is_empty());
            feed.is_working() && (has_text | feed.queue.with(|queue| !queue.is_empty()))
        });
        Effect::new(move |_| {
            if !is_wanted.get() {
                return can_steer.set(false);
            }
            spawn_local(async move {
                let sessions = api::sessions().await.map(|list| list.sessions).unwrap_or_default();
                let own = sessions.into_iter().find(|one| one.session_id == id);
                let is_still_wanted = is_wanted.try_get_untracked().unwrap_or_default();
                can_steer.try_set(is_still_wanted && own.is_some_and(|own| own.can_steer));
            });
        });
    }
}

fn stored_history() -> PromptHistory {
    PromptHistory::read(&storage::read(HISTORY_KEY).unwrap_or_default())
}
