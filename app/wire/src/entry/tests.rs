//! Entries, right and wrong.
