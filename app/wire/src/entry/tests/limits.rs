//! Hostile entries cost little.

use std::fmt::Write;

use serde_json::json;

use super::{Entry, Problems, complete, lines};

/// The complete entry with another text for a part of it.
fn with(part: &str, text: &str) -> String {
    let mut entry = complete();
    entry[part] = json!("HERE");
    entry.to_string().replacen("\"HERE\"", text, 1)
}

fn letters(mut number: usize) -> String {
    let mut name = String::new();
    loop {
        name.push(char::from(b'a' + u8::try_from(number % 26).expect("a letter")));
        number /= 26;
        if number == 0 {
            return name;
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    for depth in [47, 10_000, 1_000_000] {
        let opening = r#"{"kind":"Seq","works":["#.repeat(depth);
        let task = r#"{"kind":"Ref","taskId":"quick"}"#;
        let jobs = format!(r#"{{"one":{{"work":{opening}{task}{}}}}}"#, "]}".repeat(depth));
        let text = with("jobs", &jobs);
        if depth < 50 {
            let lines = lines(&text);
            assert_eq!(lines, ["entry.grid[0].jobs[0].jobName: Cannot find job: \"all\"."]);
        } else if depth < 100_000 {
            let lines = lines(&text);
            assert!(lines[0].starts_with("entry: Must not be nested more than 100 deep: line 1,"));
        } else {
            assert_eq!(lines(&text), ["entry: Must not be longer than 16777216 bytes."]);
        }
    }
    let array = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(lines(&array)[0].starts_with("entry: Must not be nested"));
}

#[test]
fn only_the_first_problems_are_listed() {
    let rows = vec!["1"; 100_000].join(",");
    let mut entry = complete();
    let fields = entry.as_object_mut().expect("an object");
    fields.shift_remove("tasks");
    fields.insert("tasks".to_owned(), json!(1));
    let text = entry.to_string().replacen(r#""grid":["#, &format!(r#""grid":[{rows},"#), 1);
    let problems = Entry::parse(&text).expect_err("must be refused");
    let Problems::Invalid { problems: listed, more: true } = &problems else {
        panic!("there are more problems");
    };
    assert_eq!(listed.len(), 1000);
    // Tasks are read before the grid, but stand behind it.
    assert_eq!(listed[999].path, "entry.grid[999]");
    let text = problems.to_string();
    assert_eq!(text.lines().last(), Some("entry: There are more problems than these 1000."));
}

#[test]
fn variables_that_double_are_refused() {
    let mut variables = r#""a":["0123456789"]"#.to_owned();
    for number in 1..60 {
        let (name, used) = (letters(number), letters(number - 1));
        write!(variables, r#","{name}":["${used} ${used}"]"#).expect("a string");
    }
    let text = with("promptVariables", &format!("{{{variables}}}"));
    let text = text.replace("\"Work.\"", &format!("\"${}\"", letters(59)));
    let lines = lines(&text);
    let found = lines.iter().filter(|line| line.contains("tasks[\"bare\"].prompt/$"));
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 1, "{lines:?}");
    assert!(found[0].ends_with(": Longer than 1048576 bytes when it is expanded."), "{found:?}");
}

#[test]
fn all_prompts_together_are_limited() {
    let mut variables = format!(r#""long":["{}"]"#, "x".repeat(1_000_000));
    for number in 0..20_000 {
        write!(variables, r#","x-{}":["$long"]"#, letters(number)).expect("a string");
    }
    let lines = lines(&with("promptVariables", &format!("{{{variables}}}")));
    let found = lines.iter().filter(|line| line.contains("All prompts are longer than"));
    assert_eq!(found.count(), 1);
}

#[test]
fn problems_that_can_be_reached_in_many_ways_are_not_counted_out() {
    let mut variables = r#""a":["$nope"]"#.to_owned();
    for number in 1..90 {
        let uses = letters(number - 1);
        let (name, other) = (letters(number), format!("o-{}", letters(number)));
        write!(variables, r#","{name}":["${uses} ${other}"],"{other}":["${uses}"]"#)
            .expect("a string");
    }
    let problems = lines(&with("promptVariables", &format!("{{{variables}}}")));
    assert_eq!(problems.len(), 1001);
}

#[test]
fn long_chains_of_variables_need_no_stack() {
    let count = 30_000;
    for order in [false, true] {
        let mut variables: Vec<String> = (1..count)
            .map(|number| format!(r#""{}":["${}"]"#, letters(number), letters(number - 1)))
            .collect();
        variables.push(r#""a":["text"]"#.to_owned());
        if order {
            variables.reverse();
        }
        let problems = lines(&with("promptVariables", &format!("{{{}}}", variables.join(","))));
        let deep = "Prompt variables use each other more than 100 deep.";
        assert!(problems.iter().any(|line| line.ends_with(deep)), "{}", problems[0]);
        assert!(problems.len() < 10, "{}", problems[0]);
    }
    // The same as one cycle.
    let variables: Vec<String> = (0..count)
        .map(|number| format!(r#""{}":["${}"]"#, letters(number), letters((number + 1) % count)))
        .collect();
    assert!(!lines(&with("promptVariables", &format!("{{{}}}", variables.join(",")))).is_empty());
}

#[test]
fn many_cycles_and_many_uses_of_many_faults_take_no_time() {
    // Each uses its neighbours, so that each closes a cycle at the end of a long way.
    let variables: Vec<String> = (1..30_000)
        .map(|number| {
            let (name, before, after) = (letters(number), letters(number - 1), letters(number + 1));
            format!(r#""{name}":["${before} ${after}"]"#)
        })
        .collect();
    assert!(!lines(&with("promptVariables", &format!("{{{}}}", variables.join(",")))).is_empty());

    let unknown: Vec<String> =
        (0..30_000).map(|number| format!("$x-{}", letters(number))).collect();
    let tasks: Vec<String> = (0..20_000)
        .map(|number| format!(r#""{number}":{{"prompt":["$a"],"requireUserInput":false}}"#))
        .collect();
    let text = with("promptVariables", &format!(r#"{{"a":["{}"]}}"#, unknown.join(" ")));
    let text = text.replacen(r#""tasks":{"#, &format!(r#""tasks":{{{},"#, tasks.join(",")), 1);
    assert_eq!(lines(&text).len(), 1001);
}

#[test]
fn huge_arrays_are_read() {
    let task = r#"{"kind":"Ref","taskId":"quick"}"#;
    let works = vec![task; 50_000].join(",");
    let jobs = format!(r#"{{"all":{{"work":{{"kind":"Par","works":[{works}]}}}}}}"#);
    let entry = Entry::parse(&with("jobs", &jobs)).expect("valid");
    assert_eq!(entry.jobs["all"].work.task_refs().len(), 50_000);
    let lines = lines(&with("jobs", &format!("[{}]", vec!["[]"; 300_000].join(","))));
    assert_eq!(lines, ["entry.jobs: Must be an object, not an array."]);
}

#[test]
fn names_are_limited_as_they_are_part_of_every_path_below() {
    let fields = vec![r#""x":1"#; 100_000].join(",");
    let name = "x".repeat(5_000_000);
    let problems = lines(&with("jobs", &format!(r#"{{"{name}":{{{fields}}}}}"#)));
    assert!(problems.iter().map(String::len).sum::<usize>() < 10_000);
    assert!(problems.iter().any(|line| line.ends_with("Has a name of more than 256 characters.")));
}
