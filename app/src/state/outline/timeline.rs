//! Where the time bars of a job's works begin and end.

use crate::state::job::{Millis, Span};

/// The length of the whole line.
pub(super) const WHOLE: i64 = 1000;
/// A gap in which no work runs is shortened if it is longer than this part of the time …
const LONG_GAP: i64 = 5;
/// … to this part of it.
const SHORT_GAP: i64 = 50;

/// The time of a job, without the long gaps in which nothing happened.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    start: Millis,
    /// What is left of the time.
    length: Millis,
    /// The ends of the gaps that were shortened, and by how much.
    cuts: Vec<(Millis, Millis)>,
    now: Millis,
}

impl Timeline {
    /// The time of a job whose works ran at those times. What has not ended goes on until `now`.
    pub(super) fn of(job: Span, mut works: Vec<Span>, now: Millis) -> Self {
        works.sort_unstable_by_key(|work| work.start);
        let starts = works.iter().find_map(|work| work.start);
        let start = job.start.or(starts).unwrap_or(now);
        let end = job.end.unwrap_or(now).max(start);
        let total = end - start;
        let mut line = Self { start, length: total, cuts: Vec::new(), now };
        let mut busy_until = start;
        for work in works {
            let Some(begins) = work.start else { continue };
            line.cut(busy_until, begins.min(end), total);
            busy_until = busy_until.max(work.end.unwrap_or(now));
        }
        line.cut(busy_until, end, total);
        line
    }

    /// Shortens the gap between two times, if it is long.
    fn cut(&mut self, from: Millis, to: Millis, total: Millis) {
        let gap = to - from;
        if gap > total / LONG_GAP && gap > 0 {
            let removed = gap - total / SHORT_GAP;
            self.cuts.push((to, removed));
            self.length -= removed;
        }
    }

    /// The place of a bar on the line; `None` if it has not begun.
    pub(super) fn bar(&self, span: Span) -> Option<(u32, u32)> {
        let start = self.place(span.start?);
        Some((start, self.place(span.end.unwrap_or(self.now)).max(start)))
    }

    fn place(&self, time: Millis) -> u32 {
        let cut: Millis =
            self.cuts.iter().filter(|(end, _)| *end <= time).map(|(_, removed)| removed).sum();
        let since = (time - self.start - cut).clamp(0, self.length);
        let place = since * WHOLE / self.length.max(1);
        u32::try_from(place).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: Millis, end: impl Into<Option<Millis>>) -> Span {
        Span { start: Some(start), end: end.into() }
    }

    fn bars(job: Span, works: &[Span], now: Millis) -> Vec<(u32, u32)> {
        let line = Timeline::of(job, works.to_vec(), now);
        works.iter().filter_map(|work| line.bar(*work)).collect()
    }

    #[test]
    fn bars_divide_the_time_of_the_job() {
        for (job, works, now, places) in [
            (
                span(100, 200),
                &[span(100, 150), span(150, 200)][..],
                900,
                &[(0, 500), (500, 1000)][..],
            ),
            // It still runs.
            (span(100, None), &[span(100, 150), span(150, None)], 300, &[(0, 250), (250, 1000)]),
            // What starts at once stays at its place.
            (
                span(0, 100),
                &[span(0, 100), span(0, 20), span(10, 90)],
                0,
                &[(0, 1000), (0, 200), (100, 900)],
            ),
            // A gap of 20 % stays.
            (span(0, 100), &[span(0, 40), span(60, 100)], 0, &[(0, 400), (600, 1000)]),
            // Clocks differ: nothing sticks out.
            (span(100, 200), &[span(90, 210)], 0, &[(0, 1000)]),
            (span(100, 100), &[span(100, 100)], 0, &[(0, 0)]),
            (Span::default(), &[Span::default(), span(50, 100)], 110, &[(0, 833)]),
            (Span::default(), &[], 0, &[]),
        ] {
            assert_eq!(bars(job, works, now), places, "{works:?}");
        }
    }

    #[test]
    fn long_gaps_collapse_wherever_they_are() {
        // Between works: 100 + 20 + 80 are left.
        let works = [span(0, 100), span(920, 1000)];
        assert_eq!(bars(span(0, 1000), &works, 0), [(0, 500), (600, 1000)]);
        // Before the first and behind the last one: 20 + 60 + 20.
        let works = [span(400, 460)];
        assert_eq!(bars(span(0, 1000), &works, 0), [(200, 800)]);
        // While another one runs there is no gap.
        let works = [span(0, 1000), span(0, 100), span(900, 1000)];
        assert_eq!(bars(span(0, 1000), &works, 0), [(0, 1000), (0, 100), (900, 1000)]);
    }
}
