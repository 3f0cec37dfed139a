//! How long something took, and how long ago it was, in the fewest words. Whole numbers only.

/// Milliseconds in a second.
const SECOND: i64 = 1000;

/// What a running clock shows: `0:07`, or `1:02:03`.
pub(crate) fn clock(millis: i64) -> String {
    let seconds = seconds(millis);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// How long something took that has ended: `3 s`, `1:04`. What took less than a second is not worth
/// a word.
pub(crate) fn took(millis: i64) -> Option<String> {
    match seconds(millis) {
        0 => None,
        seconds @ 1..60 => Some(format!("{seconds} s")),
        _ => Some(clock(millis)),
    }
}

/// How long something has been so, in its largest unit: `3 s`, `2 min`, `2 h`, `3 d`.
pub(crate) fn age(millis: i64) -> String {
    let (count, unit) = largest(millis);
    format!("{count} {}", ["s", "min", "h", "d"][unit])
}

/// The same in full, for screen readers: `1 minute`, `2 hours`.
pub(crate) fn spoken(millis: i64) -> String {
    let (count, unit) = largest(millis);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {}{plural}", ["second", "minute", "hour", "day"][unit])
}

/// The number of the largest unit that fits, and which one that is.
fn largest(millis: i64) -> (i64, usize) {
    let seconds = seconds(millis);
    match seconds {
        ..60 => (seconds, 0),
        60..3600 => (seconds / 60, 1),
        3600..86_400 => (seconds / 3600, 2),
        _ => (seconds / 86_400, 3),
    }
}

/// Clocks are set back: what ends before it starts took no time.
fn seconds(millis: i64) -> i64 {
    millis.max(0) / SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_duration_has_a_wording_for_each_place() {
        for (seconds, shows, took_text, age_text, spoken_text) in [
            (-5, "0:00", None, "0 s", "0 seconds"),
            (0, "0:00", None, "0 s", "0 seconds"),
            (1, "0:01", Some("1 s"), "1 s", "1 second"),
            (59, "0:59", Some("59 s"), "59 s", "59 seconds"),
            (60, "1:00", Some("1:00"), "1 min", "1 minute"),
            (64, "1:04", Some("1:04"), "1 min", "1 minute"),
            (150, "2:30", Some("2:30"), "2 min", "2 minutes"),
            (3_599, "59:59", Some("59:59"), "59 min", "59 minutes"),
            (7_384, "2:03:04", Some("2:03:04"), "2 h", "2 hours"),
            (86_400, "24:00:00", Some("24:00:00"), "1 d", "1 day"),
            (300_000, "83:20:00", Some("83:20:00"), "3 d", "3 days"),
        ] {
            let millis = seconds * SECOND;
            assert_eq!(clock(millis), shows);
            assert_eq!(took(millis).as_deref(), took_text);
            assert_eq!(age(millis), age_text);
            assert_eq!(spoken(millis), spoken_text);
        }
    }

    #[test]
    fn a_second_counts_when_it_is_over() {
        assert_eq!(took(999), None);
        assert_eq!(took(1_999).as_deref(), Some("1 s"));
    }
}
