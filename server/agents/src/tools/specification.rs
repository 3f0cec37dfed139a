//! What models are told about the tools.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::tool::{Tool, ToolHandler};

use super::{command, list, read, search};

/// The description of a tool, without its implementation.
pub(super) struct Specification {
    name: &'static str,
    description: String,
    properties: Value,
    required: &'static [&'static str],
}

impl Specification {
    pub(super) fn tool(self, handler: Arc<dyn ToolHandler>) -> Tool {
        Tool {
            name: self.name.to_owned(),
            description: self.description,
            parameters: json!({
                "type": "object",
                "properties": self.properties,
                "required": self.required,
                "additionalProperties": false,
            }),
            handler,
        }
    }
}

/// The tools that change nothing.
pub(super) const LOOKING: [&str; 3] = ["listFiles", "readFiles", "searchFiles"];

/// In the order of the handlers in [`super::workspace_tools`].
pub(super) fn all() -> [Specification; 7] {
    let [list, read, search] = looking();
    let [create, edit, diff] = changing();
    [list, read, create, edit, diff, search, running()]
}

fn looking() -> [Specification; 3] {
    let [list_files, read_files, search_files] = LOOKING;
    let glob = json!({
        "type": "string",
        "description": "Which files: a glob such as `src/**/*.rs` or `*.md`, or a plain word that \
            is part of the path. All if left out.",
    });
    let list = Specification {
        name: list_files,
        description: "List the files of the workspace, except those that .gitignore leaves out. \
            One path in each line."
            .to_owned(),
        properties: json!({
            "glob": glob,
            "max": {
                "type": "integer", "minimum": 1, "maximum": list::MOST,
                "description": format!("The most files to list, {} if left out.", list::USUAL),
            },
        }),
        required: &[],
    };
    let read = Specification {
        name: read_files,
        description: format!(
            "Read text files. At most {} KiB of each and {} KiB in all are returned; binary files \
             are not read. Read a file before you edit it.",
            read::MAX_FILE / 1024,
            read::MAX_ALL / 1024,
        ),
        properties: json!({
            "files": {
                "type": "array", "items": { "type": "string" },
                "minItems": 1, "maxItems": read::MAX_FILES,
                "description": "Paths relative to the workspace.",
            },
        }),
        required: &["files"],
    };
    let search = Specification {
        name: search_files,
        description: "Search the lines of all text files, except those that .gitignore leaves \
            out. Returns `path:line: text` for each line that matches. Upper and lower case differ."
            .to_owned(),
        properties: json!({
            "query": {
                "type": "string",
                "description": "The text to find, within one line.",
            },
            "regex": {
                "type": "boolean",
                "description": "Whether the query is a regular expression (Rust syntax: no \
                    look-around, no back-references; start with `(?i)` to ignore case).",
            },
            "glob": glob,
            "max": {
                "type": "integer", "minimum": 1, "maximum": search::MOST,
                "description": format!("The most lines to return, {} if left out.", search::USUAL),
            },
        }),
        required: &["query"],
    };
    [list, read, search]
}

fn changing() -> [Specification; 3] {
    let path = json!({ "type": "string", "description": "Path relative to the workspace." });
    let create = Specification {
        name: "createFile",
        description: "Make a new file, and the folders that it needs. Fails if it exists: use \
            editFile or applyDiff then."
            .to_owned(),
        properties: json!({
            "path": path,
            "content": { "type": "string", "description": "The whole text of the file." },
        }),
        required: &["path", "content"],
    };
    let edit = Specification {
        name: "editFile",
        description: "Replace the whole text of a file. You must have read it with readFiles, and \
            it must not have changed since. For small changes of large files use applyDiff."
            .to_owned(),
        properties: json!({
            "path": path,
            "content": { "type": "string", "description": "The whole new text of the file." },
        }),
        required: &["path", "content"],
    };
    let diff = Specification {
        name: "applyDiff",
        description: "Change a file by a unified diff. Give about three lines of context around \
            each change, exactly as they are in the file. If a hunk does not apply, nothing \
            changes."
            .to_owned(),
        properties: json!({
            "path": path,
            "diff": {
                "type": "string",
                "description": "Hunks that begin with `@@ -line,count +line,count @@`, of this \
                    one file. Every line of a hunk begins with a space, `-` or `+`.",
            },
        }),
        required: &["path", "diff"],
    };
    [create, edit, diff]
}

fn running() -> Specification {
    Specification {
        name: super::RUN_COMMAND,
        description: "Run a command with the shell, without input. Returns its exit code and \
            output; of long output, the beginning and the end. Whatever it leaves in the \
            background is ended with it."
            .to_owned(),
        properties: json!({
            "command": { "type": "string", "description": "The command line." },
            "cwd": {
                "type": "string",
                "description": "The folder to run it in, relative to the workspace, which it is \
                    if left out.",
            },
            "timeoutMs": {
                "type": "integer", "minimum": 1, "maximum": command::MOST_MS,
                "description": format!(
                    "When to end it, in milliseconds; {} if left out.",
                    command::USUAL_MS
                ),
            },
        }),
        required: &["command"],
    }
}
