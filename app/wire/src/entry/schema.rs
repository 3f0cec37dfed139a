//! The JSON Schema of entries: what editors need to help with writing one.
//!
//! Derived from the types of a checked entry. What a file has besides, or may leave out, is put
//! right here.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{DRIVING, Entry, JOB_TOOLS, Prompt};

/// The JSON Schema of entries, as JSON text.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(refuse_null_for_absent))
        .with_transform(RecursiveTransform(unwrap_description));
    let schema = settings.into_generator().into_root_schema_for::<Entry>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}

/// Adds the parts of the format that a checked entry no longer has.
pub(super) fn complete_entry(schema: &mut Schema) {
    let prompt = json!({ "$ref": format!("#/$defs/{}", Prompt::schema_name()) });
    let variables = json!({
        "description": "Texts by name, to be used in prompts, and in each other, as `$name`. A \
                        name is words of letters joined by single hyphens.",
        "type": "object",
        "additionalProperties": prompt,
    });
    let schema_address =
        json!({ "description": "Where editors find this schema.", "type": "string" });
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.insert("$schema".to_owned(), schema_address);
        properties.insert("promptVariables".to_owned(), variables);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.push("promptVariables".into());
    }
}

/// Requires the category `driving`, which every entry has.
pub(super) fn require_driving(schema: &mut Schema) {
    schema.insert("required".to_owned(), json!([DRIVING]));
}

/// Schema of a list of the tools that every session has.
pub(super) fn tools(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "enum": JOB_TOOLS } })
}

/// Joins the lines of a description, which are those of the source code.
fn unwrap_description(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

/// A field that may be absent must not be null instead.
fn refuse_null_for_absent(schema: &mut Schema) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            if let Some(Value::Array(types)) = property.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [kind] = types.as_slice() {
                    let kind = kind.clone();
                    property.insert("type".to_owned(), kind);
                }
            }
            if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
                choices.retain(|choice| *choice != json!({ "type": "null" }));
                if let [Value::Object(choice)] = choices.as_slice() {
                    let choice: Map<String, Value> = choice.clone();
                    property.remove("anyOf");
                    property.extend(choice);
                }
            }
        }
    }
}
