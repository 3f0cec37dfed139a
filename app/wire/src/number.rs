//! Numbers with a fraction as texts, for JSON and for people. Used by `json`, budgets and the pages.
//!
//! The standard library reads and writes them by tables of powers and numbers of any length: that was
//! 25 kB of the browser's code, 10 of which can't be compressed.

/// The exponents of ten that are read exactly; no figure of ours comes near them.
const EXACT: i32 = 38;

/// Reads a number as JSON spells it, or as people type it.
///
/// It is the nearest one that there is, unless it has an exponent of ten beyond 38 or more than 19
/// digits: then the last bits may differ.
pub fn parse_number(text: &str) -> Option<f64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (digits, exponent) = match digits.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse().ok()?),
        None => (digits, 0),
    };
    let number = scale(digits, exponent)?;
    Some(if is_negative { -number } else { number })
}

/// The number that is written with these digits, perhaps with a point among them.
fn scale(digits: &str, mut exponent: i32) -> Option<f64> {
    let (mut number, mut is_fraction, mut is_empty) = (0_u64, false, true);
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                is_empty = false;
                let next =
                    number.checked_mul(10).and_then(|ten| ten.checked_add((byte - b'0').into()));
                // Digits that have no place are zeros.
                let is_kept = next.is_some();
                number = next.unwrap_or(number);
                let step = i32::from(!is_kept) - i32::from(is_fraction);
                exponent = exponent.saturating_add(step);
            }
            b'.' if !is_fraction => is_fraction = true,
            _ => return None,
        }
    }
    if is_empty {
        return None;
    }
    // Beyond these, it is nothing or has no end.
    let exponent = exponent.clamp(-400, 400);
    let exact = exponent.clamp(-EXACT, EXACT);
    let power = 10_u128.pow(exact.unsigned_abs());
    let (above, below) = if exact < 0 {
        (Some(number.into()), power)
    } else {
        (power.checked_mul(number.into()), 1)
    };
    #[expect(clippy::cast_precision_loss, reason = "not exact, as documented")]
    let near = above.map_or_else(|| power as f64 * number as f64, |above| divide(above, below));
    let rest = exponent - exact;
    Some(if rest < 0 { near / 10_f64.powi(-rest) } else { near * 10_f64.powi(rest) })
}

/// The fraction as the nearest number, for divisors below 2^127.
fn divide(mut above: u128, mut below: u128) -> f64 {
    if above == 0 {
        return 0.0;
    }
    let mut exponent = 0_i32;
    while above < below {
        above <<= 1;
        exponent -= 1;
    }
    while above >> 1 >= below {
        below <<= 1;
        exponent += 1;
    }
    // All bits of the number, and one more to round it by.
    let mut bits = 0_u64;
    for _ in 0..54 {
        let is_set = above >= below;
        bits = bits << 1 | u64::from(is_set);
        above = (above - if is_set { below } else { 0 }) << 1;
    }
    // What follows them decides only whether they are just half way between two numbers.
    bits = bits << 1 | u64::from(above > 0);
    #[expect(clippy::cast_precision_loss, reason = "rounds to the nearest one")]
    let mantissa = bits as f64;
    mantissa * 2_f64.powi(exponent - 54)
}

/// Writes a number with as few digits as it takes to read the same again. Of one that needs more than
/// 15, the last may differ. A whole number above 2^53 has an exponent.
#[expect(clippy::float_cmp, reason = "looks for the digits that are the number itself")]
pub fn write_number(number: f64) -> String {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let (mut size, mut exponent) = (number.abs().min(f64::MAX), 0);
    while size > LARGEST {
        size /= 10.0;
        exponent += 1;
    }
    let (mut decimals, mut power) = (0, 1.0);
    let digits = loop {
        let digits = (size * power).round();
        if digits / power == size || digits >= LARGEST || decimals == 300 {
            break digits;
        }
        decimals += 1;
        power *= 10.0;
    };
    #[expect(clippy::cast_possible_truncation, reason = "whole, and little more than the largest")]
    #[expect(clippy::cast_sign_loss, reason = "its sign was taken away")]
    let mut text = format!("{:0>1$}", digits as u64, decimals + 1);
    if decimals > 0 {
        text.insert(text.len() - decimals, '.');
    }
    if exponent > 0 {
        text.push('e');
        text.push_str(&exponent.to_string());
    }
    if number < 0.0 {
        text.insert(0, '-');
    }
    text
}

/// Writes a number with at most two decimals.
pub fn write_rounded(number: f64) -> String {
    write_number((number * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_the_nearest_ones(digits: u64, exponent in -38_i32..=18) {
            for digits in [digits, digits >> 12, digits >> 40] {
                let text = format!("{digits}e{exponent}");
                prop_assert_eq!(parse_number(&text), text.parse().ok(), "{}", text);
            }
        }

        #[test]
        fn numbers_as_the_server_writes_them_are_the_same(number in -1e12..1e12) {
            for number in [number, number / 1e12, number / 1e20] {
                let text = serde_json::to_string(&number).expect("JSON");
                prop_assert_eq!(parse_number(&text), Some(number), "{}", text);
            }
        }

        #[test]
        fn what_is_written_is_read(number in -1e12..1e12, small in -1e6..1e6_f64, decimals in 0..9_i32) {
            let read: f64 = write_number(number).parse().expect("a number");
            prop_assert!((read / number - 1.0).abs() < 1e-15, "{} {}", number, read);
            let power = 10_f64.powi(decimals);
            let few: f64 = (small * power).round() / power + 0.0;
            prop_assert_eq!(write_number(few), few.to_string());
        }

        #[test]
        fn all_others_are_as_good_as_the_same(bits: u64) {
            let number = f64::from_bits(bits);
            if number.is_normal() {
                let text = serde_json::to_string(&number).expect("JSON");
                let read = parse_number(&text).expect("a number");
                prop_assert!((read / number - 1.0).abs() < 1e-13, "{} {}", text, read);
                let read: f64 = write_number(number).parse().expect("a number");
                let is_tiny = number.abs() < 1e-280;
                prop_assert!(is_tiny || (read / number - 1.0).abs() < 1e-13, "{} {}", text, read);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[-+.e0-9]{0,24}") {
            if let Some(read) = parse_number(&text) {
                let expected: f64 = text.parse().expect("a number");
                let is_same = read.total_cmp(&expected).is_eq();
                prop_assert!(is_same || (read / expected - 1.0).abs() < 1e-13, "{}", text);
            }
        }
    }

    #[test]
    fn numbers_are_written_for_people() {
        for (number, text) in [
            (0.0, "0"),
            (-0.5, "-0.5"),
            (12.0, "12"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-7, "0.0000001"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (1e18, "1000000000000000e3"),
        ] {
            assert_eq!(write_number(number), text);
        }
        for (number, text) in [(0.504, "0.5"), (7.99, "7.99"), (1.996, "2"), (123.456, "123.46")] {
            assert_eq!(write_rounded(number), text);
        }
    }

    #[test]
    fn what_people_type_is_read() {
        for (text, number) in [
            ("0", 0.0),
            ("-0.5", -0.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1E+2", 100.0),
            ("0.1", 0.1),
            ("0.30000000000000004", 0.1 + 0.2),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("123456789012345678901234567890", 1.234_567_890_123_456_8e29),
            ("1e999", f64::INFINITY),
            ("1e-999", 0.0),
        ] {
            assert_eq!(parse_number(text), Some(number), "{text}");
        }
        for text in ["", ".", "-", "e1", "1e", "1.2.3", "--1", "1e1.5", "inf", "NaN", "0x1", "1 "] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }
}
