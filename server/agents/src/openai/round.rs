//! One round: a request, its answer, and the tools that the answer calls.
//!
//! A round writes itself into the history when it is dropped, and by nothing else. So it does not
//! matter whether it came to its end, failed, was aborted, or was dropped with the whole turn.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use wire::{ToolError, ToolResult};

use super::answer::{Answer, ModelCall};
use super::chunk::Chunk;
use super::client::{Body, BodyKind, Client};
use super::events::{Decoder, Event};
use super::failure::{Complaint, Failure, shorten};
use super::history::{AnsweredCall, History, Said};
use crate::attachment::Loaded;
use crate::contract::{AgentEvent, AgentSettings};
use crate::provider::ProviderModel;

/// What may still come after the model has stopped: a count of tokens and the end mark.
const EPILOGUE: Duration = Duration::from_secs(2);
/// What may still come after the end mark: the end. A connection that has seen it is used again.
const LAST_BYTES: Duration = Duration::from_millis(100);
const END_MARK: &str = "[DONE]";

/// What all rounds of a conversation share.
pub(super) struct RoundContext {
    pub(super) client: Arc<Client>,
    pub(super) model: ProviderModel,
    pub(super) settings: AgentSettings,
    pub(super) history: Mutex<History>,
}

impl RoundContext {
    async fn request(&self) -> Value {
        // Read again for each request, so that a conversation does not hold all of its images.
        let prompts: Vec<_> = self.history.lock().prompts().map(str::to_owned).collect();
        let prompts = prompts.iter().map(String::as_str);
        let attachments = Loaded::load(prompts, &*self.settings.attachments).await;
        let messages = self.history.lock().to_json(&attachments);
        let mut request = json!({ "model": self.model.id, "messages": messages, "stream": true });
        // Read for every request: the tools may change during a turn.
        let tools = self.settings.tools.iter().map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            } })
        });
        let tools: Vec<_> = tools.collect();
        // Some providers refuse an empty list.
        if !tools.is_empty() {
            request["tools"] = Value::Array(tools);
        }
        request
    }
}

/// One request to the model, while it is under way.
pub(super) struct Round<'a> {
    context: &'a RoundContext,
    number: u32,
    answer: Answer<'a>,
    /// The calls of a complete answer.
    called: Vec<ModelCall>,
    /// Those that are carried out, with what has come of them.
    answered: Vec<AnsweredCall>,
}

impl<'a> Round<'a> {
    pub(super) fn new(context: &'a RoundContext, number: u32) -> Self {
        let answer = Answer::new(&context.settings.events, number);
        Self { context, number, answer, called: Vec::new(), answered: Vec::new() }
    }

    /// Whether nothing has come of it yet, so that the request can be sent again.
    pub(super) fn is_empty(&self) -> bool {
        self.answer.is_empty()
    }

    /// Sends the request and takes the answer to its end.
    pub(super) async fn receive(&mut self) -> Result<(), Failure> {
        let received = self.receive_all().await;
        self.answer.close();
        self.report_usage();
        received?;
        self.called = self.answer.take_calls();
        self.check_end()
    }

    async fn receive_all(&mut self) -> Result<(), Failure> {
        let client = &self.context.client;
        let mut body = client.chat(self.context.request().await).await?;
        match body.kind() {
            BodyKind::Stream => self.receive_stream(&mut body).await,
            BodyKind::Whole => {
                let chunk = Chunk::parse(&body.read_all().await?)?;
                if !chunk.has_choice() {
                    return Err(Failure::Garbled("there is no answer in it".to_owned()));
                }
                self.answer.take(&chunk);
                Ok(())
            }
            BodyKind::Page => Err(Failure::Garbled("a web page, check baseUrl".to_owned())),
        }
    }

    async fn receive_stream(&mut self, body: &mut Body) -> Result<(), Failure> {
        let mut decoder = Decoder::default();
        let mut finished = false;
        loop {
            let piece = match body.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                // The answer is complete, however its stream ends.
                Err(_) if finished => return Ok(()),
                Err(failure) => return Err(failure),
            };
            for event in decoder.feed(piece.as_ref()) {
                if self.take(&event)? {
                    body.hurry(LAST_BYTES);
                    let _ = body.next().await;
                    return Ok(());
                }
            }
            if !finished && self.answer.finish_reason.is_some() {
                finished = true;
                body.hurry(EPILOGUE);
            }
        }
        let marked = match decoder.finish() {
            Some(event) => self.take(&event)?,
            None => false,
        };
        if marked || self.answer.finish_reason.is_some() { Ok(()) } else { Err(Failure::CutOff) }
    }

    /// Takes an event; true if it is the last one.
    fn take(&mut self, event: &Event) -> Result<bool, Failure> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(false);
        }
        if data == END_MARK {
            return Ok(true);
        }
        if event.name == "error" {
            return Err(Failure::Reported(Complaint::read(data)));
        }
        self.answer.take(&Chunk::parse(data.as_bytes())?);
        Ok(false)
    }

    fn report_usage(&self) {
        if let Some(usage) = self.answer.usage {
            self.emit(AgentEvent::Usage { model: self.context.model.id.clone(), usage });
        }
    }

    /// An answer can be complete for the provider and cut short for everybody else.
    fn check_end(&self) -> Result<(), Failure> {
        let usable = !self.called.is_empty() && self.called.iter().all(|c| c.arguments.is_ok());
        let problem = match self.answer.finish_reason.as_deref() {
            Some("length") if !usable => "the answer was cut at the model's limit for one answer",
            Some("content_filter") if !usable => {
                "the answer was cut by the provider's content filter"
            }
            _ => return Ok(()),
        };
        Err(Failure::Incomplete(problem.to_owned()))
    }

    /// Carries out the calls, all at the same time; false if there are none.
    pub(super) async fn use_tools(mut self) -> bool {
        let called = std::mem::take(&mut self.called);
        if called.is_empty() {
            return false;
        }
        let mut running = FuturesUnordered::new();
        for (place, call) in called.into_iter().enumerate() {
            let shown = match &call.arguments {
                Ok(arguments) => Value::Object(arguments.clone()),
                Err(text) => Value::String(text.clone()),
            };
            self.emit(AgentEvent::ToolStart {
                call_id: self.call_id(place),
                parent_call_id: None,
                name: call.name.clone(),
                arguments: shown,
            });
            self.answered.push(AnsweredCall::new(
                call.id,
                &call.name,
                call.arguments.as_ref().ok(),
            ));
            let call_id = self.call_id(place);
            let outcome = use_tool(self.context, call.name, call.arguments, call_id);
            running.push(async move { (place, outcome.await) });
        }
        while let Some((place, outcome)) = running.next().await {
            self.answered[place].end(&outcome);
            self.emit(AgentEvent::ToolEnd { call_id: self.call_id(place), outcome });
        }
        true
    }

    /// Not the provider's id: some use the same ones in every answer.
    fn call_id(&self, place: usize) -> String {
        format!("call-{}-{}", self.number, place + 1)
    }

    fn emit(&self, event: AgentEvent) {
        self.context.settings.events.emit(event);
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        let said = Said {
            text: std::mem::take(&mut self.answer.text),
            reasoning: std::mem::take(&mut self.answer.reasoning),
            calls: std::mem::take(&mut self.answered),
        };
        self.context.history.lock().answer(said);
    }
}

async fn use_tool(
    context: &RoundContext,
    name: String,
    arguments: Result<Map<String, Value>, String>,
    call_id: String,
) -> Result<ToolResult, ToolError> {
    match arguments {
        Ok(arguments) => {
            let AgentSettings { events, tools, .. } = &context.settings;
            tools.call(&name, events.follow_call(&call_id, Value::Object(arguments))).await
        }
        Err(text) => Err(ToolError {
            message: format!(
                "the arguments are not a JSON object, call again: `{}`",
                shorten(&text)
            ),
            code: Some("invalid_arguments".to_owned()),
        }),
    }
}
