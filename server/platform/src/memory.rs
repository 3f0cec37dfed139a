//! Releases memory that is no longer needed.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// Shrinks a map whose capacity far exceeds its length.
pub fn shrink<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.capacity() > 4 * map.len() + 64 {
        map.shrink_to_fit();
    }
}
