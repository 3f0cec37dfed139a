//! What the simulated models say.

use super::instructions::Step;
use crate::facts::Fact;

/// Said by a turn that is resumed with nothing left to do.
pub(super) const RESUMED: &str = "I have looked: everything was done before the interruption.";

/// The error in the stream when a session crashes.
pub(super) const CRASH: &str = "the simulated agent crashed, as the prompt asked";

/// What a session says before it crashes.
pub(super) const LAST_WORDS: &str = "Something is about to ";

/// A sample of every kind of Markdown that pages render.
pub(super) const MARKDOWN: &str = r#"# A sample of Markdown

This answer comes from a *simulated* model and shows what **formatted** text looks like.

## A list

- one
- two, with `code`
- three, with a [link](https://example.com/)

## A table

| fruit | colour | pieces |
|---|---|---:|
| apple | red | 3 |
| banana | yellow | 12 |

## Code

```rust
fn main() {
    println!("Hello, world!");
}
```

> That is all."#;

pub(super) fn reasoning(steps: &[Step]) -> String {
    if steps.is_empty() {
        return "The prompt holds no instruction that I know, so I introduce myself.".to_owned();
    }
    let steps: Vec<_> = steps.iter().map(describe).collect();
    format!("The prompt asks me to {}.", steps.join(", then "))
}

fn describe(step: &Step) -> String {
    match step {
        Step::UseTool { name, .. } => format!("use the {name} tool"),
        Step::Say(_) => "say something".to_owned(),
        Step::ThinkAbout(subject) => format!("think about {subject}"),
        Step::Markdown => "answer in Markdown".to_owned(),
        Step::Wait(time) => format!("wait {} ms", time.as_millis()),
        Step::DoNothing => "do nothing".to_owned(),
        Step::Fail(_) => "fail".to_owned(),
        Step::Crash => "crash".to_owned(),
        Step::Stream(_) => "stream deltas".to_owned(),
        Step::Count { .. } => "count tokens".to_owned(),
        Step::Repeat => "repeat the conversation".to_owned(),
        Step::RepeatCall => "repeat the last tool call".to_owned(),
        Step::Describe => "describe the attachments".to_owned(),
    }
}

pub(super) fn thought(subject: &str) -> String {
    format!(
        "Let me think about {subject}. On the one hand there is much to say about it, on the \
         other hand I am only simulated. So I leave it at that."
    )
}

/// Says what was done, if nothing else in the turn is an answer.
pub(super) fn summary(steps: &[Step]) -> Option<String> {
    let answers = |step: &Step| {
        matches!(
            step,
            Step::Say(_) | Step::Markdown | Step::Stream(_) | Step::Repeat | Step::Describe
        )
    };
    if steps.iter().any(answers) {
        return None;
    }
    let done: Vec<_> =
        steps.iter().filter(|step| **step != Step::DoNothing).map(describe).collect();
    (!done.is_empty()).then(|| format!("Done. I was asked to {}.", done.join(", then ")))
}

/// The summary in an agent's last step, unless it was told what to say.
pub(super) fn agent_summary(steps: &[Step]) -> String {
    summary(steps).unwrap_or_else(|| {
        "I am a simulated model: I run on this machine, cost nothing and understand nothing, so \
         the goal is not reached. I do obey plain sentences, though. Try one of these:\n\n\
         - `use the listFiles tool`\n\
         - `use the readFiles tool with README.md, then say \"I have read it.\"`\n\
         - `use the createFile tool with the arguments {\"path\": \"hello.txt\", \"content\": \
         \"hello\\n\"}`"
            .to_owned()
    })
}

/// The conversation before the last prompt, one line for each fact.
pub(super) fn conversation(facts: &[Fact]) -> String {
    let is_prompt = |fact: &Fact| matches!(fact, Fact::Prompt(_));
    let before = facts.iter().rposition(is_prompt).map_or(facts, |last| &facts[..last]);
    let lines = before.iter().filter_map(|fact| match fact {
        Fact::Prompt(prompt) => Some(format!("prompt: {}", shorten(prompt))),
        Fact::Round => None,
        Fact::Message(text) => Some(format!("message: {}", shorten(text))),
        Fact::ToolCall { name, arguments, outcome } => {
            let result = match outcome {
                Some(Ok(result)) => shorten(&result.content),
                Some(Err(error)) => format!("error: {}", shorten(&error.message)),
                None => "error: aborted".to_owned(),
            };
            Some(format!("tool: {name} {}: {result}", shorten(&arguments.to_string())))
        }
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { "Nothing was said before.".to_owned() } else { lines.join("\n") }
}

/// What is attached to a prompt, one line for each.
pub(super) fn attachments(described: &[String]) -> String {
    if described.is_empty() { "Nothing is attached.".to_owned() } else { described.join("\n") }
}

/// Truncated, so that texts that quote texts do not grow without bounds.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 400;
    let text = text.trim();
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The answer to a prompt without instructions.
pub(super) fn answer(prompt: &str) -> String {
    let echo = shorten(prompt);
    let echo = if echo.is_empty() {
        "You sent me an empty prompt.".to_owned()
    } else {
        let quoted: Vec<_> = echo.lines().map(|line| format!("> {line}")).collect();
        format!("You wrote:\n\n{}", quoted.join("\n"))
    };
    format!(
        "Hello! I am a simulated model: I run on this machine, cost nothing and understand \
         nothing. {echo}\n\nI can show you around, though. Try one of these:\n\n\
         - `say \"Hello, world!\"`\n\
         - `answer in Markdown`\n\
         - `think about the weather, then say done`\n\
         - `use the job_boolean_true tool with the argument \"because I said so\"`\n\
         - `wait 2 seconds, then fail with \"no luck today\"`\n\
         - `crash`"
    )
}
