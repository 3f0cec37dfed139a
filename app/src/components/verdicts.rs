//! A list of verdicts: what was judged, the result, why, and by whom.

use wire::{Judge, Met, Verdict, VerdictCriterion};

use crate::html::{Html, html};
use crate::reactive::prelude::*;

/// The verdicts below a line with their number, which unfolds them. Nothing if there are none.
#[component]
pub(crate) fn Verdicts(
    /// Each with the name of its task, where that is not known from the context.
    judged: Signal<Vec<(Option<String>, Verdict)>>,
) -> Html {
    let is_empty = Memo::new(move |_| judged.with(Vec::is_empty));
    html! {
        {move || {
            (!is_empty.get())
                .then(|| {
                    html! {
                        <details class="verdicts">
                            <summary>{move || judged.with(|all| summarise(all))}</summary>
                            <ul>{move || judged.get().into_iter().map(row).collect::<Html>()}</ul>
                        </details>
                    }
                })
        }}
    }
}

fn row((task, verdict): (Option<String>, Verdict)) -> Html {
    let Verdict { attempt, criterion, met, reason, evidence, judge } = verdict;
    html! {
        <li class="verdict" data-met=met.as_str()>
            <span class="verdict-met">{word(met)}</span>
            <span class="verdict-criterion">
                {task.map(|task| format!("{task}: "))} {describe(&criterion)}
            </span>
            <span class="verdict-origin">{origin(attempt, judge)}</span>
            <p class="verdict-reason">{reason}</p>
            {evidence.map(|text| html! { <p class="verdict-evidence">{text}</p> })}
        </li>
    }
}

/// How many there are, and how many are not met.
fn summarise(all: &[(Option<String>, Verdict)]) -> String {
    let count = |met: Met| all.iter().filter(|(_, verdict)| verdict.met == met).count();
    let verdicts = if all.len() == 1 { "verdict" } else { "verdicts" };
    let parts =
        [(all.len(), verdicts), (count(Met::No), "not met"), (count(Met::Unknown), "unknown")];
    let said = parts.iter().filter(|(count, _)| *count > 0);
    said.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

fn word(met: Met) -> &'static str {
    match met {
        Met::Yes => "Met",
        Met::No => "Not met",
        Met::Unknown => "Unknown",
    }
}

fn describe(criterion: &VerdictCriterion) -> String {
    match criterion {
        VerdictCriterion::Availability => "available".to_owned(),
        VerdictCriterion::Condition => "condition".to_owned(),
        VerdictCriterion::Tool(name) => format!("calls {name}"),
    }
}

fn origin(attempt: u32, judge: Option<Judge>) -> String {
    match judge {
        Some(Judge { model, .. }) => format!("attempt {attempt}, judged by {model}"),
        None => format!("attempt {attempt}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_many_are_not_met() {
        let verdict = |met| Verdict {
            attempt: 1,
            criterion: VerdictCriterion::Condition,
            met,
            reason: String::new(),
            evidence: None,
            judge: None,
        };
        for (all, text) in [
            (vec![Met::Yes], "1 verdict"),
            (vec![Met::Yes, Met::No, Met::No], "3 verdicts, 2 not met"),
            (vec![Met::No, Met::Unknown], "2 verdicts, 1 not met, 1 unknown"),
        ] {
            let all: Vec<_> = all.into_iter().map(|met| (None, verdict(met))).collect();
            assert_eq!(summarise(&all), text);
        }
    }
}
