//! Entries, right and wrong.

#[test]
fn print() {
    println!("{}", super::schema());
}
