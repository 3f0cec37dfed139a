//! Numbers with a fraction.

/// Reads a number as JSON spells it.
pub fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok()
}
