//! Finds the instructions in a prompt. A pure function from text to steps.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};

/// One instruction of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    UseTool {
        name: String,
        argument: Argument,
    },
    Say(String),
    ThinkAbout(String),
    Markdown,
    Wait(Duration),
    DoNothing,
    Fail(String),
    Crash,
    Stream(Stream),
    Count {
        input: u64,
        output: u64,
        cost: Option<f64>,
    },
    /// Repeats the conversation before this prompt.
    Repeat,
    /// Calls the tool that was called last again, with the same arguments.
    RepeatCall,
    /// Says what is attached to this prompt.
    Describe,
}

/// The argument of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    /// Goes to the tool's only, or most important, parameter.
    Text(String),
    /// All parameters, and the text as it was written.
    Object(Map<String, Value>, String),
}

/// A stream of deltas at fixed intervals, for measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stream {
    pub(super) deltas: u32,
    pub(super) between: Duration,
    pub(super) first: Duration,
}

/// The first line of a prompt that is sent again after a crash.
const CRASHED_BEFORE: &str = "The session crashed, please redo";

/// The steps that a prompt asks for, in order. `is_tool` distinguishes names of tools from words.
pub(super) fn parse(prompt: &str, is_tool: impl Fn(&str) -> bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = 0;
    while let Some(verb) = VERB.find_at(prompt, at) {
        let before = tail(&prompt[..verb.start()]);
        let candidate = Candidate { verb: verb.as_str(), before, rest: &prompt[verb.start()..] };
        at = match candidate.parse(&is_tool) {
            Some((Step::Crash, length))
                if prompt.contains(CRASHED_BEFORE) && is_once(candidate.rest, length) =>
            {
                verb.start() + length
            }
            Some((step, length)) => {
                steps.push(step);
                verb.start() + length
            }
            None => verb.end(),
        };
    }
    steps
}

/// A position where an instruction may begin.
struct Candidate<'a> {
    verb: &'a str,
    /// The text just before it.
    before: &'a str,
    /// The text from the verb on.
    rest: &'a str,
}

impl Candidate<'_> {
    /// The instruction and its length in bytes, if there is one.
    fn parse(&self, is_tool: impl Fn(&str) -> bool) -> Option<(Step, usize)> {
        if NEGATION.is_match(self.before) {
            return None;
        }
        let verb = self.verb.to_lowercase();
        match verb.as_str() {
            "use" | "call" | "invoke" | "run" | "execute" => self.parse_tool(is_tool),
            "crash" | "fail" if !self.begins_a_request() => None,
            _ if !self.begins_a_request() && !ASKED_OF_YOU.is_match(self.before) => None,
            "crash" => {
                let length = CRASH.find(self.rest)?.end();
                Some((Step::Crash, length))
            }
            "fail" => self.parse_text(&FAIL, Step::Fail),
            "say" => self.parse_text(&SAY, Step::Say),
            "think" => self.parse_text(&THINK, Step::ThinkAbout),
            "wait" => self.parse_wait(),
            "stream" => self.parse_stream(),
            "count" => self.parse_count(),
            _ if verb.starts_with("repeat") => {
                if let Some(found) = REPEAT_CALL.find(self.rest) {
                    return Some((Step::RepeatCall, found.end()));
                }
                let length = REPEAT.find(self.rest)?.end();
                Some((Step::Repeat, length))
            }
            _ if verb.starts_with("describe") => Some((Step::Describe, self.verb.len())),
            "answer" | "reply" | "respond" => match MARKDOWN.find(self.rest) {
                Some(found) => Some((Step::Markdown, found.end())),
                None => self.parse_text(&SAY, Step::Say),
            },
            _ => Some((Step::DoNothing, self.verb.len())),
        }
    }

    fn begins_a_request(&self) -> bool {
        REQUEST.is_match(self.before)
    }

    fn parse_tool(&self, is_tool: impl Fn(&str) -> bool) -> Option<(Step, usize)> {
        let found = TOOL.captures(self.rest)?;
        let name = found["name"].to_owned();
        let called_tool = found.name("before").is_some() || found.name("after").is_some();
        let looks_like_a_name = name.contains('_') || found.name("quote").is_some();
        if !(is_tool(&name) || called_tool && looks_like_a_name) {
            return None;
        }
        let end = found.get(0)?.end();
        let Some(with) = WITH.find(&self.rest[end..]) else {
            let argument = Argument::Text(String::new());
            return Some((Step::UseTool { name, argument }, end));
        };
        let start = end + with.end();
        let (argument, length) = parse_argument(&self.rest[start..]);
        Some((Step::UseTool { name, argument }, start + length))
    }

    fn parse_text(&self, opening: &Regex, step: fn(String) -> Step) -> Option<(Step, usize)> {
        let start = opening.find(self.rest)?.end();
        let (text, length) = parse_value(&self.rest[start..]);
        (!text.is_empty()).then(|| (step(text), start + length))
    }

    fn parse_wait(&self) -> Option<(Step, usize)> {
        let found = WAIT.captures(self.rest)?;
        let unit = found["unit"].to_lowercase();
        let factor = if unit.starts_with("ms") || unit.starts_with("mil") {
            1.0
        } else if unit.starts_with('m') {
            60_000.0
        } else {
            1_000.0
        };
        let time = milliseconds(&found["number"], factor)?;
        Some((Step::Wait(time), found.get(0)?.end()))
    }

    fn parse_count(&self) -> Option<(Step, usize)> {
        let found = COUNT.captures(self.rest)?;
        let (input, output) = (found["input"].parse().ok()?, found["output"].parse().ok()?);
        let cost = found.name("cost").and_then(|cost| cost.as_str().parse().ok());
        Some((Step::Count { input, output, cost }, found.get(0)?.end()))
    }

    fn parse_stream(&self) -> Option<(Step, usize)> {
        let found = STREAM.captures(self.rest)?;
        let stream = Stream {
            deltas: found["deltas"].parse().ok()?,
            between: milliseconds(&found["between"], 1.0)?,
            first: milliseconds(&found["first"], 1.0)?,
        };
        Some((Step::Stream(stream), found.get(0)?.end()))
    }
}

/// The last few words: otherwise a long prompt would be searched from its beginning for every verb.
fn tail(text: &str) -> &str {
    const BYTES: usize = 64;
    let start = text.ceil_char_boundary(text.len().saturating_sub(BYTES));
    &text[start..]
}

fn is_once(rest: &str, length: usize) -> bool {
    rest[..length].to_lowercase().contains("once")
}

/// At most an hour, so that no prompt can ask for a time that overflows.
fn milliseconds(number: &str, factor: f64) -> Option<Duration> {
    let milliseconds: f64 = number.parse::<f64>().ok()? * factor;
    let seconds = (milliseconds / 1_000.0).min(3_600.0);
    Duration::try_from_secs_f64(seconds).ok()
}

fn parse_argument(rest: &str) -> (Argument, usize) {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
    if rest.starts_with('{')
        && let Some(Ok(object)) = values.next()
    {
        let length = values.byte_offset();
        return (Argument::Object(object, rest[..length].to_owned()), length);
    }
    let (mut text, mut length) = parse_value(rest);
    if let Some(tail) = AS_ARGUMENT.find(&text) {
        text.truncate(tail.start());
    } else if let Some(tail) = AS_ARGUMENT_NEXT.find(&rest[length..]) {
        length += tail.end();
    }
    (Argument::Text(text), length)
}

/// A quoted text, or a plain one up to its end; and the length of what was read.
fn parse_value(text: &str) -> (String, usize) {
    if let Some(quoted) = parse_quoted(text) {
        return quoted;
    }
    let end = PLAIN_END.find(text).map_or(text.len(), |end| end.start());
    (text[..end].trim().to_owned(), end)
}

fn parse_quoted(text: &str) -> Option<(String, usize)> {
    // Tried as JSON first, because it may contain escapes.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    if text.starts_with('"')
        && let Some(Ok(value)) = values.next()
    {
        return Some((value, values.byte_offset()));
    }
    let open = text.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let inner = &text[open.len_utf8()..];
    let (end, _) = inner.match_indices(close).find(|(index, _)| {
        // An apostrophe within a word does not end a quotation.
        let after = inner[index + close.len_utf8()..].chars().next();
        !after.is_some_and(char::is_alphanumeric)
    })?;
    let length = open.len_utf8() + end + close.len_utf8();
    Some((inner[..end].to_owned(), length))
}

macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)*) => {
        $($(#[$doc])* static $name: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(&format!("(?i){}", $pattern)).expect("a valid pattern")
        });)*
    };
}

patterns! {
    VERB = r"\b(?:use|call|invoke|run|execute|say|do\s+nothing|fail|crash|wait|think|answer|reply|respond|stream|count|repeat\s+(?:the\s+conversation|that\s+call)|describe\s+the\s+attachments?)\b";
    /// Matches at the end of the text before the verb.
    NEGATION = r"(?:\bnot|n['’]t|\bnever|\bcannot|\bwithout)\s+$";
    REQUEST = r"(?:^|\n|[.!?;:,>*•()\[\]-]|\b(?:then|and|please|now|first|finally|next|just|simply|also|only))\s*$";
    ASKED_OF_YOU = r"\byou(?:\s+to|\s+must|\s+should)?\s+$";
    TOOL = r#"^\w+\s+(?:the\s+)?(?P<before>tool\s+)?(?P<quote>[`"'“])?(?P<name>[A-Za-z_](?:[\w.-]*\w)?)[`"'”]?(?P<after>\s+tool\b)?"#;
    WITH = r"^,?\s+(?:with|using|passing|giving)\s+(?:(?:the|an?|its|this|these|following|string|json)\s+)*(?:(?:arguments?|parameters?|input)\b)?\s*(?:of\b|set\s+to\b|being\b|=|:)?\s*";
    /// `with X as the argument`, at the end of a plain X or after a quoted one.
    AS_ARGUMENT = r"\s+as\s+(?:the\s+|its\s+|an\s+)?(?:argument|parameter|input)$";
    AS_ARGUMENT_NEXT = r"^\s+as\s+(?:the\s+|its\s+|an\s+)?(?:argument|parameter|input)\b";
    SAY = r"^(?:say|\w+\s+with)(?:\s+(?:exactly|only|just|the\s+(?:words?|text|sentence|following)))*(?:\s*:\s*|\s+)";
    FAIL = r"^fail\s+with(?:\s+(?:an?|the))?(?:\s+error)?(?:\s+message)?(?:\s*:\s*|\s+)";
    THINK = r"^think\s+about\s+";
    CRASH = r"^crash(?:\s+(?:the\s+session|now|once|immediately|please))*\s*(?:[.;!,\n]|$|\band\b)";
    MARKDOWN = r"^\w+\s+in\s+markdown\b";
    WAIT = r"^wait\s+(?:for\s+)?(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|milliseconds?|s|secs?|seconds?|minutes?)\b";
    COUNT = r"^count\s+(?P<input>\d{1,15})\s+input\s+(?:tokens\s+)?and\s+(?P<output>\d{1,15})\s+output\s+tokens\b(?:\s+at\s+a\s+cost\s+of\s+(?P<cost>\d{1,9}(?:\.\d{1,9})?)\b)?";
    REPEAT = r"^repeat\s+the\s+conversation(?:\s+so\s+far)?\b";
    REPEAT_CALL = r"^repeat\s+that\s+call\b";
    STREAM = r"^stream\s+(?P<deltas>\d+)\s+deltas\s+with\s+(?P<between>\d+(?:\.\d+)?)\s*ms\s+between\s+deltas\s+after\s+(?P<first>\d+(?:\.\d+)?)\s*ms\b\.?";
    PLAIN_END = r"[.;!?](?:\s|$)|\n|,?\s+(?:and\s+)?then\b|,?\s+and\s+(?:use|call|invoke|run|execute|say|wait|fail|crash|do\s+nothing|answer|think|count|repeat\s+the\s+conversation|finally)\b|,\s+(?:use|call|say|wait|fail|crash|do|answer|think|repeat\s+the\s+conversation|otherwise|else|or|but|if)\b";
}

#[cfg(test)]
mod tests;
