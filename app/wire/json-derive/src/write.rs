//! `ToJson`: each field by a call that is given its name.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Field, Fields, Result};

use crate::attributes::{ContainerAttributes, FieldAttributes};
use crate::rename::Rule;

pub(crate) fn implement_to_json(input: &DeriveInput) -> Result<TokenStream> {
    let container = ContainerAttributes::parse(&input.attrs)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "only structs are written"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&data.fields, "only fields with names can be written"));
    };
    let fields = fields.named.iter().map(|field| write_field(field, container.rename_all));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let (name, (generics, arguments, conditions)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #generics crate::json::ToJson for #name #arguments #conditions {
            fn to_json(&self, text: &mut ::std::string::String) {
                let mut object = crate::json::ObjectWriter::new(text);
                #(#fields)*
                object.end();
            }
        }
    })
}

fn write_field(field: &Field, rule: Rule) -> Result<TokenStream> {
    let attributes = FieldAttributes::parse(&field.attrs)?;
    let name = field.ident.as_ref().ok_or_else(|| Error::new_spanned(field, "a field's name"))?;
    if attributes.is_flattened || attributes.is_written_by_function {
        return Err(Error::new_spanned(field, "only whole fields can be written"));
    }
    let spelt = attributes.spelling(name, rule);
    let write = quote!(object.field(#spelt, &self.#name););
    Ok(match attributes.is_skipped {
        Some(is_skipped) => quote!(if !#is_skipped(&self.#name) { #write }),
        None => write,
    })
}
