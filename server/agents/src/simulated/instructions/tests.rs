use serde_json::json;

use super::*;

fn parse_prompt(prompt: &str) -> Vec<Step> {
    parse(prompt, |name| name.starts_with("job_") || name == "readFiles")
}

fn tool(name: &str, argument: &str) -> Step {
    Step::UseTool { name: name.to_owned(), argument: Argument::Text(argument.to_owned()) }
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn wait(milliseconds: u64) -> Step {
    Step::Wait(Duration::from_millis(milliseconds))
}

fn check(table: impl IntoIterator<Item = (&'static str, Vec<Step>)>) {
    for (prompt, steps) in table {
        assert_eq!(parse_prompt(prompt), steps, "{prompt}");
    }
}

#[test]
fn tools_are_called_with_their_argument() {
    let yes = |argument| vec![tool("job_boolean_true", argument)];
    check([
        ("use the job_boolean_true tool with the argument X", yes("X")),
        ("Use the job_boolean_true tool with the argument All is well.", yes("All is well")),
        ("USE THE job_boolean_true TOOL WITH THE ARGUMENT v1.2 works", yes("v1.2 works")),
        ("Call job_boolean_true with argument \"a. b\" and stop", yes("a. b")),
        ("use job_boolean_true with \"a b\" as the argument.", yes("a b")),
        ("use job_boolean_true with all done as its argument.", yes("all done")),
        ("call job_boolean_true using the argument x", yes("x")),
        ("please call the tool `job_boolean_true` with `x y`", yes("x y")),
        ("run job_boolean_true with the argument: 'it's so'", yes("it's so")),
        ("invoke job_boolean_true with an argument of “quoted”.", yes("quoted")),
        (r#"use job_boolean_true with the argument "a \"b\" \n c""#, yes("a \"b\" \n c")),
        ("use the job_boolean_true tool", yes("")),
        ("use the job_boolean_true tool.", yes("")),
        (
            "If it rains, you must use the job_boolean_true tool with the argument wet, otherwise no",
            yes("wet"),
        ),
        (
            "a long text\n\nin which you use the job_boolean_true tool with the argument X\nand so on",
            yes("X"),
        ),
        ("use the job_boolean_true tool with the argument \"never closed", yes("\"never closed")),
        ("use the other_one tool with the argument X", vec![tool("other_one", "X")]),
        ("use the `grep` tool with the argument X", vec![tool("grep", "X")]),
        (
            "use the job_prepare_document tool with the argument docs/a.md",
            vec![tool("job_prepare_document", "docs/a.md")],
        ),
    ]);
}

#[test]
fn json_arguments_are_taken_as_they_are() {
    let steps =
        parse_prompt(r#"use readFiles with the arguments {"files": ["a.b", "}"]}, then say done"#);
    let Some(Step::UseTool { name, argument }) = steps.first() else {
        panic!("{steps:?}");
    };
    assert_eq!(name, "readFiles");
    let Argument::Object(object, text) = argument else {
        panic!("{argument:?}");
    };
    assert_eq!(Value::Object(object.clone()), json!({ "files": ["a.b", "}"] }));
    assert_eq!(text, r#"{"files": ["a.b", "}"]}"#);
    assert_eq!(steps[1], say("done"));
    check([(
        "use the job_boolean_true tool with the argument {not json}",
        vec![tool("job_boolean_true", "{not json}")],
    )]);
}

#[test]
fn several_instructions_are_obeyed_in_order() {
    check([
        (
            "Use the job_prepare_document tool with the argument a.md. Then use the job_boolean_true tool with the argument ok and say hello.",
            vec![
                tool("job_prepare_document", "a.md"),
                tool("job_boolean_true", "ok"),
                say("hello"),
            ],
        ),
        (
            "wait 20 ms, then say hello and then use the job_boolean_false tool with the argument no",
            vec![wait(20), say("hello"), tool("job_boolean_false", "no")],
        ),
        ("1. say one\n2. wait 1.5 seconds\n- say two", vec![say("one"), wait(1500), say("two")]),
        (
            "say \"use the job_boolean_true tool\"; do nothing",
            vec![say("use the job_boolean_true tool"), Step::DoNothing],
        ),
    ]);
}

#[test]
fn the_other_instructions() {
    let stream = |deltas, between, first| {
        vec![Step::Stream(Stream {
            deltas,
            between: Duration::from_micros(between),
            first: Duration::from_micros(first),
        })]
    };
    check([
        ("say hello", vec![say("hello")]),
        ("Please say: hello, world!", vec![say("hello, world")]),
        ("Can you say hello?", vec![say("hello")]),
        ("I want you to say 'hi'", vec![say("hi")]),
        ("Reply with exactly: OK", vec![say("OK")]),
        ("Please answer with \"a b\".", vec![say("a b")]),
        ("do nothing", vec![Step::DoNothing]),
        ("Do nothing.", vec![Step::DoNothing]),
        ("fail with out of tokens", vec![Step::Fail("out of tokens".to_owned())]),
        ("Fail with the message \"no. really\".", vec![Step::Fail("no. really".to_owned())]),
        ("crash", vec![Step::Crash]),
        ("Say one. Crash the session now!", vec![say("one"), Step::Crash]),
        ("crash once", vec![Step::Crash]),
        ("wait 3 seconds", vec![wait(3_000)]),
        ("Wait for 2 minutes.", vec![wait(120_000)]),
        ("wait 5s and say x", vec![wait(5_000), say("x")]),
        ("wait 99999999999999 seconds", vec![wait(3_600_000)]),
        ("think about life and death", vec![Step::ThinkAbout("life and death".to_owned())]),
        ("Answer in Markdown", vec![Step::Markdown]),
        ("please reply in markdown.", vec![Step::Markdown]),
        ("Stream 200 deltas with 10 ms between deltas after 0 ms.", stream(200, 10_000, 0)),
        ("Stream 3 deltas with 0.5 ms between deltas after 1000 ms.", stream(3, 500, 1_000_000)),
    ]);
}

#[test]
fn ordinary_prompts_are_no_instructions() {
    for prompt in [
        "",
        "Hello!",
        "Why does my program crash?",
        "It will crash. Or not",
        "How can I fail with grace?",
        "Use the right tool for the job",
        "Run the tests and call me",
        "What would you call a function that streams?",
        "they say that it works",
        "do not use the job_boolean_true tool with the argument X",
        "Don't call job_boolean_true",
        "never use job_boolean_true!",
        "don't say a word",
        "The session crashed, please redo and here is the last request:",
        "Stream many deltas",
        "wait a moment",
        "## Required Tool Not Called: job_boolean_true",
    ] {
        assert_eq!(parse_prompt(prompt), vec![], "{prompt}");
    }
}

#[test]
fn a_crash_that_happens_once_does_not_happen_again() {
    let again = "The session crashed, please redo and here is the last request:\n";
    check([("crash once, say hello", vec![Step::Crash, say("hello")])]);
    let steps = parse_prompt(&format!("{again}crash once, say hello"));
    assert_eq!(steps, [say("hello")]);
    let steps = parse_prompt(&format!("{again}crash"));
    assert_eq!(steps, [Step::Crash]);
}

#[test]
fn an_instruction_in_a_long_prompt_is_found() {
    let filler = "Some words to run and call and say nothing of use. ".repeat(2_000);
    let prompt = format!("{filler}\nUse the job_boolean_true tool with the argument X.\n{filler}");
    let steps = parse_prompt(&prompt);
    assert!(steps.contains(&tool("job_boolean_true", "X")));
}

#[test]
fn the_conversation_is_repeated() {
    check([
        ("repeat the conversation so far", vec![Step::Repeat]),
        ("say hello and repeat the conversation.", vec![say("hello"), Step::Repeat]),
        ("look first, then repeat that call if need be.", vec![Step::RepeatCall]),
        ("Repeat the test, do not repeat the conversation", vec![]),
    ]);
}

#[test]
fn tokens_are_counted_with_or_without_a_cost() {
    let count = |input, output, cost| Step::Count { input, output, cost };
    for (prompt, steps) in [
        ("Count 10 input and 2 output tokens.", vec![count(10, 2, None)]),
        (
            "Count 10 input tokens and 2 output tokens at a cost of 0.5, then say \"x\"",
            vec![count(10, 2, Some(0.5)), Step::Say("x".to_owned())],
        ),
        ("Count 1 input and 2 output tokens at a cost of 3.", vec![count(1, 2, Some(3.0))]),
        ("Count 1 input and 2 output tokens at a cost of nothing.", vec![count(1, 2, None)]),
    ] {
        assert_eq!(parse(prompt, |_| false), steps, "{prompt}");
    }
}
