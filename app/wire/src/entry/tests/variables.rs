//! Prompts and the variables in them.

use serde_json::{Value, json};

use super::{complete, lines, valid};

/// An entry with these variables, and a task `t` with this prompt.
fn entry_with(variables: &Value, prompt: &Value) -> Value {
    let mut entry = complete();
    for (name, text) in variables.as_object().expect("variables") {
        entry["promptVariables"][name] = text.clone();
    }
    entry["tasks"]["t"] = json!({ "prompt": prompt, "requireUserInput": false });
    entry
}

fn expanded(variables: &Value, prompt: &Value) -> String {
    valid(&entry_with(variables, prompt)).tasks["t"].prompt.as_str().to_owned()
}

fn problems(variables: &Value, prompt: &Value) -> Vec<String> {
    lines(&entry_with(variables, prompt).to_string())
}

#[test]
fn variables_are_replaced_and_runtime_variables_stay() {
    for (variables, prompt, expected) in [
        (json!({}), json!(["plain", "", "$5 $ text"]), "plain\n\n$5 $ text"),
        (json!({ "a": ["x", "y"] }), json!(["1 $a 2", "$a"]), "1 x\ny 2\nx\ny"),
        (json!({ "a": ["<$b>"], "b": ["[$c]"], "c": ["!"] }), json!(["$a$c"]), "<[!]>!"),
        (
            json!({ "a": ["$task-model"] }),
            json!(["$a $reported-document"]),
            "$task-model $reported-document",
        ),
        (json!({ "a-b": ["x"], "a": ["y"] }), json!(["$a-b $a- $a--b"]), "x y- y--b"),
    ] {
        assert_eq!(expanded(&variables, &prompt), expected, "{prompt}");
    }
}

#[test]
fn problems_of_a_variable_are_reported_where_it_is_used() {
    let variables = json!({ "a": ["$b and $x"], "b": ["$y"], "blank": [" "], "c": ["$a $b"] });
    assert_eq!(
        problems(&variables, &json!(["$c", "$z", "$blank", "$c"])),
        [
            "entry.tasks[\"t\"].prompt: Cannot find prompt variable: $z.",
            "entry.tasks[\"t\"].prompt/$c/$a: Cannot find prompt variable: $x.",
            "entry.tasks[\"t\"].prompt/$c/$a/$b: Cannot find prompt variable: $y.",
            "entry.tasks[\"t\"].prompt/$c/$b: Cannot find prompt variable: $y.",
            "entry.tasks[\"t\"].prompt/$blank: Must not be empty.",
        ]
    );
}

#[test]
fn variables_that_nothing_uses_are_checked_where_they_stand() {
    let variables = json!({ "a": ["$b"], "b": ["$x"], "empty": [] });
    assert_eq!(
        problems(&variables, &json!(["text"])),
        [
            "entry.promptVariables[\"a\"]/$b: Cannot find prompt variable: $x.",
            "entry.promptVariables[\"empty\"]: Must not be empty.",
        ]
    );
}

#[test]
fn cycles_are_shown() {
    let start = "Prompt variables use each other in a cycle:";
    for (variables, prompt, expected) in [
        (
            json!({ "a": ["$a"] }),
            "$a",
            vec![format!("entry.tasks[\"t\"].prompt/$a: {start} $a -> $a.")],
        ),
        (
            json!({ "a": ["$b"], "b": ["$a"] }),
            "$a",
            vec![format!("entry.tasks[\"t\"].prompt/$a/$b: {start} $a -> $b -> $a.")],
        ),
        (
            json!({ "a": ["$b"], "b": ["$c"], "c": ["$a"] }),
            "$c",
            vec![format!("entry.tasks[\"t\"].prompt/$c: {start} $a -> $b -> $c -> $a.")],
        ),
        // Nothing uses it: reported once, at its first variable.
        (
            json!({ "a": ["$b"], "b": ["$a"] }),
            "text",
            vec![format!("entry.promptVariables[\"a\"]/$b: {start} $a -> $b -> $a.")],
        ),
        // Further problems of those in the cycle are reported, too.
        (
            json!({ "a": ["$b $x"], "b": ["$a"] }),
            "$a",
            vec![
                "entry.tasks[\"t\"].prompt/$a: Cannot find prompt variable: $x.".to_owned(),
                format!("entry.tasks[\"t\"].prompt/$a/$b: {start} $a -> $b -> $a."),
            ],
        ),
    ] {
        assert_eq!(problems(&variables, &json!([prompt])), expected, "{variables}");
    }
}

#[test]
fn long_cycles_are_cut_short() {
    let name = |number: usize| "x".repeat(number + 1);
    let variables: serde_json::Map<_, _> = (0..90)
        .map(|number| (name(number), json!([format!("${}", name((number + 1) % 90))])))
        .collect();
    let problems = problems(&variables.into(), &json!(["$x"]));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].ends_with("-> … -> $x."), "{problems:?}");
}

#[test]
fn a_variable_of_the_entry_wins_over_one_of_the_running_task() {
    assert_eq!(expanded(&json!({ "task-model": ["mine"] }), &json!(["$task-model"])), "mine");
}
