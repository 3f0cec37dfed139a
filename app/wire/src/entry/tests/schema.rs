//! The schema and the reader agree.
//!
//! The schema is applied by a few lines of our own, which know the keywords that it uses, and
//! refuse others: an implementation of all of them would be some thirty crates.

use serde_json::{Value, json};

use super::mistakes::mistakes;
use super::{change, complete, valid};
use crate::entry::schema;

struct Schema(Value);

impl Schema {
    fn new() -> Self {
        Self(serde_json::from_str(&schema()).expect("JSON"))
    }

    fn accepts(&self, value: &Value) -> bool {
        self.fits(&self.0, value)
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let schema = schema.as_object().expect("a schema");
        schema.iter().all(|(keyword, wanted)| match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" => true,
            "$ref" => {
                let pointer = wanted.as_str().and_then(|to| to.strip_prefix('#')).expect("a place");
                self.fits(self.0.pointer(pointer).expect(pointer), value)
            }
            "type" => is_of_type(value, wanted.as_str().expect("one type")),
            "const" => value == wanted,
            "enum" => wanted.as_array().expect("values").contains(value),
            "minimum" => value.as_f64() >= wanted.as_f64(),
            "exclusiveMinimum" => value.as_f64() > wanted.as_f64(),
            "maximum" => value.as_f64() <= wanted.as_f64(),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= count(wanted)),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= count(wanted)),
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| self.fits(wanted, item))),
            "prefixItems" => value.as_array().is_none_or(|items| {
                let schemas = wanted.as_array().expect("schemas");
                items.iter().zip(schemas).all(|(item, schema)| self.fits(schema, item))
            }),
            "required" => value.as_object().is_none_or(|fields| {
                let names = wanted.as_array().expect("names");
                names.iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
            }),
            "properties" => value.as_object().is_none_or(|fields| {
                fields.iter().all(|(name, field)| {
                    wanted.get(name).is_none_or(|schema| self.fits(schema, field))
                })
            }),
            "additionalProperties" => value.as_object().is_none_or(|fields| {
                let known = schema.get("properties").cloned().unwrap_or_else(|| json!({}));
                let mut others = fields.iter().filter(|(name, _)| known.get(name).is_none());
                others.all(|(_, field)| *wanted != json!(false) && self.fits(wanted, field))
            }),
            "oneOf" => self.count_fits(wanted, value) == 1,
            "anyOf" => self.count_fits(wanted, value) > 0,
            other => panic!("the schema uses a keyword that this test does not know: {other}"),
        })
    }

    fn count_fits(&self, schemas: &Value, value: &Value) -> usize {
        let schemas = schemas.as_array().expect("schemas");
        schemas.iter().filter(|schema| self.fits(schema, value)).count()
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    }
}

#[test]
fn what_the_reader_accepts_fits_the_schema() {
    let schema = Schema::new();
    assert!(schema.accepts(&complete()));
    let sample = include_str!("../../../../../server/engine/src/entry/sample.json");
    assert!(schema.accepts(&serde_json::from_str(sample).expect("JSON")), "the sample");
    for (pointer, value) in [
        ("/$schema", None),
        (
            "/promptVariables",
            Some(json!({ "decision": ["job_boolean_true"], "greeting": ["$user-input"] })),
        ),
        ("/tasks/ask/availability", None),
        ("/tasks/ask/criteria", None),
        ("/tasks/ask/criteria/toolExecuted", Some(json!([]))),
        ("/tasks/ask/criteria/failureAction/retryTimes", Some(json!(3.0))),
        ("/tasks/ask/budget", Some(json!({}))),
        (
            "/tasks/ask/budget",
            Some(json!({ "minutes": 0.5, "turns": 2.0, "tokens": 1, "cost": 3 })),
        ),
        ("/jobs/all/budget", Some(json!({ "minutes": 90, "turns": 4_294_967_295_u32 }))),
        ("/jobs/all/requireUserInput", None),
        ("/jobs/all/work/works/2/preCondition", None),
        ("/jobs/all/work/works/3/trueWork", None),
        ("/grid", Some(json!([]))),
    ] {
        let mut entry = complete();
        change(&mut entry, pointer, value);
        valid(&entry);
        assert!(schema.accepts(&entry), "{pointer}");
    }
}

#[test]
fn mistakes_in_the_structure_do_not_fit_the_schema() {
    let schema = Schema::new();
    let structural = mistakes().into_iter().filter(|mistake| mistake.is_structural);
    for mistake in structural {
        let (pointer, value) = (mistake.pointer, &mistake.value);
        assert!(!schema.accepts(&mistake.entry()), "{pointer} {value:?}");
    }
}

#[test]
fn mistakes_about_what_belongs_together_are_beyond_a_schema() {
    let schema = Schema::new();
    for mistake in mistakes().into_iter().filter(|mistake| !mistake.is_structural) {
        let (pointer, value) = (mistake.pointer, &mistake.value);
        assert!(schema.accepts(&mistake.entry()), "{pointer} {value:?}: is it structural?");
    }
}

#[test]
fn every_value_is_described() {
    let schema = Schema::new().0;
    let defs = schema["$defs"].as_object().expect("definitions").values();
    for part in defs.chain([&schema]) {
        assert!(part["description"].is_string(), "{part}");
        let fields = part["properties"].as_object().into_iter().flatten();
        for (name, field) in fields {
            assert!(field["description"].is_string(), "{name}: {field}");
        }
    }
}
