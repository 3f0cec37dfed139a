//! How long something has been running.

use crate::state::duration::clock;

/// Milliseconds of the browser's clock.
pub(crate) type Millis = i64;

/// Start and end of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: Option<Millis>,
    pub(crate) end: Option<Millis>,
}

impl Span {
    /// The duration up to its end or up to now, as `0:07` or `1:02:03`. `now` is called only if it
    /// has not ended.
    pub(crate) fn elapsed(self, now: impl FnOnce() -> Millis) -> Option<String> {
        let start = self.start?;
        Some(clock(self.end.unwrap_or_else(now) - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_measured_by_now() {
        let never = || panic!("it has ended");
        assert_eq!(Span::default().elapsed(|| 5), None);
        for (end, now, text) in [
            (Some(1_000), 0, "0:00"),
            (Some(8_999), 0, "0:07"),
            (None, 62_000, "1:01"),
            (None, 3_724_000, "1:02:03"),
            (None, 86_401_000, "24:00:00"),
            // The clock was set back.
            (None, 500, "0:00"),
        ] {
            let span = Span { start: Some(1_000), end };
            let elapsed = if end.is_some() { span.elapsed(never) } else { span.elapsed(|| now) };
            assert_eq!(elapsed.as_deref(), Some(text));
        }
    }
}
