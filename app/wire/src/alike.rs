//! Tests: every type that derives `FromJson` is read as serde reads it: what is complete, what lacks a
//! field, and what has something else in one.

mod samples;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::json::{FromJson, from_str};

/// Compares the two readers on a sample and on everything that is a small change of it.
pub(super) fn compare<T: FromJson + DeserializeOwned + PartialEq + Debug>(sample: &str) {
    let text = sample.replace("UUID", "0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11");
    assert!(from_str::<T>(&text).is_ok(), "{:?}: {text}", from_str::<T>(&text));
    let sample: Value = serde_json::from_str(&text).expect(&text);
    let mut trees = vec![sample.clone()];
    loop {
        let mut tree = sample.clone();
        if !(Change { left: trees.len() - 1, kind: 0 }).apply(&mut tree) {
            break;
        }
        trees.push(tree);
    }
    for tree in trees {
        let text = tree.to_string();
        let (ours, theirs) = (from_str::<T>(&text), serde_json::from_str::<T>(&text));
        assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{text}: {ours:?} {theirs:?}");
    }
}

/// One of the small changes of a tree.
struct Change {
    /// How many changes come before it.
    left: usize,
    kind: usize,
}

impl Change {
    /// False if there are fewer changes.
    fn apply(&mut self, tree: &mut Value) -> bool {
        let others =
            [json!(null), json!(true), json!(7), json!(-1), json!(0.5), json!("x"), json!({})];
        if self.is_next(others.len()) {
            *tree = others[self.kind].clone();
            return true;
        }
        match tree {
            Value::Array(items) => items.iter_mut().any(|item| self.apply(item)),
            Value::Object(fields) => {
                if self.is_next(fields.len()) {
                    let name = fields.keys().nth(self.kind).expect("a field").clone();
                    fields.shift_remove(&name);
                    return true;
                }
                fields.values_mut().any(|value| self.apply(value))
            }
            _ => false,
        }
    }

    fn is_next(&mut self, count: usize) -> bool {
        if self.left < count {
            self.kind = self.left;
            return true;
        }
        self.left -= count;
        false
    }
}

#[test]
fn types_are_read_as_serde_reads_them() {
    samples::compare_all();
}

#[test]
fn unknown_fields_are_ignored() {
    let text =
        r#"{"more":[{"name":[]}],"name":"a","require_user_input":1,"requireUserInput":true}"#;
    let read = from_str::<crate::TaskInfo>(text).expect(text);
    assert_eq!(read, serde_json::from_str(text).expect(text));
}

#[test]
fn there_is_a_sample_of_each_type() {
    let mut names = BTreeSet::new();
    // `Events` are read by the browser only.
    find_types(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut names);
    assert!(names.len() > 70, "{names:?}");
    let sampled = samples::NAMES.iter().chain(&["Events"]).map(|name| (*name).to_owned()).collect();
    let missing: Vec<_> = names.difference(&sampled).collect();
    assert_eq!(missing, [""; 0]);
}

/// The names of the public types that derive it, by themselves or by a macro.
fn find_types(folder: &Path, names: &mut BTreeSet<String>) {
    for file in fs::read_dir(folder).expect("a folder of sources") {
        let path = file.expect("a file").path();
        if path.is_dir() {
            find_types(&path, names);
        } else {
            let text = fs::read_to_string(&path).expect("a source");
            let mut is_derived = false;
            for line in text.lines() {
                let line = line.trim();
                is_derived |= line.starts_with("#[derive(") && line.contains("FromJson");
                is_derived |= line == "tagged! {" || line == "words!(";
                let kind =
                    ["pub struct ", "pub enum "].iter().find_map(|kind| line.strip_prefix(kind));
                let word = line.strip_suffix(" {").filter(|word| !word.contains(' '));
                let Some(name) = kind.or(word).filter(|_| is_derived) else { continue };
                let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                if name.starts_with(char::is_uppercase) {
                    names.insert(name.to_owned());
                }
                is_derived = false;
            }
        }
    }
}
