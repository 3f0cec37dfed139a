//! Makes the script of wasm-bindgen shorter: a tenth of the download was names that end with a hash,
//! and comments.

/// How many hexadecimal digits end a name that wasm-bindgen makes unique.
const HASH: usize = 16;

/// Gives the imports of the module short names, in the script as well. Names without a hash stay: they
/// may be found in other places.
pub(crate) fn shorten_names<'n>(
    script: &str,
    imports: impl Iterator<Item = &'n mut String>,
) -> String {
    let mut script = script.to_owned();
    for (index, name) in imports.filter(|name| has_hash(name)).enumerate() {
        let short = format!("i{index}");
        script = script.replace(&**name, &short);
        *name = short;
    }
    script
}

fn has_hash(name: &str) -> bool {
    let hash = name.rsplit_once('_').map(|(_, hash)| hash);
    name.starts_with("__wb")
        && hash.is_some_and(|hash| {
            hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// The script without comments that have lines of their own, indentation and empty lines.
pub(crate) fn strip_comments(script: &str) -> String {
    let mut stripped = String::with_capacity(script.len());
    let mut in_comment = false;
    for line in script.lines().map(str::trim) {
        if in_comment || line.starts_with("/*") {
            in_comment = !line.ends_with("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            stripped.push_str(line);
            stripped.push('\n');
        }
    }
    stripped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_imports_get_short_names_on_both_sides() {
        let script = "let a = { __wbg_add_0123456789abcdef: 1, __wbindgen_free: 2 };";
        let mut imports =
            ["__wbindgen_free", "__wbg_add_0123456789abcdef", "__wbg_add_x"].map(str::to_owned);
        let script = shorten_names(script, imports.iter_mut());
        assert_eq!(script, "let a = { i0: 1, __wbindgen_free: 2 };");
        assert_eq!(imports, ["__wbindgen_free", "i0", "__wbg_add_x"]);
    }

    #[test]
    fn comments_and_indentation_are_left_out_and_code_stays() {
        let script = "/* @ts */\nfn() {\n    // why\n    /**\n     * what\n     */\n    a('//'); /* b */\n\n}";
        assert_eq!(strip_comments(script), "fn() {\na('//'); /* b */\n}\n");
    }
}
