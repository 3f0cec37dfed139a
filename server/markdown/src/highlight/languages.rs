//! The known languages, and their names.

use super::Kind;
use super::rules::{
    BARE, Quirk, Rules, comment, long_text, nested_comment, raw_line, raw_text, text,
};

/// How a language is highlighted.
#[derive(Clone, Copy)]
pub(super) enum Language {
    /// Token by token, with these rules.
    Lexed(&'static Rules),
    /// As HTML or XML tags.
    Markup,
    /// As a diff, line by line.
    Difference,
}

/// The language with that name, ignoring case.
pub(super) fn find(name: &str) -> Option<Language> {
    Some(Language::Lexed(match name.to_ascii_lowercase().as_str() {
        "rust" | "rs" => &RUST,
        "js" | "javascript" | "mjs" | "cjs" | "jsx" | "ts" | "typescript" | "mts" | "cts"
        | "tsx" => &SCRIPT,
        "py" | "python" | "python3" | "pyi" => &PYTHON,
        "go" | "golang" => &GO,
        "java" => &JAVA,
        "kt" | "kts" | "kotlin" => &KOTLIN,
        "c" | "h" | "c++" | "cc" | "cpp" | "cxx" | "hh" | "hpp" => &C,
        "cs" | "c#" | "csharp" => &C_SHARP,
        "swift" => &SWIFT,
        "sh" | "bash" | "zsh" | "shell" | "console" | "shell-session" | "shellscript" => &SHELL,
        "json" | "jsonc" | "json5" | "jsonl" => &JSON,
        "toml" => &TOML,
        "yaml" | "yml" => &YAML,
        "ini" | "cfg" | "conf" | "properties" | "env" | "dotenv" => &INI,
        "css" | "scss" | "less" => &CSS,
        "sql" | "sqlite" | "mysql" | "postgres" | "postgresql" | "psql" | "plsql" | "tsql" => &SQL,
        "html" | "htm" | "xhtml" | "xml" | "svg" | "vue" | "svelte" => {
            return Some(Language::Markup);
        }
        "diff" | "patch" => return Some(Language::Difference),
        _ => return None,
    }))
}

static RUST: Rules = Rules {
    line_comments: &["//"],
    spans: &[nested_comment("/*", "*/"), long_text("\""), text("'")],
    keywords: "as async await break const continue crate dyn else enum extern false fn for if impl \
        in let loop match mod move mut pub ref return self Self static struct super trait true \
        type union unsafe use where while yield",
    types: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
    capital_types: true,
    quirk: Quirk::Rust,
    ..BARE
};

static SCRIPT: Rules = Rules {
    line_comments: &["//"],
    spans: &[comment("/*", "*/"), text("\""), text("'"), long_text("`")],
    keywords: "abstract as async await break case catch class const continue debugger declare \
        default delete do else enum export extends false finally for from function get if \
        implements import in infer instanceof interface is keyof let namespace new null of \
        private protected public readonly return satisfies set static super switch this throw \
        true try type typeof undefined var void while with yield",
    types: "any bigint boolean never number object string symbol unknown",
    capital_types: true,
    letters: "$",
    marks: &[(b'@', Kind::Function), (b'#', Kind::Type)],
    ..BARE
};

static PYTHON: Rules = Rules {
    line_comments: &["#"],
    spans: &[long_text("\"\"\""), long_text("'''"), text("\""), text("'")],
    keywords: "and as assert async await break case class continue def del elif else except False \
        finally for from global if import in is lambda match None nonlocal not or pass raise \
        return True try while with yield",
    types: "bool bytes dict float frozenset int list object set str tuple type",
    capital_types: true,
    marks: &[(b'@', Kind::Function)],
    ..BARE
};

static GO: Rules = Rules {
    line_comments: &["//"],
    spans: &[comment("/*", "*/"), text("\""), text("'"), raw_text("`", "`")],
    keywords: "break case chan const continue default defer else fallthrough false for func go \
        goto if import interface iota map nil package range return select struct switch true type \
        var",
    types: "any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 \
        rune string uint uint8 uint16 uint32 uint64 uintptr",
    ..BARE
};

static JAVA: Rules = Rules {
    line_comments: &["//"],
    spans: &[comment("/*", "*/"), long_text("\"\"\""), text("\""), text("'")],
    keywords: "abstract assert break case catch class continue default do else enum extends false \
        final finally for if implements import instanceof interface native new null package \
        permits private protected public record return sealed static strictfp super switch \
        synchronized this throw throws transient true try var volatile while yield",
    types: "boolean byte char double float int long short void",
    capital_types: true,
    marks: &[(b'@', Kind::Function)],
    ..BARE
};

static KOTLIN: Rules = Rules {
    line_comments: &["//"],
    spans: &[nested_comment("/*", "*/"), raw_text("\"\"\"", "\"\"\""), text("\""), text("'")],
    keywords: "abstract as break by catch class companion const constructor continue data do else \
        enum false final finally for fun if import in infix init inline inner interface internal \
        is it lateinit null object open operator out override package private protected public \
        reified return sealed super suspend this throw true try typealias val var vararg when \
        where while",
    capital_types: true,
    marks: &[(b'@', Kind::Function)],
    ..BARE
};

static C: Rules = Rules {
    line_comments: &["//"],
    spans: &[comment("/*", "*/"), text("\""), text("'")],
    keywords: "alignas alignof asm auto break case catch class co_await co_return co_yield concept \
        const consteval constexpr constinit continue decltype default delete do else enum explicit \
        export extern false final for friend goto if inline mutable namespace new noexcept NULL \
        nullptr operator override private protected public register requires return sizeof static \
        static_assert static_cast struct switch template this throw true try typedef typename \
        union using virtual volatile while",
    types: "bool char double float int int8_t int16_t int32_t int64_t long short signed size_t \
        string uint8_t uint16_t uint32_t uint64_t unsigned void wchar_t",
    capital_types: true,
    marks: &[(b'#', Kind::Keyword)],
    ..BARE
};

static C_SHARP: Rules = Rules {
    line_comments: &["//"],
    spans: &[
        comment("/*", "*/"),
        raw_text("\"\"\"", "\"\"\""),
        raw_text("@\"", "\""),
        text("\""),
        text("'"),
    ],
    keywords: "abstract as async await base break case catch checked class const continue default \
        delegate do else enum event explicit extern false finally fixed for foreach get goto if \
        implicit in init interface internal is lock namespace new null operator out override \
        params partial private protected public readonly record ref required return sealed set \
        sizeof static struct switch this throw true try typeof unchecked unsafe using var virtual \
        volatile when where while with yield",
    types: "bool byte char decimal double dynamic float int long nint nuint object sbyte short \
        string uint ulong ushort void",
    capital_types: true,
    marks: &[(b'#', Kind::Keyword)],
    ..BARE
};

static SWIFT: Rules = Rules {
    line_comments: &["//"],
    spans: &[nested_comment("/*", "*/"), long_text("\"\"\""), text("\"")],
    keywords: "actor any as associatedtype async await break case catch class continue default \
        defer deinit do else enum extension fallthrough false fileprivate final for func guard if \
        import in indirect init inout internal is lazy let mutating nil nonisolated open operator \
        override private protocol public repeat rethrows return self Self some static struct \
        subscript super switch throw throws true try typealias unowned var weak where while",
    capital_types: true,
    marks: &[(b'@', Kind::Function), (b'#', Kind::Keyword)],
    ..BARE
};

static SHELL: Rules = Rules {
    line_comments: &["#"],
    spans: &[long_text("\""), raw_text("'", "'")],
    keywords: "break case continue declare do done elif else esac eval exec exit export fi for \
        function if in local readonly return select set shift source then trap unset until while",
    letters: "-",
    marks: &[(b'$', Kind::Type)],
    quirk: Quirk::Spaced,
    ..BARE
};

static JSON: Rules = Rules {
    line_comments: &["//"],
    spans: &[comment("/*", "*/"), text("\""), text("'")],
    keywords: "true false null",
    key_end: Some(b':'),
    ..BARE
};

static TOML: Rules = Rules {
    line_comments: &["#"],
    spans: &[long_text("\"\"\""), raw_text("'''", "'''"), text("\""), raw_line("'")],
    keywords: "true false inf nan",
    letters: "-.",
    key_end: Some(b'='),
    ..BARE
};

static YAML: Rules = Rules {
    line_comments: &["#"],
    spans: &[long_text("\""), raw_text("'", "'")],
    keywords: "true false null yes no on off True False",
    letters: "-./",
    marks: &[(b'&', Kind::Function), (b'*', Kind::Function), (b'!', Kind::Function)],
    key_end: Some(b':'),
    quirk: Quirk::Spaced,
    ..BARE
};

static INI: Rules = Rules {
    line_comments: &["#", ";"],
    spans: &[text("\""), text("'")],
    keywords: "true false yes no on off",
    letters: "-.",
    key_end: Some(b'='),
    quirk: Quirk::Spaced,
    ..BARE
};

static CSS: Rules = Rules {
    spans: &[comment("/*", "*/"), text("\""), text("'")],
    keywords: "important",
    letters: "-",
    marks: &[(b'@', Kind::Keyword), (b'#', Kind::Number), (b'.', Kind::Function)],
    key_end: Some(b':'),
    ..BARE
};

static SQL: Rules = Rules {
    line_comments: &["--"],
    spans: &[comment("/*", "*/"), raw_text("'", "'"), raw_text("\"", "\""), raw_text("`", "`")],
    keywords: "add all alter and as asc begin between by cascade case check collate column commit \
        conflict constraint create cross database default delete desc distinct do drop else end \
        except exists explain false foreign from full function grant group having if in index \
        inner insert intersect into is join key left like limit materialized natural not nothing \
        null offset on or order outer over partition primary recursive references replace \
        returning right rollback row rows schema select set table temporary then to transaction \
        trigger true truncate union unique update using values view when where window with",
    types: "bigint bigserial blob boolean bytea char date decimal double float int integer \
        interval json jsonb numeric real serial smallint text time timestamp timestamptz uuid \
        varchar",
    marks: &[(b'@', Kind::Type), (b'$', Kind::Type)],
    quirk: Quirk::AnyCase,
    ..BARE
};
