//! Prompts and the variables in them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};

/// A prompt, line by line. `$name` stands for the prompt variable of that name; `$user-input`,
/// `$task-model`, `$reported-document`, `$reported-true-reason` and `$reported-false-reason` get
/// their values while a task runs.
// Here it is one text. Its own variables are expanded; those of the running task are still in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Vec<String>", extend("minItems" = 1)))]
pub struct Prompt(String);

/// Takes the place of a runtime variable without a value.
const MISSING: &str = "<MISSING>";

/// A variable whose value is known only while a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuntimeVariable {
    /// The text that the user typed.
    UserInput,
    /// The model that runs the task.
    TaskModel,
    /// The document that was reported last.
    ReportedDocument,
    /// Why the last condition held.
    ReportedTrueReason,
    /// Why the last condition did not hold.
    ReportedFalseReason,
}

impl RuntimeVariable {
    /// All runtime variables.
    pub const ALL: [Self; 5] = [
        Self::UserInput,
        Self::TaskModel,
        Self::ReportedDocument,
        Self::ReportedTrueReason,
        Self::ReportedFalseReason,
    ];

    /// Its name, without the `$`.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserInput => "user-input",
            Self::TaskModel => "task-model",
            Self::ReportedDocument => "reported-document",
            Self::ReportedTrueReason => "reported-true-reason",
            Self::ReportedFalseReason => "reported-false-reason",
        }
    }

    /// Finds a runtime variable by its name, without the `$`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variable| variable.name() == name)
    }
}

impl Prompt {
    /// Takes a text that has no variables but those of the running task.
    pub(super) fn expanded(text: String) -> Self {
        Self(text)
    }

    /// The text, with the runtime variables as they are written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the prompt contains that variable.
    pub fn uses(&self, variable: RuntimeVariable) -> bool {
        pieces(&self.0).any(|piece| piece == Piece::Variable(variable.name()))
    }

    /// The text to send, with the values of the runtime variables. A `$` in a value has no meaning.
    pub fn fill_in<'v>(&self, value: impl Fn(RuntimeVariable) -> Option<Cow<'v, str>>) -> String {
        let mut text = String::with_capacity(self.0.len());
        for piece in pieces(&self.0) {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Variable(name) => match RuntimeVariable::find(name) {
                    Some(variable) => text.push_str(value(variable).as_deref().unwrap_or(MISSING)),
                    None => text.extend(["$", name]),
                },
            }
        }
        text
    }
}

impl Serialize for Prompt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// A variable's name, without the `$`.
    Variable(&'a str),
}

/// Splits a text into variables and the text between them.
///
/// A variable is a `$` and words of letters that are joined by single hyphens.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = variable_length(rest);
        if length > 0 {
            let name = &rest[1..length];
            rest = &rest[length..];
            return Some(Piece::Variable(name));
        }
        let next = rest.match_indices('$').map(|(index, _)| index);
        let next = next.into_iter().find(|index| variable_length(&rest[*index..]) > 0);
        let (plain, after) = rest.split_at(next.unwrap_or(rest.len()));
        rest = after;
        Some(Piece::Text(plain))
    })
}

/// The length of the variable that a text begins with, the `$` included; 0 if there is none.
fn variable_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'$') {
        return 0;
    }
    let mut end = 1;
    loop {
        let letters = bytes[end..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if letters == 0 {
            // What stands before is the `$`, or a hyphen that joins nothing.
            return if end == 1 { 0 } else { end - 1 };
        }
        end += letters;
        if bytes.get(end) != Some(&b'-') {
            return end;
        }
        end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_words_joined_by_single_hyphens() {
        use Piece::{Text as T, Variable as V};
        let table: [(&str, &[Piece]); 10] = [
            ("", &[]),
            ("plain", &[T("plain")]),
            ("$a", &[V("a")]),
            ("use $reported-true-reason.", &[T("use "), V("reported-true-reason"), T(".")]),
            ("$a$b-", &[V("a"), V("b"), T("-")]),
            ("$a--b", &[V("a"), T("--b")]),
            ("$a-1", &[V("a"), T("-1")]),
            ("$a1-b", &[V("a"), T("1-b")]),
            ("$5 $ $-a $$c é$é", &[T("$5 $ $-a $"), V("c"), T(" é$é")]),
            ("$A-b", &[V("A-b")]),
        ];
        for (text, expected) in table {
            assert_eq!(pieces(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn runtime_variables_get_their_value_of_now() {
        let prompt = Prompt::expanded("$user-input by $task-model: $reported-document $5".into());
        let text = prompt.fill_in(|variable| match variable {
            RuntimeVariable::UserInput => Some("$task-model".into()),
            RuntimeVariable::TaskModel => Some("gpt".into()),
            _ => None,
        });
        assert_eq!(text, "$task-model by gpt: <MISSING> $5");
    }
}
