//! How names are spelt in JSON. Used by the derive macros for every field and variant.

use syn::{LitStr, Result};

/// What `rename_all` makes of names.
#[derive(Clone, Copy, Default)]
pub(crate) enum Rule {
    #[default]
    AsItIs,
    CamelCase,
}

impl Rule {
    pub(crate) fn parse(name: &LitStr) -> Result<Self> {
        match &*name.value() {
            "camelCase" => Ok(Self::CamelCase),
            _ => Err(syn::Error::new_spanned(name, "only `camelCase` is known")),
        }
    }

    /// A field, which Rust spells `like_this`.
    pub(crate) fn field(self, name: &str) -> String {
        let Self::CamelCase = self else { return name.to_owned() };
        let mut words = name.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |spelt, word| spelt + &with_first(word, char::to_ascii_uppercase))
    }

    /// A variant, which Rust spells `LikeThis`.
    pub(crate) fn variant(self, name: &str) -> String {
        let Self::CamelCase = self else { return name.to_owned() };
        with_first(name, char::to_ascii_lowercase)
    }
}

fn with_first(word: &str, change: impl Fn(&char) -> char) -> String {
    let mut letters = word.chars();
    letters.next().iter().map(change).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelt_as_serde_spells_them() {
        for (name, spelt) in [("a", "a"), ("used_up", "usedUp"), ("a_b_c", "aBC")] {
            assert_eq!(Rule::CamelCase.field(name), spelt);
            assert_eq!(Rule::AsItIs.field(name), name);
        }
        for (name, spelt) in [("A", "a"), ("UsedUp", "usedUp"), ("ABC", "aBC")] {
            assert_eq!(Rule::CamelCase.variant(name), spelt);
            assert_eq!(Rule::AsItIs.variant(name), name);
        }
    }
}
