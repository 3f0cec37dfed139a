//! How far a reader has come, in a form that outlives the log: clients send it back, and the journal
//! keeps it.

use std::fmt;
use std::str::FromStr;

/// A place in a stream of facts, and in the blocks that are open there.
///
/// As text: `57`, or `57.55-1200` for a reader that has read 1200 bytes of the block that fact 55
/// opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Number of the last fact that was read; 0 before the first one.
    pub seq: u64,
    /// The blocks that were read in part: number of the fact that opened each, and bytes read.
    pub inside: Vec<(u64, u64)>,
}

impl Position {
    /// Whether it is an earlier place in the same stream.
    pub fn is_before(&self, other: &Self) -> bool {
        let has_less = |(start, bytes): &(u64, u64)| self.read_of(*start) < *bytes;
        self.seq < other.seq || self.seq == other.seq && other.inside.iter().any(has_less)
    }

    /// How many bytes were read of the open block that this fact opened.
    pub fn read_of(&self, start: u64) -> u64 {
        let inside = self.inside.iter().find(|(block, _)| *block == start);
        inside.map_or(0, |(_, bytes)| *bytes)
    }
}

/// Blocks are nested a few deep at most.
const MAX_INSIDE: usize = 64;

/// The text is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a position: use one that a live call has answered")]
pub struct ParsePositionError;

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq)?;
        for (start, read) in &self.inside {
            write!(f, ".{start}-{read}")?;
        }
        Ok(())
    }
}

impl FromStr for Position {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, ParsePositionError> {
        let mut parts = text.split('.');
        let seq = parts.next().and_then(number).ok_or(ParsePositionError)?;
        let mut inside = Vec::new();
        for part in parts {
            let block = part.split_once('-').and_then(|(start, read)| {
                Some((number(start)?, number(read)?)).filter(|(start, _)| (1..=seq).contains(start))
            });
            inside.push(block.ok_or(ParsePositionError)?);
            if inside.len() > MAX_INSIDE {
                return Err(ParsePositionError);
            }
        }
        Ok(Self { seq, inside })
    }
}

/// Digits only: `parse` would accept a plus sign as well.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        for (text, seq, inside) in [
            ("0", 0, vec![]),
            ("57", 57, vec![]),
            ("57.55-1200", 57, vec![(55, 1200)]),
            ("57.57-0.3-18446744073709551615", 57, vec![(57, 0), (3, u64::MAX)]),
        ] {
            let position = Position { seq, inside };
            assert_eq!(text.parse(), Ok(position.clone()), "{text}");
            assert_eq!(position.to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let too_deep = format!("9{}", ".1-1".repeat(MAX_INSIDE + 1));
        for text in [
            "",
            " ",
            "-1",
            "+1",
            "1.",
            ".1-1",
            "1.1",
            "1.1-",
            "1.-1",
            "1.1-1.",
            "1.2-1",
            "1.0-1",
            "a",
            "x",
            "1 ",
            "1.2",
            "1.2-",
            "1.1-3.x",
            "1~2",
            "99999999999999999999",
            &too_deep,
        ] {
            assert_eq!(text.parse::<Position>(), Err(ParsePositionError), "{text}");
        }
    }
}
