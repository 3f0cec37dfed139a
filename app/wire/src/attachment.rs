//! Files that are sent with prompts, and how a prompt's text refers to them.
//!
//! A prompt names its attachments in Markdown: `![shot.png](attachment:ID)` for an image,
//! `[notes.txt](attachment:ID)` for a text. So whatever keeps, edits or repeats prompts needs to know
//! nothing about them, and a reader without the portal still sees what was attached.

use serde::{Deserialize, Serialize};

use crate::AttachmentId;
use crate::json::FromJson;

/// What a model gets of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub enum AttachmentKind {
    /// A picture in one of the formats that models read.
    Image,
    /// UTF-8 text, which is added to the prompt.
    Text,
}

/// The answer of `session/{id}/attach/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromJson)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// Names the attachment within its session.
    pub attachment_id: AttachmentId,
    /// What its bytes are, whatever its name says.
    pub kind: AttachmentKind,
    /// The Markdown to write into a prompt.
    pub reference: String,
}

/// The largest attachment, in bytes.
pub const LARGEST_ATTACHMENT: usize = 10 * 1024 * 1024;

/// The longest name, in characters.
const LONGEST_NAME: usize = 100;
const LINK: &str = "](attachment:";

/// The Markdown that refers to an attachment.
pub fn attachment_reference(kind: AttachmentKind, name: &str, id: AttachmentId) -> String {
    let mark = match kind {
        AttachmentKind::Image => "!",
        AttachmentKind::Text => "",
    };
    [mark, "[", &attachment_name(name), LINK, &id.to_string(), ")"].concat()
}

/// A file's name as it stands in a reference: without its folders, and without what would end the
/// reference early.
pub fn attachment_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_control() || matches!(c, '[' | ']' | '`') { '_' } else { c };
    let name: String = name.trim().chars().map(plain).take(LONGEST_NAME).collect();
    if name.is_empty() { "file".to_owned() } else { name }
}

/// A part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPart<'a> {
    /// Text as it was typed.
    Text(&'a str),
    /// A reference to an attachment.
    Attachment(Reference<'a>),
}

/// A reference to an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// How it was written.
    pub kind: AttachmentKind,
    /// The name of the file.
    pub name: &'a str,
    /// Names the attachment.
    pub id: AttachmentId,
}

/// Splits a prompt at its references. Together, the parts have everything that it says, in order.
pub fn prompt_parts(prompt: &str) -> Vec<PromptPart<'_>> {
    let mut parts = Vec::new();
    let (mut rest, mut searched) = (prompt, 0);
    while let Some(found) = rest[searched..].find(LINK) {
        let link = searched + found;
        let Some((start, reference, end)) = reference_at(rest, link) else {
            searched = link + LINK.len();
            continue;
        };
        if start > 0 {
            parts.push(PromptPart::Text(&rest[..start]));
        }
        parts.push(PromptPart::Attachment(reference));
        (rest, searched) = (&rest[end..], 0);
    }
    if !rest.is_empty() {
        parts.push(PromptPart::Text(rest));
    }
    parts
}

/// The references in a prompt, in order.
pub fn prompt_references(prompt: &str) -> impl Iterator<Item = Reference<'_>> {
    prompt_parts(prompt).into_iter().filter_map(|part| match part {
        PromptPart::Attachment(reference) => Some(reference),
        PromptPart::Text(_) => None,
    })
}

/// A prompt for people who read nothing but text: with names in place of references.
pub fn without_links(prompt: &str) -> String {
    let said = |part| match part {
        PromptPart::Text(text) => text,
        PromptPart::Attachment(reference) => reference.name,
    };
    prompt_parts(prompt).into_iter().map(said).collect()
}

/// The reference around a link, with its start and end.
fn reference_at(text: &str, link: usize) -> Option<(usize, Reference<'_>, usize)> {
    let target = link + LINK.len();
    let length = text[target..].find(')')?;
    let id = text[target..target + length].parse().ok()?;
    let open = text[..link].rfind(['[', ']', '\n'])?;
    let name = text[open..link].strip_prefix('[').filter(|name| !name.is_empty())?;
    let is_image = text[..open].ends_with('!');
    let kind = if is_image { AttachmentKind::Image } else { AttachmentKind::Text };
    let start = open - usize::from(is_image);
    Some((start, Reference { kind, name, id }, target + length + 1))
}

#[cfg(test)]
mod tests {
    use super::PromptPart::{Attachment, Text};
    use super::*;

    const ID: &str = "file-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

    fn id() -> AttachmentId {
        ID.parse().expect("an id")
    }

    fn image(name: &str) -> PromptPart<'_> {
        Attachment(Reference { kind: AttachmentKind::Image, name, id: id() })
    }

    fn text(name: &str) -> PromptPart<'_> {
        Attachment(Reference { kind: AttachmentKind::Text, name, id: id() })
    }

    #[test]
    fn the_answer_is_spelt_as_the_api_says() {
        let kind = AttachmentKind::Image;
        let reference = attachment_reference(kind, "a.png", id());
        let attached = Attached { attachment_id: id(), kind, reference };
        let json = serde_json::to_string(&attached).expect("json");
        let expected = format!(
            r#"{{"attachmentId":"{ID}","kind":"image","reference":"![a.png](attachment:{ID})"}}"#
        );
        assert_eq!(json, expected);
    }

    #[test]
    fn whatever_a_file_is_called_its_reference_is_found_again() {
        for (name, shown) in [
            ("shot.png", "shot.png"),
            ("C:\\pictures\\[a](b).png", "_a_(b).png"),
            ("../../etc/pass`wd`", "pass_wd_"),
            ("Übersicht 世界 (1).txt", "Übersicht 世界 (1).txt"),
            ("two\nlines", "two_lines"),
            ("", "file"),
            ("folder/", "file"),
        ] {
            assert_eq!(attachment_name(name), shown);
            let written = attachment_reference(AttachmentKind::Image, name, id());
            assert_eq!(prompt_parts(&written), [image(shown)], "{name}");
            let written = attachment_reference(AttachmentKind::Text, name, id());
            assert_eq!(prompt_parts(&written), [text(shown)], "{name}");
        }
        assert_eq!(attachment_name(&"ä".repeat(300)).chars().count(), LONGEST_NAME);
    }

    #[test]
    fn a_prompt_is_split_at_its_references() {
        let prompt = format!("Look:\n![a](attachment:{ID})[b c](attachment:{ID}) and that's it");
        let parts = [Text("Look:\n"), image("a"), text("b c"), Text(" and that's it")];
        assert_eq!(prompt_parts(&prompt), parts);
        let references: Vec<_> = prompt_references(&prompt).map(|found| found.name).collect();
        assert_eq!(references, ["a", "b c"]);
        assert_eq!(prompt_parts(""), []);
        assert_eq!(without_links(&prompt), "Look:\nab c and that's it");
    }

    #[test]
    fn what_is_no_reference_stays_text() {
        for prompt in [
            "plain".to_owned(),
            "[a](https://example.com/)".to_owned(),
            "[a](attachment:file-1)".to_owned(),
            format!("[](attachment:{ID})"),
            format!("a](attachment:{ID})"),
            format!("[a\nb](attachment:{ID})"),
            format!("[a] b](attachment:{ID})"),
            format!("[a](attachment:{ID}"),
        ] {
            assert_eq!(prompt_parts(&prompt), [Text(&prompt)]);
        }
        let prompt = format!("[x](attachment:none) ![a](attachment:{ID})");
        assert_eq!(prompt_parts(&prompt), [Text("[x](attachment:none) "), image("a")]);
    }
}
