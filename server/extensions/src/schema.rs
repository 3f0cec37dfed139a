//! Checks arguments against a JSON schema: the keywords that parameters of tools use.
//!
//! Unknown keywords are ignored, as JSON Schema requires.

use std::cell::Cell;

use regex::Regex;
use serde_json::{Map, Value};

/// How deep schemas may refer to each other.
const DEPTH: usize = 32;
/// How many schemas are checked for one call.
const STEPS: u32 = 20_000;

/// The first mismatch with its position: `files[2]: must be of type string`.
pub(super) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Checker { root: schema, steps: Cell::new(STEPS) }.check(schema, value, "", DEPTH)
}

struct Checker<'a> {
    root: &'a Value,
    steps: Cell<u32>,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, path: &str, depth: usize) -> Result<(), String> {
        let schema = match schema {
            Value::Bool(false) => return Err(at(path, "must be left out")),
            Value::Object(schema) => schema,
            _ => return Ok(()),
        };
        // A schema that never ends has been checked enough.
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.get().checked_sub(1))
        else {
            return Ok(());
        };
        self.steps.set(steps);
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|r| self.find(r))
        {
            self.check(target, value, path, depth)?;
        }
        check_type(schema, value, path)?;
        check_values(schema, value, path)?;
        match value {
            Value::Number(_) => check_number(schema, value, path)?,
            Value::String(text) => check_text(schema, text, path)?,
            Value::Array(items) => self.check_items(schema, items, path, depth)?,
            Value::Object(fields) => self.check_fields(schema, fields, path, depth)?,
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combined(schema, value, path, depth)
    }

    /// Resolves references within the schema itself only: `#/$defs/name`.
    fn find(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    fn check_items(
        &self,
        schema: &Map<String, Value>,
        items: &[Value],
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        check_count(schema, ["minItems", "maxItems"], items.len(), "items", path)?;
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && items.iter().enumerate().any(|(place, item)| items[..place].contains(item))
        {
            return Err(at(path, "the items must differ"));
        }
        let prefix = schema.get("prefixItems").and_then(Value::as_array);
        for (place, item) in items.iter().enumerate() {
            let own = prefix.and_then(|prefix| prefix.get(place));
            if let Some(schema) = own.or_else(|| schema.get("items")) {
                self.check(schema, item, &format!("{path}[{place}]"), depth)?;
            }
        }
        Ok(())
    }

    fn check_fields(
        &self,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return Err(at(path, &format!("`{name}` is missing")));
            }
        }
        check_count(schema, ["minProperties", "maxProperties"], fields.len(), "fields", path)?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (name, value) in fields {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let own = properties.and_then(|properties| properties.get(name));
            if let Some(schema) = own {
                self.check(schema, value, &path, depth)?;
            }
            let mut is_known = own.is_some();
            for (pattern, schema) in patterns.into_iter().flatten() {
                if Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(name)) {
                    is_known = true;
                    self.check(schema, value, &path, depth)?;
                }
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !is_known => {
                    return Err(at(&path, "there is no such parameter"));
                }
                Some(schema) if !is_known => self.check(schema, value, &path, depth)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_combined(
        &self,
        schema: &Map<String, Value>,
        value: &Value,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        let list = |name| schema.get(name).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.check(schema, value, path, depth)?;
        }
        let fits = |schema: &&Value| self.check(schema, value, path, depth).is_ok();
        if let Some(any) = list("anyOf")
            && !any.iter().any(|schema| fits(&schema))
        {
            return Err(at(path, "none of the accepted forms fits"));
        }
        if let Some(one) = list("oneOf") {
            match one.iter().filter(fits).count() {
                1 => {}
                0 => return Err(at(path, "none of the accepted forms fits")),
                _ => return Err(at(path, "more than one of the accepted forms fit")),
            }
        }
        if schema.get("not").is_some_and(|schema| fits(&schema)) {
            return Err(at(path, "this is not accepted"));
        }
        Ok(())
    }
}

fn at(path: &str, problem: &str) -> String {
    if path.is_empty() { problem.to_owned() } else { format!("{path}: {problem}") }
}

fn check_type(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), String> {
    let accepted: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let fits = |name: &&str| match *name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if accepted.iter().any(fits) {
        return Ok(());
    }
    Err(at(path, &format!("must be of type {}", accepted.join(" or "))))
}

fn check_values(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), String> {
    if let Some(accepted) = schema.get("enum").and_then(Value::as_array)
        && !accepted.contains(value)
    {
        let accepted: Vec<_> = accepted.iter().map(Value::to_string).collect();
        return Err(at(path, &format!("must be one of {}", accepted.join(", "))));
    }
    match schema.get("const") {
        Some(only) if only != value => Err(at(path, &format!("must be {only}"))),
        _ => Ok(()),
    }
}

fn check_number(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), String> {
    let Some(number) = value.as_f64() else { return Ok(()) };
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let problem = if let Some(limit) = limit("minimum").filter(|limit| number < *limit) {
        format!("must be at least {limit}")
    } else if let Some(limit) = limit("maximum").filter(|limit| number > *limit) {
        format!("must be at most {limit}")
    } else if let Some(limit) = limit("exclusiveMinimum").filter(|limit| number <= *limit) {
        format!("must be more than {limit}")
    } else if let Some(limit) = limit("exclusiveMaximum").filter(|limit| number >= *limit) {
        format!("must be less than {limit}")
    } else if let Some(step) =
        limit("multipleOf").filter(|step| *step > 0.0 && (number / step).fract() != 0.0)
    {
        format!("must be a multiple of {step}")
    } else {
        return Ok(());
    };
    Err(at(path, &problem))
}

fn check_text(schema: &Map<String, Value>, text: &str, path: &str) -> Result<(), String> {
    check_count(schema, ["minLength", "maxLength"], text.chars().count(), "characters", path)?;
    // A pattern that Rust's regular expressions do not support is not checked.
    let pattern = schema.get("pattern").and_then(Value::as_str);
    match pattern.and_then(|pattern| Regex::new(pattern).ok()) {
        Some(pattern) if !pattern.is_match(text) => {
            Err(at(path, &format!("must match the pattern {pattern}")))
        }
        _ => Ok(()),
    }
}

fn check_count(
    schema: &Map<String, Value>,
    [least, most]: [&str; 2],
    count: usize,
    what: &str,
    path: &str,
) -> Result<(), String> {
    let limit = |name: &str| {
        schema.get(name).and_then(Value::as_u64).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
    };
    match (limit(least), limit(most)) {
        (Some(least), _) if count < least => {
            Err(at(path, &format!("must have at least {least} {what}")))
        }
        (_, Some(most)) if count > most => {
            Err(at(path, &format!("must have at most {most} {what}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2, "pattern": "^[a-z]+$" },
                "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                "kind": { "enum": ["a", "b"] },
                "files": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
                "deep": { "$ref": "#/$defs/deep" },
                "either": { "anyOf": [{ "type": "null" }, { "const": 5 }] },
                "one": { "oneOf": [{ "type": "integer" }, { "type": "number" }] },
            },
            "required": ["name"],
            "additionalProperties": false,
            "$defs": { "deep": { "properties": { "deep": { "$ref": "#/$defs/deep" } }, "not": { "required": ["no"] } } },
        });
        let all = json!({
            "name": "ab", "count": 3.0, "kind": "b", "files": ["x"], "deep": { "deep": {} },
            "either": null, "one": 1.5,
        });
        assert_eq!(check(&schema, &all), Ok(()));
        for (change, problem) in [
            (json!({ "name": null }), "name: must be of type string"),
            (json!({ "name": "a" }), "name: must have at least 2 characters"),
            (json!({ "name": "AB" }), "name: must match the pattern ^[a-z]+$"),
            (json!({ "count": 1.5 }), "count: must be of type integer"),
            (json!({ "count": 10 }), "count: must be at most 9"),
            (json!({ "kind": "c" }), "kind: must be one of \"a\", \"b\""),
            (json!({ "files": ["a", 2] }), "files[1]: must be of type string"),
            (json!({ "files": ["a", "b", "c"] }), "files: must have at most 2 items"),
            (json!({ "deep": { "deep": { "no": 1 } } }), "deep.deep: this is not accepted"),
            (json!({ "either": 6 }), "either: none of the accepted forms fits"),
            (json!({ "one": 1 }), "one: more than one of the accepted forms fit"),
            (json!({ "other": 1 }), "other: there is no such parameter"),
        ] {
            let mut value = all.clone();
            for (name, changed) in change.as_object().expect("an object") {
                value[name] = changed.clone();
            }
            assert_eq!(check(&schema, &value), Err(problem.to_owned()));
        }
        assert_eq!(check(&schema, &json!({})), Err("`name` is missing".to_owned()));
        assert_eq!(check(&schema, &json!([])), Err("must be of type object".to_owned()));
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        let schema = json!({ "$ref": "#" });
        assert_eq!(check(&schema, &json!(1)), Ok(()));
        let schema = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
        assert_eq!(check(&schema, &json!(1)), Ok(()));
    }
}
