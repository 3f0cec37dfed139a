//! The output of a command: its beginning and its end, and what is shown while it runs.

use std::collections::VecDeque;

use crate::tool::ToolOutput;

const HEAD: usize = 16 * 1024;
const TAIL: usize = 32 * 1024;
/// Limit for the output shown while a command runs, in bytes.
const MAX_SHOWN: usize = 64 * 1024;

/// Keeps a bounded part of an output of any length.
#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Capture {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = HEAD - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    pub(super) fn text(mut self) -> String {
        if self.left_out == 0 {
            // A character may span the two.
            self.head.extend(self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail: Vec<u8> =
            self.tail.into_iter().skip_while(|byte| (0x80..0xc0).contains(byte)).collect();
        let tail = String::from_utf8_lossy(&tail);
        format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out)
    }
}

/// Reports output as it arrives, up to a limit and in whole characters.
pub(super) struct Stream<'a> {
    output: &'a ToolOutput,
    shown: usize,
    rest: Vec<u8>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(output: &'a ToolOutput) -> Self {
        Self { output, shown: 0, rest: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.shown >= MAX_SHOWN {
            return;
        }
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            // The next bytes may complete the character.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let ready: Vec<u8> = self.rest.drain(..whole).collect();
        if ready.is_empty() {
            return;
        }
        self.shown += ready.len();
        self.output.emit(&String::from_utf8_lossy(&ready));
        if self.shown >= MAX_SHOWN {
            self.output.emit("\n[… more output is not shown …]\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    fn captured(parts: &[&[u8]]) -> String {
        let mut capture = Capture::default();
        for part in parts {
            capture.push(part);
        }
        capture.text()
    }

    #[test]
    fn short_output_is_kept_whole() {
        assert_eq!(captured(&[b"one ", b"two"]), "one two");
        let long = "ü".repeat(usize::midpoint(HEAD, TAIL));
        assert_eq!(captured(&[b"", long.as_bytes()]), long);
        let odd = format!("x{}", "ü".repeat(HEAD));
        assert_eq!(captured(&[odd.as_bytes()]), odd);
    }

    #[test]
    fn of_long_output_the_ends_are_kept() {
        let middle = vec![b'.'; 1_000_000];
        let text = captured(&[b"first", &middle, "last ü".as_bytes()]);
        assert!(text.starts_with("first."));
        assert!(text.ends_with(".last ü"));
        assert!(text.contains("\n[… "));
        assert!(text.len() < HEAD + TAIL + 100);
    }

    #[test]
    fn a_stream_is_cut_between_characters_and_ends_at_its_limit() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&shown);
        let output = ToolOutput::new(move |delta| seen.lock().push(delta.to_owned()));
        let mut stream = Stream::new(&output);
        stream.push(&[b'a', 0xc3]);
        stream.push(&[0xbc, b'b']);
        stream.push(&[0xff]);
        assert_eq!(*shown.lock(), ["a", "üb", "\u{fffd}"]);
        stream.push(&vec![b'.'; MAX_SHOWN]);
        stream.push(b"unseen");
        assert_eq!(
            shown.lock().last().map(String::as_str),
            Some("\n[… more output is not shown …]\n")
        );
    }
}
