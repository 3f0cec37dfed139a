//! `html!`: markup in the syntax of Leptos' `view!`, as templates that become `crate::html::Html`.
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

mod marks;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use rstml::node::{KeyedAttribute, Node, NodeAttribute, NodeBlock, NodeElement, NodeName};
use syn::spanned::Spanned;
use syn::{Block, Expr, ExprLit, Lit, Stmt};

/// Markup as a value of type `crate::html::Html`.
#[proc_macro]
pub fn html(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let parsed = rstml::parse2(tokens.into());
    parsed.and_then(|nodes| content(&nodes)).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// A value as it is, everything else as a template.
fn content(nodes: &[Node]) -> syn::Result<TokenStream> {
    if let [only] = nodes
        && let Some(value) = draw_value(only)?
    {
        return Ok(quote!(crate::html::IntoHtml::into_html(#value)));
    }
    let mut template = Template::default();
    for node in nodes {
        template.add(node)?;
    }
    Ok(template.build())
}

/// What is only known when it is drawn; `None` for tags and texts.
fn draw_value(node: &Node) -> syn::Result<Option<TokenStream>> {
    match node {
        Node::Element(element) if is_component(element.name()) => component(element).map(Some),
        Node::Block(NodeBlock::ValidBlock(block)) => Ok(Some(expression(block))),
        Node::Element(_) | Node::Fragment(_) | Node::Text(_) => Ok(None),
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

/// What is known beforehand as a text, in the marks of `app::html::template`, and the calls that fill
/// its gaps, in their order.
#[derive(Default)]
struct Template {
    text: String,
    fills: Vec<TokenStream>,
}

impl Template {
    fn add(&mut self, node: &Node) -> syn::Result<()> {
        if let Some(value) = draw_value(node)? {
            self.text.push(marks::CHILD);
            self.fills.push(quote!(child(#value)));
            return Ok(());
        }
        match node {
            Node::Element(element) => self.add_element(element),
            Node::Fragment(fragment) => {
                fragment.children.iter().try_for_each(|child| self.add(child))
            }
            Node::Text(text) => self.mark(marks::TEXT, &text.value.value(), text.value.span()),
            other => Err(syn::Error::new_spanned(other, "unsupported markup")),
        }
    }

    fn add_element(&mut self, element: &NodeElement<rstml::Infallible>) -> syn::Result<()> {
        let name = element.name();
        self.mark(marks::ELEMENT, &name.to_string(), name.span())?;
        for attribute in element.attributes() {
            self.add_part(keyed(attribute)?)?;
        }
        for child in &element.children {
            self.add(child)?;
        }
        self.text.push(marks::END);
        Ok(())
    }

    /// An attribute, a listener and so on.
    fn add_part(&mut self, attribute: &KeyedAttribute) -> syn::Result<()> {
        let key = attribute.key.to_string().replace(' ', "");
        let key = key.strip_prefix("r#").unwrap_or(&key);
        let span = attribute.key.span();
        let value = value_of(attribute);
        let (mark, name) = match key.split_once(':') {
            Some(("on", event)) => {
                let event = format_ident!("{event}", span = span);
                self.text.push(marks::LISTENER);
                self.fills.push(quote_spanned!(span=> on(::leptos::ev::#event, #value)));
                return Ok(());
            }
            Some(("class", name)) => (marks::CLASS, name),
            Some(("prop", name)) => (marks::PROPERTY, name),
            Some(_) => return Err(syn::Error::new(span, "unknown kind of attribute")),
            None if key == "node_ref" => {
                self.text.push(marks::REFERENCE);
                self.fills.push(quote_spanned!(span=> node_ref(#value)));
                return Ok(());
            }
            None if key == "inner_html" => (marks::INNER_HTML, ""),
            None => {
                if let Some(value) = known_value(attribute) {
                    self.mark(marks::KNOWN_ATTRIBUTE, key, span)?;
                    return self.mark(marks::VALUE, &value, span);
                }
                (marks::ATTRIBUTE, key)
            }
        };
        self.fills.push(quote_spanned!(span=> value(#value)));
        self.mark(mark, name, span)
    }

    fn mark(&mut self, mark: char, text: &str, span: Span) -> syn::Result<()> {
        if text.contains(|letter| letter < marks::LIMIT && letter != '\n') {
            return Err(syn::Error::new(span, "control characters can't be written here"));
        }
        self.text.push(mark);
        self.text.push_str(text);
        Ok(())
    }

    fn build(self) -> TokenStream {
        let Self { text, fills } = self;
        // A name that no expression within can mean.
        let template = Ident::new("template", Span::mixed_site());
        quote! {{
            let mut #template = crate::html::Template::new(#text);
            #(#template.#fills;)*
            #template.finish()
        }}
    }
}

/// The value of an attribute, if it is a literal or missing.
fn known_value(attribute: &KeyedAttribute) -> Option<String> {
    match attribute.value() {
        None => Some(String::new()),
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Some(text.value()),
        Some(_) => None,
    }
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
