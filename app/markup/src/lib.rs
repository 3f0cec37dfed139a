//! `html!`: markup in the syntax of Leptos' `view!`, as calls that build `crate::html::Html`.
//!
//! `view!` gives each piece of markup a type of its own, and the compiler generates all code that
//! draws it once per type: that was half of the download. `html!` produces values of one type
//! instead, so that the code which draws exists once. `app::html` is its other half.
//!
//! | markup | meaning |
//! |---|---|
//! | `<p class="x" title=text>` | an attribute; without a value it is set and empty |
//! | `class:open=flag` | a class that is there while the flag is true |
//! | `prop:value=text` | a property, set whenever the value changes |
//! | `on:click=handler` | an event listener |
//! | `node_ref=name` | gives the element to a `NodeRef` |
//! | `inner_html=text` | the content as HTML that can be trusted |
//! | `"text"`, `{value}` | content: texts, numbers, options, lists, `Html`, and closures and signals of these |
//! | `<Part name=value />` | a component: a function with Leptos' `#[component]` |
//!
//! A value may be a closure or a signal wherever it may be a constant.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use rstml::node::{KeyedAttribute, Node, NodeAttribute, NodeBlock, NodeElement, NodeName};
use syn::spanned::Spanned;
use syn::{Block, Expr, Stmt};

/// Markup as a value of type `crate::html::Html`.
#[proc_macro]
pub fn html(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let parsed = rstml::parse2(tokens.into());
    parsed.and_then(|nodes| content(&nodes)).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// One node as it is, several as a fragment.
fn content(nodes: &[Node]) -> syn::Result<TokenStream> {
    let drawn = nodes.iter().map(draw).collect::<syn::Result<Vec<_>>>()?;
    Ok(if let [only] = &*drawn {
        quote!(crate::html::IntoHtml::into_html(#only))
    } else {
        quote!(crate::html::Html::fragment()#(.child(#drawn))*)
    })
}

fn draw(node: &Node) -> syn::Result<TokenStream> {
    match node {
        Node::Element(element) if is_component(element.name()) => component(element),
        Node::Element(element) => tag(element),
        Node::Fragment(fragment) => content(&fragment.children),
        Node::Text(text) => {
            let text = &text.value;
            Ok(quote!(#text))
        }
        Node::Block(NodeBlock::ValidBlock(block)) => Ok(expression(block)),
        other => Err(syn::Error::new_spanned(other, "unsupported markup")),
    }
}

/// The block without its braces, if it holds a single expression.
fn expression(block: &Block) -> TokenStream {
    if let [Stmt::Expr(expression, None)] = &*block.stmts {
        quote!(#expression)
    } else {
        quote!(#block)
    }
}

/// Components are named as types are.
fn is_component(name: &NodeName) -> bool {
    name.to_string().rsplit("::").next().is_some_and(|name| name.starts_with(char::is_uppercase))
}

fn tag(element: &NodeElement<rstml::Infallible>) -> syn::Result<TokenStream> {
    let name = element.name();
    let spelt = name.to_string();
    let mut calls = quote_spanned!(name.span()=> crate::html::Html::element(#spelt));
    for attribute in element.attributes() {
        let call = part(keyed(attribute)?)?;
        calls.extend(quote!(.#call));
    }
    for child in &element.children {
        let child = draw(child)?;
        calls.extend(quote!(.child(#child)));
    }
    Ok(calls)
}

/// The call that adds an attribute, listener and so on to an element.
fn part(attribute: &KeyedAttribute) -> syn::Result<TokenStream> {
    let key = attribute.key.to_string().replace(' ', "");
    let key = key.strip_prefix("r#").unwrap_or(&key);
    let value = value_of(attribute);
    let span = attribute.key.span();
    Ok(match key.split_once(':') {
        Some(("on", event)) => {
            let event = format_ident!("{event}", span = span);
            quote_spanned!(span=> on(::leptos::ev::#event, #value))
        }
        Some(("class", name)) => quote_spanned!(span=> class_if(#name, #value)),
        Some(("prop", name)) => quote_spanned!(span=> property(#name, #value)),
        Some(_) => return Err(syn::Error::new(span, "unknown kind of attribute")),
        None if key == "node_ref" => quote_spanned!(span=> node_ref(#value)),
        None if key == "inner_html" => quote_spanned!(span=> inner_html(#value)),
        None => quote_spanned!(span=> attribute(#key, #value)),
    })
}

/// A call of the component's function, whose properties Leptos' macro has declared.
fn component(element: &NodeElement<rstml::Infallible>) -> syn::Result<TokenStream> {
    let name = element.name();
    let mut calls = quote_spanned! {name.span()=>
        ::leptos::component::component_props_builder(&#name)
    };
    for attribute in element.attributes() {
        let attribute = keyed(attribute)?;
        let key = &attribute.key;
        let value = value_of(attribute);
        calls.extend(quote!(.#key(#value)));
    }
    if !element.children.is_empty() {
        let children = content(&element.children)?;
        calls.extend(quote!(.children(#children)));
    }
    Ok(quote!(::leptos::component::component_view(#name, #calls.build())))
}

fn keyed(attribute: &NodeAttribute) -> syn::Result<&KeyedAttribute> {
    match attribute {
        NodeAttribute::Attribute(attribute) => Ok(attribute),
        NodeAttribute::Block(block) => {
            Err(syn::Error::new_spanned(block, "an attribute needs a name"))
        }
    }
}

/// The value of an attribute; one without any is true.
fn value_of(attribute: &KeyedAttribute) -> TokenStream {
    match attribute.value() {
        Some(Expr::Block(block)) if block.attrs.is_empty() && block.label.is_none() => {
            expression(&block.block)
        }
        Some(value) => quote!(#value),
        None => quote!(true),
    }
}
