//! The zoom of a chart, in percent.

use super::layout::Point;

/// The minimum, the maximum, and the step of the wheel.
pub(crate) const MINIMUM: i32 = 20;
pub(crate) const MAXIMUM: i32 = 300;
const STEP: i32 = 10;
/// Charts open no smaller than this, at which labels have 11 px; the rest is reached by scrolling.
const READABLE: i32 = 85;

/// One step larger or smaller, rounded to a multiple of the step.
pub(crate) fn step(zoom: i32, larger: bool) -> i32 {
    let steps = if larger { zoom / STEP + 1 } else { (zoom - 1) / STEP };
    (steps * STEP).clamp(MINIMUM, MAXIMUM)
}

/// The zoom that shows the whole chart; never more than 100.
pub(crate) fn fit(chart: (i32, i32), view: (i32, i32)) -> i32 {
    let share = |chart: i32, view: i32| view.saturating_mul(100) / chart.max(1);
    share(chart.0, view.0).min(share(chart.1, view.1)).clamp(MINIMUM, 100)
}

/// The initial zoom of a chart: it fits its width, unless it would be too small to read.
pub(crate) fn first(chart_width: i32, view_width: i32) -> i32 {
    (view_width.saturating_mul(100) / chart_width.max(1)).clamp(READABLE, 100)
}

/// A finger on the screen: its id and position.
type Finger = (i32, Point);

/// Two fingers that move apart or together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pinch {
    fingers: [Option<Finger>; 2],
    /// Their initial distance, and the zoom at that time.
    start: (i32, i32),
}

impl Pinch {
    /// A finger touches the chart. A third one is ignored.
    pub(crate) fn press(&mut self, id: i32, at: Point, zoom: i32) {
        self.lift(id);
        if let Some(free) = self.fingers.iter_mut().find(|finger| finger.is_none()) {
            *free = Some((id, at));
        }
        if let Some((distance, _)) = self.span() {
            self.start = (distance, zoom);
        }
    }

    /// A finger moves. With two fingers, returns the new zoom and the point between them, which
    /// stays in place.
    pub(crate) fn follow(&mut self, id: i32, at: Point) -> Option<(i32, Point)> {
        let finger = self.fingers.iter_mut().flatten().find(|finger| finger.0 == id)?;
        finger.1 = at;
        let (distance, centre) = self.span()?;
        let (before, zoom) = self.start;
        let zoom = zoom.saturating_mul(distance) / before.max(1);
        Some((zoom.clamp(MINIMUM, MAXIMUM), centre))
    }

    /// A finger is lifted.
    pub(crate) fn lift(&mut self, id: i32) {
        for finger in &mut self.fingers {
            *finger = finger.filter(|finger| finger.0 != id);
        }
    }

    /// Whether two fingers touch the chart.
    pub(crate) fn is_active(&self) -> bool {
        self.span().is_some()
    }

    /// The distance of the two fingers, and the point between them.
    fn span(&self) -> Option<(i32, Point)> {
        let [Some((_, (x1, y1))), Some((_, (x2, y2)))] = self.fingers else { return None };
        let (dx, dy) = (x2 - x1, y2 - y1);
        let distance = dx.saturating_mul(dx).saturating_add(dy.saturating_mul(dy)).isqrt();
        Some((distance, (i32::midpoint(x1, x2), i32::midpoint(y1, y2))))
    }
}

/// How much further to scroll so that the point `at` pixels into the chart stays in place.
pub(crate) fn scroll(at: i32, before: i32, now: i32) -> i32 {
    at.saturating_mul(now - before) / before.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_to_tenths_and_end_at_the_limits() {
        for (zoom, larger, result) in [
            (100, true, 110),
            (100, false, 90),
            (73, true, 80),
            (73, false, 70),
            (295, true, 300),
            (300, true, 300),
            (25, false, 20),
            (20, false, 20),
        ] {
            assert_eq!(step(zoom, larger), result, "{zoom} {larger}");
        }
    }

    #[test]
    fn a_chart_fits_by_its_longer_side_and_is_never_blown_up() {
        for (chart, view, result) in [
            ((400, 300), (800, 600), 100),
            ((1600, 300), (800, 600), 50),
            ((400, 2400), (800, 600), 25),
            ((400, 24000), (800, 600), MINIMUM),
            ((0, 0), (800, 600), 100),
        ] {
            assert_eq!(fit(chart, view), result, "{chart:?}");
        }
    }

    #[test]
    fn a_chart_opens_as_wide_as_its_view_and_stays_readable() {
        for (chart, view, result) in [(400, 800, 100), (900, 800, 88), (1000, 800, 85), (0, 0, 85)]
        {
            assert_eq!(first(chart, view), result, "{chart}");
        }
    }

    #[test]
    fn fingers_apart_enlarge_within_the_limits() {
        let mut pinch = Pinch::default();
        pinch.press(7, (100, 100), 100);
        assert_eq!(pinch.follow(7, (110, 100)), None, "one finger scrolls");
        assert!(!pinch.is_active());
        pinch.press(8, (310, 100), 100);
        assert!(pinch.is_active());
        assert_eq!(pinch.follow(8, (410, 100)), Some((150, (260, 100))));
        assert_eq!(pinch.follow(7, (310, 100)), Some((50, (360, 100))));
        assert_eq!(pinch.follow(7, (410, 100)), Some((MINIMUM, (410, 100))));
        assert_eq!(pinch.follow(7, (-2000, 100)), Some((MAXIMUM, (-795, 100))));
        pinch.press(9, (0, 0), 100);
        assert_eq!(pinch.follow(9, (50, 50)), None, "a third finger is ignored");
        pinch.lift(8);
        assert_eq!(pinch.follow(7, (0, 0)), None);
        pinch.press(8, (0, 200), 60);
        assert_eq!(pinch.follow(8, (0, 300)), Some((90, (0, 150))), "from the zoom of now");
    }

    #[test]
    fn the_point_under_the_pointer_stays() {
        assert_eq!(scroll(200, 100, 110), 20);
        assert_eq!(scroll(220, 110, 100), -20);
        assert_eq!(scroll(0, 100, 300), 0);
    }
}
