//! The models that can be chosen. Simulated ones stand apart, because there is no AI in them.

use wire::{ModelInfo, Models};

use crate::html::{Html, html};
use crate::load::Load;

/// Preselected, if it exists.
const PREFERRED_MODEL: &str = "gpt-5.2";
/// The one that examples are shown with, if it exists.
const EXAMPLE_MODEL: &str = "simulated-standard";
/// The provider of simulated models.
const SIMULATED: &str = "simulated";

/// The preferred model if it exists, else the first free one, else the first.
pub(super) fn default_model(models: &[ModelInfo]) -> Option<&str> {
    let preferred = models.iter().find(|model| model.id == PREFERRED_MODEL);
    let free = || models.iter().find(|model| model.multiplier <= 0.0);
    preferred.or_else(free).or(models.first()).map(|model| model.id.as_str())
}

/// The simulated model that examples are shown with.
pub(super) fn example_model(models: &[ModelInfo]) -> Option<&str> {
    let example = models.iter().find(|model| model.id == EXAMPLE_MODEL);
    let simulated = || models.iter().find(|model| is_simulated(model));
    example.filter(|model| is_simulated(model)).or_else(simulated).map(|model| model.id.as_str())
}

/// Whether there is an AI in any of the models.
pub(super) fn has_real_model(models: &[ModelInfo]) -> bool {
    !models.iter().all(is_simulated)
}

fn is_simulated(model: &ModelInfo) -> bool {
    model.provider.as_deref() == Some(SIMULATED)
}

/// What is to be known about the chosen model.
pub(super) fn model_help(models: &Load<Models>, chosen: &str) -> Option<&'static str> {
    let Load::Ready(list) = models else { return None };
    let model = list.models.iter().find(|model| model.id == chosen)?;
    is_simulated(model).then_some("No AI: obeys plain sentences")
}

/// What the select offers.
pub(super) fn model_options(models: &Load<Models>, chosen: &str) -> Html {
    match models {
        Load::Ready(list) => {
            let (simulated, real): (Vec<_>, Vec<_>) =
                list.models.iter().partition(|model| is_simulated(model));
            let options = |models: &[&ModelInfo]| {
                models.iter().map(|model| model_option(model, chosen)).collect::<Html>()
            };
            let group = |label: &'static str, models: &[&ModelInfo]| {
                let options = (!models.is_empty()).then(|| options(models));
                options.map(|options| html! { <optgroup label=label>{options}</optgroup> })
            };
            html! {
                {group("Models", &real)}
                {group("Simulated", &simulated)}
            }
        }
        Load::Pending => html! { <option value="">"Loading …"</option> },
        Load::Failed(_) => html! { <option value="">"Not loaded"</option> },
    }
}

fn model_option(model: &ModelInfo, chosen: &str) -> Html {
    let selected = model.id == chosen;
    html! {
        <option value=model.id.clone() selected=selected>
            {option_text(model)}
        </option>
    }
}

fn option_text(model: &ModelInfo) -> String {
    let name = &model.name;
    if is_simulated(model) {
        format!("{name} (no AI: obeys plain sentences)")
    } else {
        name.clone()
    }
}

/// Providers that are configured but cannot be used, with what to do about it.
pub(super) fn provider_problems(models: &Load<Models>) -> Option<Html> {
    let Load::Ready(list) = models else { return None };
    let problems = list.problems.iter().map(|problem| {
        let (provider, message) = (problem.provider.clone(), problem.message.clone());
        html! { <li><strong>{provider}": "</strong>{message}</li> }
    });
    let problems = problems.collect::<Html>();
    (!list.problems.is_empty()).then(|| {
        html! {
            <ul class="provider-problems" aria-label="Providers that can't be used">
                {problems}
            </ul>
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str, multiplier: f64, provider: Option<&str>) -> ModelInfo {
        ModelInfo {
            name: id.to_uppercase(),
            id: id.to_owned(),
            multiplier,
            provider: provider.map(str::to_owned),
        }
    }

    #[test]
    fn the_preferred_model_is_chosen_else_the_first_free_one() {
        let costly = model("a", 1.0, None);
        let free = model("b", 0.0, None);
        let preferred = model(PREFERRED_MODEL, 1.0, None);
        for (models, chosen) in [
            (vec![costly.clone(), free.clone(), preferred], Some(PREFERRED_MODEL)),
            (vec![costly.clone(), free], Some("b")),
            (vec![costly], Some("a")),
            (vec![], None),
        ] {
            assert_eq!(default_model(&models), chosen);
        }
    }

    #[test]
    fn only_simulated_models_are_marked_and_used_for_examples() {
        let real = model("m", 1.0, Some("copilot"));
        let quick = model("simulated-quick", 0.0, Some(SIMULATED));
        let standard = model(EXAMPLE_MODEL, 0.0, Some(SIMULATED));
        let models =
            Load::Ready(Models { models: vec![real.clone(), quick.clone()], problems: Vec::new() });
        assert_eq!(model_help(&models, "m"), None);
        assert_eq!(model_help(&models, &quick.id), Some("No AI: obeys plain sentences"));
        assert_eq!(option_text(&real), "M");
        assert_eq!(option_text(&quick), "SIMULATED-QUICK (no AI: obeys plain sentences)");
        for (models, example, has_real) in [
            (vec![real.clone(), quick.clone(), standard.clone()], Some(EXAMPLE_MODEL), true),
            (vec![quick.clone(), standard], Some(EXAMPLE_MODEL), false),
            (vec![quick], Some("simulated-quick"), false),
            // Somebody else's model may have that id.
            (vec![model(EXAMPLE_MODEL, 0.0, Some("local"))], None, true),
            (vec![real], None, true),
            (vec![], None, false),
        ] {
            assert_eq!(example_model(&models), example);
            assert_eq!(has_real_model(&models), has_real);
        }
    }
}
