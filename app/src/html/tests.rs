//! What the server writes.

use super::{Html, each, html};
use crate::reactive::prelude::*;

fn write(html: Html) -> String {
    let mut page = String::new();
    html.write(&mut page, &mut false);
    page
}

#[test]
fn markup_is_written_as_it_stands() {
    let page = html! {
        <p class="a" class:b=true class:c=false title="x \"<&" hidden disabled=false>
            "one" <br /> {2_u32.to_string()}
        </p>
    };
    assert_eq!(write(page), r#"<p title="x &quot;&lt;&amp;" hidden="" class="a b">one<br>2</p>"#);
}

#[test]
fn what_can_change_ends_with_a_comment() {
    let flag = || true;
    let page = html! {
        <ul class=move || flag().then_some("on")>
            {move || flag().then_some("text")}
            {each(|| vec![1, 2], |item| *item, |item| html! { <li>{item.to_string()}</li> })}
            {None::<Html>}
        </ul>
    };
    assert_eq!(write(page), r#"<ul class="on">text<!><li>1</li><li>2</li><!></ul>"#);
}

#[test]
fn texts_in_a_row_are_kept_apart_and_never_vanish() {
    assert_eq!(write(html! { <p>"a" "b" {""}</p> }), "<p>a<!>b<!> </p>");
    assert_eq!(write(html! { "a" <b>"c"</b> "d" }), "a<b>c</b>d");
}

#[test]
fn content_of_people_is_escaped() {
    let text = String::from("<script>alert(1)</script>");
    let page = html! { <p title=text.clone()>{text.clone()}</p> };
    assert!(!write(page).contains("<script>"));
}

#[test]
fn signals_are_read_where_they_stand() {
    let owner = Owner::new();
    owner.with(|| {
        let name = RwSignal::new(String::from("n"));
        let page = html! { <p title=name>{name}</p> };
        name.set(String::from("m"));
        assert_eq!(write(page), r#"<p title="m">m<!></p>"#);
    });
}
