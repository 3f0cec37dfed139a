//! Times as the API writes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// ISO 8601 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`. A time out of the calendar's
/// range becomes the beginning of the epoch.
pub fn iso_8601(time: SystemTime) -> String {
    format!("{:.3}", Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// The same of a time in microseconds since the Unix epoch.
pub fn iso_8601_of_micros(micros: u64) -> String {
    iso_8601(UNIX_EPOCH + Duration::from_micros(micros))
}

/// The time that such a text names, in microseconds since the Unix epoch.
pub fn micros_of_iso_8601(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (86_399_999, "1970-01-01T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_001, "2000-03-01T00:00:00.001Z"),
            (1_704_067_199_000, "2023-12-31T23:59:59.000Z"),
            (1_709_210_096_789, "2024-02-29T12:34:56.789Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_8601(UNIX_EPOCH + Duration::from_millis(milliseconds)), text);
            assert_eq!(micros_of_iso_8601(text), Some(1_000 * milliseconds));
        }
    }
}
