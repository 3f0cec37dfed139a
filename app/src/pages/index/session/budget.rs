//! `#budget-button`: how much the session may use, and the panel that changes it.

use std::time::Duration;

use leptos::ev::SubmitEvent;
use leptos::html::Dialog;
use wire::{BudgetLimit, SessionBudget, SessionId};

use crate::api;
use crate::components::budget_meters::BudgetMeters;
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;
use crate::state::budget::{field, read_fields};
use crate::state::feed::Feed;

/// How often to look while a turn runs: its time counts, and nothing tells of that.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The budget of a session, read again when something was used.
#[derive(Clone, Copy)]
pub(super) struct KnownBudget(Loader<SessionBudget>);

impl KnownBudget {
    pub(super) fn new(id: SessionId, feed: Feed) -> Self {
        let loader = Loader::new(move || api::session_budget(id));
        let used = Memo::new(move |_| (feed.spent.get(), feed.session_works.get()));
        Effect::new(move |before: Option<_>| {
            // Read, not only tracked: a memo that nobody reads follows nothing.
            let now = used.get();
            if before.is_some() {
                loader.reload();
            }
            now
        });
        let this = Self(loader);
        let works = Memo::new(move |_| {
            feed.session_works.get() && this.get().is_some_and(|known| !known.budget.is_empty())
        });
        Effect::new(move |_| {
            if works.get()
                && let Ok(interval) = set_interval_with_handle(move || loader.reload(), LOOK_AGAIN)
            {
                on_cleanup(move || interval.clear());
            }
        });
        this
    }

    fn get(self) -> Option<SessionBudget> {
        self.0.state.with(|state| match state {
            Load::Ready(known) => Some(*known),
            _ => None,
        })
    }
}

/// What was used of the session's budget.
#[component]
pub(super) fn SessionMeters(known: KnownBudget) -> Html {
    let known = Signal::derive(move || known.get().map(|known| (known.budget, known.spent)));
    html! { <BudgetMeters known=known /> }
}

/// The button, and the panel that it opens. `failure` is what is shown below the prompt: a budget that
/// was raised solves it.
#[component]
pub(super) fn BudgetPanel(
    id: SessionId,
    known: KnownBudget,
    failure: RwSignal<Option<String>>,
) -> Html {
    let panel = NodeRef::<Dialog>::new();
    let fields = BudgetLimit::ALL.map(|_| RwSignal::new(String::new()));
    let problem = RwSignal::new(None::<String>);
    let is_busy = RwSignal::new(false);
    let open = move |_| {
        let budget = untrack(|| known.get()).unwrap_or_default().budget;
        for (limit, text) in BudgetLimit::ALL.into_iter().zip(fields) {
            text.set(field(&budget, limit));
        }
        problem.set(None);
        if let Some(panel) = panel.get_untracked() {
            // Fails only for a dialog outside the document.
            let _ = panel.show_modal();
        }
    };
    let close = move || {
        if let Some(panel) = panel.get_untracked() {
            panel.close();
        }
    };
    let save = move |event: SubmitEvent| {
        event.prevent_default();
        let budget = match read_fields(&fields.map(|text| text.get_untracked())) {
            Ok(budget) => budget,
            Err(reason) => return problem.set(Some(reason)),
        };
        is_busy.set(true);
        problem.set(None);
        spawn_local(async move {
            let set = api::set_budget(id, &budget).await;
            is_busy.try_set(false);
            match set {
                Ok(()) => {
                    known.0.reload();
                    failure.try_set(None);
                    close();
                }
                // What was typed stays.
                Err(error) => {
                    problem.try_set(Some(error.to_string()));
                }
            }
        });
    };
    let inputs = BudgetLimit::ALL.into_iter().zip(fields);
    let inputs = inputs.map(|(limit, text)| draw_field(limit, text)).collect::<Html>();
    html! {
        <button type="button" id="budget-button" class="button" on:click=open>
            "Budget"
        </button>
        <dialog id="budget-panel" class="panel" node_ref=panel aria-labelledby="budget-title">
            <h2 id="budget-title">"Budget of this session"</h2>
            <p class="field-help">
                "What it may use in all, including what it has used. Leave a field empty for no limit."
            </p>
            <form class="budget-form" novalidate on:submit=save>
                {inputs}
                {move || {
                    problem
                        .get()
                        .map(|text| {
                            html! { <p id="budget-problem" class="failure" role="alert">{text}</p> }
                        })
                }}
                <div class="button-row">
                    <button type="button" class="button" on:click=move |_| close()>
                        "Cancel"
                    </button>
                    <button type="submit" id="budget-save" class="button primary" disabled=is_busy>
                        "Set Budget"
                    </button>
                </div>
            </form>
        </dialog>
    }
}

fn draw_field(limit: BudgetLimit, text: RwSignal<String>) -> Html {
    let (label, step) = match limit {
        BudgetLimit::Minutes => ("Minutes", "any"),
        BudgetLimit::Turns => ("Turns", "1"),
        BudgetLimit::Tokens => ("Tokens", "1"),
        BudgetLimit::Cost => ("Cost", "any"),
    };
    let id = format!("budget-{}", limit.name());
    html! {
        <div class="field">
            <label class="field-label" for=id.clone()>
                {label}
            </label>
            <input
                id=id
                type="number"
                min="0"
                step=step
                inputmode="decimal"
                autocomplete="off"
                prop:value=text
                on:input=move |event| text.set(event_target_value(&event))
            />
        </div>
    }
}
