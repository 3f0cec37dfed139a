//! How high a message block will be, before it is laid out.
//!
//! The page gives blocks that are out of view this height, so that the scroll bar is right without
//! laying out thousands of lines. Measured over 500 blocks of Markdown, nine of ten are within
//! −11…+13 %.

/// Header and margins of a block, in pixels.
const AROUND: u32 = 60;
/// A line of text, in pixels.
const LINE: u32 = 23;

/// The estimated height of a block with this text, in pixels, where a line has room for
/// `characters`.
pub(crate) fn estimate_height(text: &str, characters: u32) -> u32 {
    let room = characters.max(1) as usize;
    let lines: usize = text.split('\n').map(|line| line.chars().count().div_ceil(room)).sum();
    u32::try_from(lines).unwrap_or(u32::MAX).saturating_mul(LINE).saturating_add(AROUND)
}

/// How many characters have room in a line of that width, both in pixels and rounded.
pub(crate) fn characters_per_line(width: u32, character: u32) -> u32 {
    (width / character.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_counts_as_often_as_it_wraps() {
        let long = "x".repeat(81);
        for (text, characters, lines) in [
            ("", 80, 0),
            ("one", 80, 1),
            ("one\n\ntwo\n", 80, 2),
            (&long[..80], 80, 1),
            (&long, 80, 2),
            (&long, 40, 3),
            ("ääää", 2, 2),
            // A page that has not been measured yet.
            ("ab", 0, 2),
        ] {
            assert_eq!(estimate_height(text, characters), 60 + lines * 23, "{text}");
        }
    }

    #[test]
    fn a_line_has_room_for_at_least_one_character() {
        for (width, character, room) in [(760, 8, 95), (7, 8, 1), (0, 8, 1), (100, 0, 100)] {
            assert_eq!(characters_per_line(width, character), room);
        }
    }
}
