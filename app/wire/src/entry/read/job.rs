//! Jobs and the works in them.

use indexmap::IndexMap;

use super::{Node, Object, Path, Quoted, Read, Reader, Value, add};
use crate::PermissionMode;
use crate::entry::{Job, OnInterrupted, Work};

/// Whether the tasks of a job require user input, as far as it can be told.
#[derive(Clone, Copy, Debug, Default)]
struct UserInput {
    is_required: bool,
    is_uncertain: bool,
}

impl<'t> Reader<'t> {
    pub(super) fn jobs(&mut self, node: &'t Node, path: &Path) -> Read<IndexMap<String, Job>> {
        let named = self.named(node, path)?;
        self.jobs = Some(named.iter().map(|(name, _)| *name).collect());
        let mut jobs = Ok(IndexMap::with_capacity(named.len()));
        for (name, node) in named {
            let job = self.job(node, &path.key(name));
            add(&mut jobs, job, |jobs, job| jobs.insert(name.to_owned(), job));
        }
        jobs
    }

    fn job(&mut self, node: &'t Node, path: &Path) -> Read<Job> {
        let known = [
            "description",
            "requireUserInput",
            "permissions",
            "approveFiles",
            "budget",
            "onInterrupted",
            "work",
        ];
        let object = self.object(node, path, &known)?;
        let description = self.optional(&object, path, "description", Self::string);
        let mut input = UserInput::default();
        let work = self.required(&object, path, "work", |reader, node, path| {
            reader.work(node, path, &mut input)
        });
        input.is_uncertain |= work.is_err();
        let declared = self.optional(&object, path, "requireUserInput", |reader, node, path| {
            match reader.boolean(node, path)? {
                false if input.is_required => {
                    let reason = "Must be true, as a task of the job requires user input.";
                    reader.report(node.ordinal, path, reason)
                }
                true if !input.is_required && !input.is_uncertain => {
                    let reason = "Must be false, as no task of the job requires user input.";
                    reader.report(node.ordinal, path, reason)
                }
                _ => Ok(()),
            }
        });
        let permissions = self.optional(&object, path, "permissions", Self::permission_mode);
        let approve_files = self.optional(&object, path, "approveFiles", |reader, node, path| {
            reader.list(node, path, Self::file_pattern)
        });
        let budget = self.optional(&object, path, "budget", Self::budget);
        let on_interrupted = self.optional(&object, path, "onInterrupted", Self::on_interrupted);
        let mut work = work?;
        number(&mut work, &mut 0);
        declared?;
        Ok(Job {
            description: description?,
            require_user_input: input.is_required,
            permissions: permissions?,
            approve_files: approve_files?.unwrap_or_default(),
            budget: budget?,
            on_interrupted: on_interrupted?,
            work,
        })
    }

    fn permission_mode(&mut self, node: &'t Node, path: &Path) -> Read<PermissionMode> {
        let word = self.string(node, path)?;
        word.parse().or_else(|_| {
            let reason = format!("Must be approve-all, ask or deny, not {}.", Quoted(&word));
            self.report(node.ordinal, path, reason)
        })
    }

    fn on_interrupted(&mut self, node: &'t Node, path: &Path) -> Read<OnInterrupted> {
        let word = self.string(node, path)?;
        word.parse().or_else(|_| {
            let reason = format!("Must be resume, ask or fail, not {}.", Quoted(&word));
            self.report(node.ordinal, path, reason)
        })
    }

    /// A glob for files below a folder. It is compiled where it is used; what can be wrong with it
    /// is said here.
    fn file_pattern(&mut self, node: &'t Node, path: &Path) -> Read<String> {
        let pattern = self.string(node, path)?;
        let climbs = pattern.split(['/', '\\']).any(|name| name == "..");
        let count = |c: char| pattern.matches(c).count();
        let is_open = count('[') != count(']') || count('{') != count('}');
        if pattern.is_empty() || pattern.starts_with(['/', '\\']) || climbs || is_open {
            let reason = format!(
                "Must be a pattern of files below the job's folder, not {}.",
                Quoted(&pattern)
            );
            return self.report(node.ordinal, path, reason);
        }
        Ok(pattern)
    }

    fn work(&mut self, node: &'t Node, path: &Path, input: &mut UserInput) -> Read<Work> {
        let Value::Object(fields) = &node.value else {
            return self.wrong_type(node, path, "an object");
        };
        let object = Object { ordinal: node.ordinal, fields };
        let kind = self.required(&object, path, "kind", Self::string)?;
        match kind.as_str() {
            "Ref" => self.reference(node, path, input),
            "Seq" => {
                let works = self.works(node, path, input)?;
                Ok(Work::Seq { works: flatten(works, as_seq) })
            }
            "Par" => {
                let works = self.works(node, path, input)?;
                Ok(Work::Par { works: flatten(works, as_par) })
            }
            "Loop" => self.repetition(node, path, input),
            "Alt" => self.alternative(node, path, input),
            _ => {
                let ordinal = object.get("kind").map_or(node.ordinal, |kind| kind.ordinal);
                let reason = format!("Must be Ref, Seq, Par, Loop or Alt, not {}.", Quoted(&kind));
                self.report(ordinal, &path.field("kind"), reason)
            }
        }
    }

    fn reference(&mut self, node: &'t Node, path: &Path, input: &mut UserInput) -> Read<Work> {
        let known = ["kind", "taskId", "workIdInJob", "modelOverride"];
        let object = self.object(node, path, &known)?;
        let task_id = self.required(&object, path, "taskId", Self::string);
        // Numbers are given by us, whatever the file says; but it must say a number.
        let work_id_in_job = self.optional(&object, path, "workIdInJob", Self::count);
        let model_override = self.optional(&object, path, "modelOverride", Self::model);
        let task_id = task_id?;
        let facts = self.tasks.as_ref().map(|tasks| tasks.get(task_id.as_str()).copied());
        match facts {
            // There are no tasks to choose from: that is reported already.
            None => input.is_uncertain = true,
            Some(None) => {
                input.is_uncertain = true;
                let ordinal = object.get("taskId").map_or(node.ordinal, |node| node.ordinal);
                let reason = format!("Cannot find task: {}.", Quoted(&task_id));
                return self.report(ordinal, &path.field("taskId"), reason);
            }
            Some(Some(facts)) => {
                match facts.requires_user_input {
                    Some(requires) => input.is_required |= requires,
                    None => input.is_uncertain = true,
                }
                if facts.lacks_model && object.get("modelOverride").is_none() {
                    let reason = "Missing, as the task has no model.";
                    return self.report(node.ordinal, &path.field("modelOverride"), reason);
                }
            }
        }
        work_id_in_job?;
        Ok(Work::Ref { task_id, work_id_in_job: 0, model_override: model_override? })
    }

    fn works(&mut self, node: &'t Node, path: &Path, input: &mut UserInput) -> Read<Vec<Work>> {
        let object = self.object(node, path, &["kind", "works"])?;
        self.required(&object, path, "works", |reader, node, path| {
            let works =
                reader.list(node, path, |reader, node, path| reader.work(node, path, input));
            match works {
                Ok(works) if works.is_empty() => {
                    reader.report(node.ordinal, path, "Must not be empty.")
                }
                works => works,
            }
        })
    }

    fn repetition(&mut self, node: &'t Node, path: &Path, input: &mut UserInput) -> Read<Work> {
        let object = self.object(node, path, &["kind", "preCondition", "body", "postCondition"])?;
        let pre_condition = self.optional(&object, path, "preCondition", |reader, node, path| {
            reader.loop_condition(node, path, input)
        });
        let body = self
            .required(&object, path, "body", |reader, node, path| reader.work(node, path, input));
        let post_condition = self.optional(&object, path, "postCondition", |reader, node, path| {
            reader.loop_condition(node, path, input)
        });
        Ok(Work::Loop {
            pre_condition: pre_condition?,
            body: Box::new(body?),
            post_condition: post_condition?,
        })
    }

    fn loop_condition(
        &mut self,
        node: &'t Node,
        path: &Path,
        input: &mut UserInput,
    ) -> Read<(bool, Box<Work>)> {
        let [expected, work] = self.array(node, path)? else {
            return self.report(node.ordinal, path, "Must have two items: a boolean and a work.");
        };
        let expected = self.boolean(expected, &path.index(0));
        let work = self.work(work, &path.index(1), input);
        Ok((expected?, Box::new(work?)))
    }

    fn alternative(&mut self, node: &'t Node, path: &Path, input: &mut UserInput) -> Read<Work> {
        let object = self.object(node, path, &["kind", "condition", "trueWork", "falseWork"])?;
        let mut read = |reader: &mut Self, node: &'t Node, path: &Path| {
            reader.work(node, path, input).map(Box::new)
        };
        let condition = self.required(&object, path, "condition", &mut read);
        let true_work = self.optional(&object, path, "trueWork", &mut read);
        let false_work = self.optional(&object, path, "falseWork", &mut read);
        Ok(Work::Alt { condition: condition?, true_work: true_work?, false_work: false_work? })
    }
}

/// Replaces works of the same kind by their parts.
///
/// Their parts were flattened before, so the result is flat at any depth.
fn flatten(works: Vec<Work>, parts: fn(Work) -> Result<Vec<Work>, Work>) -> Vec<Work> {
    works.into_iter().flat_map(|work| parts(work).unwrap_or_else(|other| vec![other])).collect()
}

fn as_seq(work: Work) -> Result<Vec<Work>, Work> {
    match work {
        Work::Seq { works } => Ok(works),
        other => Err(other),
    }
}

fn as_par(work: Work) -> Result<Vec<Work>, Work> {
    match work {
        Work::Par { works } => Ok(works),
        other => Err(other),
    }
}

/// Numbers the tasks of a job.
fn number(work: &mut Work, next: &mut u32) {
    if let Work::Ref { work_id_in_job, .. } = work {
        *work_id_in_job = *next;
        *next += 1;
    }
    for child in work.children_mut() {
        number(child, next);
    }
}
