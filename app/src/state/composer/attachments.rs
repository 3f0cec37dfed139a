//! Files beside the text in the box: how they are written into a prompt, and read from it again.
//!
//! Whatever keeps prompts (the queue, drafts, the history) knows only their text, so a file is kept
//! by the reference at the end of it.

use wire::{
    AttachmentId, AttachmentKind, LARGEST_ATTACHMENT, PromptPart, attachment_reference,
    prompt_parts,
};

/// A file that goes with the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chip {
    /// Tells chips apart on the page.
    pub(crate) key: u32,
    pub(crate) name: String,
    pub(crate) state: ChipState,
}

/// How far a file has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChipState {
    Uploading,
    /// The server has it.
    Ready {
        kind: AttachmentKind,
        id: AttachmentId,
        /// In bytes, if it was attached on this page.
        size: Option<u64>,
    },
    /// The server does not take it, for this reason.
    Failed(String),
}

impl Chip {
    /// What the chip says after its name.
    pub(crate) fn note(&self) -> String {
        match &self.state {
            ChipState::Uploading => "uploading …".to_owned(),
            ChipState::Ready { size, .. } => size.map(size_words).unwrap_or_default(),
            ChipState::Failed(reason) => format!("not attached: {reason}"),
        }
    }

    /// The name of the state, for style sheets.
    pub(crate) fn state_name(&self) -> &'static str {
        match self.state {
            ChipState::Uploading => "working",
            ChipState::Ready { .. } => "idle",
            ChipState::Failed(_) => "failed",
        }
    }
}

/// Whether nothing can be sent, because a file is still on its way.
pub(crate) fn is_uploading(chips: &[Chip]) -> bool {
    chips.iter().any(|chip| chip.state == ChipState::Uploading)
}

/// The prompt with its files: their references follow the text, so that titles begin with the text.
pub(crate) fn with_files(text: &str, chips: &[Chip]) -> String {
    let references = chips.iter().filter_map(|chip| match chip.state {
        ChipState::Ready { kind, id, .. } => Some(attachment_reference(kind, &chip.name, id)),
        _ => None,
    });
    let references = references.collect::<Vec<_>>().join(" ");
    match (text.trim_end(), &*references) {
        (_, "") => text.to_owned(),
        ("", _) => references,
        (text, _) => [text, "\n\n", &references].concat(),
    }
}

/// The text of a prompt, and the files whose references end it. Those within the text are part of it.
/// The first file gets the key `first`.
pub(crate) fn without_files(prompt: &str, first: u32) -> (String, Vec<Chip>) {
    let mut parts = prompt_parts(prompt);
    let mut files = Vec::new();
    loop {
        match parts.last() {
            Some(PromptPart::Attachment(reference)) => {
                let (kind, id, name) = (reference.kind, reference.id, reference.name.to_owned());
                files.push((name, ChipState::Ready { kind, id, size: None }));
            }
            // What stands between references, and between them and the text.
            Some(PromptPart::Text(text)) if text.trim().is_empty() => {}
            _ => break,
        }
        parts.pop();
    }
    if files.is_empty() {
        return (prompt.to_owned(), Vec::new());
    }
    let text: String = parts.iter().map(|part| part_text(part)).collect();
    let keys = (first..).zip(files.into_iter().rev());
    let chips = keys.map(|(key, (name, state))| Chip { key, name, state });
    (text.trim_end().to_owned(), chips.collect())
}

fn part_text(part: &PromptPart<'_>) -> String {
    match part {
        PromptPart::Text(text) => (*text).to_owned(),
        PromptPart::Attachment(it) => attachment_reference(it.kind, it.name, it.id),
    }
}

/// Why a file can't be attached, as far as the page knows: before it is read and sent.
pub(crate) fn refusal(size: u64, media_type: &str, takes_images: bool) -> Option<&'static str> {
    if size > LARGEST_ATTACHMENT as u64 {
        return Some("it is larger than 10 MB");
    }
    let is_image = media_type.starts_with("image/") && media_type != "image/svg+xml";
    (is_image && !takes_images).then_some("this model takes no images")
}

/// A number of bytes as people say it.
pub(crate) fn size_words(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "file-0b9f3c0e-6a55-4f0b-8a53-3a1a0f6f2c11";

    fn ready(key: u32, kind: AttachmentKind, name: &str) -> Chip {
        let id = ID.parse().expect("an id");
        Chip { key, name: name.to_owned(), state: ChipState::Ready { kind, id, size: None } }
    }

    #[test]
    fn a_prompt_with_files_is_read_as_it_was_written() {
        let files = [
            ready(7, AttachmentKind::Image, "a b.png"),
            ready(8, AttachmentKind::Text, "notes.txt"),
        ];
        for (text, files) in [
            ("Look at this.\nTwice.", &files[..]),
            ("Look", &files[..1]),
            ("", &files[..]),
            ("no files ", &[]),
            ("", &[]),
        ] {
            let prompt = with_files(text, files);
            assert_eq!(without_files(&prompt, 7), (text.to_owned(), files.to_vec()), "{prompt}");
        }
        let prompt = with_files("Look", &files);
        assert_eq!(
            prompt,
            format!("Look\n\n![a b.png](attachment:{ID}) [notes.txt](attachment:{ID})")
        );
    }

    #[test]
    fn references_within_a_text_stay_where_they_are() {
        let within = format!("See ![a](attachment:{ID}) and say what it is");
        assert_eq!(without_files(&within, 0), (within.clone(), Vec::new()));
        let both = format!("{within}\n\n[b](attachment:{ID})");
        assert_eq!(without_files(&both, 1), (within, vec![ready(1, AttachmentKind::Text, "b")]));
    }

    #[test]
    fn only_files_that_the_server_has_are_sent() {
        let failed = ChipState::Failed("too large".to_owned());
        let chips = [ChipState::Uploading, failed].map(|state| Chip {
            key: 0,
            name: "a".to_owned(),
            state,
        });
        assert_eq!(with_files("text", &chips), "text");
        assert!(is_uploading(&chips) && !is_uploading(&chips[1..]));
        assert_eq!(chips[0].note(), "uploading …");
        assert_eq!(chips[1].note(), "not attached: too large");
    }

    #[test]
    fn what_can_be_known_is_refused_before_it_is_sent() {
        let limit = LARGEST_ATTACHMENT as u64;
        for (size, media_type, takes_images, refused) in [
            (limit, "text/plain", false, false),
            (limit + 1, "text/plain", true, true),
            (1, "image/png", true, false),
            (1, "image/png", false, true),
            (1, "image/svg+xml", false, false),
            (1, "", false, false),
        ] {
            let refusal = refusal(size, media_type, takes_images);
            assert_eq!(refusal.is_some(), refused, "{size} {media_type}");
        }
    }

    #[test]
    fn sizes_are_said_in_short() {
        for (bytes, words) in [
            (0, "0 B"),
            (999, "999 B"),
            (12_345, "12 kB"),
            (999_999, "999 kB"),
            (1_250_000, "1.2 MB"),
            (10_485_760, "10.4 MB"),
        ] {
            assert_eq!(size_words(bytes), words);
        }
    }
}
