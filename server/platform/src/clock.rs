//! The time of day, as the API writes it.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// ISO 8601 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`.
pub fn iso_8601(time: SystemTime) -> String {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (since_epoch.as_secs(), since_epoch.subsec_millis());
    let (year, month, day) = civil_date(seconds / DAY);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// Year, month and day of a day that is counted from 1970-01-01.
///
/// Years are taken to begin in March: so the leap day is the last of its year, and the lengths of
/// months follow one line (153 days in five months).
fn civil_date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    let days = days + FROM_MARCH_OF_YEAR_0;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = civil_date(0);
        for days in 1..200_000 {
            let (year, month, day) = civil_date(days);
            let follows = (year, month, day) == (before.0, before.1, before.2 + 1)
                || (year, month, day) == (before.0, before.1 + 1, 1) && before.2 >= 28
                || (year, month, day) == (before.0 + 1, 1, 1) && (before.1, before.2) == (12, 31);
            assert!(follows && day <= 31, "{before:?} {year} {month} {day}");
            before = (year, month, day);
        }
    }
}
