//! What models write, and the steps in it.

use serde_json::json;

use super::*;

fn act(tool: &str) -> Step {
    let action = Action { tool: tool.to_owned(), arguments: Map::new() };
    Step::Act { actions: vec![action], commentary: String::new() }
}

fn finish(summary: &str) -> Step {
    Step::Finish { summary: summary.to_owned() }
}

const LIST: &str = r#"{"actions":[{"tool":"listFiles"}]}"#;

#[test]
fn steps_are_found_wherever_they_stand() {
    for (text, step) in [
        (LIST.to_owned(), act("listFiles")),
        (r#"{"finalSummary":"x","done":true}"#.to_owned(), finish("x")),
        (r#"{"actions":[],"finalSummary":"","done":true}"#.to_owned(), finish("")),
        (format!("I am going to look around.\n\n{LIST}\n\nThat is all."), act("listFiles")),
        (format!("```json\n{LIST}\n```"), act("listFiles")),
        (format!("```\n{LIST}\n```\n"), act("listFiles")),
        (format!("  ```JSON\n  {LIST}\n  ```"), act("listFiles")),
        (format!("Here:\n```json\nfirst, {LIST}\n```"), act("listFiles")),
        (format!("```json\n{LIST}"), act("listFiles")),
        // Fenced blocks come first, whatever precedes them.
        (format!("{{\"finalSummary\":\"no\",\"done\":true}}\n```\n{LIST}\n```"), act("listFiles")),
        (format!("```rust\nfn main() {{}}\n```\n```json\n{LIST}\n```"), act("listFiles")),
        // Of two objects the first that fits.
        (format!("{LIST} {{\"finalSummary\":\"x\",\"done\":true}}"), act("listFiles")),
        (format!("{{\"thought\":\"hm\"}} {LIST}"), act("listFiles")),
        (format!("{{not json}} {LIST}"), act("listFiles")),
        (format!("{{ I think {LIST} }}"), act("listFiles")),
        (format!("an open {{ brace, then {LIST}"), act("listFiles")),
        (format!("an odd {{ \" quote\n{LIST}"), act("listFiles")),
        (
            r#"{"finalSummary":"braces } { and \" quotes \\","done":true}"#.to_owned(),
            finish("braces } { and \" quotes \\"),
        ),
        ("{\"finalSummary\":\"```\\n{\\n```\",\"done\":true}".to_owned(), finish("```\n{\n```")),
        (
            r#"{"finalSummary":"naïve ✓ 🦀","done":true,"mood":{"good":1}}"#.to_owned(),
            finish("naïve ✓ 🦀"),
        ),
    ] {
        assert_eq!(find(&text), Ok(step), "{text}");
    }
}

#[test]
fn an_action_is_its_tool_and_its_fields() {
    let text = r#"{"actions":[{"tool":"readFiles","files":["a"]},{"max":3,"tool":"listFiles"}],"commentary":"Look","done":false}"#;
    let Ok(Step::Act { actions, commentary }) = find(text) else { panic!("a step") };
    assert_eq!(commentary, "Look");
    let fields: Vec<_> =
        actions.into_iter().map(|action| (action.tool, Value::Object(action.arguments))).collect();
    let expected = [
        ("readFiles".to_owned(), json!({ "files": ["a"] })),
        ("listFiles".to_owned(), json!({ "max": 3 })),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn what_is_no_step_says_why() {
    let many = format!(r#"{{"actions":[{}]}}"#, vec![r#"{"tool":"t"}"#; 21].join(","));
    for (text, problem) in [
        ("", "there is no JSON object"),
        ("I am done.", "there is no JSON object"),
        ("[1, 2]", "there is no JSON object"),
        (r#"{"actions":[{"tool":"listFiles"}"#, "does not parse: EOF"),
        (r#"{"finalSummary":"cut o"#, "does not parse: EOF"),
        (r#"{"actions":[{"tool":"listFiles"},]}"#, "does not parse: trailing comma"),
        (r#"{"actions":[{"tool":"listFiles"}],}"#, "does not parse: trailing comma"),
        ("{'done':true}", "does not parse: key must be a string"),
        ("{}", "neither `actions` nor"),
        (r#"{"actions":[],"done":false}"#, "at least one action"),
        (r#"{"actions":null,"commentary":"hm"}"#, "at least one action"),
        (r#"{"finalSummary":"x"}"#, "at least one action"),
        (r#"{"done":true}"#, "needs a `finalSummary`"),
        (r#"{"actions":[{"tool":"t"}],"finalSummary":"x","done":true}"#, "has no `actions`"),
        (r#"{"actions":[{"name":"t"}]}"#, "the name of its `tool`"),
        (r#"{"actions":[{"tool":1}]}"#, "the name of its `tool`"),
        (r#"{"actions":["listFiles"]}"#, "the object is no step"),
        (r#"{"actions":{"tool":"listFiles"}}"#, "the object is no step"),
        (r#"{"finalSummary":"x","done":"yes"}"#, "the object is no step"),
        // An object inside another one is no step.
        (r#"{"plan":{"finalSummary":"x","done":true}}"#, "neither `actions` nor"),
        // An invalid step is a more useful error than a brace in prose.
        (r#"{prose} {"done":true}"#, "needs a `finalSummary`"),
        (&many, "at most 20 actions"),
    ] {
        let error = find(text).expect_err(text).to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn hostile_texts_are_given_up_soon() {
    let open = "{".repeat(50_000);
    assert!(find(&open).is_err());
    let objects = "{}".repeat(50_000);
    assert!(find(&objects).is_err());
    let quotes = "{\"".repeat(50_000);
    assert!(find(&quotes).is_err());
    let deep = format!("{}{}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
    assert!(find(&deep).is_err());
}
