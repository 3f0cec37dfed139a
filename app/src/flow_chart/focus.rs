//! Moves the focus between nodes with the arrow keys.

use super::layout::{Place, Point};

/// The direction of a key: right and down are positive.
fn direction(key: &str) -> Option<Point> {
    Some(match key {
        "ArrowLeft" => (-1, 0),
        "ArrowRight" => (1, 0),
        "ArrowUp" => (0, -1),
        "ArrowDown" => (0, 1),
        _ => return None,
    })
}

/// The nearest of `nodes` to `from` in the direction of `key`.
pub(crate) fn neighbour<T>(
    from: Place,
    key: &str,
    nodes: impl Iterator<Item = (T, Place)>,
) -> Option<T> {
    let (right, down) = direction(key)?;
    nodes
        .filter_map(|(id, place)| {
            let (dx, dy) = (place.x - from.x, place.y - from.y);
            let along = dx * right + dy * down;
            // A node in another row counts as above or below rather than beside.
            let is_ahead = along > 0 && (down != 0 || 2 * dy.abs() < along);
            // Rows are closer together than columns.
            is_ahead.then_some((dx.abs() + 4 * dy.abs(), id))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_the_nearest_node_ahead() {
        let at = |x, y| Place { x, y, width: 100, height: 40 };
        let nodes = [at(200, 0), at(100, 80), at(300, 80), at(100, 160), at(200, 240)];
        let places = || nodes.iter().copied().enumerate();
        for (from, key, to) in [
            (0, "ArrowDown", Some(1)),
            (0, "ArrowUp", None),
            (1, "ArrowRight", Some(2)),
            (2, "ArrowLeft", Some(1)),
            (1, "ArrowDown", Some(3)),
            (2, "ArrowDown", Some(3)),
            (3, "ArrowDown", Some(4)),
            (4, "ArrowUp", Some(3)),
            (4, "ArrowLeft", None),
            (0, "Enter", None),
        ] {
            assert_eq!(neighbour(nodes[from], key, places()), to, "{from} {key}");
        }
    }
}
