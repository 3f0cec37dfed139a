//! The parser reads what serde's reads, and refuses the rest with its place. That types are read as
//! serde reads them is proven in `crate::alike`.

use proptest::prelude::*;
use serde_json::Value as Tree;

use super::document::Kind;
use super::*;

#[derive(Debug, Default, PartialEq, FromJson)]
struct Models {
    models: Vec<Model>,
    #[serde(default)]
    problems: Vec<String>,
}

#[derive(Debug, PartialEq, FromJson)]
struct Model {
    name: String,
    id: String,
}

/// Any JSON, as serde has it.
#[derive(Debug, PartialEq)]
struct Any(Tree);

impl FromJson for Any {
    fn from_json(value: Value<'_>) -> Self {
        Self(match value.node().kind {
            Kind::Absent | Kind::Null => Tree::Null,
            kind @ (Kind::True | Kind::False) => Tree::Bool(kind == Kind::True),
            Kind::Number => match value.digits().parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => value
                    .digits()
                    .parse::<u64>()
                    .map_or_else(|_| f64::from_json(value).into(), Tree::from),
            },
            Kind::Text | Kind::EscapedText => value.text().into(),
            Kind::List => value.items().map(|item| Self::from_json(item).0).collect(),
            Kind::Object => Tree::Object(
                value
                    .fields()
                    .map(|(name, value)| (name.into(), Self::from_json(value).0))
                    .collect(),
            ),
        })
    }
}

fn read(text: &str) -> Result<Tree, JsonError> {
    from_str::<Any>(text).map(|any| any.0)
}

fn any_json() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::from),
        any::<i64>().prop_map(Tree::from),
        any::<u64>().prop_map(Tree::from),
        (-1e9..1e9).prop_map(Tree::from),
        any::<String>().prop_map(Tree::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Tree::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|map| Tree::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(value in any_json(), is_pretty: bool) {
        let write = if is_pretty { serde_json::to_string_pretty } else { serde_json::to_string };
        let text = write(&value).expect("JSON");
        prop_assert_eq!(read(&text), Ok(value));
    }

    #[test]
    fn no_text_is_too_odd(text in "[\\[\\]{}\",:\\\\u0-9a-f .eE+-]{0,40}") {
        let read = read(&text);
        if let Ok(expected) = serde_json::from_str::<Tree>(&text) {
            prop_assert_eq!(read, Ok(expected));
        }
    }
}

#[test]
fn names_are_found_however_they_are_written() {
    let text = r#"{"\u006dodels":[],"problems":[],"more":{"models":1}}"#;
    assert_eq!(from_str::<Models>(text), Ok(Models::default()));
    let twice = r#"{"models":[],"models":[]}"#;
    let error = from_str::<Models>(twice).expect_err(twice);
    assert_eq!(error.to_string(), "expected each field once at byte 22");
}

#[test]
fn pairs_of_surrogates_are_one_character_and_halves_none() {
    for (text, read) in [
        (r#""\ud83d\ude00""#, "😀"),
        (r#""\ud83dx""#, "\u{fffd}x"),
        (r#""\ud83dä""#, "\u{fffd}ä"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ude00\\u0041""#, "\u{fffd}\\u0041"),
        (r#""\ud83d""#, "\u{fffd}"),
    ] {
        assert_eq!(from_str::<String>(text).as_deref(), Ok(read), "{text}");
    }
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    for (text, problem) in [
        ("", "expected a value at byte 0"),
        ("[1,2", "expected a comma at byte 4"),
        ("[1 2]", "expected a comma at byte 3"),
        ("[1,]", "expected a value at byte 3"),
        ("[nul]", "expected a value at byte 1"),
        ("[1] 2", "expected nothing more at byte 4"),
        (r#"{"a" 1}"#, "expected a colon at byte 5"),
        ("{a:1}", "expected a name at byte 1"),
        (r#""a"#, "expected the end of the text at byte 2"),
        (r#""\x""#, "expected an escape at byte 1"),
        (r#""\u00""#, "expected an escape at byte 1"),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.to_string(), problem, "{text}");
    }
    assert!(read(&"[".repeat(1000)).is_err());
    for (text, problem) in [
        ("[]", "expected an object at byte 0"),
        ("{}", "expected a list as `models`"),
        (r#"{"models":7}"#, "expected a list at byte 10"),
        (r#"{"models":[{"id":"a"}]}"#, "expected a text as `name`"),
        (r#"{"models":[{"name":1,"id":2}]}"#, "expected a text at byte 19"),
    ] {
        let error = from_str::<Models>(text).expect_err(text);
        assert_eq!(error.to_string(), problem, "{text}");
    }
}

#[test]
fn a_document_can_be_read_as_several_types() {
    let document = Document::parse(r#"{"models":[]}"#).expect("JSON");
    assert!(document.read::<String>().is_err());
    assert_eq!(document.read::<Models>(), Ok(Models::default()));
}
