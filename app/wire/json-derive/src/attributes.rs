//! The `serde` attributes that the derive macros understand. Any other is an error, wherever it
//! stands.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Ident, LitStr, Path, Result};

use crate::rename::Rule;

/// What stands on a type.
#[derive(Default)]
pub(crate) struct ContainerAttributes {
    /// How the fields of a struct or the variants of an enum are spelt.
    pub(crate) rename_all: Rule,
    /// How the fields of variants are spelt.
    pub(crate) rename_all_fields: Rule,
    /// The field that says which variant it is.
    pub(crate) tag: Option<String>,
    /// Whether fields may be absent, and then have the value that they have in a default.
    pub(crate) is_default: bool,
}

impl ContainerAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for_each(attributes, |name, meta| {
            match name {
                "rename_all" => read.rename_all = Rule::parse(&text(meta)?)?,
                "rename_all_fields" => read.rename_all_fields = Rule::parse(&text(meta)?)?,
                "tag" => read.tag = Some(text(meta)?.value()),
                "default" => read.is_default = flag(meta)?,
                // Ours are the same for all types.
                "bound" => drop(text(meta)?),
                _ => return Err(unknown(meta)),
            }
            Ok(())
        })?;
        Ok(read)
    }
}

/// What stands on a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) rename: Option<String>,
    /// Whether it may be absent, and then has the default of its type.
    pub(crate) is_default: bool,
    /// Whether its own fields stand among those beside it.
    pub(crate) is_flattened: bool,
    /// The function that says whether it is left out when it is written.
    pub(crate) is_skipped: Option<Path>,
    /// Whether serde writes it by a function of its own.
    pub(crate) is_written_by_function: bool,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for_each(attributes, |name, meta| {
            match name {
                "rename" => read.rename = Some(text(meta)?.value()),
                "default" => read.is_default = flag(meta)?,
                "flatten" => read.is_flattened = flag(meta)?,
                "skip_serializing_if" => read.is_skipped = Some(text(meta)?.parse()?),
                "serialize_with" => {
                    text(meta)?;
                    read.is_written_by_function = true;
                }
                _ => return Err(unknown(meta)),
            }
            Ok(())
        })?;
        Ok(read)
    }

    /// The name of the field in JSON.
    pub(crate) fn spelling(&self, name: &Ident, rule: Rule) -> String {
        self.rename.clone().unwrap_or_else(|| rule.field(&name.unraw().to_string()))
    }
}

/// What stands on a variant.
#[derive(Default)]
pub(crate) struct VariantAttributes {
    pub(crate) rename: Option<String>,
    /// Whether it is the one without a tag.
    pub(crate) is_untagged: bool,
    /// Whether serde reads it by a function of its own.
    pub(crate) is_read_by_function: bool,
}

impl VariantAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut read = Self::default();
        for_each(attributes, |name, meta| {
            match name {
                "rename" => read.rename = Some(text(meta)?.value()),
                "untagged" => read.is_untagged = flag(meta)?,
                "deserialize_with" => {
                    text(meta)?;
                    read.is_read_by_function = true;
                }
                _ => return Err(unknown(meta)),
            }
            Ok(())
        })?;
        Ok(read)
    }
}

/// Goes through everything that the `serde` attributes say.
fn for_each(
    attributes: &[Attribute],
    mut take: impl FnMut(&str, &ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            take(&name, &meta)
        })?;
    }
    Ok(())
}

/// The text after an equals sign.
fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

/// What has no value; with one, the end of the attribute is missed.
fn flag(meta: &ParseNestedMeta<'_>) -> Result<bool> {
    if meta.input.peek(syn::Token![=]) {
        Err(meta.error("no value is known here"))
    } else {
        Ok(true)
    }
}

fn unknown(meta: &ParseNestedMeta<'_>) -> syn::Error {
    meta.error("the browser's reader does not know this attribute")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known<T>(parse: fn(&[Attribute]) -> Result<T>, attribute: Attribute) -> bool {
        parse(&[attribute]).is_ok()
    }

    #[test]
    fn what_is_unknown_is_refused_wherever_it_stands() {
        use syn::parse_quote as quote;
        assert!(is_known(ContainerAttributes::parse, quote!(#[serde(tag = "kind", default)])));
        assert!(is_known(FieldAttributes::parse, quote!(#[serde(flatten, rename = "a")])));
        assert!(is_known(VariantAttributes::parse, quote!(#[serde(untagged)])));
        assert!(is_known(FieldAttributes::parse, quote!(#[other(what = "ever")])));
        for attribute in [
            quote!(#[serde(untagged)]),
            quote!(#[serde(transparent)]),
            quote!(#[serde(deny_unknown_fields)]),
            quote!(#[serde(rename_all = "kebab-case")]),
            quote!(#[serde(rename_all(deserialize = "camelCase"))]),
        ] {
            assert!(!is_known(ContainerAttributes::parse, attribute));
        }
        for attribute in [
            quote!(#[serde(skip)]),
            quote!(#[serde(alias = "b")]),
            quote!(#[serde(default = "make")]),
            quote!(#[serde(with = "other")]),
            quote!(#[serde(deserialize_with = "read")]),
        ] {
            assert!(!is_known(FieldAttributes::parse, attribute));
        }
        for attribute in [quote!(#[serde(other)]), quote!(#[serde(skip_deserializing)])] {
            assert!(!is_known(VariantAttributes::parse, attribute));
        }
    }
}
