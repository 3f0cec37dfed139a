//! `#session-model`: the model that answers, and another one for the next prompt.

use wire::Models;

use super::super::about::About;
use crate::api::{self, session};
use crate::explain::Known;
use crate::html::{Html, html};
use crate::load::{Load, Loader};
use crate::reactive::prelude::*;

/// The selection. While the model can't be switched, it says why.
pub(super) fn draw_model(about: About, problem: RwSignal<Option<String>>) -> Html {
    let models = Loader::new(api::models);
    // What was chosen, until the server has answered.
    let chosen = RwSignal::new(None::<String>);
    let model = move || chosen.get().or_else(|| about.model());
    let switch = move |wanted: String| {
        chosen.set(Some(wanted.clone()));
        problem.set(None);
        spawn_local(async move {
            let switched = session::switch_model(about.id(), &wanted).await;
            if switched.is_ok() {
                about.reload();
            }
            if let Err(error) = switched {
                let known = Known { model: Some(&wanted), ..Known::default() };
                problem.try_set(Some(error.explain(known)));
                chosen.try_set(None);
            }
        });
    };
    // The list of what is alive tells of the switch, and of a fallback later on.
    Effect::new(move |_| {
        if chosen.with(Option::is_some) && about.model() == chosen.get() {
            chosen.set(None);
        }
    });
    let options = move || {
        let model = model().unwrap_or_default();
        let offered = models.state.with(|models| offer(models, &model));
        let option = |(id, name): (String, String)| {
            let selected = id == model;
            html! { <option value=id selected=selected>{name}</option> }
        };
        offered.into_iter().map(option).collect::<Html>()
    };
    html! {
        <span class="session-model">
            <select
                id="session-model"
                aria-label="Model"
                aria-describedby="session-model-reason"
                title=move || about.model_is_fixed().unwrap_or("Model of the next prompt")
                autocomplete="off"
                disabled=move || about.model_is_fixed().is_some() || chosen.with(Option::is_some)
                prop:value=model
                on:change=move |event| switch(event_target_value(&event))
            >
                {options}
            </select>
            <span id="session-model-reason">{move || about.model_is_fixed()}</span>
        </span>
    }
}

/// Ids and names of the models to choose from; also the current one, which may be gone.
fn offer(models: &Load<Models>, current: &str) -> Vec<(String, String)> {
    let known = if let Load::Ready(list) = models { &*list.models } else { &[] };
    let mut offered: Vec<_> =
        known.iter().map(|model| (model.id.clone(), model.name.clone())).collect();
    if !current.is_empty() && offered.iter().all(|(id, _)| id != current) {
        offered.insert(0, (current.to_owned(), current.to_owned()));
    }
    offered
}

#[cfg(test)]
mod tests {
    use wire::ModelInfo;

    use super::*;

    #[test]
    fn the_current_model_can_be_seen_even_if_it_is_gone() {
        let model =
            ModelInfo { name: "A".to_owned(), id: "a".to_owned(), multiplier: 0.0, provider: None };
        let list = Load::Ready(Models { models: vec![model], ..Models::default() });
        let ids = |models: &_, current| {
            offer(models, current).into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&list, "a"), ["a"]);
        assert_eq!(ids(&list, "gone"), ["gone", "a"]);
        assert_eq!(ids(&list, ""), ["a"]);
        assert_eq!(ids(&Load::Pending, "a"), ["a"]);
    }
}
