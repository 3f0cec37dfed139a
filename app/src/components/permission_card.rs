//! `.permission-card`: what a tool wants to do, and the buttons that allow or refuse it. Everything
//! in it may come from a model, so it is shown as plain text.

use std::future::Future;
use std::pin::Pin;

use leptos::html::P;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wire::{PermissionDecision, PermissionId, PermissionOutcome, PermissionRequest};

use super::diff::draw_diff;
use crate::api::ApiError;
use crate::erase::Erase;

/// The request that sends an answer.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<(), ApiError>>>>;

/// The card. The first answer counts; everybody sees the outcome.
#[component]
pub(crate) fn PermissionCard(
    id: PermissionId,
    request: PermissionRequest,
    /// `None` while the request is pending.
    #[prop(into)]
    outcome: Signal<Option<PermissionOutcome>>,
    /// The answers to offer.
    decisions: &'static [PermissionDecision],
    /// Sends the chosen answer.
    answer: Callback<PermissionDecision, Answer>,
) -> impl IntoView {
    let is_sent = RwSignal::new(false);
    let problem = RwSignal::new(None::<String>);
    let decide = move |decision| {
        is_sent.set(true);
        problem.set(None);
        let answer = answer.run(decision);
        spawn_local(async move {
            // The outcome arrives with the stream, which every viewer reads.
            if let Err(error) = answer.await {
                is_sent.try_set(false);
                problem.try_set(Some(error.to_string()));
            }
        });
    };
    let settled = NodeRef::<P>::new();
    Effect::new(move |_| {
        // The button that had the focus is gone.
        if let Some(element) = settled.get().filter(|_| is_sent.get_untracked())
            && document().active_element().is_none_or(|active| active.tag_name() == "BODY")
        {
            let _ = element.focus();
        }
    });
    let always = StoredValue::new(request.always_scope().map(|scope| format!("Always: {scope}")));
    let buttons = move || {
        let offered = |decision: &&PermissionDecision| {
            **decision != PermissionDecision::ApproveAlways || always.with_value(Option::is_some)
        };
        let buttons = decisions.iter().filter(offered).map(|decision| {
            view! {
                <button
                    type="button"
                    class=button_class(*decision)
                    disabled=is_sent
                    on:click=move |_| decide(*decision)
                >
                    {always.with_value(|always| button_text(*decision, always.as_deref()))}
                </button>
            }
        });
        view! {
            <div class="permission-buttons">{buttons.collect_view()}</div>
            <div role="status">
                {move || problem.get().map(|text| view! { <p class="permission-problem">{text}</p> })}
            </div>
        }
        .erase()
    };
    let PermissionRequest { kind, title, path, detail, diff, each_time: _ } = request;
    let path = path.filter(|path| !path.is_empty());
    view! {
        <section
            class="permission-card"
            class:pending=move || outcome.get().is_none()
            data-request-id=id.to_string()
            data-kind=kind.as_str()
            aria-label="Permission"
        >
            <h3 class="permission-title">{title}</h3>
            {path.map(|path| view! { <p class="permission-path">{path}</p> })}
            {detail
                .map(|text| {
                    view! {
                        <pre class="permission-detail" tabindex="0" aria-label="Details">
                            {text}
                        </pre>
                    }
                })}
            {diff.as_deref().map(draw_diff)}
            {move || match outcome.get() {
                None => buttons(),
                Some(outcome) => {
                    view! {
                        <p
                            class="permission-outcome"
                            class:approved=outcome.is_approved()
                            tabindex="-1"
                            node_ref=settled
                        >
                            {outcome_text(outcome)}
                        </p>
                    }
                        .erase()
                }
            }}
        </section>
    }
}

fn button_class(decision: PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Approve => "button primary permission-approve",
        PermissionDecision::ApproveAlways => "button permission-always",
        PermissionDecision::Deny => "button danger permission-deny",
    }
}

/// `always` describes what an approval for the rest of the session covers.
fn button_text(decision: PermissionDecision, always: Option<&str>) -> String {
    let text = match decision {
        PermissionDecision::Approve => "Approve once",
        PermissionDecision::ApproveAlways => always.unwrap_or("Always"),
        PermissionDecision::Deny => "Deny",
    };
    text.to_owned()
}

fn outcome_text(outcome: PermissionOutcome) -> &'static str {
    match outcome {
        PermissionOutcome::Approved => "✓ Approved once",
        PermissionOutcome::ApprovedAlways => "✓ Approved for the rest of this session",
        PermissionOutcome::Denied => "✗ Denied",
        PermissionOutcome::TimedOut => "✗ Refused: nobody answered in time",
        PermissionOutcome::Withdrawn => "✗ Withdrawn before anyone answered",
    }
}

/// The text shown while requests are pending; `None` if there are none.
pub(crate) fn waiting_text(waiting: usize) -> Option<String> {
    match waiting {
        0 => None,
        1 => Some("The agent is waiting for your answer".to_owned()),
        many => Some(format!("The agent is waiting for {many} answers")),
    }
}

/// Marks the window's title while requests are pending.
pub(crate) fn mark_title(title: &str, asks: bool) -> String {
    let mark = if asks { "(?) " } else { "" };
    format!("{mark}{title}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_counted() {
        assert_eq!(waiting_text(0), None);
        assert_eq!(waiting_text(1).as_deref(), Some("The agent is waiting for your answer"));
        assert_eq!(waiting_text(2).as_deref(), Some("The agent is waiting for 2 answers"));
    }

    #[test]
    fn a_title_is_marked_while_somebody_asks() {
        assert_eq!(mark_title("Session", false), "Session");
        assert_eq!(mark_title("Session", true), "(?) Session");
    }
}
