//! Carries out a prompt's instructions at their pace.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};
use wire::Usage;

use super::agenda::{Agenda, Next};
use super::instructions::{Argument, Step, Stream};
use super::memory::Memory;
use super::{SimulatedSettings, texts};
use crate::attachment::Loaded;
use crate::contract::{AgentError, AgentEvent, AgentSettings, TextKind};
use crate::facts::Fact;
use crate::tool::Tool;

/// One turn. Dropping it aborts it.
pub(super) struct Turn<'a> {
    settings: &'a AgentSettings,
    pace: &'a SimulatedSettings,
    memory: &'a Memory,
    number: u32,
    blocks: u32,
    /// When the next event is due. Counted from the beginning, not from the previous event: one
    /// late event must not delay everything after it.
    due: Instant,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        settings: &'a AgentSettings,
        pace: &'a SimulatedSettings,
        memory: &'a Memory,
        number: u32,
    ) -> Self {
        Self { settings, pace, memory, number, blocks: 0, due: Instant::now() }
    }

    /// Carries out the steps of a prompt.
    pub(super) async fn run(
        mut self,
        prompt: &str,
        steps: &[Step],
        reasons: bool,
    ) -> Result<(), AgentError> {
        let is_quiet = |step: &Step| matches!(step, Step::DoNothing | Step::Stream(_));
        if reasons && !steps.first().is_some_and(is_quiet) {
            self.write(TextKind::Reasoning, &texts::reasoning(steps)).await;
        }
        if steps.is_empty() {
            self.write(TextKind::Message, &texts::answer(prompt)).await;
        }
        for step in steps {
            self.carry_out(step).await?;
        }
        if let Some(summary) = texts::summary(steps) {
            self.write(TextKind::Message, &summary).await;
        }
        Ok(())
    }

    /// Writes the next step of an agenda.
    pub(super) async fn pursue(
        mut self,
        agenda: &Mutex<Option<Agenda>>,
        reasons: bool,
    ) -> Result<(), AgentError> {
        let reasoning = agenda.lock().as_ref().map(|agenda| texts::reasoning(agenda.steps()));
        if let Some(reasoning) = reasoning.filter(|_| reasons && self.number == 1) {
            self.write(TextKind::Reasoning, &reasoning).await;
        }
        loop {
            let next = agenda.lock().as_mut().map(Agenda::next);
            match next {
                Some(Next::Do(step)) => self.carry_out(&step).await?,
                Some(Next::Write(step)) => {
                    self.write(TextKind::Message, &step).await;
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }

    async fn carry_out(&mut self, step: &Step) -> Result<(), AgentError> {
        match step {
            Step::UseTool { name, argument } => self.use_tool(name, argument).await,
            Step::Say(text) => self.write(TextKind::Message, text).await,
            Step::ThinkAbout(subject) => {
                let text = texts::thought(subject);
                self.write(TextKind::Reasoning, &text).await;
            }
            Step::Repeat => {
                let text = texts::conversation(self.memory.lock().facts());
                self.write(TextKind::Message, &text).await;
            }
            Step::Describe => {
                let prompt = last_prompt(self.memory.lock().facts());
                let source = &*self.settings.attachments;
                let loaded = Loaded::load([&*prompt].into_iter(), source).await;
                let text = texts::attachments(&loaded.describe(&prompt));
                self.write(TextKind::Message, &text).await;
            }
            Step::RepeatCall => {
                let last = last_call(self.memory.lock().facts());
                if let Some((name, arguments)) = last {
                    self.call_tool(&name, arguments).await;
                }
            }
            Step::Markdown => self.write(TextKind::Message, texts::MARKDOWN).await,
            Step::Wait(time) => self.wait(*time).await,
            Step::DoNothing => {}
            Step::Fail(message) => return Err(AgentError::Failed(message.clone())),
            Step::Crash => {
                let id = self.open(TextKind::Message);
                self.write_deltas(TextKind::Message, &id, texts::LAST_WORDS).await;
                return Err(AgentError::Crashed(texts::CRASH.to_owned()));
            }
            Step::Stream(stream) => self.stream(*stream).await,
            Step::Count { input, output, cost } => self.emit(AgentEvent::Usage {
                model: self.settings.model.clone(),
                usage: Usage {
                    input_tokens: *input,
                    output_tokens: *output,
                    cost: *cost,
                    ..Usage::default()
                },
            }),
        }
        Ok(())
    }

    async fn wait(&mut self, time: Duration) {
        self.due += time;
        sleep_until(self.due).await;
    }

    /// Emits a whole block of text.
    async fn write(&mut self, kind: TextKind, text: &str) {
        let id = self.open(kind);
        self.write_deltas(kind, &id, text).await;
        self.close(kind, id);
    }

    async fn write_deltas(&mut self, kind: TextKind, id: &str, text: &str) {
        let mut pause = self.pace.first;
        for word in text.split_inclusive(char::is_whitespace) {
            self.pause(pause).await;
            pause = self.pace.delta;
            self.emit_delta(kind, id, word.to_owned());
        }
    }

    /// Emits deltas at fixed intervals, for measurements.
    async fn stream(&mut self, stream: Stream) {
        let id = self.open(TextKind::Message);
        for sequence in 0..stream.deltas {
            let pause = if sequence == 0 { stream.first } else { stream.between };
            self.pause(pause).await;
            let text = format!("<{sequence}:{:.3}>", epoch_milliseconds());
            self.emit_delta(TextKind::Message, &id, text);
        }
        self.close(TextKind::Message, id);
    }

    async fn pause(&mut self, time: Duration) {
        if time.is_zero() {
            // Without a delay, but other tasks must get to run, and an abort must be noticed.
            tokio::task::coop::consume_budget().await;
        } else {
            self.wait(time).await;
        }
    }

    fn open(&mut self, kind: TextKind) -> String {
        self.blocks += 1;
        let name = match kind {
            TextKind::Reasoning => "reasoning",
            TextKind::Message => "message",
        };
        let id = format!("{name}-{}-{}", self.number, self.blocks);
        self.emit(AgentEvent::TextStart { kind, id: id.clone() });
        id
    }

    fn close(&self, kind: TextKind, id: String) {
        self.emit(AgentEvent::TextEnd { kind, id, content: None });
    }

    fn emit_delta(&self, kind: TextKind, id: &str, delta: String) {
        self.emit(AgentEvent::TextDelta { kind, id: id.to_owned(), delta });
    }

    fn emit(&self, event: AgentEvent) {
        self.settings.events.emit(event);
    }

    async fn use_tool(&mut self, name: &str, argument: &Argument) {
        let arguments = to_arguments(self.settings.tools.get(name).as_deref(), argument);
        self.call_tool(name, arguments).await;
    }

    async fn call_tool(&mut self, name: &str, arguments: Value) {
        self.blocks += 1;
        let call_id = format!("call-{}-{}", self.number, self.blocks);
        self.emit(AgentEvent::ToolStart {
            call_id: call_id.clone(),
            parent_call_id: None,
            name: name.to_owned(),
            arguments: arguments.clone(),
        });
        let call = self.settings.events.follow_call(&call_id, arguments);
        let outcome = self.settings.tools.call(name, call).await;
        self.emit(AgentEvent::ToolEnd { call_id, outcome });
        // The tool took its time; the schedule continues from now.
        self.due = self.due.max(Instant::now());
    }
}

fn last_prompt(facts: &[Fact]) -> String {
    let prompt = facts.iter().rev().find_map(|fact| match fact {
        Fact::Prompt(prompt) => Some(prompt.clone()),
        _ => None,
    });
    prompt.unwrap_or_default()
}

/// The tool that was called last, and its arguments.
fn last_call(facts: &[Fact]) -> Option<(String, Value)> {
    facts.iter().rev().find_map(|fact| match fact {
        Fact::ToolCall { name, arguments, .. } => Some((name.clone(), arguments.clone())),
        Fact::Prompt(_) | Fact::Round | Fact::Message(_) => None,
    })
}

/// Fits the argument in the prompt to the tool's parameters.
fn to_arguments(tool: Option<&Tool>, argument: &Argument) -> Value {
    let schema = tool.map(|tool| &tool.parameters);
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let has = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    let (name, text) = match argument {
        // An object for a tool that only takes a text is passed as that text.
        Argument::Object(object, text) if has("argument") && !object.contains_key("argument") => {
            ("argument", text)
        }
        Argument::Object(object, _) => return Value::Object(object.clone()),
        Argument::Text(text) if has("argument") => ("argument", text),
        Argument::Text(text) => {
            let required = schema.and_then(|schema| schema.get("required")?.get(0)?.as_str());
            let first = || properties.and_then(|properties| properties.keys().next());
            let name = required.or_else(|| first().map(String::as_str));
            match name {
                // A tool without parameters.
                None if text.is_empty() => return Value::Object(Map::new()),
                name => (name.unwrap_or("argument"), text),
            }
        }
    };
    Value::Object(Map::from_iter([(name.to_owned(), Value::String(text.clone()))]))
}

fn epoch_milliseconds() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0.0, |now| now.as_secs_f64() * 1_000.0)
}
