//! `#[derive(FromJson)]` and `#[derive(ToJson)]`: read and write a type as its `serde` attributes
//! spell it. Used by `wire` alone, whose module `json` is their other half.
//!
//! serde's own `Deserialize` compiles a visitor and a parser's loop for each type, which was a tenth
//! of the download. The code of these is a list of calls, one for each field.
//!
//! | type | how it is read |
//! |---|---|
//! | a struct with named fields | field by field, whatever their order; others are ignored |
//! | an enum of names | as a word |
//! | an enum with a `tag` | as the variant that the tag names; without a tag, as the variant that is `untagged` |
//!
//! Only structs are written, because only the bodies of requests are.
//!
//! There is one spelling of each type, which is why these attributes are serde's. Whatever these
//! macros don't know they refuse, so that they can't come to disagree with serde.

mod attributes;
mod read;
mod rename;
mod write;

use proc_macro2::TokenStream;
use syn::{DeriveInput, Result};

/// Implements `wire::json::FromJson`.
#[proc_macro_derive(FromJson, attributes(serde))]
pub fn derive_from_json(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(tokens, read::implement_from_json)
}

/// Implements `wire::json::ToJson`.
#[proc_macro_derive(ToJson, attributes(serde))]
pub fn derive_to_json(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(tokens, write::implement_to_json)
}

fn derive(
    tokens: proc_macro::TokenStream,
    implement: fn(&DeriveInput) -> Result<TokenStream>,
) -> proc_macro::TokenStream {
    let implemented = syn::parse(tokens).and_then(|input| implement(&input));
    implemented.unwrap_or_else(|error| error.to_compile_error()).into()
}
