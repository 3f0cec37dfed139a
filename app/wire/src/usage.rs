//! Tokens and cost of requests to models.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::json::FromJson;

/// Tokens and cost of one or more requests to models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All tokens that were read, including cached ones.
    pub input_tokens: u64,
    /// All tokens that were written, including reasoning.
    pub output_tokens: u64,
    /// Input tokens that the provider had cached, which are cheaper.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Output tokens that were reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// In the provider's units, if it says so: a request to a model with multiplier 2 costs 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's signature; not every target has the lint's opinion"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Whether nothing was used.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(more.reasoning_tokens);
        self.cost = match (self.cost, more.cost) {
            (Some(cost), Some(more)) => Some(cost + more),
            (cost, more) => cost.or(more),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_is_known() {
        let mut sum = Usage::default();
        assert!(sum.is_empty());
        sum += Usage { input_tokens: 3, output_tokens: 1, ..Usage::default() };
        assert_eq!(
            serde_json::to_string(&sum).expect("json"),
            r#"{"inputTokens":3,"outputTokens":1}"#
        );
        sum += Usage { cached_tokens: 2, cost: Some(0.5), ..Usage::default() };
        sum += Usage { reasoning_tokens: 1, cost: Some(1.0), ..Usage::default() };
        assert_eq!(
            serde_json::to_string(&sum).expect("json"),
            r#"{"inputTokens":3,"outputTokens":1,"cachedTokens":2,"reasoningTokens":1,"cost":1.5}"#
        );
    }
}
