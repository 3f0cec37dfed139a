use super::*;

/// The blocks of a text that arrives at once; the last one still grows.
fn split(text: &str) -> Vec<&str> {
    let mut live = LiveMarkdown::default();
    live.advance(text);
    blocks(&live, text)
}

fn blocks<'t>(live: &LiveMarkdown, text: &'t str) -> Vec<&'t str> {
    let finished = live.finished().map(|range| &text[range]);
    finished.chain([live.open(text)]).collect()
}

#[test]
fn blocks_end_where_another_one_certainly_begins() {
    for (text, blocks) in [
        ("", &[""][..]),
        ("one", &["one"]),
        ("one\ntwo\n", &["one\ntwo\n"]),
        ("one\n\n", &["one\n\n"]),
        ("one\n\ntw", &["one\n\n", "tw"]),
        ("one\n \n\ntwo\n\nthree", &["one\n \n\n", "two\n\n", "three"]),
        ("\n\none", &["\n\n", "one"]),
        ("# Title\n\ntext\n", &["# Title\n\n", "text\n"]),
        ("> a\n>\n> b\n\nc", &["> a\n>\n> b\n\n", "c"]),
        ("|a|\n|-|\n|b|\n\nc", &["|a|\n|-|\n|b|\n\n", "c"]),
    ] {
        assert_eq!(split(text), blocks, "{text:?}");
    }
}

#[test]
fn code_is_a_block_from_its_fence_on() {
    for (text, blocks) in [
        ("```rs\na\n\nb", &["```rs\na\n\nb"][..]),
        ("see:\n```rs\na\n", &["see:\n", "```rs\na\n"]),
        ("```\na\n```\nb", &["```\na\n```\n", "b"]),
        ("```\na\n```\n\n\nb", &["```\na\n```\n", "\n\n", "b"]),
        ("~~~\n```\n\n~~~~\nb", &["~~~\n```\n\n~~~~\n", "b"]),
        ("````\n```\n\na", &["````\n```\n\na"]),
        ("```x``` is\n\ninline", &["```x``` is\n\n", "inline"]),
        ("- a\n  ```\n  b\n\n  c\n  ```\n- d\n", &["- a\n  ```\n  b\n\n  c\n  ```\n- d\n"]),
    ] {
        assert_eq!(split(text), blocks, "{text:?}");
    }
}

#[test]
fn a_list_stays_in_one_piece() {
    for (text, blocks) in [
        ("- a\n\n- b\n\n  more\n", &["- a\n\n- b\n\n  more\n"][..]),
        ("1. a\n\n2. b\n\nend", &["1. a\n\n2. b\n\n", "end"]),
        ("so:\n* a\n\n* b", &["so:\n* a\n\n* b"]),
        // It is not known yet what these become.
        ("- a\n\n-", &["- a\n\n-"]),
        ("- a\n\n1", &["- a\n\n1"]),
        ("- a\n\n1 is\n", &["- a\n\n", "1 is\n"]),
        ("- a\n\n*bold*\n", &["- a\n\n", "*bold*\n"]),
        ("    code\n\n    more\n\nend", &["    code\n\n    more\n\n", "end"]),
    ] {
        assert_eq!(split(text), blocks, "{text:?}");
    }
}

#[test]
fn however_it_arrives_it_splits_in_the_same_way() {
    let text = "# Ä\n\none\ntwo\n\n- a\n\n- b\n  ```rs\n  x\n\n  ```\n\n1. c\n\n```sh\nls\n\n\
                cat\n```\nnext `x`\n~~~\ny\n~~~\n\n    code\n\n    code\n\nend";
    let at_once = split(text);
    assert_eq!(at_once.concat(), text);
    for step in 1..7 {
        let mut live = LiveMarkdown::default();
        let ends = text.char_indices().map(|(at, _)| at).step_by(step).chain([text.len()]);
        let mut finished = Vec::new();
        for end in ends {
            let known = live.advance(&text[..end]);
            // What was finished stays as it is.
            assert_eq!(known, finished.len());
            assert_eq!(live.finished().take(known).collect::<Vec<_>>(), finished);
            finished = live.finished().collect();
        }
        assert_eq!(blocks(&live, text), at_once, "{step}");
    }
}

#[test]
fn an_open_code_block_is_known_as_such() {
    for (text, code) in [
        ("a\n```rs title\nlet x", Some(("rs", "let x"))),
        ("~~~\n", Some(("", ""))),
        ("```rs", None),
        ("```\na\n```\n", None),
        ("- a\n  ```\n  b", None),
        ("a", None),
    ] {
        let mut live = LiveMarkdown::default();
        live.advance(text);
        assert_eq!(live.open_code(text), code, "{text:?}");
    }
}
