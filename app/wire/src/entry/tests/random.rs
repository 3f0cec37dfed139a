//! Whatever the text is, there is an answer.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::{Entry, Problems, complete};

const NAMES: [&str; 27] = [
    "models",
    "driving",
    "drivingSessionRetries",
    "modelId",
    "retries",
    "promptVariables",
    "tasks",
    "model",
    "category",
    "id",
    "prompt",
    "requireUserInput",
    "permissions",
    "approveFiles",
    "onInterrupted",
    "availability",
    "condition",
    "criteria",
    "failureAction",
    "retryTimes",
    "jobs",
    "work",
    "kind",
    "works",
    "taskId",
    "grid",
    "ask",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![8 => select(&NAMES[..]).prop_map(str::to_owned), 1 => ".{0,8}"]
}

fn value() -> impl Strategy<Value = Value> {
    let text =
        select(vec!["Ref", "Seq", "Par", "Loop", "Alt", "ask", "$greeting", "$a-b", "$user-input"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((name(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The places of all values below one.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect()
        }
        Value::Object(fields) => fields.iter().map(|(name, item)| (name.clone(), item)).collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        pointers(child, &at, found);
        found.push(at);
    }
}

/// Valid, or with problems that say where they are.
fn check(text: &str) -> Result<(), TestCaseError> {
    if let Err(problems) = Entry::parse(text) {
        let Problems::Invalid { problems, .. } = problems else {
            return Err(TestCaseError::fail(format!("is JSON: {text}")));
        };
        prop_assert!(!problems.is_empty());
        for problem in &problems {
            prop_assert!(problem.path.starts_with("entry"), "{problem}");
            prop_assert_eq!(problem.to_string().lines().count(), 1);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_refused_without_panic(text in ".*") {
        prop_assert!(Entry::parse(&text).is_err());
    }

    #[test]
    fn any_json_is_refused_with_a_path(value in value()) {
        check(&value.to_string())?;
    }

    #[test]
    fn any_parts_of_an_entry_get_an_answer(tasks in value(), jobs in value(), variables in value()) {
        let mut entry = complete();
        entry["tasks"] = json!({ "ask": tasks });
        entry["jobs"] = json!({ "all": { "work": jobs } });
        entry["promptVariables"] = variables;
        check(&entry.to_string())?;
    }

    #[test]
    fn an_entry_with_a_changed_value_is_valid_or_says_where(place in any::<Index>(), value in value(), remove in any::<bool>()) {
        let mut entry = complete();
        let mut places = Vec::new();
        pointers(&entry, "", &mut places);
        let place = place.get(&places);
        super::change(&mut entry, place, (!remove).then_some(value));
        check(&entry.to_string())?;
    }
}
