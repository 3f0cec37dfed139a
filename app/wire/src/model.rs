//! The list of models.

use serde::{Deserialize, Serialize, Serializer};

use crate::json::FromJson;

/// A model that sessions can be started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// Name shown to people.
    pub name: String,
    /// Id to start a session with, by `session/start/…`. May contain `/`.
    pub id: String,
    /// What a request costs, as a multiple of a normal one. 0 is free.
    #[serde(serialize_with = "whole_numbers_without_decimals")]
    pub multiplier: f64,
    /// Name of the provider that runs the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// What `copilot/models` answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    /// Models of all providers, sorted by name.
    pub models: Vec<ModelInfo>,
    /// Providers that are set up but could not list their models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProviderProblem>,
}

/// Why a provider's models are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct ProviderProblem {
    /// Name of the provider.
    pub provider: String,
    /// What went wrong, for people.
    pub message: String,
}

/// Writes whole numbers as `0`, not `0.0`, because some clients compare the text.
#[expect(clippy::cast_possible_truncation, reason = "the value was checked to be whole and small")]
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's signature; not every target has the lint's opinion"
)]
fn whole_numbers_without_decimals<S: Serializer>(
    value: &f64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_spelt_as_the_api_says() {
        let model = |multiplier, provider: Option<&str>| ModelInfo {
            name: "N".to_owned(),
            id: "i".to_owned(),
            multiplier,
            provider: provider.map(str::to_owned),
        };
        for (model, json) in [
            (model(0.0, None), r#"{"name":"N","id":"i","multiplier":0}"#),
            (model(1.0, None), r#"{"name":"N","id":"i","multiplier":1}"#),
            (
                model(0.33, Some("simulated")),
                r#"{"name":"N","id":"i","multiplier":0.33,"provider":"simulated"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&model).expect("json"), json);
            let back: ModelInfo = serde_json::from_str(json).expect("model");
            assert_eq!(back, model);
        }
        let empty = serde_json::to_string(&Models::default()).expect("json");
        assert_eq!(empty, r#"{"models":[]}"#);
    }
}
