//! Reads an entry: checks every value and every rule, and goes on after a problem.
//!
//! Names are read before what refers to them, whatever the order of the text; problems are put
//! back into that order at the end. Where a problem is the consequence of another one, only the
//! other one is reported.

mod budget;
mod job;
mod task;

use std::collections::{HashMap, HashSet};
use std::fmt;

use indexmap::IndexMap;

use super::json::{MAX_DEPTH, Node, Number, Value};
use super::problem::{Collector, Path, Problem, Problems, Quoted};
use super::variables::Variables;
use super::{DRIVING, DrivingSessionRetry, Entry, GridCell, GridRow, Model, NamedModel};

/// How long an entry may be.
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;
/// How long a name may be. It is a part of every path below it.
const MAX_NAME_CHARACTERS: usize = 256;
/// How much text the paths of all models may be.
const MAX_MODEL_PATHS_BYTES: usize = 16 * 1024 * 1024;

/// There is no value, because of a problem that has been reported here or at its cause.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Read<T> = Result<T, Reported>;

/// State of the reading. A list of names is `None` if it could not be read.
#[derive(Default)]
struct Reader<'t> {
    problems: Collector,
    variables: Variables<'t>,
    categories: Option<HashSet<&'t str>>,
    tasks: Option<HashMap<&'t str, task::Facts>>,
    jobs: Option<HashSet<&'t str>>,
    /// Each with its ordinal.
    named_models: Vec<(usize, NamedModel)>,
    model_paths_bytes: usize,
}

/// An object whose field names have been checked.
struct Object<'t> {
    ordinal: usize,
    fields: &'t [(String, Node)],
}

impl<'t> Object<'t> {
    fn get(&self, name: &str) -> Option<&'t Node> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, node)| node)
    }
}

/// Reads the text of an entry.
pub(super) fn read(text: &str) -> Result<Entry, Problems> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(at_entry(format!("Must not be longer than {MAX_TEXT_BYTES} bytes.")));
    }
    // Some editors begin a file with a mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let node = Node::parse(text).map_err(|error| explain(&error))?;
    let mut reader = Reader::default();
    let entry = reader.entry(&node, &Path::Entry);
    match (entry, reader.problems.finish()) {
        (Ok(entry), None) => Ok(entry),
        (_, Some(problems)) => Err(problems),
        (Err(Reported), None) => Err(at_entry("Cannot be read.".to_owned())),
    }
}

fn explain(error: &serde_json::Error) -> Problems {
    let (line, column) = (error.line(), error.column());
    if error.is_data() {
        return at_entry(format!(
            "Must not be nested more than {MAX_DEPTH} deep: line {line}, column {column}."
        ));
    }
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
    Problems::NotJson { line, column, reason }
}

fn at_entry(reason: String) -> Problems {
    let problem = Problem { path: Path::Entry.to_string(), reason };
    Problems::Invalid { problems: vec![problem], more: false }
}

impl<'t> Reader<'t> {
    fn entry(&mut self, node: &'t Node, path: &Path) -> Read<Entry> {
        let known = [
            "$schema",
            "models",
            "drivingSessionRetries",
            "promptVariables",
            "tasks",
            "jobs",
            "grid",
        ];
        let object = self.object(node, path, &known)?;
        // Editors want it; it says nothing about the entry.
        let schema = self.optional(&object, path, "$schema", Self::string);
        let models = self.required(&object, path, "models", Self::models);
        let driving = models.as_ref().ok().and_then(|models| models.get(DRIVING).cloned());
        let retries =
            self.required(&object, path, "drivingSessionRetries", |reader, node, path| {
                reader.driving_session_retries(node, path, driving.as_deref())
            });
        let variables = self.required(&object, path, "promptVariables", Self::prompt_variables);
        let tasks = self.required(&object, path, "tasks", Self::tasks);
        let jobs = self.required(&object, path, "jobs", Self::jobs);
        let grid = self.required(&object, path, "grid", Self::grid);
        self.variables.check_unused(&path.field("promptVariables"), &mut self.problems);
        let mut named_models = std::mem::take(&mut self.named_models);
        named_models.sort_by_key(|(ordinal, _)| *ordinal);
        schema?;
        variables?;
        Ok(Entry {
            models: models?,
            driving_session_retries: retries?,
            tasks: tasks?,
            jobs: jobs?,
            grid: grid?,
            named_models: named_models.into_iter().map(|(_, named)| named).collect(),
        })
    }

    fn models(&mut self, node: &'t Node, path: &Path) -> Read<IndexMap<String, String>> {
        let named = self.named(node, path)?;
        self.categories = Some(named.iter().map(|(name, _)| *name).collect());
        let mut models = Ok(IndexMap::new());
        if !named.iter().any(|(name, _)| *name == DRIVING) {
            models = self.report(node.ordinal, &path.field(DRIVING), "Missing.");
        }
        for (name, node) in named {
            let id = self.model_id(node, &path.key(name));
            add(&mut models, id, |models, id| models.insert(name.to_owned(), id));
        }
        models
    }

    fn driving_session_retries(
        &mut self,
        node: &'t Node,
        path: &Path,
        driving: Option<&str>,
    ) -> Read<Vec<DrivingSessionRetry>> {
        let nodes = self.array(node, path)?;
        let mut retries = Ok(Vec::new());
        if nodes.is_empty() {
            return self.report(node.ordinal, path, "Must not be empty.");
        }
        for (index, node) in nodes.iter().enumerate() {
            let must_be = driving.filter(|_| index == 0);
            let retry = self.driving_session_retry(node, &path.index(index), must_be);
            add(&mut retries, retry, Vec::push);
        }
        retries
    }

    fn driving_session_retry(
        &mut self,
        node: &'t Node,
        path: &Path,
        must_be: Option<&str>,
    ) -> Read<DrivingSessionRetry> {
        let object = self.object(node, path, &["modelId", "retries"])?;
        let model_id = self.required(&object, path, "modelId", |reader, node, path| {
            let id = reader.model_id(node, path)?;
            match must_be {
                Some(driving) if driving != id => {
                    let reason = format!("Must be the model of driving: {}.", Quoted(driving));
                    reader.report(node.ordinal, path, reason)
                }
                _ => Ok(id),
            }
        });
        let retries = self.required(&object, path, "retries", Self::count);
        Ok(DrivingSessionRetry { model_id: model_id?, retries: retries? })
    }

    fn prompt_variables(&mut self, node: &'t Node, path: &Path) -> Read<()> {
        let named = self.named(node, path)?;
        let mut read = Ok(());
        let mut variables = Vec::with_capacity(named.len());
        for (name, node) in named {
            let text = self.lines(node, &path.key(name));
            read = read.and(text.as_ref().map(|_| ()).map_err(|reported| *reported));
            variables.push((name, node.ordinal, text.ok()));
        }
        self.variables = Variables::new(variables);
        read
    }

    fn grid(&mut self, node: &'t Node, path: &Path) -> Read<Vec<GridRow>> {
        self.list(node, path, Self::grid_row)
    }

    fn grid_row(&mut self, node: &'t Node, path: &Path) -> Read<GridRow> {
        let object = self.object(node, path, &["keyword", "jobs"])?;
        let keyword = self.required(&object, path, "keyword", Self::string);
        let jobs = self.required(&object, path, "jobs", |reader, node, path| {
            reader.list(node, path, |reader, node, path| match node.value {
                Value::Null => Ok(None),
                _ => reader.grid_cell(node, path).map(Some),
            })
        });
        Ok(GridRow { keyword: keyword?, jobs: jobs? })
    }

    fn grid_cell(&mut self, node: &'t Node, path: &Path) -> Read<GridCell> {
        let object = self.object(node, path, &["name", "jobName"])?;
        let name = self.required(&object, path, "name", Self::string);
        let job_name = self.required(&object, path, "jobName", |reader, node, path| {
            let name = reader.string(node, path)?;
            match &reader.jobs {
                Some(jobs) if !jobs.contains(name.as_str()) => {
                    let reason = format!("Cannot find job: {}.", Quoted(&name));
                    reader.report(node.ordinal, path, reason)
                }
                _ => Ok(name),
            }
        });
        Ok(GridCell { name: name?, job_name: job_name? })
    }

    fn model(&mut self, node: &'t Node, path: &Path) -> Read<Model> {
        let object = self.object(node, path, &["category", "id"])?;
        let category = self.optional(&object, path, "category", |reader, node, path| {
            let name = reader.string(node, path)?;
            match &reader.categories {
                Some(categories) if !categories.contains(name.as_str()) => {
                    let reason = format!("Cannot find model category: {}.", Quoted(&name));
                    reader.report(node.ordinal, path, reason)
                }
                _ => Ok(name),
            }
        });
        let id = self.optional(&object, path, "id", Self::model_id);
        match (category?, id?) {
            (Some(category), None) => Ok(Model::Category(category)),
            (None, Some(id)) => Ok(Model::Id(id)),
            (None, None) => self.report(node.ordinal, path, "Must have a category or an id."),
            (Some(_), Some(_)) => {
                self.report(node.ordinal, path, "Must have a category or an id, not both.")
            }
        }
    }

    /// A model's own id. Whether there is such a model is not known here.
    fn model_id(&mut self, node: &'t Node, path: &Path) -> Read<String> {
        let id = self.string(node, path)?;
        if self.model_paths_bytes > MAX_MODEL_PATHS_BYTES {
            return Err(Reported);
        }
        let path = path.to_string();
        self.model_paths_bytes += path.len();
        if self.model_paths_bytes > MAX_MODEL_PATHS_BYTES {
            return self.report(node.ordinal, &Path::Entry, "Names too many models.");
        }
        self.named_models.push((node.ordinal, NamedModel { path, id: id.clone() }));
        Ok(id)
    }
}

/// Readers for values that occur anywhere in an entry.
impl<'t> Reader<'t> {
    fn report<T>(&mut self, ordinal: usize, path: &Path, reason: impl fmt::Display) -> Read<T> {
        self.problems.report(ordinal, path, reason);
        Err(Reported)
    }

    fn wrong_type<T>(&mut self, node: &Node, path: &Path, wanted: &str) -> Read<T> {
        let reason = format!("Must be {wanted}, not {}.", node.value.kind());
        self.report(node.ordinal, path, reason)
    }

    fn string(&mut self, node: &'t Node, path: &Path) -> Read<String> {
        match &node.value {
            Value::String(text) => Ok(text.clone()),
            _ => self.wrong_type(node, path, "a string"),
        }
    }

    fn boolean(&mut self, node: &'t Node, path: &Path) -> Read<bool> {
        match node.value {
            Value::Boolean(value) => Ok(value),
            _ => self.wrong_type(node, path, "a boolean"),
        }
    }

    fn count(&mut self, node: &'t Node, path: &Path) -> Read<u32> {
        let Value::Number(number) = node.value else {
            return self.wrong_type(node, path, "a number");
        };
        let reason = match number {
            Number::Negative => "Must not be negative.".to_owned(),
            Number::Float(value) if value < 0.0 => "Must not be negative.".to_owned(),
            Number::Float(value) if value.fract() != 0.0 => "Must be a whole number.".to_owned(),
            Number::Unsigned(value) if let Ok(count) = u32::try_from(value) => return Ok(count),
            Number::Float(value) if value <= f64::from(u32::MAX) => {
                #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
                #[expect(clippy::cast_sign_loss, reason = "not negative")]
                return Ok(value as u32);
            }
            Number::Unsigned(_) | Number::Float(_) => format!("Must be at most {}.", u32::MAX),
        };
        self.report(node.ordinal, path, reason)
    }

    fn array(&mut self, node: &'t Node, path: &Path) -> Read<&'t [Node]> {
        match &node.value {
            Value::Array(nodes) => Ok(nodes),
            _ => self.wrong_type(node, path, "an array"),
        }
    }

    fn list<T>(
        &mut self,
        node: &'t Node,
        path: &Path,
        mut read: impl FnMut(&mut Self, &'t Node, &Path) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut list = Ok(Vec::new());
        for (index, node) in self.array(node, path)?.iter().enumerate() {
            let item = read(self, node, &path.index(index));
            add(&mut list, item, Vec::push);
        }
        list
    }

    /// Reads lines and joins them into one text.
    fn lines(&mut self, node: &'t Node, path: &Path) -> Read<String> {
        Ok(self.list(node, path, Self::string)?.join("\n"))
    }

    /// An object whose fields the format knows.
    fn object(&mut self, node: &'t Node, path: &Path, known: &[&str]) -> Read<Object<'t>> {
        let Value::Object(fields) = &node.value else {
            return self.wrong_type(node, path, "an object");
        };
        let mut seen = HashSet::new();
        for (name, node) in fields {
            let path = path.field(name);
            if !known.contains(&name.as_str()) {
                let reason = format!("Unknown field; known are: {}.", known.join(", "));
                self.problems.report(node.ordinal, &path, reason);
            } else if !seen.insert(name) {
                self.problems.report(node.ordinal, &path, "Given more than once.");
            }
        }
        Ok(Object { ordinal: node.ordinal, fields })
    }

    /// An object whose fields the entry's author named; each name once.
    fn named(&mut self, node: &'t Node, path: &Path) -> Read<Vec<(&'t str, &'t Node)>> {
        let Value::Object(fields) = &node.value else {
            return self.wrong_type(node, path, "an object");
        };
        let mut seen = HashSet::new();
        let mut named = Vec::with_capacity(fields.len());
        for (name, node) in fields {
            if name.chars().nth(MAX_NAME_CHARACTERS).is_some() {
                let reason = format!("Has a name of more than {MAX_NAME_CHARACTERS} characters.");
                let short: String = name.chars().take(MAX_NAME_CHARACTERS).collect();
                self.problems.report(node.ordinal, &path.key(&short), reason);
            } else if seen.insert(name) {
                named.push((name.as_str(), node));
            } else {
                self.problems.report(node.ordinal, &path.key(name), "Given more than once.");
            }
        }
        Ok(named)
    }

    fn required<T>(
        &mut self,
        object: &Object<'t>,
        path: &Path,
        name: &str,
        read: impl FnOnce(&mut Self, &'t Node, &Path) -> Read<T>,
    ) -> Read<T> {
        match object.get(name) {
            Some(node) => read(self, node, &path.field(name)),
            None => self.report(object.ordinal, &path.field(name), "Missing."),
        }
    }

    fn optional<T>(
        &mut self,
        object: &Object<'t>,
        path: &Path,
        name: &str,
        read: impl FnOnce(&mut Self, &'t Node, &Path) -> Read<T>,
    ) -> Read<Option<T>> {
        let node = object.get(name);
        node.map(|node| read(self, node, &path.field(name))).transpose()
    }
}

/// Adds to a collection, which is given up with its first missing value.
fn add<C, T, R>(collection: &mut Read<C>, item: Read<T>, put: impl FnOnce(&mut C, T) -> R) {
    match (collection.as_mut(), item) {
        (Ok(values), Ok(item)) => {
            put(values, item);
        }
        _ => *collection = Err(Reported),
    }
}
