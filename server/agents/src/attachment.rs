//! Attachments of prompts: what their bytes are, and what a model gets of them.
//!
//! A prompt refers to its attachments in its text (`wire::prompt_parts`). Backends resolve that when
//! they are about to send it, so history, steering and resumed conversations need nothing of their own.
//!
//! ```text
//!   prompt ─► references ─► Attachments (the session's own) ─► Loaded ─┬─► text with the texts after it
//!                                                                      └─► images, if the backend takes any
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wire::{AttachmentId, AttachmentKind, prompt_references};

/// How much of its text attachments is added to a prompt, in bytes. As much as a prompt may have.
const MOST_TEXT: usize = 1024 * 1024;
/// How much of the latest images goes with one request, in bytes. Providers refuse much more.
const MOST_IMAGES: usize = 16 * 1024 * 1024;

/// A file that was attached to a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A picture.
    Image(Image),
    /// A text.
    Text(String),
}

/// A picture in a format that models read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The media type, by the picture's first bytes.
    pub media_type: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

impl Attachment {
    /// Finds out what bytes are; `None` if no model could read them. Names and declared types are not
    /// asked: the bytes are served to browsers later.
    pub fn recognise(bytes: Vec<u8>) -> Option<Self> {
        if let Some(media_type) = image_type(&bytes) {
            return Some(Self::Image(Image { media_type, bytes }));
        }
        let text = String::from_utf8(bytes).ok()?;
        // Valid UTF-8, but of no use as text.
        (!text.contains('\0')).then_some(Self::Text(text))
    }

    /// Whether it is an image or a text.
    pub fn kind(&self) -> AttachmentKind {
        match self {
            Self::Image(_) => AttachmentKind::Image,
            Self::Text(_) => AttachmentKind::Text,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Image(image) => image.bytes.len(),
            Self::Text(text) => text.len(),
        }
    }
}

impl Image {
    /// The bytes for JSON.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// The picture as a URL that holds all of it.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64())
    }
}

fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Where a conversation's attachments are read.
#[async_trait]
pub trait Attachments: Send + Sync + 'static {
    /// The attachment with this id; `None` if the conversation has none.
    async fn read(&self, id: AttachmentId) -> Option<Attachment>;
}

/// For conversations that never have any.
pub(crate) struct NoAttachments;

#[async_trait]
impl Attachments for NoAttachments {
    async fn read(&self, _id: AttachmentId) -> Option<Attachment> {
        None
    }
}

/// The attachments of some prompts, ready to be sent with them.
#[derive(Debug, Default)]
pub struct Loaded(HashMap<AttachmentId, Attachment>);

/// An image of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct NamedImage<'a> {
    /// The name of its file.
    pub name: &'a str,
    /// The picture.
    pub image: &'a Image,
}

impl Loaded {
    /// Reads the attachments of prompts, the latest prompt last. Of images only the latest are kept:
    /// those of earlier prompts are left out once there are too many bytes for a request.
    pub async fn load<'a>(
        prompts: impl DoubleEndedIterator<Item = &'a str> + Send,
        attachments: &dyn Attachments,
    ) -> Self {
        let mut wanted = Vec::new();
        for prompt in prompts.rev() {
            wanted.extend(prompt_references(prompt).map(|reference| reference.id));
        }
        let (mut loaded, mut left) = (HashMap::new(), MOST_IMAGES);
        for id in wanted {
            if loaded.contains_key(&id) {
                continue;
            }
            let Some(attachment) = attachments.read(id).await else { continue };
            if attachment.kind() == AttachmentKind::Image {
                let Some(rest) = left.checked_sub(attachment.len()) else { continue };
                left = rest;
            }
            loaded.insert(id, attachment);
        }
        Self(loaded)
    }

    /// The prompt with its texts after it, each in a block with its name. References stay where they
    /// are, so that the model knows what the prompt means by them.
    pub fn complete(&self, prompt: &str) -> String {
        let (mut complete, mut left) = (prompt.to_owned(), MOST_TEXT);
        for (name, attachment) in self.of(prompt) {
            let Attachment::Text(text) = attachment else { continue };
            let shown = &text[..text.floor_char_boundary(left)];
            left -= shown.len();
            let fence = fence_around(shown);
            let end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = write!(complete, "\n\n{name}:\n{fence}\n{shown}{end}{fence}");
            if shown.len() < text.len() {
                let _ = write!(complete, "\n(only {} of {} bytes)", shown.len(), text.len());
            }
        }
        complete
    }

    /// The images of a prompt, in order.
    pub fn images<'a>(&'a self, prompt: &'a str) -> impl Iterator<Item = NamedImage<'a>> {
        self.of(prompt).into_iter().filter_map(|(name, attachment)| match attachment {
            Attachment::Image(image) => Some(NamedImage { name, image }),
            Attachment::Text(_) => None,
        })
    }

    /// What came with a prompt, for people: `image/png, 12 kB, name` in a line for each.
    pub(crate) fn describe(&self, prompt: &str) -> Vec<String> {
        let describe = |(name, attachment): (&str, &Attachment)| {
            let media_type = match attachment {
                Attachment::Image(image) => image.media_type,
                Attachment::Text(_) => "text/plain",
            };
            let bytes = attachment.len();
            let size =
                if bytes < 1000 { format!("{bytes} B") } else { format!("{} kB", bytes / 1000) };
            format!("{media_type}, {size}, {name}")
        };
        self.of(prompt).into_iter().map(describe).collect()
    }

    /// The known attachments of a prompt in order, each once.
    fn of<'a>(&'a self, prompt: &'a str) -> Vec<(&'a str, &'a Attachment)> {
        let mut seen = Vec::new();
        let known = prompt_references(prompt).filter_map(|reference| {
            let attachment = self.0.get(&reference.id)?;
            let is_new = !seen.contains(&reference.id);
            seen.push(reference.id);
            is_new.then_some((reference.name, attachment))
        });
        known.collect()
    }
}

/// A fence that the text does not contain.
fn fence_around(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.saturating_add(1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with one image for each even number, and one text for each odd one.
    struct Numbered {
        image_bytes: usize,
        text: &'static str,
    }

    #[async_trait]
    impl Attachments for Numbered {
        async fn read(&self, wanted: AttachmentId) -> Option<Attachment> {
            let number = (0..8).find(|number| id(*number) == wanted)?;
            Some(if number.is_multiple_of(2) {
                let bytes = vec![0; self.image_bytes];
                Attachment::Image(Image { media_type: "image/png", bytes })
            } else {
                Attachment::Text(self.text.to_owned())
            })
        }
    }

    fn id(number: u32) -> AttachmentId {
        format!("file-00000000-0000-4000-8000-{number:012}").parse().expect("an id")
    }

    fn prompt(numbers: &[u32]) -> String {
        let write = |number: &u32| {
            let kind =
                if number.is_multiple_of(2) { AttachmentKind::Image } else { AttachmentKind::Text };
            wire::attachment_reference(kind, &format!("f{number}"), id(*number))
        };
        numbers.iter().map(write).collect::<Vec<_>>().join(" ")
    }

    fn names<'a>(loaded: &'a Loaded, prompt: &'a str) -> Vec<&'a str> {
        loaded.images(prompt).map(|image| image.name).collect()
    }

    #[test]
    fn bytes_say_what_they_are() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            ("plain ä".as_bytes(), Some("text")),
            (b"", Some("text")),
            (b"<svg onload='alert(1)'/>", Some("text")),
            (b"RIFF\x01\x02\x03\x04WAVE\xff", None),
            (b"%PDF-1.7\n\xff", None),
            (b"a\0b", None),
        ] {
            let found = Attachment::recognise(bytes.to_vec()).map(|attachment| match attachment {
                Attachment::Image(image) => image.media_type,
                Attachment::Text(_) => "text",
            });
            assert_eq!(found, kind, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn texts_stand_after_their_prompt_and_images_beside_it() {
        let source = Numbered { image_bytes: 12_345, text: "a ```` b" };
        let unknown = "[gone](attachment:file-00000000-0000-4000-8000-999999999999)";
        let prompt = format!("See {} {unknown}", prompt(&[0, 1, 1]));
        let loaded = Loaded::load([&*prompt].into_iter(), &source).await;
        assert_eq!(loaded.complete(&prompt), format!("{prompt}\n\nf1:\n`````\na ```` b\n`````"));
        assert_eq!(names(&loaded, &prompt), ["f0"]);
        assert_eq!(loaded.describe(&prompt), ["image/png, 12 kB, f0", "text/plain, 8 B, f1"]);
        assert_eq!(loaded.complete("nothing"), "nothing");
    }

    #[tokio::test]
    async fn only_the_latest_images_go_with_a_request() {
        let source = Numbered { image_bytes: MOST_IMAGES / 2, text: "" };
        let prompts = [prompt(&[0, 1]), prompt(&[2]), prompt(&[4, 2])];
        let loaded = Loaded::load(prompts.iter().map(String::as_str), &source).await;
        let sent = prompts.each_ref().map(|prompt| names(&loaded, prompt));
        assert_eq!(sent, [vec![], vec!["f2"], vec!["f4", "f2"]]);
        assert_eq!(loaded.complete(&prompts[0]).matches("f1:").count(), 1, "texts always do");
    }

    #[tokio::test]
    async fn long_texts_are_cut_and_that_is_said() {
        let long: &'static str = Box::leak("ä".repeat(MOST_TEXT).into_boxed_str());
        let source = Numbered { image_bytes: 0, text: long };
        let prompt = prompt(&[1, 3]);
        let loaded = Loaded::load([&*prompt].into_iter(), &source).await;
        let complete = loaded.complete(&prompt);
        assert!(complete.len() < MOST_TEXT + 500);
        let cut = format!("(only {MOST_TEXT} of {} bytes)", long.len());
        assert!(complete.contains(&cut) && complete.contains("(only 0 of"));
    }

    #[test]
    fn an_image_is_a_data_url() {
        let image = Image { media_type: "image/gif", bytes: b"GIF89a".to_vec() };
        assert_eq!(image.data_url(), "data:image/gif;base64,R0lGODlh");
    }
}
