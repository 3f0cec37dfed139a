//! What was used of a budget: a meter and a line of text for each limit.

use wire::number::write_number;
use wire::{Budget, Spent};

use crate::html::{Html, html};
use crate::reactive::prelude::*;
use crate::state::budget::{LimitMeter, meters};

/// The limits of a budget; nothing if it has none.
#[component]
pub(crate) fn BudgetMeters(#[prop(into)] known: Signal<Option<(Budget, Spent)>>) -> Html {
    let all = Memo::new(move |_| {
        known.with(|known| known.as_ref().map(|(budget, spent)| meters(budget, spent)))
    });
    let list = move || {
        let limits = all.get().filter(|limits| !limits.is_empty())?;
        let limits = limits.iter().map(draw).collect::<Html>();
        Some(html! { <ul class="budget-meters" aria-label="Budget">{limits}</ul> })
    };
    html! { {list} }
}

fn draw(meter: &LimitMeter) -> Html {
    let text = meter.text();
    html! {
        <li class=meter.left.class()>
            <meter
                min="0"
                max=write_number(meter.allowed)
                value=write_number(meter.used.min(meter.allowed))
                aria-label=meter.limit.name()
                aria-valuetext=text.clone()
            ></meter>
            <span>{text}</span>
        </li>
    }
}
