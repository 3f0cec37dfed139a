use proptest::prelude::*;

use super::*;

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

fn error(old: &str, diff: &str) -> String {
    apply(old, diff).expect_err("does not apply").to_string()
}

#[test]
fn hunks_apply_where_they_say() {
    let diff = "\
--- a/file
+++ b/file
@@ -1,2 +1,3 @@
 one
+one and a half
 two
@@ -5,2 +6,1 @@ somewhere
 five
-six
";
    assert_eq!(apply(OLD, diff).as_deref(), Ok("one\none and a half\ntwo\nthree\nfour\nfive\n"));
}

#[test]
fn hunks_apply_elsewhere_if_it_is_the_only_place() {
    let diff = "@@ -1,2 +1,2 @@\n four\n-five\n+FIVE\n@@ -2,1 +2,1 @@\n-six\n+SIX\n";
    assert_eq!(apply(OLD, diff).as_deref(), Ok("one\ntwo\nthree\nfour\nFIVE\nSIX\n"));
    let nowhere = "@@\n-three\n+THREE\n";
    assert_eq!(apply(OLD, nowhere).as_deref(), Ok("one\ntwo\nTHREE\nfour\nfive\nsix\n"));
}

#[test]
fn of_equal_places_the_named_one_is_meant() {
    let old = "a\nx\nb\nx\nc\nx\n";
    assert_eq!(apply(old, "@@ -4 +4 @@\n-x\n+y\n").as_deref(), Ok("a\nx\nb\ny\nc\nx\n"));
    let ambiguous = "hunk 1 fits in several places, give more context: `@@ -3 +3 @@`";
    assert_eq!(error(old, "@@ -3 +3 @@\n-x\n+y\n"), ambiguous);
    // The second hunk has the same offset as the first one.
    let shifted = "@@ -1,2 +1,2 @@\n b\n-x\n+y\n@@ -4 +4 @@\n-x\n+z\n";
    assert_eq!(apply(old, shifted).as_deref(), Ok("a\nx\nb\ny\nc\nz\n"));
}

#[test]
fn wrong_counts_drop_no_line() {
    for header in ["@@ -1,1 +1,1 @@", "@@ -1,9 +1,9 @@", "@@ -1 +1 @@"] {
        let diff = format!("{header}\n one\n-two\n+2\n+2.5\n");
        assert_eq!(
            apply(OLD, &diff).as_deref(),
            Ok("one\n2\n2.5\nthree\nfour\nfive\nsix\n"),
            "{header}"
        );
    }
}

#[test]
fn a_hunk_that_does_not_apply_is_named() {
    let diff = "@@ -1 +1 @@\n-one\n+1\n@@ -3,2 +3,2 @@\n three\n-vier\n+4\n";
    assert_eq!(
        error(OLD, diff),
        "hunk 2 does not match the file, read it again: `@@ -3,2 +3,2 @@`"
    );
    // Hunks must be in the order of the file.
    assert!(error(OLD, "@@ -5 +5 @@\n-five\n@@ -1 +1 @@\n-one\n").starts_with("hunk 2 "));
    assert!(error("", "@@ -1 +1 @@\n-one\n").starts_with("hunk 1 "));
    assert!(error(OLD, "@@ -99,0 +100 @@\n+new\n").starts_with("hunk 1 "));
    let huge = format!("@@ -{} +1 @@\n-one\n+1\n", usize::MAX);
    assert!(apply(OLD, &huge).is_ok());
}

#[test]
fn what_is_no_diff_of_one_file_is_refused() {
    assert!(error(OLD, "").starts_with("no hunk"));
    assert!(error(OLD, "just replace two by 2").starts_with("no hunk"));
    let more = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(apply(OLD, more), Err(DiffError::MoreFiles));
    let git = "@@ -1 +1 @@\n-one\n+1\ndiff --git a/y b/y\n";
    assert_eq!(apply(OLD, git), Err(DiffError::MoreFiles));
    let removed = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    assert_eq!(apply(OLD, removed), Err(DiffError::NotAChange));
    assert_eq!(
        error(OLD, "@@ -1 +1 @@\n-one\n+1\nend\n"),
        "line 4 of the diff begins with neither a space, `-` nor `+`: `end`"
    );
}

#[test]
fn line_ends_stay_as_they_are() {
    let windows = "one\r\ntwo\r\nthree\r\n";
    let diff = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert_eq!(apply(windows, diff).as_deref(), Ok("one\r\n2\r\nthree\r\n"));
    assert_eq!(
        apply("one\ntwo\nthree\n", &diff.replace('\n', "\r\n")).as_deref(),
        Ok("one\n2\nthree\n")
    );
}

#[test]
fn the_end_of_the_file_is_respected() {
    let unended = "one\ntwo";
    assert_eq!(apply(unended, "@@ -1,2 +1,2 @@\n-one\n+1\n two\n").as_deref(), Ok("1\ntwo"));
    let appended = "@@ -2 +2,2 @@\n two\n\\ No newline at end of file\n+three\n";
    assert_eq!(apply(unended, appended).as_deref(), Ok("one\ntwo\nthree\n"));
    let shorn = "@@ -2 +2 @@\n-two\n+two\n\\ No newline at end of file\n";
    assert_eq!(apply("one\ntwo\n", shorn).as_deref(), Ok("one\ntwo"));
    assert_eq!(apply("", "@@ -0,0 +1 @@\n+first\n").as_deref(), Ok("first\n"));
    // Empty lines are context, unless they are leftovers.
    assert_eq!(apply("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\n\n").as_deref(), Ok("a\n\nc\n"));
}

#[test]
fn a_diff_made_to_take_for_ever_does_not() {
    let old = "\n".repeat(200_000);
    let diff = format!("@@ -1 +1 @@\n{}-end\n", " \n".repeat(100_000));
    assert!(matches!(apply(&old, &diff), Err(DiffError::Ambiguous { .. })));
}

proptest! {
    #[test]
    fn what_is_made_can_be_applied(
        old in "([abc]{0,2}\n){0,30}[ab]{0,1}",
        new in "([abc]{0,2}\n){0,30}[ab]{0,1}",
    ) {
        let diff = unified("file", &old, &new);
        if old != new {
            prop_assert_eq!(apply(&old, &diff), Ok(new), "{}", diff);
        }
    }

    #[test]
    fn no_diff_crashes_it(old in "([ab]\n){0,9}", diff in "([-+ @\\\\]{0,3}[ab01,]{0,3}\n){0,9}") {
        let _ = apply(&old, &format!("@@ -1 +1 @@\n{diff}"));
    }
}
