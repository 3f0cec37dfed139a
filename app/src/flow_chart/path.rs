//! Converts points to an SVG `path`. Integers only: formatting a float takes 16 kB of code.

use std::fmt::Write;

use super::layout::Point;

/// Radius of the corners of arrows.
const RADIUS: i32 = 10;
/// The length of an arrow's tip, and half its width.
const TIP: (i32, i32) = (7, 4);

/// A line with rounded corners along `points`, which differ in one coordinate each.
pub(crate) fn line(points: &[Point]) -> String {
    let mut path = String::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| points.get(before));
        // Writing to a string cannot fail.
        let _ = match (before, points.get(index + 1)) {
            (None, _) => write!(path, "M{x} {y}"),
            (Some(_), None) => write!(path, "L{x} {y}"),
            (Some(&before), Some(&after)) => {
                let (x1, y1) = towards((x, y), before);
                let (x2, y2) = towards((x, y), after);
                write!(path, "L{x1} {y1}Q{x} {y} {x2} {y2}")
            }
        };
    }
    path
}

/// The point in the direction of `to` where the corner at `from` begins.
fn towards(from: Point, to: Point) -> Point {
    // The corner at the other end gets half of a short line.
    let part = |from: i32, to: i32| ((to - from) / 2).clamp(-RADIUS, RADIUS);
    (from.0 + part(from.0, to.0), from.1 + part(from.1, to.1))
}

/// The tip of an arrow at the end of `points`.
pub(crate) fn tip(points: &[Point]) -> String {
    let [.., (x1, y1), (x, y)] = *points else { return String::new() };
    let (length, half) = TIP;
    let (dx, dy) = ((x - x1).signum(), (y - y1).signum());
    // Back along the line, then to both sides.
    let (bx, by) = (x - dx * length, y - dy * length);
    let (sx, sy) = (dy * half, dx * half);
    format!("M{x} {y}L{} {}L{} {}Z", bx + sx, by + sy, bx - sx, by - sy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_round_and_never_overlap() {
        assert_eq!(line(&[(0, 0), (0, 50)]), "M0 0L0 50");
        assert_eq!(line(&[(0, 0), (40, 0), (40, 60)]), "M0 0L30 0Q40 0 40 10L40 60");
        assert_eq!(
            line(&[(0, 0), (-40, 0), (-40, 8), (0, 8)]),
            "M0 0L-30 0Q-40 0 -40 4L-40 4Q-40 8 -30 8L0 8"
        );
    }

    #[test]
    fn the_tip_points_where_the_arrow_goes() {
        assert_eq!(tip(&[(0, 0), (0, 50)]), "M0 50L4 43L-4 43Z");
        assert_eq!(tip(&[(0, 0), (-50, 0)]), "M-50 0L-43 -4L-43 4Z");
        assert_eq!(tip(&[(0, 0)]), "");
    }
}
