//! Memory that is not needed any more.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// Gives back what was reserved for more than there is now.
pub fn shrink<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.capacity() > 4 * map.len() + 64 {
        map.shrink_to_fit();
    }
}
