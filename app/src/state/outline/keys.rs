//! Walks the outline with the keyboard, as in every tree.

use super::Row;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Goes to the row with this index.
    To(usize),
    /// Opens or folds the row that has the focus.
    Toggle,
}

/// What a key does while the row with the index `current` has the focus.
pub(crate) fn neighbour(rows: &[Row], current: usize, key: &str) -> Option<Move> {
    let row = rows.get(current)?;
    let to = match key {
        "ArrowDown" => current + 1,
        "ArrowUp" => current.checked_sub(1)?,
        "Home" => 0,
        "End" => rows.len() - 1,
        "ArrowRight" if row.folded => return Some(Move::Toggle),
        "ArrowRight" => {
            rows.get(current + 1).filter(|next| next.depth > row.depth).map(|_| current + 1)?
        }
        "ArrowLeft" if row.has_parts() && !row.folded => return Some(Move::Toggle),
        "ArrowLeft" => rows[..current].iter().rposition(|other| other.depth < row.depth)?,
        _ => return None,
    };
    (to < rows.len() && to != current).then_some(Move::To(to))
}
