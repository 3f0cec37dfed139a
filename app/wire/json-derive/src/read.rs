//! `FromJson`: each field by a call that looks for its name.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Field, Fields, Result, Type, Variant, parse_quote};

use crate::attributes::{ContainerAttributes, FieldAttributes, VariantAttributes};
use crate::rename::Rule;

pub(crate) fn implement_from_json(input: &DeriveInput) -> Result<TokenStream> {
    let container = ContainerAttributes::parse(&input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => {
            let rule = container.rename_all;
            let fields = read_fields(&data.fields, rule, container.is_default)?;
            let start = match &data.fields {
                // What has fields finds out when it looks for the first.
                fields if fields.is_empty() => quote!(value.expect_object();),
                _ if container.is_default => quote! {
                    let defaults = <Self as ::std::default::Default>::default();
                },
                _ => TokenStream::new(),
            };
            quote!(#start Self #fields)
        }
        Data::Enum(data) => match &container.tag {
            Some(tag) => read_tagged(data, tag, &container)?,
            None => read_word(data, container.rename_all)?,
        },
        Data::Union(_) => return Err(Error::new_spanned(input, "a union can't be read")),
    };
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(crate::json::FromJson));
    }
    let (name, (generics, arguments, conditions)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #generics crate::json::FromJson for #name #arguments #conditions {
            fn from_json(value: crate::json::Value<'_>) -> Self {
                #body
            }
        }
    })
}

/// The fields in braces, each with the call that reads it from `value`.
fn read_fields(fields: &Fields, rule: Rule, has_defaults: bool) -> Result<TokenStream> {
    let Fields::Named(fields) = fields else {
        return Err(Error::new_spanned(fields, "only fields with names can be read"));
    };
    let fields = fields.named.iter().map(|field| read_field(field, rule, has_defaults));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(quote!({ #(#fields,)* }))
}

fn read_field(field: &Field, rule: Rule, has_defaults: bool) -> Result<TokenStream> {
    let attributes = FieldAttributes::parse(&field.attrs)?;
    let name = field.ident.as_ref().ok_or_else(|| Error::new_spanned(field, "a field's name"))?;
    let spelt = attributes.spelling(name, rule);
    let call = if attributes.is_flattened {
        quote!(crate::json::FromJson::from_json(value))
    } else if has_defaults {
        quote!(value.field_or(#spelt, defaults.#name))
    } else if attributes.is_default && !is_option(&field.ty) {
        quote!(value.field_or_default(#spelt))
    } else {
        quote!(value.field(#spelt))
    };
    Ok(quote_spanned!(field.span()=> #name: #call))
}

/// Whether the type is an `Option` by its name, which is how serde recognises those that may be
/// absent.
fn is_option(read: &Type) -> bool {
    let Type::Path(path) = read else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == "Option")
}

/// An enum whose variants are words.
fn read_word(data: &DataEnum, rule: Rule) -> Result<TokenStream> {
    let mut words = Vec::new();
    let mut variants = Vec::new();
    for variant in &data.variants {
        let attributes = VariantAttributes::parse(&variant.attrs)?;
        if !matches!(variant.fields, Fields::Unit) || attributes.is_untagged {
            return Err(Error::new_spanned(variant, "only an enum with a tag can have this"));
        }
        words.push(spelling(variant, &attributes, rule));
        let name = &variant.ident;
        variants.push(quote!(Self::#name));
    }
    Ok(choice(&quote!(value), &words, &variants))
}

/// An enum whose variants are objects, one field of which says which of them it is.
fn read_tagged(data: &DataEnum, tag: &str, container: &ContainerAttributes) -> Result<TokenStream> {
    let mut words = Vec::new();
    let mut variants = Vec::new();
    let mut untagged = None;
    for variant in &data.variants {
        let attributes = VariantAttributes::parse(&variant.attrs)?;
        let name = &variant.ident;
        let content = match &variant.fields {
            Fields::Unit => TokenStream::new(),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                quote!((crate::json::FromJson::from_json(value)))
            }
            fields => read_fields(fields, container.rename_all_fields, false)?,
        };
        if attributes.is_read_by_function && !has_flattened(&variant.fields)? {
            return Err(Error::new_spanned(
                variant,
                "`deserialize_with` is known only for what serde can't flatten",
            ));
        }
        let read = quote!(Self::#name #content);
        if !attributes.is_untagged {
            words.push(spelling(variant, &attributes, container.rename_all));
            variants.push(read);
        } else if untagged.replace(read).is_some() {
            return Err(Error::new_spanned(variant, "only one variant can do without a tag"));
        }
    }
    let tagged = choice(&quote!(tag), &words, &variants);
    let untagged = untagged.map(|read| quote!(if tag.is_absent() { return #read; }));
    Ok(quote! {
        let tag = value.get(#tag);
        #untagged
        #tagged
    })
}

fn has_flattened(fields: &Fields) -> Result<bool> {
    for field in fields {
        if FieldAttributes::parse(&field.attrs)?.is_flattened {
            return Ok(true);
        }
    }
    Ok(false)
}

fn spelling(variant: &Variant, attributes: &VariantAttributes, rule: Rule) -> String {
    let renamed = attributes.rename.clone();
    renamed.unwrap_or_else(|| rule.variant(&variant.ident.unraw().to_string()))
}

/// The variant that stands where the word stands among all words.
fn choice(word: &TokenStream, words: &[String], variants: &[TokenStream]) -> TokenStream {
    let Some((last, others)) = variants.split_last() else {
        return quote!(compile_error!("an enum without variants can't be read"));
    };
    let numbers = 0..others.len();
    quote! {
        match #word.word(&[#(#words),*]) {
            #(#numbers => #others,)*
            _ => #last,
        }
    }
}
