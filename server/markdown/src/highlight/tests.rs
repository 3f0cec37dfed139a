//! Highlighting by language, written as `kind:text` for each token.

use super::push_highlighted;

fn colours(language: &str, code: &str) -> String {
    let mut html = String::new();
    push_highlighted(&mut html, language, code);
    let spans = html.split("<span class=\"hl-").skip(1).map(|span| {
        let (kind, rest) = span.split_once("\">").expect("a class ends");
        let (text, _) = rest.split_once("</span>").expect("a span ends");
        format!("{kind}:{text}")
    });
    let spans = spans.collect::<Vec<_>>().join(" ");
    spans.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">")
}

#[test]
fn each_language_has_its_colours() {
    for (language, code, expected) in [
        ("rust", "fn a<'b>(c: &'b str) // d", "keyword:fn type:'b type:'b type:str comment:// d"),
        ("rust", "f('\\'', 'é', '\"')", "function:f string:'\\'' string:'é' string:'\"'"),
        ("rs", "r#\"a\"b\"# br\"c\" b\"d\"", "string:r#\"a\"b\"# string:br\"c\" string:\"d\""),
        ("rust", "/* a /* b */ c */ 0..1_0", "comment:/* a /* b */ c */ number:0 number:1_0"),
        ("rust", "println!(\"a\\\"b\nc\")", "function:println! string:\"a\\\"b\nc\""),
        ("rust", "Vec<T> MAX", "type:Vec type:T"),
        ("ts", "const $a: string = `b\n${c}`", "keyword:const type:string string:`b\n${c}`"),
        ("jsx", "'a\nlet b", "string:'a keyword:let"),
        ("py", "@a\ndef b(): # c", "function:@a keyword:def function:b comment:# c"),
        ("python", "\"\"\"a\n\"b\"\"\" 'c'", "string:\"\"\"a\n\"b\"\"\" string:'c'"),
        ("go", "func a() { `\\` }", "keyword:func function:a string:`\\`"),
        ("java", "@A int b = 0x1Fe+2", "function:@A type:int number:0x1Fe number:2"),
        ("kotlin", "val a = 'b' // c", "keyword:val string:'b' comment:// c"),
        (
            "C++",
            "#include \"a\" 1'000 1.5e-3f",
            "keyword:#include string:\"a\" number:1'000 number:1.5e-3f",
        ),
        ("c#", "@\"a\\\" string b", "string:@\"a\\\" type:string"),
        ("swift", "let a = \"\"\"\nb\n\"\"\"", "keyword:let string:\"\"\"\nb\n\"\"\""),
        ("sh", "if a#b; then echo $c $# # d", "keyword:if keyword:then type:$c comment:# d"),
        ("bash", "'a\\' \"b\\\"c\"", "string:'a\\' string:\"b\\\"c\""),
        ("json", "{\"a\": [\"b\", 1.5, null]}", "type:\"a\" string:\"b\" number:1.5 keyword:null"),
        ("toml", "a-b = 'c\\' # d", "type:a-b string:'c\\' comment:# d"),
        ("yml", "a-b: don't c#d # e", "type:a-b comment:# e"),
        ("ini", "; a\nb=true", "comment:; a type:b keyword:true"),
        ("css", ".a { width: 50%; } /* b */", "function:.a type:width number:50% comment:/* b */"),
        (
            "SQL",
            "select 'a''b' FROM c -- d",
            "keyword:select string:'a' string:'b' keyword:FROM comment:-- d",
        ),
        (
            "html",
            "<!-- a --><b c=\"d>\">e < f</b>",
            "comment:<!-- a --> keyword:<b type:c string:\"d>\" keyword:> keyword:</b keyword:>",
        ),
        (
            "diff",
            "--- a\n+++ b\n@@ 1 @@\n c\n+d\n-e",
            "comment:--- a comment:+++ b keyword:@@ 1 @@ added:+d removed:-e",
        ),
        ("unknown", "let a = \"b\"", ""),
        ("", "let a", ""),
    ] {
        assert_eq!(colours(language, code), expected, "{language}: {code}");
    }
}

#[test]
fn what_is_never_closed_ends_with_the_code() {
    for (language, code, expected) in [
        ("rust", "\"a", "string:\"a"),
        ("rust", "r##\"a\"#", "string:r##\"a\"#"),
        ("rust", "/* a /* b */", "comment:/* a /* b */"),
        ("rust", "'", "type:'"),
        ("js", "`a\\", "string:`a\\"),
        ("c", "\"a\\é", "string:\"a\\é"),
        ("html", "<!-- a", "comment:<!-- a"),
        ("html", "<a b='c", "keyword:<a type:b string:'c"),
        ("html", "</", "keyword:</"),
    ] {
        assert_eq!(colours(language, code), expected, "{language}: {code}");
    }
}
