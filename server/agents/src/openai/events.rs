//! Server-sent events, parsed from bytes that may be split anywhere.
//!
//! Only what chat streams use: the data and the name of an event. Event ids and reconnection are
//! meaningless in the response to a POST.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Empty for most events.
    pub(super) name: String,
    pub(super) data: String,
}

/// Turns bytes into events. Its buffer grows with its input, which the caller has to limit.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The incomplete last line. Bytes, because a character may be split.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_return: bool,
}

impl Decoder {
    /// Returns the events that these bytes complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    /// The last event if its empty line is missing. Browsers drop it, but some servers end this
    /// way.
    pub(super) fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches('\u{feff}');
        // Comments have an empty field name.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = Decoder::default();
        let mut events: Vec<_> = pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
        events.extend(decoder.finish());
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn data(text: &str) -> Vec<String> {
        decode(&[text.as_bytes()]).into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn lines_end_in_three_ways() {
        for text in
            ["data: a\n\ndata:b\n\n", "data: a\r\n\r\ndata:b\r\n\r\n", "data: a\r\rdata:b\r\r"]
        {
            assert_eq!(data(text), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn comments_and_other_fields_are_nothing() {
        let text =
            "\u{feff}: hello\n\nid: 1\nretry: 5\n\n:\ndata: a\n: in between\ndata: b\n\n\n\n";
        assert_eq!(data(text), ["a\nb"]);
        assert_eq!(decode(&[b"event: error\ndata: x\n\n"]), [("error".to_owned(), "x".to_owned())]);
    }

    #[test]
    fn the_last_event_may_lack_its_end() {
        assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
        assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
        assert_eq!(data("data: a\n\n: bye"), ["a"]);
        assert_eq!(data(""), Vec::<String>::new());
    }

    #[test]
    fn broken_characters_are_replaced() {
        assert_eq!(decode(&[b"data: \xff\n\n"]), [(String::new(), "\u{fffd}".to_owned())]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

        #[test]
        fn it_does_not_matter_where_bytes_are_split(
            lines in proptest::collection::vec("(data: ?|event:|:|)[aé世🦀 ]{0,4}(\n|\r\n|\r|\n\n)", 0..12),
            size in 1..7_usize,
        ) {
            let text = lines.concat();
            let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(decode(&pieces), decode(&[text.as_bytes()]));
        }
    }
}
