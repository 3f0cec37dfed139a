//! `#request-part`: the prompts that wait, the box in which the next one is written, and the buttons.

mod attachments;
mod choices;
mod completions;
mod draft;
mod permissions;
mod queue;

use leptos::ev::{self, KeyboardEvent};
use leptos::html::Div;
use wire::{TaskId, TaskInfo};

use super::about::About;
use super::budget::{BudgetPanel, KnownBudget, SessionMeters};
use super::leaving::{LeaveButtons, Left};
use super::popup::{close_with, is_any_open};
use crate::components::confirm::Confirm;
use crate::components::icon::draw_icon;
use crate::html::{Html, html};
use crate::icon::Icon;
use crate::reactive::prelude::*;
use crate::state::composer::keys::{Act, Key, Moment, act, primary};
use choices::{draw_enter, draw_tasks};
use completions::Completions;
use draft::Draft;
use permissions::PermissionChoice;
use queue::draw_queue;

/// What a browser reports for every key that an input method swallows.
const KEY_OF_INPUT_METHOD: u32 = 229;

/// The box with everything that belongs to it.
#[derive(Clone, Copy)]
struct Composer {
    draft: Draft,
    completions: Completions,
    enter_sends: RwSignal<bool>,
    /// Whether there is a touch screen instead of a keyboard.
    is_touch: RwSignal<bool>,
    /// The question before Escape aborts.
    question: RwSignal<Option<String>>,
}

impl Composer {
    fn moment(self) -> Moment {
        Moment {
            completing: self.completions.is_open(),
            enter_sends: self.enter_sends.get() && !self.is_touch.get(),
            ..self.draft.moment()
        }
    }

    fn press(self, event: &KeyboardEvent) {
        let name = event.key();
        let key = Key {
            name: &name,
            control: event.ctrl_key() || event.meta_key(),
            shift: event.shift_key(),
            composing: event.is_composing() || event.key_code() == KEY_OF_INPUT_METHOD,
        };
        if act(key, untrack(move || self.moment())).is_some_and(|act| self.perform(act)) {
            event.prevent_default();
        }
    }

    /// Does something. Returns false if the browser is to do what it does with the key.
    fn perform(self, act: Act) -> bool {
        match act {
            Act::Send | Act::Queue | Act::Steer => {
                self.completions.close();
                self.draft.submit(act);
            }
            Act::Abort => self.ask_abort(),
            Act::Pick => self.completions.pick(None),
            Act::Mark { next } => self.completions.mark(next),
            Act::CloseCompletions => self.completions.close(),
            Act::Recall { earlier } => return self.draft.recall(earlier),
            Act::Ignore => {}
        }
        true
    }

    fn ask_abort(self) {
        self.question.set(Some("Abort the running turn? What was said so far stays.".to_owned()));
    }

    /// A button was pressed: whoever types goes on typing.
    fn click(self, act: Act) {
        self.perform(act);
        if !self.is_touch.get_untracked() {
            self.draft.focus();
        }
    }

    /// Escape aborts wherever the focus is, unless it closes something.
    fn listen(self) {
        // Effects run in the browser only.
        Effect::new(move |_| {
            let typed = window_event_listener(ev::keydown, move |event| {
                if event.key() == "Escape"
                    && !event.default_prevented()
                    && !event.is_composing()
                    && !is_any_open()
                    && untrack(move || self.draft.allows(Act::Abort))
                {
                    event.prevent_default();
                    self.ask_abort();
                }
            });
            on_cleanup(move || typed.remove());
        });
    }

    /// After Start the prompt has the focus; it is not taken from anything else, and on a touch screen
    /// it would open the keyboard.
    fn begin(self) {
        Effect::new(move |_| {
            let coarse = window().match_media("(pointer: coarse)").ok().flatten();
            let is_touch = coarse.is_some_and(|it| it.matches());
            self.is_touch.set(is_touch);
            let focused = document().active_element();
            let is_free = focused.is_none_or(|element| element.local_name() == "body");
            if !is_touch && is_free && !untrack(|| self.draft.about.is_over()) {
                self.draft.focus();
            }
        });
    }
}

/// The queue, the box and the buttons. `failure` is what is said below the box.
#[component]
pub(super) fn Request(
    about: About,
    task: RwSignal<Option<TaskId>>,
    left: RwSignal<Option<Left>>,
    close: Callback<()>,
    failure: RwSignal<Option<String>>,
) -> Html {
    let draft = Draft::new(about, task, failure);
    let composer = Composer {
        draft,
        completions: Completions::new(draft),
        enter_sends: RwSignal::new(false),
        is_touch: RwSignal::new(false),
        question: RwSignal::new(None),
    };
    composer.listen();
    composer.begin();
    let budget = KnownBudget::new(about.id(), about.feed());
    html! {
        {draw_queue(draft)}
        {composer.draw_box(budget)}
        {move || {
            failure
                .get()
                .map(|reason| {
                    html! { <p id="request-problem" class="failure" role="alert">{reason}</p> }
                })
        }}
        <div class="request-foot">
            <LeaveButtons left=left close=close failure=failure />
            <SessionMeters known=budget />
            {draw_enter(composer.enter_sends)}
        </div>
        <Confirm
            question=composer.question
            yes="Abort"
            on_yes=Callback::new(move |()| draft.abort())
        />
    }
}

impl Composer {
    fn draw_box(self, budget: KnownBudget) -> Html {
        let Self { draft, completions, is_touch, .. } = self;
        let Draft { prompt, chosen, textarea, about, .. } = draft;
        let hint = move || {
            if about.is_over() {
                return "This session has ended.";
            }
            let works = draft.feed().is_working();
            chosen.with(|task| placeholder(task.as_ref(), works, is_touch.get()))
        };
        html! {
            <div
                class="composer"
                class:dropping=draft.files.is_over
                on:dragover=move |event| draft.files.hover(&event, true)
                on:dragleave=move |event| draft.files.hover(&event, false)
                on:drop=move |event| draft.files.drop(&event)
            >
                {completions.draw()}
                {draft.files.draw_chips(move || draft.focus())}
                <textarea
                    id="request-textarea"
                    node_ref=textarea
                    rows="3"
                    aria-label="Request"
                    aria-invalid=move || draft.is_input_missing().then_some("true")
                    aria-describedby="request-problem"
                    aria-autocomplete="list"
                    aria-controls=move || completions.is_open().then_some("completions")
                    aria-activedescendant=move || completions.active()
                    placeholder=hint
                    readonly=move || about.is_over()
                    prop:value=prompt
                    on:input=move |event| {
                        prompt.set(event_target_value(&event));
                        draft.changed();
                        completions.look();
                    }
                    on:keydown=move |event| self.press(&event)
                    on:keyup=move |event| {
                        if matches!(&*event.key(), "ArrowLeft" | "ArrowRight" | "Home" | "End") {
                            completions.look();
                        }
                    }
                    on:paste=move |event| draft.files.paste(&event)
                    on:click=move |_| completions.look()
                    on:blur=move |_| completions.close()
                ></textarea>
                <div class="composer-tools">
                    {draft.files.draw_button()}
                    {self.draw_choices(budget)}
                    {self.draw_buttons()}
                </div>
            </div>
        }
    }

    /// What is chosen beside the prompt. On a phone it is behind a button.
    fn draw_choices(self, budget: KnownBudget) -> Html {
        let Draft { about, failure, .. } = self.draft;
        let is_open = RwSignal::new(false);
        let anchor = NodeRef::<Div>::new();
        close_with(is_open, anchor);
        html! {
            <div class="composer-choices-anchor" node_ref=anchor>
                <button
                    type="button"
                    id="choices-button"
                    class="icon-button"
                    aria-label="Task, permissions and budget"
                    aria-controls="composer-choices"
                    aria-expanded=move || is_open.get().to_string()
                    on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)
                >
                    {draw_icon(Icon::Settings)}
                </button>
                <fieldset
                    id="composer-choices"
                    class="composer-choices"
                    class:open=is_open
                    aria-label="Task, permissions and budget"
                    disabled=move || about.is_over()
                >
                    {draw_tasks(self.draft)}
                    <PermissionChoice about=about failure=failure />
                    <BudgetPanel id=about.id() known=budget failure=failure />
                </fieldset>
            </div>
        }
    }

    /// The buttons at the lower right. The one that the moment is about stands out.
    fn draw_buttons(self) -> Html {
        let draft = self.draft;
        let works = move || draft.feed().is_working();
        let button = move |id, label: &'static str, key: Option<&'static str>, act| {
            // What is of no use now: a phone has no room for it.
            let is_idle = move || works() == (act == Act::Send);
            html! {
                <button
                    type="button"
                    id=id
                    class="button"
                    class:primary=move || primary(self.moment()) == act
                    class:unused=is_idle
                    title=key
                    disabled=move || !draft.allows(act)
                    on:click=move |_| if act == Act::Abort { draft.abort() } else { self.click(act) }
                >
                    {label}
                </button>
            }
        };
        let steer = move || {
            draft.about.can_steer().get().then(|| {
                button("steer-button", "Steer", Some("Hands it to the running turn"), Act::Steer)
            })
        };
        let queue = move || {
            works().then(|| button("queue-button", "Queue", Some("Ctrl+Shift+Enter"), Act::Queue))
        };
        html! {
            <div class="composer-send">
                {button("abort-button", "Abort", Some("Esc"), Act::Abort)}
                {steer}
                {queue}
                {button("send-button", "Send", Some("Ctrl+Enter"), Act::Send)}
            </div>
        }
    }
}

/// The placeholder explains what the text is for, and which key sends it where there are keys.
fn placeholder(task: Option<&TaskInfo>, works: bool, is_touch: bool) -> &'static str {
    match (task, works, is_touch) {
        (None, true, true) => "Write the next prompt",
        (None, true, false) => "Write the next prompt. Ctrl+Shift+Enter queues it.",
        (None, false, true) => "Ask the agent.",
        (None, false, false) => "Ask the agent. Ctrl+Enter sends.",
        (Some(task), _, true) if task.require_user_input => "Say what the task is about.",
        (Some(task), _, false) if task.require_user_input => {
            "Say what the task is about. Ctrl+Enter starts it."
        }
        (Some(_), _, true) => "This task needs no input.",
        (Some(_), _, false) => "This task needs no input. Ctrl+Enter starts it.",
    }
}
