//! Conversations with a scripted provider. Real sockets and so real time: waits are short, and
//! nothing is asserted to be quick.

mod abort;
mod attachments;
mod listing;
mod streams;
mod tools;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use stub_provider::{Frames, StubProvider};
use tokio_util::sync::CancellationToken;
use wire::{ToolError, ToolResult};

use super::*;
use crate::contract::{AgentEvent, AgentEvents, TextKind};
use crate::provider::{ApiKey, BaseUrl};
use crate::tool::ToolSet;

const KEY: &str = "sk-secret-0123456789";
const MODEL: &str = "some-model";

/// A provider, a conversation with its model, and all reported events.
struct Harness {
    stub: StubProvider,
    backend: OpenAi,
    session: Box<dyn AgentSession>,
    events: Arc<Mutex<Vec<AgentEvent>>>,
}

async fn stub() -> StubProvider {
    StubProvider::start().await.expect("a free port")
}

fn settings(stub: &StubProvider) -> ProviderSettings {
    let base_url = BaseUrl::parse(&stub.base_url()).expect("an address");
    ProviderSettings {
        key: KeySource::Given(ApiKey::new(KEY).expect("a key")),
        models: vec![ProviderModel {
            id: MODEL.to_owned(),
            name: None,
            multiplier: None,
            context_window: Some(8192),
        }],
        limits: ProviderLimits {
            first_back_off: Duration::from_millis(10),
            retries: 2,
            ..ProviderLimits::default()
        },
        ..ProviderSettings::new("stub", base_url)
    }
}

impl Harness {
    async fn new() -> Self {
        Self::with(|_| {}, ToolSet::with_job_tools()).await
    }

    async fn with_limits(change: impl FnOnce(&mut ProviderLimits)) -> Self {
        Self::with(|settings| change(&mut settings.limits), ToolSet::with_job_tools()).await
    }

    async fn with(change: impl FnOnce(&mut ProviderSettings), tools: ToolSet) -> Self {
        let stub = stub().await;
        let mut settings = settings(&stub);
        change(&mut settings);
        let backend = OpenAi::new(settings);
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = events.clone();
        let session = backend
            .start_session(AgentSettings {
                tools: Arc::new(tools),
                ..AgentSettings::new(
                    MODEL,
                    "/src/project",
                    AgentEvents::new(move |event| sink.lock().push(event)),
                )
            })
            .await
            .expect("a session");
        Self { stub, backend, session, events }
    }

    async fn run(&self, prompt: &str) -> Result<(), AgentError> {
        self.session.run_turn(prompt, &CancellationToken::new()).await
    }

    /// Runs a prompt that must fail, and returns the error.
    async fn fail(&self, prompt: &str) -> String {
        match self.run(prompt).await {
            Err(AgentError::Failed(message)) => {
                assert!(!message.contains(KEY), "{message}");
                message
            }
            other => panic!("not a failed turn: {other:?}"),
        }
    }

    fn events(&self) -> Vec<AgentEvent> {
        self.events.lock().clone()
    }

    /// The complete blocks of text.
    fn texts(&self, wanted: TextKind) -> Vec<String> {
        let mut texts = Vec::new();
        for event in self.events() {
            match event {
                AgentEvent::TextStart { kind, .. } if kind == wanted => texts.push(String::new()),
                AgentEvent::TextDelta { kind, delta, .. } if kind == wanted => {
                    texts.last_mut().expect("started").push_str(&delta);
                }
                _ => {}
            }
        }
        texts
    }

    fn messages(&self) -> Vec<String> {
        self.texts(TextKind::Message)
    }

    fn outcomes(&self) -> Vec<Result<ToolResult, ToolError>> {
        let outcomes = self.events().into_iter().filter_map(|event| match event {
            AgentEvent::ToolEnd { outcome, .. } => Some(outcome),
            _ => None,
        });
        outcomes.collect()
    }

    /// What the provider receives with the next prompt, without the system message.
    async fn history(&self) -> Vec<Value> {
        self.stub.push(Frames::saying("noted"));
        self.run("and now?").await.expect("an answer");
        let last = self.stub.chats().pop().expect("a request");
        let messages = last["messages"].as_array().expect("messages");
        assert_eq!(messages[0]["role"], "system");
        assert_sound(messages);
        messages[1..].to_vec()
    }
}

/// Roles alternate, and every call has its result.
fn assert_sound(messages: &[Value]) {
    let mut open: Vec<&Value> = Vec::new();
    let mut before = "";
    for message in messages {
        let role = message["role"].as_str().expect("a role");
        if role == "tool" {
            assert_eq!(open.first(), Some(&&message["tool_call_id"]), "{messages:#?}");
            open.remove(0);
        } else {
            assert!(open.is_empty(), "calls without results: {messages:#?}");
            assert!(role != "user" || before != "user", "{messages:#?}");
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().expect("text");
            assert!(serde_json::from_str::<Value>(arguments).is_ok_and(|json| json.is_object()));
            open.push(&call["id"]);
        }
        before = role;
    }
    assert!(open.is_empty(), "calls without results: {messages:#?}");
}
